"""LabelTotals: contingency tables of every label under each requested decision rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.exact import SCALE, scaled_sum
from xmleval.input.weights import HEAVIEST
from xmleval.metrics import Setting
from xmleval.metrics.sets import F1, PRECISION, RECALL
from xmleval.plan import Plan
from xmleval.records import Counts, Floats, Ints
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.fold_table import FoldTable
from xmleval.states.label_table import LabelTable
from xmleval.states.state import Arrays, State
from xmleval.threads import Work
from xmleval.view.decision import Decision
from xmleval.view.view import View


class LabelTotals(State):
    """A `LabelTable` for each decision rule; formulas receive `Counts` per label, for micro their sum."""

    by_fold = True
    shared = True
    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        kept = plan.kept_decisions
        self.decided: dict[Decision, list[Spec]] = {}
        for spec in specs:
            self.decided.setdefault(plan.decide(spec), []).append(spec)
        decisions = dict.fromkeys([*self.decided, *kept])
        self.tables = {d: LabelTable(d, plan.n_labels, plan.weighted) for d in decisions}
        self.folds: dict[Decision, FoldTable] = {}
        if plan.confidence is not None:
            self.folds = {d: FoldTable(d, plan.n_labels, plan.weighted) for d in self.decided}

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return sum(table.n_bytes for table in self._tables)

    @property
    def fold_bytes(self) -> int:
        """Size of what is counted for each fold in bytes."""
        return sum(table.n_bytes for table in self.folds.values())

    @property
    def _tables(self) -> list[LabelTable]:
        return [*self.tables.values(), *self.folds.values()]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        for table in self._tables:
            table.update(view)

    def merge(self, other: LabelTotals) -> None:
        """Merge a state of other rows."""
        for mine, others in zip(self._tables, other._tables, strict=True):
            mine.merge(others)

    def divided(self, n_workers: int, n_blocks: int) -> list[LabelTotals]:
        """Return this state for all workers, which share its tables."""
        if n_workers > 1:
            for table in self._tables:
                table.share()
        return [self] * n_workers

    def finish(self) -> Results:
        """Return averages over labels, one decision at a time to limit memory."""
        results, plan = Results(), self.plan
        for decision, table in self.tables.items():
            specs = self.decided.get(decision, [])
            results.add(label_values(specs, table, plan, self.work, self.folds.get(decision)))
            if plan.keep_labels:
                self._add_columns(results, decision, table.counts(self.work))
        return results

    def _add_columns(self, results: Results, decision: Decision, counts: Counts) -> None:
        """Add per-label results under one decision."""
        plan = self.plan
        at_k = f"@{decision.value:.0f}" if decision.kind == "top" and decision != plan.decision else ""
        unit = HEAVIEST if plan.weighted else 1.0  # weights are stored as fractions of the largest
        results.labels["support"] = unit * (counts.tp + counts.fn)
        results.labels |= {f"{name}{at_k}": unit * getattr(counts, name) for name in ("tp", "fp", "fn")}
        setting = Setting(None, {}, plan.conventions, plan.n_labels)
        for metric in (PRECISION, RECALL, F1):
            results.labels[f"{metric.name}{at_k}"] = metric.value(counts, setting)
        for spec in self.decided.get(decision, []):
            if spec.average:
                results.labels[spec.label_column] = spec.metric.value(counts, plan.setting(spec))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        kinds = (("", self.tables), ("folds ", self.folds))
        return {
            f"{kind}{decision}/{key}": array
            for kind, tables in kinds
            for decision, table in tables.items()
            for key, array in table.arrays().items()
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        for decision, table in self.tables.items():
            own = contents.part(f"{decision}/")
            table.from_contents(own)
            table.expect_tables(contents.n_rows)
            own.done()
        for decision, folds in self.folds.items():
            own = contents.part(f"folds {decision}/")
            folds.from_contents(own)
            folds.expect_sum(self.tables[decision])
            own.done()


def label_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, work: Work, folds: FoldTable | None = None
) -> Results:
    """Average formulas over labels, or apply them to the totals of all; with folds, without each, too."""
    results = Results()
    if not specs:
        return results
    settings = [(spec, plan.setting(spec)) for spec in specs]

    def sums_of(counts: Counts, times: Ints | None) -> list[tuple[Any, ...]]:
        return [_label_sums(spec, counts, times, setting) for spec, setting in settings]

    columns = zip(*table.map_tables(sums_of, work), strict=True)
    whole = [[sum(column) for column in zip(*sums, strict=True)] for sums in columns]
    for (spec, setting), sums in zip(settings, whole, strict=True):
        results.values[spec.name] = _value_of(spec, sums, setting)
    if folds is None:
        return results

    table.join()
    folds.join()

    def without(fold: int) -> list[float]:
        found = [list(sums) for sums in whole]
        for every, before, after in folds.changed(table, fold, any(s.metric.every_label for s in specs)):
            for place, (spec, setting) in enumerate(settings):
                if spec.metric.every_label == every:
                    less, more = (_label_sums(spec, c, None, setting) for c in (before, after))
                    found[place] = [a - b + c for a, b, c in zip(found[place], less, more, strict=True)]
        return [_value_of(spec, sums, setting) for (spec, setting), sums in zip(settings, found, strict=True)]

    others = work.map(without, np.flatnonzero(folds.rows.any(axis=1)).tolist())
    for place, spec in enumerate(specs):
        results.replicates[spec.name] = np.array([values[place] for values in others])
    return results


def _value_of(spec: Spec, sums: Sequence[Any], setting: Setting) -> float:
    """Return the value from sums over all labels."""
    if spec.average != "micro":
        return mean_of_sums(sums)
    counts = Counts(*(np.atleast_1d(column / SCALE) for column in sums))
    return float(spec.metric.value(counts, setting)[0])


def _label_sums(spec: Spec, counts: Counts, times: Ints | None, setting: Setting) -> tuple[Any, ...]:
    """Return the sums over labels for the value of a spec; ``times`` labels share each table."""
    if spec.average == "micro":
        return tuple(scaled_sum(column, times) for column in counts)
    values, support = spec.metric.value(counts, setting), counts.tp + counts.fn
    if spec.average == "weighted":
        return mean_sums(values, support, times)
    rule = setting.conventions.labels if "labels" in spec.metric.conventions else "all"
    if rule != "all":
        values = np.where((support if rule == "present" else support + counts.fp) > 0, values, np.nan)
    return mean_sums(values, times=times)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Average the defined values weighted by support; unweighted if all support is 0, as in scikit-learn."""
    return mean_of_sums(mean_sums(values, support))


def mean_sums(
    values: Floats, support: Floats | None = None, times: Ints | None = None
) -> tuple[Any, Any, Any, int]:
    """Return sums over the defined values: value * support, support and value, scaled, and their number.

    times : multiplicity of each value; None for 1
    """
    defined = ~np.isnan(values)
    n = int(np.count_nonzero(defined) if times is None else times[defined].sum())
    plain = scaled_sum(values, times)
    if support is None:
        return 0, 0, plain, n
    return (
        scaled_sum(values * support, times),
        scaled_sum(np.where(defined, support, np.nan), times),
        plain,
        n,
    )


def mean_of_sums(sums: Sequence[Any]) -> float:
    """Return the average from the sums of `mean_sums`; NaN without any value."""
    by_support, support, plain, n = sums
    if support:
        return float(by_support / support)
    return float(plain / (n * SCALE)) if n else math.nan


STATE = LabelTotals
