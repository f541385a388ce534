"""RowSums: exact sums and counts of per-row values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.measure import ROW_VECTORS, settle_empty, values_of
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import (
    ABOUT_LARGE,
    LARGE_UNIT,
    NO_WEIGHT,
    SCALE,
    as_integer,
    sum_of_large,
    without_large,
)
from xmleval.states.contents import Contents
from xmleval.states.kept_rows import KeptRows
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.block_rows import BlockRows
from xmleval.view.facts import Counts
from xmleval.view.formulas import FormulaError
from xmleval.view.view import View

LARGEST_OF_UNIT = 1e3  # of values that are added up in units of 1


class RowSums(State):
    """Sums, total weights and numbers of defined row values, by measure.

    Formulas receive the `View` of a block, or its `Counts` if the measure needs sets, or its
    `Extremes` if it needs scores of entries, and return the value of each row, NaN if undefined.
    With jackknife groups, each group has its own sums.

    keeps : class attribute, whether row values are kept on request
    keys : names of the sums
    unbounded : names of the sums of values without an upper limit, which are in `LARGE_UNIT`
    totals : int64 (groups, sums, 2, limbs), fixed-point sums of values and of weights
    n_large : int64 (groups, sums, 2), numbers of values that count as inf and as -inf
    n_defined : int64 (groups, sums), numbers of defined values
    n_rows : int64 (groups,)
    n_weighing : int64 (groups,), numbers of rows with a positive weight; 0 without jackknife groups
    """

    by_group = True
    with_unknown = True
    keeps = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        specs_by_key = self.names()
        self.keys = list(specs_by_key)
        if self.keeps:
            self.kept = KeptRows(tuple(_select_kept(self.keys, plan.per_row)))
        has_groups = self.by_group and plan.confidence is not None
        self.n_groups = N_GROUPS if has_groups else 1
        self.unbounded = {key for key, spec in specs_by_key.items() if _is_unbounded(spec)}
        shape = self.n_groups, len(self.keys)
        self.totals: Ints = np.zeros((*shape, 2, LIMBS), np.int64)
        self.n_large: Ints = np.zeros((*shape, 2), np.int64)
        self.n_defined: Ints = np.zeros(shape, np.int64)
        self.n_rows: Ints = np.zeros(self.n_groups, np.int64)
        self.n_weighing = self.n_rows

    def names(self) -> dict[str, Spec]:
        """Return measures by the name of their sum."""
        return {spec.name: spec for spec in self.specs}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, an array for each sum."""
        return [row_values(spec, view, self.plan) for spec in self.specs]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        values = self.columns(view)
        weight = view.block.weight
        totals = self.totals.copy()
        n_large = self.n_large.copy()
        n_defined = self.n_defined.copy()
        n_rows = self.n_rows.copy()
        for group, rows, n_in_group in self._split_rows(view):
            row_weights = NO_WEIGHT if weight is None else weight[rows]
            for i, (key, column) in enumerate(zip(self.keys, values, strict=True)):
                terms = column[rows]
                if key in self.unbounded:
                    terms, n_new = without_large(terms, row_weights)
                    n_large[group, i] += n_new
                n_defined[group, i] += self.add(terms, row_weights, *totals[group, i])
            n_rows[group] += n_in_group
        self.totals = totals
        self.n_large = n_large
        self.n_defined = n_defined
        self.n_rows = n_rows
        if self.n_groups > 1:
            self.n_weighing = self.n_weighing + view.n_weighing
        if self.kept.names:
            columns = [values[self.keys.index(name)] for name in self.kept.names]
            self.kept = self.kept.with_rows(view, columns)

    def add(self, values: Floats, weight: Floats, total: Ints, total_weight: Ints) -> int:
        """Add values, and weights, if any, to their sums; return how many values are not NaN."""
        return sum_terms(values, weight, total, total_weight)

    def _split_rows(self, view: View) -> list[tuple[int, Any, int]]:
        """Return the jackknife groups of a block, with their rows and sizes."""
        if self.n_groups == 1:
            return [(0, slice(None), view.n_rows)]
        rows, starts = view.group_order
        groups = list[tuple[int, Any, int]]()
        for group, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
            if start < stop:
                groups.append((group, rows[start:stop], stop - start))
        return groups

    def merge(self, added: RowSums) -> None:
        """Merge a state of other rows."""
        self.totals = carry_sums(self.totals + added.totals)
        self.n_large = self.n_large + added.n_large
        self.n_defined = self.n_defined + added.n_defined
        self.n_rows = self.n_rows + added.n_rows
        self.n_weighing = self.n_weighing + added.n_weighing
        self.kept = self.kept.plus(added.kept.blocks)

    def finish(self) -> Results:
        """Return the means over the rows."""
        sums = self._sums()
        results = Results(values=self._means(*sums))
        _, n_large, n_defined = sums
        n_rows = int(self.n_rows.sum())
        for key, n_values in zip(self.keys, n_defined.tolist(), strict=True):
            if n_values < n_rows:
                results.undefined_rows[key] = n_rows - n_values
        if self.unbounded:
            for i in np.flatnonzero(n_large.any(axis=1)).tolist():
                key = self.keys[i]
                results.notes[f"large {key}"] = ABOUT_LARGE.format(key)
        if self.kept.names:
            results.rows = self.kept.columns()
        if self.n_groups > 1:
            means_without = self._means_without_groups(*sums)
            results.replicates = {
                key: np.array([means[key] for means in means_without]) for key in results.values
            }
        return results

    def _means_without_groups(
        self, totals: Ints, n_large: Ints, n_defined: Ints
    ) -> list[dict[str, float]]:
        """Return the means without each jackknife group that has a weight, from the sums of all."""
        means = []
        for group in np.flatnonzero(self.n_weighing).tolist():
            means.append(
                self._means(
                    totals - self.totals[group],
                    n_large - self.n_large[group],
                    n_defined - self.n_defined[group],
                )
            )
        return means

    def means(self) -> dict[str, float]:
        """Return the means of the defined row values, NaN if there are none."""
        return self._means(*self._sums())

    def _sums(self) -> tuple[Ints, Ints, Ints]:
        """Return ``totals``, ``n_large`` and ``n_defined`` of all jackknife groups together."""
        return self.totals.sum(axis=0), self.n_large.sum(axis=0), self.n_defined.sum(axis=0)

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the means of sums, by the name of the sum; the sums are carried first."""
        carry_sums(totals)
        means = {}
        for i, key in enumerate(self.keys):
            weight = int(n_defined[i]) * SCALE
            if self.plan.weighted:
                weight = as_integer(totals[i, 1])
            mean = math.nan
            if weight:
                unit = LARGE_UNIT if key in self.unbounded else 1.0
                mean = as_integer(totals[i, 0]) / weight * unit  # integers: correctly rounded
            means[key] = mean + sum_of_large(*n_large[i].tolist())
        return means

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        arrays: Arrays = {"totals": self.totals, "n_defined": self.n_defined, "n_rows": self.n_rows}
        if self.n_groups > 1:
            arrays["n_weighing"] = self.n_weighing
        if self.unbounded:
            arrays["n_large"] = self.n_large
        return {**arrays, **self.kept.arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        shape = self.n_groups, len(self.keys)
        self.n_rows = contents.take("n_rows", self.n_groups)
        if self.n_groups > 1:
            self.n_weighing = contents.take("n_weighing", self.n_groups)
        self.n_defined = contents.take("n_defined", *shape)
        self.totals = contents.take_sums("totals", *shape, 2)
        if self.unbounded:
            self.n_large = contents.take("n_large", *shape, 2)
        self.kept = self.kept.restored(contents)


def _is_unbounded(spec: Spec) -> bool:
    """Return whether values may be too large for sums in units of 1."""
    return spec.state == ROW_VECTORS or max(map(abs, spec.metric.range)) > LARGEST_OF_UNIT


def _select_kept(keys: list[str], per_row: bool | Sequence[str]) -> list[str]:
    """Return the names of the sums whose row values are kept."""
    if isinstance(per_row, bool):
        return keys if per_row else []
    return [key for key in keys if key in per_row]


def carry_sums(totals: Ints) -> Ints:
    """Carry sums, or differences of sums, in place until they are canonical, and return them."""
    carry(totals.reshape(-1, LIMBS))
    return totals


def row_values(spec: Spec, view: View, plan: Plan) -> Floats:
    """Return a measure's row values of a block, NaN for excluded rows."""
    metric = spec.metric
    setting = plan.setting(spec)
    if metric.of_rows:
        values = own_values(spec, view, plan)
        if "sets" in metric.needs and view.block.cells is not None:
            values = np.where(view.n_cells == 0, np.nan, values)
        return settle_empty(values, 1.0, view.n_relevant, metric.empty, setting.conventions.empty)
    if metric.every_label:
        view = view.inside
    if spec.reads_gains and setting.conventions.has_gains:
        view = view.of_gains
    facts: object = view
    if "sets" in metric.needs:
        facts = count_cells(spec, view, plan)
    elif "entry scores" in metric.needs:
        facts = view.extremes
    formula = metric.value
    if metric.state == "rank_profile":  # whose own formula takes tables
        assert metric.expected is not None
        formula = metric.expected
    values = formula(facts, setting)
    if "sets" in metric.needs and view.block.cells is not None:
        values = np.where(view.n_cells == 0, np.nan, values)
    return settle_empty(values, 1.0, view.n_relevant, metric.empty, setting.conventions.empty)


def own_values(spec: Spec, view: View, plan: Plan) -> Floats:
    """Return what a measure's own formula gives for the rows of a block."""
    metric = spec.metric
    if spec.reads_gains and plan.conventions.has_gains:
        view = view.of_gains
    decision = plan.decide(spec) if "sets" in metric.needs else None
    hierarchy = plan.hierarchy if "hierarchy" in metric.needs else None
    rows = BlockRows(
        view,
        plan.setting(spec),
        decision,
        hierarchy,
        metric.row_data,
        plan.higher_is_better,
    )
    try:
        return values_of(metric, rows)
    except FormulaError as error:
        error.measure = spec.name
        raise


def count_cells(spec: Spec, view: View, plan: Plan) -> Counts:
    """Return the contingency tables of rows, for a measure of sets."""
    if plan.hierarchy is not None and "hierarchy" in spec.metric.needs:
        return view.closed_counts(plan.decide(spec), plan.hierarchy)
    return view.counts(plan.decide(spec))


STATE = RowSums
