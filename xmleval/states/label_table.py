"""LabelTable: tp, n_pred and n_true of every label under one decision rule."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bytes, Floats, Ints, Labels
from xmleval.base.budget import Resources
from xmleval.base.threads import when_free
from xmleval.kernels.fixed import BITS, LIMBS, MASK, carry, sum_terms
from xmleval.kernels.labels import (
    FULL,
    N_TALLIES,
    SMALL,
    add_sums,
    add_weights,
    count_in_bytes,
    subtract_sums,
    tally_labels,
)
from xmleval.numerics.exact import NO_WEIGHT, as_floats
from xmleval.states.contents import Contents, expect
from xmleval.view.decision import Decision
from xmleval.view.facts import Counts
from xmleval.view.view import View

LABELS_AT_A_TIME = 1 << 18
PIECE = 1 << 14
AT_ONCE = 1 << 19  # counts merged at a time: the caches hold what tells which overflowed
FEW_LABELS = 1 << 16  # up to which threads and tallies do not pay
BYTE = 8  # bits of a count
T = TypeVar("T")
Carries = tuple[Ints, Ints]  # indices of the counters that overflowed, ascending, and overflow counts


class LabelTable:
    """Totals of every label under one decision rule: tp, n_pred and n_true, in this order.

    The table holds counts, uint8 (3, n_labels), or sums of weights, int64 (3, n_labels, 2), in units of 2^-52
    and 2^-104. Overflow counts are kept apart, since few labels overflow, in units of 256 or of 2^10 times
    the largest weight.

    Workers of one update share the table, since a copy for each would cost too much memory and merging for
    millions of labels. Totals stay exact: integer sums do not depend on order, and each part is locked.
    """

    def __init__(self, decision: Decision, n_labels: int, weighted: bool) -> None:
        self.decision = decision
        self.n_labels = n_labels
        self.weighted = weighted
        self.rows: Ints = np.zeros((1, LIMBS), np.int64)  # sum of row weights
        self._locks: list[Lock] = []  # one for each part of a shared table
        self.cells: NDArray[Any]
        if weighted:
            self.cells = np.zeros((3, n_labels, 2), np.int64)
        else:
            self.cells = np.zeros((3, n_labels), np.uint8)
        none: Carries = np.empty(0, np.int64), np.empty(0, np.int64)
        # overflows, and those that are not joined yet: indices, once for each time
        self._over: tuple[Carries, list[Ints]] = none, []

    def share(self) -> None:
        """Create the locks that let several workers share the table."""
        self._locks = [Lock() for _ in (*self._parts(shared=True), "carries and rows")]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the locks, which cannot be copied."""
        return {**self.__dict__, "_locks": []}

    @property
    def totals(self) -> Ints:
        """All totals of counts, int64 (3, n_labels)."""
        (places, times), new = self._over
        totals = self.cells.astype(np.int64)
        flat = totals.reshape(-1)
        flat[places] += times << BYTE
        for places in new:
            np.add.at(flat, places, 1 << BYTE)
        return totals

    def n_pred(self, start: int, stop: int) -> Floats:
        """Return the predicted slots of the labels start..stop-1, or the sums of their weights."""
        places, times = self.join()
        cells, first = self.cells[1, start:stop], self.n_labels + start
        span = slice(*np.searchsorted(places, [first, first + stop - start]).tolist())
        labels, times = places[span] - first, times[span]
        if not self.weighted:
            counts = cells.astype(np.int64)
            counts[labels] += times << BYTE
            return counts.astype(np.float64)
        sums = np.zeros((stop - start, LIMBS), np.int64)
        high, low = cells.T
        sums[:, 0], sums[:, 1], sums[:, 2] = high >> BITS, high & MASK, low
        sums[labels, 0] += times * (FULL >> BITS)
        return as_floats(sums)

    def join(self) -> Carries:
        """Join the overflow counts, once for all threads, and return them."""
        joined, new = self._over
        if new:
            joined = _added(joined, np.unique(np.concatenate(new), return_counts=True))
            self._over = joined, []  # at once, for signal handlers
        return joined

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        kinds, weight = self._entries(view)
        parts = self._parts(shared=bool(self._locks))
        carried = np.empty(max(labels.size for labels, _ in kinds), np.int64)

        def count(number: int) -> None:
            kind, ends = parts[number]
            (labels, within), first = kinds[kind], kind * self.n_labels
            if weight is None:
                n = count_in_bytes(labels, first, self.cells.reshape(-1), carried)
            else:
                n = add_weights(labels, within, weight, first, ends, self.cells.reshape(-1, 2), carried)
            if n:
                with self._alone():
                    self._over[1].append(carried[:n].copy())

        when_free(count, range(len(parts)), self._locks)
        with self._alone():
            self._count_rows(view)

    def _entries(self, view: View) -> tuple[Sequence[tuple[Labels, Ints]], Floats | None]:
        """Return the hits, the predicted and the relevant labels with their number per row, and weights."""
        truth, predicted = view.block.truth, view.predicted(self.decision)
        is_whole = predicted.cut.sum() == predicted.labels.size
        chosen = predicted.labels if is_whole else predicted.as_sets().labels
        kinds = view.hits(self.decision), (chosen, predicted.cut), (truth.labels, view.n_relevant)
        return kinds, view.block.weight

    def _count_rows(self, view: View) -> None:
        """Add the weights of the rows of a block."""
        if view.block.weight is None:
            self.rows[0, 0] += view.n_rows
        else:
            sum_terms(view.block.weight, NO_WEIGHT, self.rows[0], self.rows[0])

    def _alone(self) -> contextlib.AbstractContextManager[Any]:
        """Lock the carries and the sum of row weights."""
        return self._locks[-1] if self._locks else contextlib.nullcontext()

    def _parts(self, shared: bool) -> list[tuple[int, tuple[int, int]]]:
        """Return the parts to count one by one: which of tp, n_pred and n_true, and a range of labels."""
        whole = 0, self.n_labels
        if not (shared and self.weighted):
            return [(kind, whole) for kind in range(3)]
        # summing weights of relevant labels takes most of the time: split it between two workers
        middle = self.n_labels // 2
        return [(0, whole), (1, whole), (2, (0, middle)), (2, (middle, self.n_labels))]

    def merge(self, added: LabelTable) -> None:
        """Merge a table of other rows, in place, since no other table shares the array."""
        self._locks = []
        over: list[Ints] = []
        if not self.rows.any():  # so that all counts are 0
            self.cells[...] = added.cells
        elif self.weighted:
            full = np.empty(3 * self.n_labels, np.int64)
            n = add_sums(self.cells.reshape(-1, 2), added.cells.reshape(-1, 2), full)
            over = [full[:n]]
        else:
            over = _add_bytes(self.cells.reshape(-1), added.cells.reshape(-1))
        self._over = _added(self.join(), added.join()), over
        self.rows = self.rows + added.rows
        carry(self.rows)

    def without(self, part: LabelTable) -> LabelTable:
        """Return the table of all rows but those of a part of them, which is unchanged."""
        left = LabelTable(self.decision, self.n_labels, self.weighted)
        if self.weighted:
            low = self.cells[..., 1] - part.cells[..., 1]
            high = self.cells[..., 0] - part.cells[..., 0] + (low >> BITS)
            left.cells[..., 0], left.cells[..., 1] = high & (FULL - 1), low & MASK
            borrowed = np.flatnonzero(high < 0)
        else:
            np.subtract(self.cells, part.cells, out=left.cells)  # modulo 256
            borrowed = np.flatnonzero(part.cells > self.cells)
        places, times = _added(part.join(), (borrowed, np.ones_like(borrowed)))
        places, times = _added(self.join(), (places, -times))
        left._over = (places[times > 0], times[times > 0]), []
        left.rows = self.rows - part.rows
        carry(left.rows)
        return left

    def counts(self, resources: Resources) -> Counts:
        """Return the contingency tables of all labels, float64 (n_labels,) each."""
        if self.weighted:
            cells = np.zeros((4, self.n_labels))
            cells[3] = as_floats(self.rows[0])
            carries = self.join()

            def place(start: int) -> None:
                labels, values = self._subtracted(start, carries)
                cells[:, labels] = values

            resources.map(place, range(0, self.n_labels, FEW_LABELS))
            return Counts(*cells)
        totals, cells = self.totals, np.empty((4, self.n_labels))
        for start in range(0, self.n_labels, PIECE):
            cells[:, start : start + PIECE] = self._as_counts(totals[:, start : start + PIECE])
        return Counts(*cells)

    def map_tables(self, function: Callable[[Counts, Ints | None], T], resources: Resources) -> list[T]:
        """Apply a function to all contingency tables and the numbers of labels sharing each (None: one each).

        Rare labels share few distinct tables.
        """
        if not self.weighted:
            return [function(*tables) for tables in self._counted(resources)]

        carries = self.join()

        def apply(start: int) -> tuple[list[T], int]:
            labels, cells = self._subtracted(start, carries)
            pieces = range(0, labels.size, PIECE)
            return [function(Counts(*cells[:, at : at + PIECE]), None) for at in pieces], labels.size

        results, n_labels = zip(*resources.map(apply, range(0, self.n_labels, FEW_LABELS)), strict=True)
        none = np.zeros(1)
        empty = Counts(none, none, none, as_floats(self.rows))
        return [*itertools.chain(*results), function(empty, np.array([self.n_labels - sum(n_labels)]))]

    def _counted(self, resources: Resources) -> Iterator[tuple[Counts, Ints | None]]:
        """Yield contingency tables of counts, and the numbers of labels sharing each (None: one each)."""
        if self.n_labels <= FEW_LABELS:
            yield from self._pieces(self.totals)
            return
        ranges = [
            (start, min(start + LABELS_AT_A_TIME, self.n_labels))
            for start in range(0, self.n_labels, LABELS_AT_A_TIME)
        ]
        frequent, totals = self._overflowed(self.join())
        yield from self._pieces(totals)
        skipped = np.zeros(self.n_labels, np.bool_)
        skipped[frequent] = True

        def tally(number: int) -> tuple[Ints, Ints]:
            start, stop = ranges[number]
            # private arrays: shared cache lines would make threads wait for one another
            tallies, large = np.zeros(N_TALLIES + 1, np.int64), np.empty(stop - start + 1, np.int64)
            n_large = tally_labels(self.cells, skipped, start, stop, tallies, large)
            return tallies[:N_TALLIES], large[:n_large]

        tallies, large = zip(*resources.map(tally, range(len(ranges))), strict=True)
        yield from self._pieces(self.cells[:, np.concatenate(large)])
        n_labels = np.sum(tallies, axis=0)
        occurring = np.flatnonzero(n_labels)
        yield self._as_counts(np.stack(np.unravel_index(occurring, (SMALL,) * 3))), n_labels[occurring]

    def _overflowed(self, carries: Carries) -> tuple[Ints, Ints]:
        """Return the labels with counts that overflowed, ascending, and their totals."""
        places, times = carries
        labels, which = np.unique(places % self.n_labels, return_inverse=True)
        totals = self.cells[:, labels].astype(np.int64)
        totals[places // self.n_labels, which] += times << BYTE
        return labels, totals

    def _pieces(self, totals: NDArray[Any]) -> Iterator[tuple[Counts, None]]:
        """Yield contingency tables in pieces that fit the cache."""
        for start in range(0, totals.shape[1], PIECE):
            yield self._as_counts(totals[:, start : start + PIECE]), None

    def _as_counts(self, totals: NDArray[Any]) -> Counts:
        """Return the contingency tables of counts."""
        tp, n_pred, n_true = totals.astype(np.float64)
        return Counts(tp, n_pred - tp, n_true - tp, self.rows[0, 0] - n_pred - n_true + tp)

    def _subtracted(self, start: int, carries: Carries) -> tuple[Ints, Floats]:
        """Return those of the next labels with a positive sum of weights, and their contingency tables."""
        stop = min(start + FEW_LABELS, self.n_labels)
        labels, cells = np.empty(stop - start, np.int64), np.empty((4, stop - start))
        n = subtract_sums(self.cells, *carries, start, stop, self.rows[0], labels, cells)
        return labels[:n], cells[:, :n]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save, a byte for each count that did not overflow."""
        places, times = self.join()
        return {"held": self.cells, "places": places, "times": times, "rows": self.rows}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.rows = contents.take_sums("rows", self.rows.shape[0])
        self.cells = contents.take("held", *self.cells.shape, dtype=self.cells.dtype, low=None)
        places = contents.take("places", None, high=max(0, 3 * self.n_labels - 1))
        times = contents.take("times", places.size)
        expect(bool((np.diff(places) > 0).all()), "places is not rising")
        self._over = (places, times), []


def _add_bytes(counts: Bytes, added: Bytes) -> list[Ints]:
    """Add counts in place, modulo 256; return the places that overflowed, ascending."""
    overflows = []
    for start in range(0, counts.size, AT_ONCE):
        mine, theirs = counts[start : start + AT_ONCE], added[start : start + AT_ONCE]
        np.add(mine, theirs, out=mine)
        overflows.append(start + np.flatnonzero(mine < theirs))
    return overflows


def _added(first: Carries, second: Carries) -> Carries:
    """Add overflow counts by index."""
    if not (first[0].size and second[0].size):
        return second if second[0].size else first
    places, which = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    # exact: sums of integers below 2^53
    return places, np.bincount(which, np.concatenate([first[1], second[1]])).astype(np.int64)
