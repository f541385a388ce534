"""RowSums: exact sums and counts of per-row values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.metric import settle_empty
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
from xmleval.view.facts import Counts
from xmleval.view.view import View


class RowSums(State):
    """Sum, total weight and number of the defined row values of each measure, and optionally the values.

    Formulas receive the `View` of a block, or its `Counts` if the measure needs sets, or its `Extremes` if it
    needs scores of entries, and return the value of each row, NaN if undefined. With jackknife groups,
    sums are apart by group.
    """

    by_group = True
    with_unknown = True
    keeps = True  # whether row values are kept on request

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        of = self.names()
        self.keys = list(of)
        kept = plan.per_row if self.keeps else False
        names = (key for key in self.keys if kept is True or (kept and key in kept))
        self.kept = KeptRows(tuple(names))
        self.n_groups = N_GROUPS if self.by_group and plan.confidence is not None else 1
        self.unbounded = {key for key, spec in of.items() if spec.metric.range[1] == np.inf}
        shape = self.n_groups, len(self.keys)
        self.totals: Ints = np.zeros((*shape, 2, LIMBS), np.int64)  # of values, of weights
        self.n_large: Ints = np.zeros((*shape, 2), np.int64)  # values that count as inf, as -inf
        self.n_defined: Ints = np.zeros(shape, np.int64)
        self.n_rows: Ints = np.zeros(self.n_groups, np.int64)
        self.n_weighing = self.n_rows  # with a positive weight, where there are jackknife groups

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the measure of each."""
        return {spec.name: spec for spec in self.specs}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        return [row_values(spec, view, self.plan) for spec in self.specs]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        values, weight = self.columns(view), view.block.weight
        totals, n_large, n_defined = self.totals.copy(), self.n_large.copy(), self.n_defined.copy()
        n_rows = self.n_rows.copy()
        for group, rows, n in self._parts(view):
            unit = NO_WEIGHT if weight is None else weight[rows]
            for i, (key, column) in enumerate(zip(self.keys, values, strict=True)):
                terms = column[rows]
                if key in self.unbounded:
                    terms, n_new = without_large(terms, unit)
                    n_large[group, i] += n_new
                n_defined[group, i] += self.add(terms, unit, *totals[group, i])
            n_rows[group] += n
        self.totals, self.n_large, self.n_defined, self.n_rows = totals, n_large, n_defined, n_rows
        if self.n_groups > 1:
            self.n_weighing = self.n_weighing + view.n_weighing
        if self.kept.names:
            columns = [values[self.keys.index(name)] for name in self.kept.names]
            self.kept = self.kept.with_rows(view, columns)

    def add(self, values: Floats, weight: Floats, total: Ints, total_weight: Ints) -> int:
        """Add values to their sum, and weights, if any, to theirs; return how many are not NaN."""
        return sum_terms(values, weight, total, total_weight)

    def _parts(self, view: View) -> list[tuple[int, Any, int]]:
        """Return the jackknife groups of a block, the rows of each and their number."""
        if self.n_groups == 1:
            return [(0, slice(None), view.n_rows)]
        rows, starts = view.group_order
        ends = enumerate(itertools.pairwise(starts.tolist()))
        return [(group, rows[start:stop], stop - start) for group, (start, stop) in ends if start < stop]

    def merge(self, added: RowSums) -> None:
        """Merge a state of other rows."""
        self.totals, self.n_large = carried(self.totals + added.totals), self.n_large + added.n_large
        self.n_defined, self.n_rows = self.n_defined + added.n_defined, self.n_rows + added.n_rows
        self.n_weighing = self.n_weighing + added.n_weighing
        self.kept = self.kept.plus(added.kept.blocks)

    def finish(self) -> Results:
        """Return the means over the rows."""
        sums = self._sums()
        results, n_rows = Results(values=self._means(*sums)), int(self.n_rows.sum())
        for key, n_defined in zip(self.keys, sums[2].tolist(), strict=True):
            if n_defined < n_rows:
                results.undefined_rows[key] = n_rows - n_defined
        for place in np.flatnonzero(sums[1].any(axis=1)).tolist() if self.unbounded and sums[1].any() else ():
            results.notes[f"large {self.keys[place]}"] = ABOUT_LARGE.format(self.keys[place])
        if self.kept.names:
            results.rows = self.kept.columns()
        if self.n_groups > 1:
            of_groups = zip(self.totals, self.n_large, self.n_defined, strict=True)
            groups = [group for group, n in zip(of_groups, self.n_weighing, strict=True) if n]
            without = [self._means(*map(np.subtract, sums, group)) for group in groups]
            results.replicates = {key: np.array([means[key] for means in without]) for key in results.values}
        return results

    def means(self) -> dict[str, float]:
        """Return the means of the defined row values, NaN if there are none."""
        return self._means(*self._sums())

    def _sums(self) -> tuple[Ints, Ints, Ints]:
        """Return the sums of all jackknife groups, as `_means` takes them."""
        return self.totals.sum(axis=0), self.n_large.sum(axis=0), self.n_defined.sum(axis=0)

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the means of sums, which are carried first."""
        carried(totals)
        means = {}
        for i, key in enumerate(self.keys):
            weight = as_integer(totals[i, 1]) if self.plan.weighted else int(n_defined[i]) * SCALE
            unit = LARGE_UNIT if key in self.unbounded else 1.0
            # integers: correctly rounded
            mean = as_integer(totals[i, 0]) / weight * unit if weight else math.nan
            means[key] = mean + sum_of_large(*n_large[i].tolist())
        return means

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        out: Arrays = {"totals": self.totals, "n_defined": self.n_defined, "n_rows": self.n_rows}
        if self.n_groups > 1:
            out["n_weighing"] = self.n_weighing
        if self.unbounded:
            out["n_large"] = self.n_large
        return {**out, **self.kept.arrays()}

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


def carried(totals: Ints) -> Ints:
    """Carry sums of sums, or differences of sums, in place until they are canonical."""
    carry(totals.reshape(-1, LIMBS))
    return totals


def row_values(spec: Spec, view: View, plan: Plan) -> Floats:
    """Return a measure's row values of a block, NaN for excluded rows."""
    metric, setting = spec.metric, plan.setting(spec)
    view = view.inside if metric.every_label else view
    seen: object = view
    if "sets" in metric.needs:
        seen = counts_of(spec, view, plan)
    elif "entry scores" in metric.needs:
        seen = view.extremes
    return settle_empty(
        metric.value(seen, setting), 1.0, view.n_relevant, metric.empty, setting.conventions.empty
    )


def counts_of(spec: Spec, view: View, plan: Plan) -> Counts:
    """Return the contingency table of each row that a measure of sets reads."""
    if plan.hierarchy is not None and "hierarchy" in spec.metric.needs:
        return view.closed_counts(plan.decide(spec), plan.hierarchy)
    return view.counts(plan.decide(spec))


STATE = RowSums
