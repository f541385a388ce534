"""LabelTotals: contingency tables of every label under each requested decision rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, bytes_of
from xmleval.base.budget import Resources
from xmleval.input.vectors import HEAVIEST
from xmleval.metrics.sets import F1, PRECISION, RECALL
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import SCALE, scaled_sum
from xmleval.states.contents import Contents
from xmleval.states.label_slots import KINDS, slot_values
from xmleval.states.label_table import LabelTable
from xmleval.states.plan import Plan
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.decision import Decision
from xmleval.view.facts import Counts
from xmleval.view.setting import Setting
from xmleval.view.view import View

ValuesByFormula = dict[Any, Floats]  # of the same tables, by formula and parameters


class LabelTotals(State):
    """Contingency tables of every label for each decision rule.

    Formulas receive `Counts` per label.

    decided : the measures that read the tables of each rule
    tables : the tables, by rule; also those whose hits are kept by label
    """

    shared = True
    counts_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.decided: dict[Decision, list[Spec]] = {}
        for spec in specs:
            self.decided.setdefault(plan.decide(spec), []).append(spec)
        decisions = dict.fromkeys([*self.decided, *plan.kept_decisions])
        self.tables = {
            decision: LabelTable(decision, plan.n_labels, plan.weighted, plan.cells_are)
            for decision in decisions
        }
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
        results = Results()
        for decision, table in self.tables.items():
            results.values |= self._values(decision, table)
            if self.plan.cells_are:
                self._count_undefined(results, decision, table)
            if decision in self.plan.kept_decisions:
                self._add_columns(results, decision, table.counts(self.resources))
        return results

    def _count_undefined(self, results: Results, decision: Decision, table: LabelTable) -> None:
        """Add the number of labels that no row judges, which averages over labels leave out."""
        n_unjudged = int(np.count_nonzero(~are_judged(table.counts(self.resources))))
        for spec in self.decided.get(decision, []):
            if n_unjudged and spec.metric.family == "sets":
                results.undefined_labels[spec.name] = n_unjudged

    def replicates(self, groups: Sequence[LabelTotals]) -> dict[str, Floats]:
        """Return the values without each of the jackknife groups, whose tables are subtracted."""
        replicates: dict[str, Floats] = {}
        for decision, specs in self.decided.items():
            table = self.tables[decision]
            table.join()
            values = [
                self._values(decision, table.without(group.tables[decision])) for group in groups
            ]
            for spec in specs:
                replicates[spec.name] = np.array([by_name[spec.name] for by_name in values])
        return replicates

    def _values(self, decision: Decision, table: LabelTable) -> dict[str, float]:
        """Return the values of the measures that read the tables of a decision."""
        specs = self.decided.get(decision, [])
        slot_specs = [spec for spec in specs if spec.metric.table in KINDS]
        label_specs = [spec for spec in specs if spec.metric.table not in KINDS]
        values = label_values(label_specs, table, self.plan, self.resources)
        values |= slot_values(slot_specs, table, self.plan, self.resources)
        return values

    def _add_columns(self, results: Results, decision: Decision, counts: Counts) -> None:
        """Add the per-label results of a decision."""
        plan = self.plan
        unit = HEAVIEST if plan.weighted else 1.0  # weights are stored as fractions of the largest
        results.labels["support"] = unit * (counts.tp + counts.fn)
        setting = Setting(None, {}, plan.conventions, plan.n_labels)
        columns = {name: unit * getattr(counts, name) for name in ("tp", "fp", "fn")}
        is_judged = are_judged(counts) if plan.cells_are else np.True_
        for metric in (PRECISION, RECALL, F1):
            columns[metric.name] = np.where(is_judged, metric.value(counts, setting), np.nan)
        for suffix in plan.kept_decisions[decision]:
            results.labels |= {f"{name}{suffix}": column for name, column in columns.items()}
        micro = [
            spec for spec in plan.states.get("row_counts", ()) if "hierarchy" not in spec.needs
        ]
        for spec in [*self.specs, *micro]:
            if spec.average and plan.decide(spec) == decision:
                values = spec.metric.value(counts, plan.setting(spec))
                results.labels[spec.label_column] = np.where(is_judged, values, np.nan)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            f"{decision}/{key}": array
            for decision, table in self.tables.items()
            for key, array in table.arrays().items()
        }

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels."""
        return {
            f"{decision}/{key}": array
            for decision, table in self.tables.items()
            for key, array in table.relabelled_arrays(labels).items()
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
    """Return the averages of formulas over labels."""
    if not specs:
        return {}
    settings = [(spec, plan.setting(spec)) for spec in specs]

    def sum_tables(counts: Counts, times: Ints | None) -> list[tuple[Any, ...]]:
        values_by_formula: ValuesByFormula = {}
        is_judged = are_judged(counts) if plan.cells_are else None
        return [
            _sum_labels(spec, counts, times, setting, values_by_formula, is_judged)
            for spec, setting in settings
        ]

    pieces = table.map_tables(sum_tables, resources)
    values = {}
    for spec, sums in zip(specs, zip(*pieces, strict=True), strict=True):
        total = [sum(column) for column in zip(*sums, strict=True)]
        values[spec.name] = mean_of_sums(total)
    return values


def _sum_labels(
    spec: Spec,
    counts: Counts,
    times: Ints | None,
    setting: Setting,
    values_by_formula: ValuesByFormula,
    is_judged: Bools | None = None,
) -> tuple[Any, ...]:
    """Return the sums over labels for the average of a spec; ``times`` labels share each table.

    Measures of sets are undefined for labels that no row judges.
    """
    terms = _label_terms(spec, counts, setting, values_by_formula)
    if is_judged is not None and spec.metric.family == "sets":
        terms = [np.where(is_judged, column, np.nan) for column in terms]
    return _with_number([scaled_sum(column, times) for column in terms], terms[-1], times)


def _label_terms(
    spec: Spec, counts: Counts, setting: Setting, values_by_formula: ValuesByFormula
) -> Sequence[Floats]:
    """Return the terms to sum over labels for the average of a spec.

    values_by_formula : values that all averages of a formula share, to which they are added
    """
    formula = (spec.metric.value, *spec.params)
    support = counts.tp + counts.fn
    if formula not in values_by_formula:
        values_by_formula[formula] = spec.metric.value(counts, setting)
    values = values_by_formula[formula]
    if spec.average == "weighted":
        return _mean_terms(values, support)
    if "labels" not in spec.metric.conventions or setting.conventions.labels == "all":
        return _mean_terms(values)
    n_seen = support if setting.conventions.labels == "present" else support + counts.fp
    return _mean_terms(np.where(n_seen > 0, values, np.nan))


def are_judged(counts: Counts) -> Bools:
    """Return whether any row judges each label."""
    return np.asarray(counts.tp + counts.fp + counts.fn + counts.tn > 0)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Return the mean of the defined values, weighted by support if any is positive.

    If all support is 0, the mean is unweighted, as in scikit-learn.
    """
    return mean_of_sums(mean_sums(values, support))


def mean_sums(
    values: Floats, support: Floats | None = None, times: Ints | None = None
) -> tuple[Any, Any, Any, int]:
    """Return the scaled sums of defined values for a mean, and how many they are.

    The sums are those of value * support, of support (both 0 without support) and of value.

    times : multiplicity of each value; None for 1
    """
    terms = _mean_terms(values, support)
    return _with_number([scaled_sum(column, times) for column in terms], values, times)


def _with_number(
    sums: Sequence[Any], values: Floats, times: Ints | None
) -> tuple[Any, Any, Any, int]:
    """Return the sums of `_mean_terms`, 0 for missing ones, and the number of defined values."""
    n = _count_defined(values, times)
    if len(sums) == 1:
        return 0, 0, sums[0], n
    by_support, support, plain = sums
    return by_support, support, plain, n


def _count_defined(values: Floats, times: Ints | None) -> int:
    """Return the number of defined values, each counted ``times``."""
    is_defined = ~np.isnan(values)
    if times is None:
        return int(np.count_nonzero(is_defined))
    return int(times[is_defined].sum())


def _mean_terms(values: Floats, support: Floats | None = None) -> list[Floats]:
    """Return the terms of a mean: value * support and support, if given, and value."""
    if support is None:
        return [values]
    return [values * support, np.where(np.isnan(values), np.nan, support), values]


def mean_of_sums(sums: Sequence[Any]) -> float:
    """Return the mean from the sums of `mean_sums`; NaN without any value."""
    by_support, support, plain, n = sums
    if support:
        return float(by_support / support)
    if n:
        return float(plain / (n * SCALE))
    return math.nan


STATE = LabelTotals
