"""LabelTotals: contingency tables of every label under each requested decision rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints, bytes_of
from xmleval.base.budget import Resources
from xmleval.input.vectors import HEAVIEST
from xmleval.metrics import Setting
from xmleval.metrics.sets import F1, PRECISION, RECALL
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import SCALE, scaled_sum
from xmleval.states.contents import Contents
from xmleval.states.label_slots import KINDS, slot_values
from xmleval.states.label_table import LabelTable
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.decision import Decision
from xmleval.view.facts import Counts
from xmleval.view.view import View

Known = dict[Any, Floats]  # values of the same tables by formula and parameters


class LabelTotals(State):
    """A `LabelTable` for each decision rule; formulas receive `Counts` per label."""

    shared = True
    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        kept = plan.kept_decisions
        self.decided: dict[Decision, list[Spec]] = {}
        for spec in specs:
            self.decided.setdefault(plan.decide(spec), []).append(spec)
        decisions = dict.fromkeys([*self.decided, *kept])
        self.tables = {d: LabelTable(d, plan.n_labels, plan.weighted) for d in decisions}
        self.table_bytes = bytes_of([table.cells for table in self.tables.values()])

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        for table in self.tables.values():
            table.update(view)

    def merge(self, added: LabelTotals) -> None:
        """Merge a state of other rows."""
        for decision, table in self.tables.items():
            table.merge(added.tables[decision])

    def divided(self, n_workers: int, n_blocks: int) -> list[LabelTotals]:
        """Return this state for all workers, which share its tables."""
        if n_workers > 1:
            for table in self.tables.values():
                table.share()
        return [self] * n_workers

    def finish(self) -> Results:
        """Return averages over labels, one decision at a time to limit memory."""
        results, plan = Results(), self.plan
        for decision, table in self.tables.items():
            results.values |= self._values(decision, table)
            if decision in plan.kept_decisions:
                self._add_columns(results, decision, table.counts(self.resources))
        return results

    def replicates(self, groups: Sequence[LabelTotals]) -> dict[str, Floats]:
        """Return the values without each of the jackknife groups, whose tables are subtracted."""
        replicates: dict[str, Floats] = {}
        for decision, specs in self.decided.items():
            table = self.tables[decision]
            table.join()
            values = [self._values(decision, table.without(group.tables[decision])) for group in groups]
            replicates |= {spec.name: np.array([of[spec.name] for of in values]) for spec in specs}
        return replicates

    def _values(self, decision: Decision, table: LabelTable) -> dict[str, float]:
        """Return the values of the measures under one decision."""
        specs = self.decided.get(decision, [])
        of_slots = [spec for spec in specs if spec.metric.table in KINDS]
        of_labels = [spec for spec in specs if spec.metric.table not in KINDS]
        values = label_values(of_labels, table, self.plan, self.resources)
        return values | slot_values(of_slots, table, self.plan, self.resources)

    def _add_columns(self, results: Results, decision: Decision, counts: Counts) -> None:
        """Add per-label results under one decision."""
        plan = self.plan
        unit = HEAVIEST if plan.weighted else 1.0  # weights are stored as fractions of the largest
        results.labels["support"] = unit * (counts.tp + counts.fn)
        setting = Setting(None, {}, plan.conventions, plan.n_labels)
        columns = {name: unit * getattr(counts, name) for name in ("tp", "fp", "fn")}
        columns |= {metric.name: metric.value(counts, setting) for metric in (PRECISION, RECALL, F1)}
        for suffix in plan.kept_decisions[decision]:
            results.labels |= {f"{name}{suffix}": column for name, column in columns.items()}
        micro = [spec for spec in plan.states.get("row_counts", ()) if "hierarchy" not in spec.needs]
        for spec in [*self.specs, *micro]:
            if spec.average and plan.decide(spec) == decision:
                results.labels[spec.label_column] = spec.metric.value(counts, plan.setting(spec))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            f"{decision}/{key}": array
            for decision, table in self.tables.items()
            for key, array in table.arrays().items()
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        for decision, table in self.tables.items():
            part = contents.part(f"{decision}/")
            table.from_contents(part)
            part.done()


def label_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, resources: Resources
) -> dict[str, float]:
    """Average formulas over labels, or apply them to the totals of all."""
    if not specs:
        return {}
    settings = [(spec, plan.setting(spec)) for spec in specs]

    def sums_of(counts: Counts, times: Ints | None) -> list[tuple[Any, ...]]:
        values_of: Known = {}
        return [_label_sums(spec, counts, times, setting, values_of) for spec, setting in settings]

    columns = zip(*table.map_tables(sums_of, resources), strict=True)
    sums = ([sum(column) for column in zip(*pieces, strict=True)] for pieces in columns)
    return {spec.name: mean_of_sums(total) for spec, total in zip(specs, sums, strict=True)}


def _label_sums(
    spec: Spec, counts: Counts, times: Ints | None, setting: Setting, values_of: Known
) -> tuple[Any, ...]:
    """Return the sums over labels for the value of a spec; ``times`` labels share each table."""
    columns = _columns(spec, counts, setting, values_of)
    return _with_number([scaled_sum(column, times) for column in columns], columns[-1], times)


def _columns(spec: Spec, counts: Counts, setting: Setting, values_of: Known) -> Sequence[Floats]:
    """Return what is summed over labels for the value of a spec; other averages share ``values_of``."""
    formula, support = (spec.metric.value, *spec.params), counts.tp + counts.fn
    if formula not in values_of:
        values_of[formula] = spec.metric.value(counts, setting)
    values = values_of[formula]
    if spec.average == "weighted":
        return _mean_columns(values, support)
    rule = setting.conventions.labels if "labels" in spec.metric.conventions else "all"
    if rule != "all":
        values = np.where((support if rule == "present" else support + counts.fp) > 0, values, np.nan)
    return _mean_columns(values)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Average the defined values weighted by support; unweighted if all support is 0, as in scikit-learn."""
    return mean_of_sums(mean_sums(values, support))


def mean_sums(
    values: Floats, support: Floats | None = None, times: Ints | None = None
) -> tuple[Any, Any, Any, int]:
    """Return sums over the defined values: value * support, support and value, scaled, and their number.

    times : multiplicity of each value; None for 1
    """
    columns = _mean_columns(values, support)
    return _with_number([scaled_sum(column, times) for column in columns], values, times)


def _with_number(sums: Sequence[Any], values: Floats, times: Ints | None) -> tuple[Any, Any, Any, int]:
    """Return the sums of `_mean_columns`, 0 for those not there, and the number of defined values."""
    defined = ~np.isnan(values)
    n = int(np.count_nonzero(defined) if times is None else times[defined].sum())
    by_support, support = sums[:2] if len(sums) > 1 else (0, 0)
    return by_support, support, sums[-1], n


def _mean_columns(values: Floats, support: Floats | None = None) -> list[Floats]:
    """Return what is summed for an average: value * support and support, if given, and value."""
    if support is None:
        return [values]
    return [values * support, np.where(np.isnan(values), np.nan, support), values]


def mean_of_sums(sums: Sequence[Any]) -> float:
    """Return the average from the sums of `mean_sums`; NaN without any value."""
    by_support, support, plain, n = sums
    if support:
        return float(by_support / support)
    return float(plain / (n * SCALE)) if n else math.nan


STATE = LabelTotals
