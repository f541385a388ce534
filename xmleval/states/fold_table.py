"""FoldTable: totals of every label for each fold of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.exact import NO_WEIGHT, as_floats
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.folds import (
    FOLD_BITS,
    N_FOLDS,
    PART_BITS,
    count_parts,
    key_labels,
    leave_out,
    part_keys,
)
from xmleval.kernels.labels import count_in_bytes
from xmleval.records import Bytes, Counts, Floats, Ints, Labels, label_dtype
from xmleval.states.contents import Contents, at_least_zero, ceilings, expect
from xmleval.states.label_table import LabelTable
from xmleval.threads import Work
from xmleval.view.decision import Decision
from xmleval.view.view import View

FEW_BYTES = 1 << 18  # of keys that may always wait: small, as each cutoff and group has a table
TABLES_AT_A_TIME = 1 << 16
T = TypeVar("T")


class Changes(NamedTuple):
    """Contingency tables of a range of labels that change without a fold.

    before : those of all rows, of each label; after : those without a fold, of label ``which`` (t,) of the
    range and fold ``folds``, uint8 (t,); start : first label of the range
    """

    before: Counts
    after: Counts
    which: Ints
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

        return [keyed(*kind) for kind in kinds], weight

    def _count_rows(self, view: View) -> None:
        """Add the weights of the rows of a block."""
        weight = view.block.weight
        if weight is None:
            self.rows[:, 0] += np.bincount(view.folds, minlength=N_FOLDS)
            return
        rows, starts = view.fold_order
        for fold in np.flatnonzero(np.diff(starts)):
            own = weight[rows[starts[fold] : starts[fold + 1]]]
            sum_terms(own, NO_WEIGHT, self.rows[fold], self.rows[fold])

    def _wait(self, kinds: Sequence[Sequence[Labels]]) -> None:
        """Let keys wait, or count all that do, part by part."""
        self._waiting = [[*some, *more] for some, more in zip(self._waiting, kinds, strict=True)]
        n_waiting = sum(keys.size for kind in self._waiting for keys in kind)
        if n_waiting * self._dtype.itemsize <= self._most_waiting:
            return
        held = self._held.reshape(-1)
        for kind in range(3):
            keys, _ = self._parted(kind)
            carried = np.empty(keys.size, np.int64)
            n = count_in_bytes(keys, kind * self.n_labels, held, carried)
            self._carry(carried[:n].copy())
        self._waiting, self._filled = [[], [], []], True

    def _parted(self, kind: int) -> tuple[Labels, Ints]:
        """Return the keys that wait, by part of the labels, and where each part starts."""
        waiting = self._waiting[kind]
        sizes: Ints = np.zeros((self.n_labels - 1 >> PART_BITS) + 1, np.int64)
        for keys in waiting:
            count_parts(keys, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        parted, ends = np.empty(starts[-1], self._dtype), starts[:-1].copy()
        for keys in waiting:
            part_keys(keys, ends, parted)
        return parted, starts

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

    def map_changes(
        self, whole: LabelTable, every: bool, function: Callable[[Changes], T], work: Work
    ) -> list[T]:
        """Apply a function to the tables without a fold, a range of labels at a time.

        They are those of the labels that occur in the fold, or of ``every`` label, which may change with the
        number of rows alone.
        """
        self.join()
        whole.join()
        dense = every or self._filled
        (hits, _), (predicted, _), (relevant, _) = parted = work.map(self._parted, range(3))
        starts = np.stack([starts for _, starts in parted])
        n_keys = np.diff(starts[1]) + np.diff(starts[2])
        n_most = np.full(n_keys.size, 1 << PART_BITS) if dense else np.minimum(n_keys, 1 << PART_BITS)
        reached = np.cumsum(n_most) // TABLES_AT_A_TIME
        bounds = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), n_keys.size]

        def apply(number: int) -> T:
            first, stop = bounds[number], bounds[number + 1]
            start, end = (min(part << PART_BITS - FOLD_BITS, self.own_labels) for part in (first, stop))
            totals = whole.between(start, end)
            before = _tables(totals, whole.rows[0], self.weighted)
            if self.weighted:
                return function(self._weighted_changes(totals, before, whole.rows[0], start, end, every))
            n_own = int(n_keys[first:stop].sum())
            scan = dense or n_own > (stop - first) << PART_BITS
            n = end - start << FOLD_BITS if scan else n_own
            held = self.between(start << FOLD_BITS, end << FOLD_BITS if self._filled else start << FOLD_BITS)
            which, folds, cells = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty((4, n))
            n_rows = (whole.rows - self.rows)[:, 0]
            n = leave_out(
                hits, predicted, relevant, starts, held, (first, stop), every, scan, totals, n_rows, which,
                folds, cells,
            )  # fmt: skip
            return function(Changes(before, Counts(*cells[:, :n]), which[:n], folds[:n], start))

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
        for part in range(parted[0][1].size - 1):
            first, stop = part << PART_BITS, min(part + 1 << PART_BITS, self.n_labels)
            own = self.between(first, stop)
            for kind, (keys, starts) in enumerate(parted):
                if not self.weighted:
                    some = keys[starts[part] : starts[part + 1]] - first
                    own[kind] += np.bincount(some, minlength=stop - first)
            fits = all(at_least_zero(more - own[0], self.weighted) for more in own[1:])
            expect(fits, "held has more hits than labels")
            of_folds = own.reshape(3, -1, N_FOLDS, *own.shape[2:])
            few = self.weighted or (of_folds <= self.rows[:, 0]).all()
            expect(bool(few), "held has more rows with a label than a fold has rows")
            left = whole.between(first >> FOLD_BITS, stop >> FOLD_BITS)
            left -= of_folds.sum(axis=2)
            expect(_is_zero(left, self.weighted), "held does not add up")
        expect(_is_zero(rows, True), "rows does not add up")


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
