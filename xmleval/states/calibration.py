"""Calibration: sums of (score, hit) pairs by score bins of equal width, and of their losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """Sums of pairs by bin, for each number of bins, and of their losses.

    A tier has the pairs that a cutoff adds to the previous one. Formulas receive `Binned`, with one
    bin if the measure has no bins.

    cutoffs : the cutoff of each tier, ascending; None, of all entries, last
    sums : by number of bins, int64 (tiers, bins, columns, limbs): numbers of pairs and of hits, and
        scores
    has_losses : whether any measure reads losses
    losses : int64 (tiers, 2, limbs), squared and logarithmic losses
    """

    counts_labels = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.cutoffs = list_cutoffs(specs)
        n_tiers = len(self.cutoffs)
        numbers = sorted({get_n_bins(spec) for spec in specs if spec.params}) or [1]
        self.sums: dict[int, Ints] = {
            n_bins: np.zeros((n_tiers, n_bins, N_COLUMNS, LIMBS), np.int64) for n_bins in numbers
        }
        self.has_losses = any(not spec.params for spec in specs)
        self.losses: Ints = np.zeros((n_tiers, 2, LIMBS), np.int64)
        self.table_bytes = bytes_of([self.losses, *self.sums.values()])

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of losses, or of pairs, if unlisted labels have a score."""
        without_cutoff = [spec for spec in specs if spec.k is None]
        if plan.unlisted is None or not without_cutoff:
            return None
        if any(spec.metric.range[1] == np.inf for spec in without_cutoff):
            return MOST_LOSSES
        return MOST_CELLS

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        pairs = pairs_of(view, self.cutoffs, self.plan.conventions.link)
        weight = view.block.weight
        row_weights = NO_WEIGHT if weight is None else weight
        columns = pairs.scores, pairs.hits, pairs.tiers, pairs.rows, row_weights
        dtype: type[np.floating] = np.float32 if pairs.narrow else np.float64
        floor = float(np.finfo(dtype).eps)
        losses = self.losses.copy()
        sums = {n_bins: table.copy() for n_bins, table in self.sums.items()}
        for n_bins, table in sums.items():
            add_to_bins(*columns, make_edges(n_bins, dtype), table)
        if self.has_losses:
            add_losses(*columns, floor, losses)
        if pairs.n_unlisted is not None:
            self._add_unlisted(pairs, weight, dtype, sums, losses)
        self.sums = sums
        self.losses = losses

    def _add_unlisted(
        self,
        pairs: Pairs,
        weight: Floats | None,
        dtype: type[np.floating],
        sums: dict[int, Ints],
        losses: Ints,
    ) -> None:
        """Add the unlisted labels, which share one score."""
        assert pairs.n_unlisted is not None
        assert pairs.n_relevant is not None
        score = pairs.level
        weights = np.ones(pairs.n_unlisted.shape[1]) if weight is None else weight
        places = {n_bins: find_bin(score, make_edges(n_bins, dtype)) for n_bins in sums}
        losses_by_kind = list[tuple[float, float]]()  # of a hit, and of a miss
        if self.has_losses:
            floor = float(np.finfo(dtype).eps)
            losses_by_kind += zip(
                losses_of(score, True, floor), losses_of(score, False, floor), strict=True
            )

        def multiply(value: float, n: Ints) -> int:
            """Return the exact sum over rows of weight * value * n."""
            return sum(scaled_sum(weights * part, n) for part in split(value))

        for tier, (n, n_hits) in enumerate(zip(pairs.n_unlisted, pairs.n_relevant, strict=True)):
            totals = [multiply(1.0, n), multiply(1.0, n_hits), multiply(score, n)]
            for n_bins, table in sums.items():
                table[tier, places[n_bins]] += [limbs_of(total) for total in totals]
            for kind, (hit, miss) in enumerate(losses_by_kind):
                loss = multiply(hit, n_hits) + multiply(miss, n - n_hits)
                losses[tier, kind] += limbs_of(loss)
        self._carry(sums, losses)

    @staticmethod
    def _carry(sums: dict[int, Ints], losses: Ints) -> None:
        for table in (*sums.values(), losses):
            carry(table.reshape(-1, LIMBS))

    def merge(self, added: Calibration) -> None:
        """Merge a state of other rows."""
        sums = {n_bins: table + added.sums[n_bins] for n_bins, table in self.sums.items()}
        losses = self.losses + added.losses
        self._carry(sums, losses)
        self.sums = sums
        self.losses = losses

    def finish(self) -> Results:
        """Return the values of the measures, and the bins of measures with bins."""
        results = Results()
        sums = {n_bins: np.cumsum(table, axis=0) for n_bins, table in self.sums.items()}
        losses = np.cumsum(self.losses, axis=0)
        self._carry(sums, losses)
        for spec in self.specs:
            tier = self.cutoffs.index(spec.k)
            n_bins = get_n_bins(spec) if spec.params else next(iter(sums))
            binned = bin_sums(sums[n_bins][tier], *map(as_integer, losses[tier]))
            results.values[spec.name] = spec.metric.value(binned, self.plan.setting(spec))
            if spec.params:
                edges = make_edges(n_bins, np.float64)
                unit = HEAVIEST if self.plan.weighted else 1.0
                bins = make_reliability(binned, edges[:-1], edges[1:], unit)
                results.reliability[spec.name] = bins
        return results

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            "losses": self.losses,
            **{f"bins{n_bins}": table for n_bins, table in self.sums.items()},
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.losses = contents.take_sums("losses", *self.losses.shape[:-1])
        for n_bins, table in self.sums.items():
            self.sums[n_bins] = contents.take_sums(f"bins{n_bins}", *table.shape[:-1])


def make_edges(n_bins: int, dtype: type[np.floating]) -> Floats:
    """Return the ends of bins of equal width, float64, rounded to the dtype of the scores."""
    edges: Floats = (np.arange(n_bins + 1) / n_bins).astype(dtype).astype(np.float64)
    return edges


def make_reliability(sums: Binned, lower: Floats, upper: Floats, unit: float) -> Reliability:
    """Return the table of some bins.

    lower, upper : ends of the bins
    unit : weight that a stored weight of 1 means
    """
    n = np.array([float(total) for total in sums.n])
    mean_score = _divide(sums.scores, sums.n)
    hit_rate = _divide(sums.hits, sums.n)
    return Reliability(lower, upper, n / SCALE * unit, mean_score, hit_rate)


def _divide(sums: NDArray[Any], totals: NDArray[Any]) -> Floats:
    """Return the quotients of integers, correctly rounded; NaN for those of 0."""
    quotients = []
    for part, total in zip(sums.tolist(), totals.tolist(), strict=True):
        quotients.append(part / total if total else np.nan)
    return np.array(quotients)


def bin_sums(sums: Ints, squares: int = 0, logs: int = 0) -> Binned:
    """Return sums by bin, int64 (bins, 3, 4), as integers.

    squares, logs : sums of squared and of logarithmic losses
    """
    n, hits, scores = (
        np.array([as_integer(limbs) for limbs in column], object)
        for column in np.moveaxis(sums, 1, 0)
    )
    return Binned(n, hits, scores, squares, logs)


def list_cutoffs(specs: Sequence[Spec]) -> list[int | None]:
    """Return the different cutoffs of measures, ascending; None, of all entries, last."""
    cutoffs: list[int | None] = [*sorted({spec.k for spec in specs if spec.k})]
    if any(spec.k is None for spec in specs):
        cutoffs.append(None)
    return cutoffs


def get_n_bins(spec: Spec) -> int:
    """Return the number of bins of a measure that has bins."""
    return int(dict(spec.params)["bins"])


STATE = Calibration
