"""LabelTotals: tp, n_pred and n_true of every label under one decision rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.arrays import Floats, Ints
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.labels import (
    N_TALLIES,
    SMALL,
    add_weights,
    count_in_bytes,
    subtract_sums,
    take_leading,
    tally_labels,
)
from xmleval.states.curves import Work
from xmleval.states.decisions import Decision
from xmleval.states.facts import Counts, Facts
from xmleval.states.limbs import NO_WEIGHT, Commit, saved

ENOUGH, MANY = 1 << 18, 1 << 12  # carries, and arrays of them, that are not joined yet
LABELS_AT_A_TIME = 1 << 18
PIECE = 1 << 14
FEW_LABELS = 1 << 16  # up to which threads and tallies cost more than they give
BYTE = 8  # bits of a count
Carries = tuple[Ints, Ints]  # places in all counts, rising, and how often each carried


def totals_bytes(n_labels: int, weighted: bool) -> int:
    """Return the memory of the totals of one decision."""
    return 3 * n_labels * (8 * LIMBS if weighted else 1)


class LabelTotals:
    """Totals of every label under one decision rule: tp, n_pred and n_true, in this order.

    With instance weights they are fixed-point sums of weights, int64 (3, n_labels, 4). Otherwise they are
    counts, uint8 (3, n_labels), and what the few frequent labels carried from there, in units of 256.
    """

    def __init__(self, decision: Decision, n_labels: int, weighted: bool) -> None:
        self.decision = decision
        self.n_labels = n_labels
        self.weighted = weighted
        self.rows: Ints = np.zeros((1, LIMBS), np.int64)  # sum of instance weights
        self._sums = np.zeros((3, n_labels if weighted else 0, LIMBS), np.int64)
        self._counts = np.zeros((3, 0 if weighted else n_labels), np.uint8)
        self._joined: Carries = np.empty(0, np.int64), np.empty(0, np.int64)
        self._carried: list[Ints] = []  # places, once each time, joined when they outgrow the others
        self._n_carried = 0

    @property
    def totals(self) -> Ints:
        """Return all totals, int64."""
        if self.weighted:
            return self._sums
        places, times = self._carries()
        found = self._counts.astype(np.int64)
        found.reshape(-1)[places] += times << BYTE
        return found

    def _carries(self) -> Carries:
        """Return what was carried, joined."""
        return _with_new(self._joined, self._carried)

    def prepare(self, facts: Facts) -> Commit:
        """Count a block, in place: the totals of millions of labels are not copied."""
        weight, truth, predicted = facts.block.weight, facts.block.truth, facts.predicted(self.decision)
        hits, n_within = facts.hits(self.decision)
        chosen, n_chosen = predicted.labels, int(predicted.cut.sum())
        if n_chosen < chosen.size:
            chosen = np.empty(n_chosen, chosen.dtype)
            take_leading(*predicted, chosen)
        kinds = (hits, n_within), (chosen, predicted.cut), (truth.labels, facts.n_relevant)
        most = max(labels.size for labels, _ in kinds) if weight is None else 0
        carried = np.empty(most, np.int64)
        joined = self._carries() if _outgrown(self._carried, self._n_carried, self._joined) else None

        def commit() -> None:
            if weight is not None:
                sum_terms(weight, NO_WEIGHT, self.rows[0], self.rows[0])
                for kind, (labels, within) in enumerate(kinds):
                    add_weights(labels, within, weight, self._sums[kind])
                return
            if joined:
                self._joined, self._carried, self._n_carried = joined, [], 0
            self.rows[0, 0] += facts.n_rows
            for kind, (labels, _) in enumerate(kinds):
                n = count_in_bytes(labels, kind * self.n_labels, self._counts.reshape(-1), carried)
                if n:
                    self._carried.append(carried[:n].copy())
                    self._n_carried += n

        return commit

    def prepare_merge(self, other: LabelTotals) -> Commit:
        """Add another state of the same decision; sums of weights in place."""
        counts = self._counts + other._counts
        carried = [*self._carried, *other._carried, np.flatnonzero(counts < other._counts)]
        carried = [places for places in carried if places.size]
        n_carried, joined = sum(places.size for places in carried), _added(self._joined, other._joined)
        if _outgrown(carried, n_carried, joined):
            joined, carried, n_carried = _with_new(joined, carried), [], 0

        def commit() -> None:
            self._sums += other._sums
            carry(self._sums.reshape(-1, LIMBS))
            self._counts, self._joined = counts, joined
            self._carried, self._n_carried = carried, n_carried
            self.rows += other.rows
            carry(self.rows)

        return commit

    def counts(self, work: Work) -> Counts:
        """Return the contingency tables of all labels, float64 (n_labels,) each."""
        if self.weighted:
            return self._weighted(0, self.n_labels, work)
        totals, cells = self.totals, np.empty((4, self.n_labels))
        for start in range(0, self.n_labels, PIECE):
            cells[:, start : start + PIECE] = self._as_counts(totals[:, start : start + PIECE])
        return Counts(*cells)

    def tables(self, work: Work) -> Iterator[tuple[Counts, Ints | None]]:
        """Yield contingency tables, and how many labels have each; None where it is one label each.

        Most of millions of labels are rare, and few tables occur among them.
        """
        ranges = [
            (start, min(start + LABELS_AT_A_TIME, self.n_labels))
            for start in range(0, self.n_labels, LABELS_AT_A_TIME)
        ]
        if self.weighted:
            for start, stop in ranges:
                cells = self._weighted(start, stop, work)
                for at in range(0, stop - start, PIECE):
                    yield Counts(*(cell[at : at + PIECE] for cell in cells)), None
            return
        if self.n_labels <= FEW_LABELS:
            yield from self._pieces(self.totals)
            return
        places, times = self._carries()
        frequent, which = np.unique(places % self.n_labels, return_inverse=True)
        found = self._counts[:, frequent].astype(np.int64)
        found[places // self.n_labels, which] += times << BYTE
        yield from self._pieces(found)
        skipped = np.zeros(self.n_labels, np.bool_)
        skipped[frequent] = True

        def tally(number: int) -> tuple[Ints, Ints]:
            start, stop = ranges[number]
            # arrays of its own: in lines of the cache that threads share they would wait for one another
            tallies, others = np.zeros(N_TALLIES + 1, np.int64), np.empty(stop - start + 1, np.int64)
            n_others = tally_labels(self._counts, skipped, start, stop, tallies, others)
            return tallies[:N_TALLIES], others[:n_others]

        tallies, others = zip(*work.map(tally, range(len(ranges))), strict=True)
        yield from self._pieces(self._counts[:, np.concatenate(others)])
        n_labels = np.sum(tallies, axis=0)
        occurring = np.flatnonzero(n_labels)
        yield self._as_counts(np.stack(np.unravel_index(occurring, (SMALL,) * 3))), n_labels[occurring]

    def _pieces(self, totals: NDArray[Any]) -> Iterator[tuple[Counts, None]]:
        """Yield contingency tables some at a time: arrays shall stay near the processor."""
        for start in range(0, totals.shape[1], PIECE):
            yield self._as_counts(totals[:, start : start + PIECE]), None

    def _as_counts(self, totals: NDArray[Any]) -> Counts:
        """Return the contingency tables of counts."""
        tp, n_pred, n_true = totals.astype(np.float64)
        return Counts(tp, n_pred - tp, n_true - tp, self.rows[0, 0] - n_pred - n_true + tp)

    def _weighted(self, start: int, stop: int, work: Work) -> Counts:
        """Return the contingency tables of sums of weights of a range of labels."""
        cells = np.empty((4, stop - start))
        pieces = range(start, stop, FEW_LABELS)

        def subtract(at: int) -> None:
            subtract_sums(self._sums, start, at, min(at + FEW_LABELS, stop), self.rows[0], cells)

        work.map(subtract, pieces)
        return Counts(*cells)

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {"totals": self.totals, "rows": self.rows}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        shape = (3, self.n_labels, LIMBS) if self.weighted else (3, self.n_labels)
        totals = saved(arrays, "totals", *shape)
        self.rows = saved(arrays, "rows", *self.rows.shape)
        if self.weighted:
            self._sums = totals
        else:
            self._counts, more = totals.astype(np.uint8), totals.reshape(-1) >> BYTE
            places = np.flatnonzero(more)
            self._joined, self._carried, self._n_carried = (places, more[places]), [], 0


def _outgrown(carried: list[Ints], n_carried: int, joined: Carries) -> bool:
    """Tell whether carries are to be joined: seldom enough that time stays linear."""
    return n_carried > max(joined[0].size, ENOUGH) or len(carried) > MANY


def _with_new(joined: Carries, carried: list[Ints]) -> Carries:
    """Add places that carried once each time."""
    return _added(joined, np.unique(np.concatenate(carried), return_counts=True)) if carried else joined


def _added(one: Carries, other: Carries) -> Carries:
    """Add carries up, place by place."""
    if not (one[0].size and other[0].size):
        return other if other[0].size else one
    places, which = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    # sums of integers below 2^53, which floats hold
    return places, np.bincount(which, np.concatenate([one[1], other[1]])).astype(np.int64)
