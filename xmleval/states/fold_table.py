"""FoldTable: totals of every label for each fold of the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.exact import NO_WEIGHT, as_floats
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.fold_tables import (
    LABEL_BITS,
    PART_BITS,
    Parted,
    count_parted,
    leave_out,
    part_piece,
    tally_without,
)
from xmleval.kernels.folds import FOLD_BITS, N_FOLDS, key_labels
from xmleval.kernels.labels import N_TALLIES, SMALL, count_in_bytes
from xmleval.pooled.piles import append_joined
from xmleval.records import Bytes, Counts, Floats, Ints, Labels, label_dtype
from xmleval.states.contents import Contents, at_least_zero, ceilings, expect
from xmleval.states.label_table import FEW_LABELS, LabelTable
from xmleval.threads import Work, map_in_turns
from xmleval.view.decision import Decision
from xmleval.view.view import View

FEW_BYTES = 1 << 18  # of keys that may always wait: small, as each cutoff and group has a table
CACHED = 1 << 21  # bytes of a table that stays in the cache in any order of keys
PIECE = 1 << 20  # keys that are parted in the cache
TABLES_AT_A_TIME = 1 << 16  # of labels and folds: at least those of a part
PARTS_AT_A_TIME = 1 << 9
KEYS = "keys"  # what is known of a truth
T = TypeVar("T")


class Changes(NamedTuple):
    """Contingency tables of a range of labels that change without a fold.

    before : those of all rows, of each label; after : those without a fold, of label ``which``, int32 (t,),
    of the range and fold ``folds``, uint8 (t,); start : first label of the range
    """

    before: Counts
    after: Counts
    which: Labels
    folds: Bytes
    start: int


class FoldTable(LabelTable):
    """A `LabelTable` of every label in each fold, at label * `N_FOLDS` + fold, which is its key.

    Counts wait as keys, since nearly each would miss the cache in a table of this size. Once they would take
    half its memory, they are counted in the order of the table; most data sets never need it.

    Parameters
    ----------
    decision, weighted : Decision, bool
        See `LabelTable`.
    n_labels : int
        Number of labels.
    """

    def __init__(self, decision: Decision, n_labels: int, weighted: bool) -> None:
        super().__init__(decision, N_FOLDS * n_labels, weighted)
        self.own_labels = n_labels
        self.rows = np.zeros((N_FOLDS, LIMBS), np.int64)  # sums of row weights
        self._dtype = label_dtype(self.n_labels)
        self._filled = weighted  # whether anything is counted in the table
        self._waiting: list[list[Labels]] = [[], [], []]

    @property
    def n_bytes(self) -> int:
        """Most bytes of the table, and of the keys that wait and their copy."""
        n_bytes: int = self._held.nbytes
        return n_bytes if self.weighted else n_bytes + 2 * self._most_waiting

    @property
    def _most_waiting(self) -> int:
        """Most bytes of the keys that wait."""
        return max(FEW_BYTES, self._held.nbytes // 2)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        if self.weighted:
            super().update(view)
            return
        kinds, _ = self._entries(view)
        with self._alone():
            self._count_rows(view)
            self._wait([[keys] for keys, _ in kinds])

    def _entries(self, view: View) -> tuple[Sequence[tuple[Labels, Ints]], Floats | None]:
        """Return the keys of the hits, the predicted and the relevant labels, their numbers, and weights."""
        kinds, weight = super()._entries(view)

        def keyed(labels: Labels, n_within: Ints) -> tuple[Labels, Ints]:
            keys = np.empty(labels.size, self._dtype)
            key_labels(labels, n_within, view.folds, keys)
            return keys, n_within

        hits, predicted, relevant = kinds
        if KEYS not in view.known:  # else found for another decision or model
            view.known[KEYS] = keyed(*relevant)
        return [keyed(*hits), keyed(*predicted), view.known[KEYS]], weight

    def _count_rows(self, view: View) -> None:
        """Add the weights of the rows of a block."""
        weight = view.block.weight
        if weight is None:
            self.rows[:, 0] += view.n_weighing
            return
        rows, starts = view.fold_order
        for fold in np.flatnonzero(np.diff(starts)):
            own = weight[rows[starts[fold] : starts[fold + 1]]]
            sum_terms(own, NO_WEIGHT, self.rows[fold], self.rows[fold])

    def _wait(self, kinds: Sequence[Sequence[Labels]]) -> None:
        """Let keys wait, or count all that do, part by part."""
        waiting = [[*some] for some in self._waiting]
        for some, more in zip(waiting, kinds, strict=True):
            for keys in more:
                append_joined(some, keys)
        self._waiting = waiting
        n_waiting = sum(keys.size for kind in self._waiting for keys in kind)
        if n_waiting * self._dtype.itemsize <= self._most_waiting:
            return
        held = self._held.reshape(-1)
        for kind, own in enumerate(self._waiting):
            first, carried = kind * self.n_labels, np.empty(sum(keys.size for keys in own), np.int64)
            if held.nbytes > CACHED:
                n = count_parted(self._parted(kind), first, held, carried)
            else:
                n = 0
                for keys in own:
                    n += count_in_bytes(keys, first, held, carried[n:])
            self._carry(carried[:n].copy())
        self._waiting, self._filled = [[], [], []], True

    def _parted(self, kind: int, threads: int = 1) -> Parted:
        """Return the keys that wait, piece by piece and each part by part."""
        n_parts = (self.n_labels - 1 >> PART_BITS) + 1
        pieces = [*_pieces(self._waiting[kind], max(PIECE, 16 * n_parts))]  # so that starts take less
        starts = np.empty((len(pieces), n_parts + 1), np.int64)
        ends = [0, *itertools.accumulate(keys.size for keys in pieces)]
        parted = np.empty(ends[-1], np.uint16)

        def part(number: int) -> None:
            part_piece(pieces[number], ends[number], starts[number], parted)

        map_in_turns(part, range(len(pieces)), threads)
        return Parted(parted, starts)

    def merge(self, other: LabelTable) -> None:
        """Merge a table of other rows."""
        assert isinstance(other, FoldTable)
        if other._filled:
            super().merge(other)
            self._filled = True
        else:
            self._locks = []
            self.rows = self.rows + other.rows
        self._wait(other._waiting)

    def map_without(
        self, whole: LabelTable, function: Callable[[Counts, Ints | None], T], work: Work
    ) -> list[T]:
        """Apply a function to the contingency tables, not of weights, of all labels without each fold.

        The tables are float64 (t, folds). The last ones are those of rare labels, which share them: with them
        comes how many labels share each, int64 (t, folds), and their tp, fp and fn are (t, 1), the same
        without each fold.
        """
        keys = self._all_parted(whole, work)
        sizes = sum(np.diff(own.starts).sum(axis=0) for own in keys) + (1 << LABEL_BITS)  # work of each part
        shares = np.linspace(0, sizes.sum(), min(sizes.size, work.threads) + 1)
        bounds = [0, *np.searchsorted(np.cumsum(sizes), shares[1:-1]).tolist(), sizes.size]
        many = self.own_labels > FEW_LABELS
        n_rows = (whole.rows - self.rows)[:, 0]

        def apply(number: int) -> tuple[list[T], Ints, Labels]:
            rare = np.zeros(N_TALLIES + 1 if many else 1, np.int64)
            changes = np.zeros((N_FOLDS, rare.size), np.int32)
            tables = self._tables_without(whole, keys, bounds[number : number + 2], n_rows, rare, changes)
            return [function(own, None) for own in tables], rare, changes

        found, rare, changes = zip(*work.map(apply, range(len(bounds) - 1)), strict=True)
        applied = [*itertools.chain(*found)]
        if many:
            applied.append(function(*_tallied(sum(rare), sum(changes), n_rows)))
        return applied

    def _tables_without(
        self,
        whole: LabelTable,
        keys: tuple[Parted, Parted, Parted],
        ends: Sequence[int],
        n_rows: Ints,
        rare: Ints,
        changes: Labels,
    ) -> Iterator[Counts]:
        """Yield the tables of frequent labels of some parts; those of others are tallied."""
        tables = np.empty((4, TABLES_AT_A_TIME >> FOLD_BITS, N_FOLDS))
        least, n = SMALL if rare.size > 1 else 0, 0
        for first in range(ends[0], ends[1], PARTS_AT_A_TIME):
            part, stop = first, min(first + PARTS_AT_A_TIME, ends[1])
            totals, held = self._between_parts(whole, first, stop)
            while part < stop:
                part, n = tally_without(
                    *keys, held, (first, part, stop), least, totals, n_rows, n, rare, changes, tables
                )  # fmt: skip
                if part < stop:
                    yield Counts(*tables[:, :n])
                    n = 0
        yield Counts(*tables[:, :n])

    def _all_parted(self, whole: LabelTable, work: Work) -> tuple[Parted, Parted, Parted]:
        """Return the keys of hits, predicted and relevant labels that wait."""
        self.join()
        whole.join()
        hits, predicted, relevant = (self._parted(kind, work.threads) for kind in range(3))
        return hits, predicted, relevant

    def _between_parts(self, whole: LabelTable, first: int, stop: int) -> tuple[Ints, Ints]:
        """Return tp, n_pred and n_true of the labels of some parts, and what the table has for their keys."""
        start, end = (min(part << LABEL_BITS, self.own_labels) for part in (first, stop))
        last = end << FOLD_BITS if self._filled else start << FOLD_BITS
        return whole.between(start, end), self.between(start << FOLD_BITS, last)

    def map_changes(
        self, whole: LabelTable, every: bool, function: Callable[[Changes], T], work: Work
    ) -> list[T]:
        """Apply a function to the tables without a fold, a range of labels at a time.

        They are those of the labels that occur in the fold, or of ``every`` label of weights, whose table may
        change with the number of rows alone.
        """
        keys = self._all_parted(whole, work)
        n_rows = (whole.rows - self.rows)[:, 0]
        n_most = sum(np.diff(own.starts).sum(axis=0) for own in keys[1:])  # changes of each part
        n_most = np.full(n_most.size, 1 << PART_BITS) if self._filled else np.minimum(n_most, 1 << PART_BITS)
        reached = np.cumsum(n_most) // TABLES_AT_A_TIME
        bounds = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), n_most.size]

        def apply(number: int) -> T:
            first, stop = bounds[number], bounds[number + 1]
            totals, held = self._between_parts(whole, first, stop)
            start, end = first << LABEL_BITS, (first << LABEL_BITS) + totals.shape[1]
            before = _tables(totals, whole.rows[0], self.weighted)
            if self.weighted:
                return function(self._weighted_changes(totals, before, whole.rows[0], start, end, every))
            n = int(n_most[first:stop].sum())
            which, folds, after = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty((3, n), np.int64)
            n = leave_out(*keys, held, (first, stop), totals, which, folds, after)
            tables = _tables(after[:, :n], n_rows[folds[:n], None], False)
            return function(Changes(before, tables, which[:n], folds[:n], start))

        return work.map(apply, range(len(bounds) - 1))

    def _weighted_changes(
        self, totals: Ints, before: Counts, rows: Ints, start: int, stop: int, every: bool
    ) -> Changes:
        own = self.between(start << FOLD_BITS, stop << FOLD_BITS)
        occurs = (own[1] | own[2]).any(axis=-1)
        keys = np.arange(occurs.size) if every else np.flatnonzero(occurs)
        which, folds = keys >> FOLD_BITS, keys & (N_FOLDS - 1)
        after = _tables(totals[:, which] - own[:, keys], (rows - self.rows)[folds], True)
        return Changes(before, after, which, folds.astype(np.uint8), start)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        out = super().arrays()
        if not self._filled:
            del out["held"]  # 32 times the table of all rows, of zeros
        for kind, waiting in enumerate(self._waiting):
            out[f"waiting{kind}"] = np.concatenate([np.empty(0, self._dtype), *waiting])
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        super().from_contents(contents)
        of_folds = ceilings(self.rows) if self.weighted else self.rows[:, 0]
        contents.expect_folds("rows", of_folds, self.weighted)
        places, _ = self._joined
        last = max(0, self.n_labels - 1)
        for kind in range(3):
            keys = contents.take(f"waiting{kind}", None, dtype=self._dtype, most=last)
            self._waiting[kind] = [keys] if keys.size else []
        expect(not (self.weighted and any(self._waiting)), "waiting has labels without weights")
        self._filled = self.weighted or bool(self._held.any() or places.size)

    def _take_held(self, contents: Contents, most: Any) -> NDArray[Any]:
        return super()._take_held(contents, most) if self.weighted or contents.has("held") else self._held

    def expect_sum(self, whole: LabelTable) -> None:
        """Raise ValueError unless the folds add up to the table of all rows."""
        rows = whole.rows[0] - self.rows.sum(axis=0)
        whole.join()
        self.join()
        parted = [self._parted(kind) for kind in range(3)]
        for part in range((self.n_labels - 1 >> PART_BITS) + 1):
            first, stop = part << PART_BITS, min(part + 1 << PART_BITS, self.n_labels)
            own = self.between(first, stop)
            for kind, (keys, starts) in enumerate(parted):
                for piece in starts[:, part : part + 2].tolist():
                    own[kind] += np.bincount(keys[slice(*piece)], minlength=stop - first)
            fits = all(at_least_zero(more - own[0], self.weighted) for more in own[1:])
            expect(fits, "held has more hits than labels")
            of_folds = own.reshape(3, -1, N_FOLDS, *own.shape[2:])
            few = self.weighted or (of_folds <= self.rows[:, 0]).all()
            expect(bool(few), "held has more rows with a label than a fold has rows")
            left = whole.between(first >> FOLD_BITS, stop >> FOLD_BITS)
            left -= of_folds.sum(axis=2)
            expect(_is_zero(left, self.weighted), "held does not add up")
        expect(_is_zero(rows, True), "rows does not add up")


def _pieces(arrays: Sequence[Labels], size: int) -> Iterator[Labels]:
    """Yield the same keys in pieces of half to the whole of a size, but the last."""
    waiting: list[Labels] = []
    n_waiting = 0
    for array in arrays:
        waiting.append(array)
        n_waiting += array.size
        if n_waiting < size // 2:
            continue
        joined = np.concatenate(waiting) if len(waiting) > 1 else array
        waiting, n_waiting = [], 0
        yield from (joined[start : start + size] for start in range(0, joined.size, size))
    if waiting:
        yield np.concatenate(waiting)


def _tallied(rare: Ints, changes: Labels, n_rows: Ints) -> tuple[Counts, Ints]:
    """Return the distinct tables of rare labels without each fold, and how many labels share them."""
    rare, changes = rare[:-1], changes[:, :-1]  # without other labels
    occurring = np.flatnonzero((rare != 0) | changes.any(axis=0))
    tp, n_pred, n_true = (own[:, None] for own in np.unravel_index(occurring, (SMALL,) * 3))
    times = np.ascontiguousarray((rare[occurring] + changes[:, occurring]).T)
    rows = np.maximum(n_rows, n_pred + n_true - tp)  # a table of more rows occurs 0 times without that fold
    return _tables(np.stack([tp, n_pred, n_true]), rows[..., None], False), times


def _is_zero(left: Ints, weighted: bool) -> bool:
    """Return whether nothing is left of counts, or of fixed-point sums."""
    if weighted:
        carry(left.reshape(-1, LIMBS))
    return not left.any()


def _tables(totals: Ints, rows: Ints, weighted: bool) -> Counts:
    """Return contingency tables of totals tp, n_pred and n_true; fixed-point sums are rounded at the end."""
    tp, n_pred, n_true = totals
    n_rows = rows if weighted else rows[..., 0]
    parts = tp, n_pred - tp, n_true - tp, n_rows - n_pred - n_true + tp
    if not weighted:
        return Counts(*(part.astype(np.float64) for part in parts))
    found = []
    for part in parts:
        limbs = np.ascontiguousarray(part)
        carry(limbs.reshape(-1, LIMBS))
        found.append(as_floats(limbs))
    return Counts(*found)
