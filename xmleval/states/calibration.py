"""Calibration: sums of pairs of a score and a hit by bins of scores of equal width, and of their losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmleval.base.arrays import Floats, Ints, bytes_of
from xmleval.base.budget import Resources
from xmleval.input.vectors import HEAVIEST
from xmleval.kernels.calibrating import N_COLUMNS, add_losses, add_to_bins, find_bin, losses_of
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.products import split
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import NO_WEIGHT, SCALE, as_integer, limbs_of, scaled_sum
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.results import Reliability, Results
from xmleval.states.state import MOST_CELLS, MOST_LOSSES, Arrays, State
from xmleval.view.facts import Binned
from xmleval.view.pairs import Pairs, pairs_of
from xmleval.view.view import View


class Calibration(State):
    """Sums of the pairs that each cutoff adds to the one before, by bin for each number of bins.

    Formulas receive `Binned`, with one bin if the measure has none.
    """

    of_labels = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.cutoffs = cutoffs_of(specs)
        n, numbers = len(self.cutoffs), sorted({bins_of(spec) for spec in specs if spec.params}) or [1]
        self.sums: dict[int, Ints] = {b: np.zeros((n, b, N_COLUMNS, LIMBS), np.int64) for b in numbers}
        self.lossy = any(not spec.params for spec in specs)
        self.losses: Ints = np.zeros((n, 2, LIMBS), np.int64)
        self.table_bytes = bytes_of([self.losses, *self.sums.values()])

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of losses, or of pairs, where unlisted labels have a score."""
        of_all = [] if plan.unlisted is None else [spec for spec in specs if spec.k is None]
        if not of_all:
            return None
        return MOST_LOSSES if any(spec.metric.range[1] == np.inf for spec in of_all) else MOST_CELLS

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        pairs = pairs_of(view, self.cutoffs, self.plan.conventions.link)
        weight = NO_WEIGHT if view.block.weight is None else view.block.weight
        columns = pairs.scores, pairs.hits, pairs.tiers, pairs.rows, weight
        dtype: type[np.floating] = np.float32 if pairs.narrow else np.float64
        floor, losses = float(np.finfo(dtype).eps), self.losses.copy()
        added = {bins: sums.copy() for bins, sums in self.sums.items()}
        for bins, sums in added.items():
            add_to_bins(*columns, edges_of(bins, dtype), sums)
        if self.lossy:
            add_losses(*columns, floor, losses)
        if pairs.n_unlisted is not None:
            self._add_unlisted(pairs, view.block.weight, dtype, added, losses)
        self.sums, self.losses = added, losses

    def _add_unlisted(
        self, pairs: Pairs, weight: Floats | None, dtype: type[np.floating], sums: dict[int, Ints],
        losses: Ints,
    ) -> None:  # fmt: skip
        """Add the unlisted labels, which share one score."""
        assert pairs.n_unlisted is not None
        assert pairs.n_relevant is not None
        each = np.ones(pairs.n_unlisted.shape[1]) if weight is None else weight

        def times(value: float, n: Ints) -> int:
            return sum(scaled_sum(each * part, n) for part in split(value))

        floor = float(np.finfo(dtype).eps)
        losses_by_hit = zip(*(losses_of(pairs.level, hit, floor) for hit in (True, False)), strict=True)
        of_each = [*losses_by_hit] if self.lossy else []
        for tier, (n, hits) in enumerate(zip(pairs.n_unlisted, pairs.n_relevant, strict=True)):
            totals = [times(1.0, n), times(1.0, hits), times(pairs.level, n)]
            for bins, table in sums.items():
                place = find_bin(pairs.level, edges_of(bins, dtype))
                table[tier, place] += [limbs_of(total) for total in totals]
            for kind, (hit, miss) in enumerate(of_each):
                losses[tier, kind] += limbs_of(times(hit, hits) + times(miss, n - hits))
        self._carry(sums, losses)

    @staticmethod
    def _carry(sums: dict[int, Ints], losses: Ints) -> None:
        for table in (*sums.values(), losses):
            carry(table.reshape(-1, LIMBS))

    def merge(self, added: Calibration) -> None:
        """Merge a state of other rows."""
        sums = {bins: table + added.sums[bins] for bins, table in self.sums.items()}
        losses = self.losses + added.losses
        self._carry(sums, losses)
        self.sums, self.losses = sums, losses

    def finish(self) -> Results:
        """Return the values of the measures, and the table of the bins of those with bins."""
        results = Results()
        whole = {bins: np.cumsum(table, axis=0) for bins, table in self.sums.items()}
        losses = np.cumsum(self.losses, axis=0)
        self._carry(whole, losses)
        for spec in self.specs:
            tier, bins = self.cutoffs.index(spec.k), bins_of(spec) if spec.params else next(iter(whole))
            binned_pairs = binned(whole[bins][tier], *map(as_integer, losses[tier]))
            results.values[spec.name] = spec.metric.value(binned_pairs, self.plan.setting(spec))
            if spec.params:
                edges = edges_of(bins, np.float64)
                unit = HEAVIEST if self.plan.weighted else 1.0
                results.reliability[spec.name] = reliability_of(binned_pairs, edges[:-1], edges[1:], unit)
        return results

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"losses": self.losses, **{f"bins{bins}": table for bins, table in self.sums.items()}}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.losses = contents.take_sums("losses", *self.losses.shape[:-1])
        for bins, table in self.sums.items():
            self.sums[bins] = contents.take_sums(f"bins{bins}", *table.shape[:-1])


def edges_of(bins: int, dtype: type[np.floating]) -> Floats:
    """Return the ends of bins of equal width, number / bins rounded to the dtype of scores, float64."""
    edges: Floats = (np.arange(bins + 1) / bins).astype(dtype).astype(np.float64)
    return edges


def reliability_of(sums: Binned, lower: Floats, upper: Floats, unit: float) -> Reliability:
    """Return the table of some bins; ``unit`` is the weight that is held as 1."""
    n = np.array([float(total) for total in sums.n])
    totals = [total or None for total in sums.n.tolist()]
    mean, rate = (
        np.array(
            [np.nan if total is None else part / total for part, total in zip(column, totals, strict=True)]
        )
        for column in (sums.scores.tolist(), sums.hits.tolist())
    )
    return Reliability(lower, upper, n / SCALE * unit, mean, rate)


def binned(sums: Ints, squares: int = 0, logs: int = 0) -> Binned:
    """Return sums by bin, int64 (bins, 3, 4), as integers."""
    n, hits, scores = (
        np.array([as_integer(limbs) for limbs in column], object) for column in np.moveaxis(sums, 1, 0)
    )
    return Binned(n, hits, scores, squares, logs)


def cutoffs_of(specs: Sequence[Spec]) -> list[int | None]:
    """Return the different cutoffs of measures, ascending; None, of all entries, last."""
    numbers = {spec.k for spec in specs}
    return [*sorted(k for k in numbers if k), *({None} & numbers)]


def bins_of(spec: Spec) -> int:
    """Return the number of bins of a measure that has bins."""
    return int(dict(spec.params)["bins"])


STATE = Calibration
