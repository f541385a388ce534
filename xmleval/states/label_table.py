"""LabelTable: tp, n_pred and n_true of every label under one decision rule."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bytes, Floats, Ints, Labels, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.threads import run_locked
from xmleval.input.cell_marks import JUDGED
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
from xmleval.states.relabelling import Relabelling
from xmleval.view.decision import Decision
from xmleval.view.facts import Counts
from xmleval.view.view import View

LABELS_AT_A_TIME = 1 << 18
PIECE = 1 << 14
AT_ONCE = 1 << 19  # counts merged at a time, so that overflows are found in the caches
FEW_LABELS = 1 << 16  # number of labels up to which threads and tallies are not faster
BYTE = 8  # bits of a count
T = TypeVar("T")
# indices of the counters that overflowed, ascending, and overflow counts
Carries = tuple[Ints, Ints]


class LabelTable:
    """Totals of every label under one decision rule: tp, n_pred and n_true, in this order.

    Where inputs give the labels of rows that are judged, or not, the number of these rows is the
    fourth. The table holds counts, uint8 (kinds, n_labels), or sums of weights, int64 (kinds,
    n_labels, 2), in units of 2^-52 and 2^-104. Overflow counts are stored separately, since few
    labels overflow, in units of 256 or of 2^10 times the largest weight.

    Workers of one update share the table: a copy for each would take too much memory and time to
    merge for millions of labels. Totals are exact nevertheless: integer sums do not depend on the
    order, and each part of the table has a lock.

    cells_are : what the given labels of rows are, as in `Plan.cells_are`
    rows : int64 (1, limbs), sum of row weights
    cells : the table
    """

    def __init__(
        self, decision: Decision, n_labels: int, weighted: bool, cells_are: str = ""
    ) -> None:
        self.decision = decision
        self.n_labels = n_labels
        self.weighted = weighted
        self.cells_are = cells_are
        self.n_kinds = 4 if cells_are else 3
        self.rows: Ints = np.zeros((1, LIMBS), np.int64)
        self._locks: list[Lock] = []  # one for each part of a shared table, and one for the rest
        self.cells: NDArray[Any]
        if weighted:
            self.cells = np.zeros((self.n_kinds, n_labels, 2), np.int64)
        else:
            self.cells = np.zeros((self.n_kinds, n_labels), np.uint8)
        no_carries: Carries = np.empty(0, np.int64), np.empty(0, np.int64)
        # carries, and indices of overflows that are not joined with them yet, one for each overflow
        self._overflows: tuple[Carries, list[Ints]] = no_carries, []

    def share(self) -> None:
        """Create the locks that let several workers share the table."""
        n_parts = len(self._parts(shared=True))
        self._locks = [Lock() for _ in range(n_parts + 1)]  # the last for carries and rows

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the locks, which cannot be copied."""
        return {**self.__dict__, "_locks": []}

    @property
    def totals(self) -> Ints:
        """Totals of counts, int64 (kinds, n_labels)."""
        (places, times), new = self._overflows
        totals = self.cells.astype(np.int64)
        flat = totals.reshape(-1)
        flat[places] += times << BYTE
        for places in new:
            np.add.at(flat, places, 1 << BYTE)
        return totals

    def n_pred(self, start: int, stop: int) -> Floats:
        """Return the predicted slots of the labels start..stop-1, or the sums of their weights."""
        places, times = self.join()
        cells = self.cells[1, start:stop]
        first = self.n_labels + start
        carried = slice(*np.searchsorted(places, [first, first + stop - start]).tolist())
        labels = places[carried] - first
        times = times[carried]
        if not self.weighted:
            counts = cells.astype(np.int64)
            counts[labels] += times << BYTE
            return counts.astype(np.float64)
        sums = np.zeros((stop - start, LIMBS), np.int64)
        high, low = cells.T
        sums[:, 0] = high >> BITS
        sums[:, 1] = high & MASK
        sums[:, 2] = low
        sums[labels, 0] += times * (FULL >> BITS)
        return as_floats(sums)

    def join(self) -> Carries:
        """Join new overflows with the carries, once for all threads, and return the carries."""
        carries, new = self._overflows
        if new:
            carries = _added(carries, np.unique(np.concatenate(new), return_counts=True))
            self._overflows = carries, []  # in one step, for signal handlers
        return carries

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        kinds = self._entries(view)
        weight = view.block.weight
        parts = self._parts(shared=bool(self._locks))
        carried = np.empty(max(labels.size for labels, _ in kinds), np.int64)

        def count(number: int) -> None:
            kind, ends = parts[number]
            labels, sizes = kinds[kind]
            first = kind * self.n_labels
            if weight is None:
                n = count_in_bytes(labels, first, self.cells.reshape(-1), carried)
            else:
                cells = self.cells.reshape(-1, 2)
                n = add_weights(labels, sizes, weight, first, ends, cells, carried)
            if n:
                with self._rest_lock():
                    self._overflows[1].append(carried[:n].copy())

        run_locked(count, range(len(parts)), self._locks)
        with self._rest_lock():
            self._count_rows(view)

    def _entries(self, view: View) -> Sequence[tuple[Labels, Ints]]:
        """Return the hits, the predicted, the relevant and any given labels, with their numbers.

        The numbers are those of each row.
        """
        truth = view.block.truth
        predicted = view.predicted(self.decision)
        labels = predicted.labels
        if predicted.cut.sum() != labels.size:
            labels = predicted.as_sets().labels
        hits = view.hits(self.decision)
        kinds = [hits, (labels, predicted.cut), (truth.labels, view.n_relevant)]
        cells = view.block.cells
        if cells is not None:
            kinds.append((cells.sets.labels, row_sizes(cells.sets.ptr)))
        return kinds

    def _count_rows(self, view: View) -> None:
        """Add the weights of the rows of a block."""
        if view.block.weight is None:
            self.rows[0, 0] += view.n_rows
        else:
            sum_terms(view.block.weight, NO_WEIGHT, self.rows[0], self.rows[0])

    def _rest_lock(self) -> contextlib.AbstractContextManager[Any]:
        """Return the lock of the carries and the sum of row weights."""
        if not self._locks:
            return contextlib.nullcontext()
        return self._locks[-1]

    def _parts(self, shared: bool) -> list[tuple[int, tuple[int, int]]]:
        """Return the parts of the table that are counted one by one.

        Each is a kind (0 for tp, 1 for n_pred, 2 for n_true, 3 for given cells) and a range of
        labels.
        """
        whole = 0, self.n_labels
        if not (shared and self.weighted):
            return [(kind, whole) for kind in range(self.n_kinds)]
        # summing weights of relevant labels takes most of the time: split it between two workers
        middle = self.n_labels // 2
        halves = [(2, (0, middle)), (2, (middle, self.n_labels))]
        return [(kind, whole) for kind in range(self.n_kinds) if kind != 2] + halves

    def merge(self, added: LabelTable) -> None:
        """Merge a table of other rows, in place, since no other table shares the array."""
        self._locks = []
        overflows: list[Ints] = []
        if not self.rows.any():  # all counts are 0
            self.cells[...] = added.cells
        elif self.weighted:
            places = np.empty(self.n_kinds * self.n_labels, np.int64)
            n = add_sums(self.cells.reshape(-1, 2), added.cells.reshape(-1, 2), places)
            overflows = [places[:n]]
        else:
            overflows = _add_bytes(self.cells.reshape(-1), added.cells.reshape(-1))
        self._overflows = _added(self.join(), added.join()), overflows
        self.rows = self.rows + added.rows
        carry(self.rows)

    def without(self, part: LabelTable) -> LabelTable:
        """Return the table of all rows but those of a part of them, which is unchanged."""
        difference = LabelTable(self.decision, self.n_labels, self.weighted, self.cells_are)
        if self.weighted:
            low = self.cells[..., 1] - part.cells[..., 1]
            high = self.cells[..., 0] - part.cells[..., 0] + (low >> BITS)
            difference.cells[..., 0] = high & (FULL - 1)
            difference.cells[..., 1] = low & MASK
            borrowed = np.flatnonzero(high < 0)
        else:
            np.subtract(self.cells, part.cells, out=difference.cells)  # modulo 256
            borrowed = np.flatnonzero(part.cells > self.cells)
        places, times = _added(part.join(), (borrowed, np.ones_like(borrowed)))
        places, times = _added(self.join(), (places, -times))
        is_left = times > 0
        difference._overflows = (places[is_left], times[is_left]), []
        difference.rows = self.rows - part.rows
        carry(difference.rows)
        return difference

    def counts(self, resources: Resources) -> Counts:
        """Return the contingency tables of all labels, float64 (n_labels,) each."""
        if self.weighted:
            return self._weighted_counts(resources)
        totals = self.totals
        cells = np.empty((4, self.n_labels))
        for start in range(0, self.n_labels, PIECE):
            piece = slice(start, start + PIECE)
            cells[:, piece] = self._as_counts(totals[:, piece])
        return Counts(*cells)

    def _weighted_counts(self, resources: Resources) -> Counts:
        """Return the contingency tables of all labels from sums of weights."""
        cells = np.zeros((4, self.n_labels))
        if self.cells_are != JUDGED:
            cells[3] = as_floats(self.rows[0])  # of labels whose sums are all 0
        carries = self.join()

        def fill(start: int) -> None:
            labels, values = self._subtract(start, carries)
            cells[:, labels] = values

        resources.map(fill, range(0, self.n_labels, FEW_LABELS))
        return Counts(*cells)

    def map_tables(
        self, function: Callable[[Counts, Ints | None], T], resources: Resources
    ) -> list[T]:
        """Return the results of a function for all contingency tables, a piece at a time.

        Rare labels share few distinct tables: the second argument of the function is the number of
        labels that share each table, None if each has one label.
        """
        if self.weighted:
            return self._map_weighted(function, resources)
        return [function(*tables) for tables in self._distinct_tables(resources)]

    def _map_weighted(
        self, function: Callable[[Counts, Ints | None], T], resources: Resources
    ) -> list[T]:
        """Return the results of a function for all tables of sums of weights; see `map_tables`."""
        carries = self.join()

        def apply(start: int) -> tuple[list[T], int]:
            labels, cells = self._subtract(start, carries)
            results = list[T]()
            for i in range(0, labels.size, PIECE):
                results.append(function(Counts(*cells[:, i : i + PIECE]), None))
            return results, labels.size

        results = list[T]()
        n_empty = self.n_labels
        for part, n_labels in resources.map(apply, range(0, self.n_labels, FEW_LABELS)):
            results += part
            n_empty -= n_labels
        zero = np.zeros(1)
        empty = Counts(zero, zero, zero, zero if self.cells_are == JUDGED else as_floats(self.rows))
        results.append(function(empty, np.array([n_empty])))
        return results

    def _distinct_tables(self, resources: Resources) -> Iterator[tuple[Counts, Ints | None]]:
        """Yield contingency tables of counts, and the number of labels that share each or None."""
        if self.n_labels <= FEW_LABELS or self.cells_are:
            yield from self._pieces(self.totals)
            return
        frequent, totals = self._overflowed(self.join())
        yield from self._pieces(totals)
        skipped = np.zeros(self.n_labels, np.bool_)
        skipped[frequent] = True

        def tally(start: int) -> tuple[Ints, Ints]:
            stop = min(start + LABELS_AT_A_TIME, self.n_labels)
            # private arrays: shared cache lines would make threads wait for one another
            tallies = np.zeros(N_TALLIES + 1, np.int64)
            large = np.empty(stop - start + 1, np.int64)
            n_large = tally_labels(self.cells, skipped, start, stop, tallies, large)
            return tallies[:N_TALLIES], large[:n_large]

        starts = range(0, self.n_labels, LABELS_AT_A_TIME)
        tallies, large = zip(*resources.map(tally, starts), strict=True)
        yield from self._pieces(self.cells[:, np.concatenate(large)])
        n_labels = np.sum(tallies, axis=0)
        occurring = np.flatnonzero(n_labels)
        totals = np.stack(np.unravel_index(occurring, (SMALL,) * 3))
        yield self._as_counts(totals), n_labels[occurring]

    def _overflowed(self, carries: Carries) -> tuple[Ints, Ints]:
        """Return the labels with counts that overflowed, ascending, and their totals."""
        places, times = carries
        labels, columns = np.unique(places % self.n_labels, return_inverse=True)
        totals = self.cells[:, labels].astype(np.int64)
        totals[places // self.n_labels, columns] += times << BYTE
        return labels, totals

    def _pieces(self, totals: NDArray[Any]) -> Iterator[tuple[Counts, None]]:
        """Yield contingency tables in pieces that fit the cache."""
        for start in range(0, totals.shape[1], PIECE):
            yield self._as_counts(totals[:, start : start + PIECE]), None

    def _as_counts(self, totals: NDArray[Any]) -> Counts:
        """Return the contingency tables of counts."""
        tp, n_pred, n_true, *n_cells = totals.astype(np.float64)
        n_rows = self.rows[0, 0] - sum(n_cells)
        if self.cells_are == JUDGED:
            (n_rows,) = n_cells
        return Counts(tp, n_pred - tp, n_true - tp, n_rows - n_pred - n_true + tp)

    def _subtract(self, start: int, carries: Carries) -> tuple[Ints, Floats]:
        """Return the labels with a positive sum of weights and their contingency tables.

        They are those of the `FEW_LABELS` labels from ``start`` onward.
        """
        stop = min(start + FEW_LABELS, self.n_labels)
        labels = np.empty(stop - start, np.int64)
        cells = np.empty((4, stop - start))
        are_judged = self.cells_are == JUDGED
        n = subtract_sums(
            self.cells, *carries, start, stop, self.rows[0], are_judged, labels, cells
        )
        return labels[:n], cells[:, :n]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save, a byte for each count that did not overflow."""
        places, times = self.join()
        return {"held": self.cells, "places": places, "times": times, "rows": self.rows}

    def relabelled_arrays(self, labels: Relabelling) -> dict[str, Any]:
        """Return the arrays to save, with new numbers of labels."""
        places, times = self.join()
        kinds, old = np.divmod(places, self.n_labels)
        places = kinds * labels.n_labels + labels.numbers[old]
        order = np.argsort(places)
        cells = labels.spread(self.cells, 1)
        return {"held": cells, "places": places[order], "times": times[order], "rows": self.rows}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.rows = contents.take_sums("rows", self.rows.shape[0])
        self.cells = contents.take("held", *self.cells.shape, dtype=self.cells.dtype, low=None)
        places = contents.take("places", None, high=max(0, self.n_kinds * self.n_labels - 1))
        times = contents.take("times", places.size)
        expect(bool((np.diff(places) > 0).all()), "places is not rising")
        self._overflows = (places, times), []


def _add_bytes(counts: Bytes, added: Bytes) -> list[Ints]:
    """Add counts in place, modulo 256; return the places that overflowed, ascending."""
    overflows = []
    for start in range(0, counts.size, AT_ONCE):
        sums = counts[start : start + AT_ONCE]
        terms = added[start : start + AT_ONCE]
        np.add(sums, terms, out=sums)
        overflows.append(start + np.flatnonzero(sums < terms))
    return overflows


def _added(first: Carries, second: Carries) -> Carries:
    """Add overflow counts by index."""
    if not second[0].size:
        return first
    if not first[0].size:
        return second
    all_places = np.concatenate([first[0], second[0]])
    all_times = np.concatenate([first[1], second[1]])
    places, inverse = np.unique(all_places, return_inverse=True)
    times = np.bincount(inverse, all_times)  # exact: sums of integers below 2^53
    return places, times.astype(np.int64)
