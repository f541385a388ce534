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

ENOUGH = 1 << 16
LABELS_AT_A_TIME = 1 << 18
PIECE = 1 << 14
BYTE = 8  # bits of a count


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
        self._places: Ints = np.empty(0, np.int64)  # in all counts, rising, of those that carried
        self._times: Ints = np.empty(0, np.int64)  # how often each did
        self._carried: list[Ints] = []  # places, once each time, joined when they outgrow the others
        self._n_carried = 0

    @property
    def totals(self) -> Ints:
        """Return all totals, int64."""
        if self.weighted:
            return self._sums
        self._join_carried()
        found = self._counts.astype(np.int64)
        found.reshape(-1)[self._places] += self._times << BYTE
        return found

    def _carry(self, places: list[Ints]) -> None:
        """Note places of counts that went from 255 to 0."""
        found = [part for part in places if part.size]
        self._carried += found
        self._n_carried += sum(part.size for part in found)
        if self._n_carried > max(self._places.size, ENOUGH):
            self._join_carried()

    def _join_carried(self) -> None:
        if self._carried:
            self._join(*np.unique(np.concatenate(self._carried), return_counts=True))
            self._carried, self._n_carried = [], 0

    def _join(self, places: Ints, times: Ints) -> None:
        """Add carries, so many at each place."""
        if self._places.size and places.size:
            places, which = np.unique(np.concatenate([self._places, places]), return_inverse=True)
            # sums of integers below 2^53, which floats hold
            times = np.bincount(which, np.concatenate([self._times, times])).astype(np.int64)
        if places.size:
            self._places, self._times = places, times

    def prepare(self, facts: Facts) -> Commit:
        """Count a block, in place: the totals of millions of labels are not copied."""
        weight, truth, predicted = facts.block.weight, facts.block.truth, facts.predicted(self.decision)
        hits, n_within = facts.hits(self.decision)
        chosen, n_chosen = predicted.labels, int(predicted.cut.sum())
        if n_chosen < chosen.size:
            chosen = np.empty(n_chosen, chosen.dtype)
            take_leading(*predicted, chosen)
        kinds = (hits, n_within), (chosen, predicted.cut), (truth.labels, facts.n_relevant)
        weights = [] if weight is None else [np.repeat(weight, n) for _, n in kinds]
        carried = np.empty(max(labels.size for labels, _ in kinds), np.int64)

        def commit() -> None:
            if weight is None:
                self.rows[0, 0] += facts.n_rows
                for kind, (labels, _) in enumerate(kinds):
                    n_carried = count_in_bytes(
                        labels, kind * self.n_labels, self._counts.reshape(-1), carried
                    )
                    self._carry([carried[:n_carried].copy()])
            else:
                sum_terms(weight, NO_WEIGHT, self.rows[0], self.rows[0])
                for kind, (labels, _) in enumerate(kinds):
                    add_weights(labels, weights[kind], self._sums[kind])

        return commit

    def prepare_merge(self, other: LabelTotals) -> Commit:
        """Add another state of the same decision; sums of weights in place."""
        counts = self._counts + other._counts
        carried = [np.flatnonzero(counts < other._counts), *other._carried]
        places, times = other._places, other._times

        def commit() -> None:
            self._sums += other._sums
            carry(self._sums.reshape(-1, LIMBS))
            self._counts = counts
            self._carry(carried)
            self._join(places, times)
            self.rows += other.rows
            carry(self.rows)

        return commit

    def counts(self, work: Work) -> Counts:
        """Return the contingency tables of all labels, float64 (n_labels,) each."""
        return self._weighted(self._sums, work) if self.weighted else self._as_counts(self.totals)

    def tables(self, work: Work) -> Iterator[tuple[Counts, Ints | None]]:
        """Yield contingency tables, and how many labels have each; None where it is one label each.

        Most of millions of labels are rare, and few tables occur among them.
        """
        if self.weighted:
            for start in range(0, self.n_labels, LABELS_AT_A_TIME):
                yield self._weighted(self._sums[:, start : start + LABELS_AT_A_TIME], work), None
            return
        self._join_carried()
        frequent, which = np.unique(self._places % self.n_labels, return_inverse=True)
        found = self._counts[:, frequent].astype(np.int64)
        found[self._places // self.n_labels, which] += self._times << BYTE
        yield from self._pieces(found)
        skipped = np.zeros(self.n_labels, np.bool_)
        skipped[frequent] = True

        def tally(start: int) -> tuple[Ints, Ints]:
            part = slice(start, start + LABELS_AT_A_TIME)
            # arrays of its own: in lines of the cache that threads share they would wait for one another
            tallies, others = np.zeros(N_TALLIES + 1, np.int64), np.empty(LABELS_AT_A_TIME + 1, np.int64)
            n_others = tally_labels(self._counts[:, part], skipped[part], tallies, others)
            return tallies[:N_TALLIES], start + others[:n_others]

        tallies, others = zip(*work.map(tally, range(0, self.n_labels, LABELS_AT_A_TIME)), strict=True)
        yield from self._pieces(self._counts[:, np.concatenate(others)])
        times = np.sum(tallies, axis=0)
        occurring = np.flatnonzero(times)
        yield self._as_counts(np.stack(np.unravel_index(occurring, (SMALL,) * 3))), times[occurring]

    def _pieces(self, totals: NDArray[Any]) -> Iterator[tuple[Counts, None]]:
        """Yield contingency tables some at a time: arrays shall stay near the processor."""
        for start in range(0, totals.shape[1], PIECE):
            yield self._as_counts(totals[:, start : start + PIECE]), None

    def _as_counts(self, totals: NDArray[Any]) -> Counts:
        """Return the contingency tables of counts."""
        tp, n_pred, n_true = totals.astype(np.float64)
        return Counts(tp, n_pred - tp, n_true - tp, self.rows[0, 0] - n_pred - n_true + tp)

    def _weighted(self, sums: Ints, work: Work) -> Counts:
        """Return the contingency tables of sums of weights."""
        cells = np.empty((4, sums.shape[1]))

        def subtract(start: int) -> None:
            part = slice(start, start + PIECE)
            subtract_sums(sums[:, part], self.rows[0], cells[:, part])

        work.map(subtract, range(0, cells.shape[1], PIECE))
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
            self._places = np.flatnonzero(more)
            self._times, self._carried, self._n_carried = more[self._places], [], 0
