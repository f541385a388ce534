"""FoldTable: totals of every label for each fold of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from xmleval.exact import NO_WEIGHT, as_floats
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.folds import N_FOLDS, shift_labels
from xmleval.records import Counts, Floats, Ints, Labels
from xmleval.states.contents import at_least_zero, expect
from xmleval.states.label_table import LabelTable
from xmleval.view.decision import Decision
from xmleval.view.view import View

AT_A_TIME = 1 << 16  # labels whose tables change with the number of rows alone


class FoldTable(LabelTable):
    """A `LabelTable` whose labels are those of each fold, one fold after another.

    Parameters
    ----------
    decision, weighted : Decision, bool
        See `LabelTable`.
    n_labels : int
        Number of labels of each fold.
    """

    def __init__(self, decision: Decision, n_labels: int, weighted: bool) -> None:
        super().__init__(decision, N_FOLDS * n_labels, weighted)
        self.own_labels = n_labels
        self.rows = np.zeros((N_FOLDS, LIMBS), np.int64)  # sums of row weights

    def _entries(self, view: View) -> tuple[Sequence[tuple[Labels, Ints]], Floats | None]:
        """Return labels shifted by fold, rows of a fold side by side, so that caches hold its table."""
        truth, predicted, weight = view.block.truth, view.predicted(self.decision), view.block.weight
        hits, n_hits = view.hits(self.decision)
        hit_ptr = np.concatenate([[0], np.cumsum(n_hits)])
        rows, _ = view.fold_order

        def shifted(ptr: Ints, sizes: Ints, labels: Labels) -> tuple[Labels, Ints]:
            found = np.empty(int(sizes.sum()), np.int64)
            shift_labels(rows, view.folds, ptr, sizes, labels, self.own_labels, found)
            return found, sizes if weight is None else sizes[rows]

        kinds = (
            shifted(hit_ptr, n_hits, hits),
            shifted(predicted.ptr, predicted.cut, predicted.labels),
            shifted(truth.ptr, view.n_relevant, truth.labels),
        )
        return kinds, None if weight is None else weight[rows]

    def _count_rows(self, view: View) -> None:
        """Add the weights of the rows of a block."""
        rows, starts = view.fold_order
        n_rows, weight = np.diff(starts), view.block.weight
        if weight is None:
            self.rows[:, 0] += n_rows
            return
        for fold in np.flatnonzero(n_rows):
            own = weight[rows[starts[fold] : starts[fold + 1]]]
            sum_terms(own, NO_WEIGHT, self.rows[fold], self.rows[fold])

    def changed(self, whole: LabelTable, fold: int, every: bool) -> Iterator[tuple[bool, Counts, Counts]]:
        """Yield contingency tables of all rows and of those in other folds, for labels that occur in a fold.

        With ``every``, those of all labels follow, which may change with the number of rows alone. The first
        item tells which these are.
        """
        labels, own = self.occurring(fold)
        yield False, *self._both(whole, fold, whole.at(labels), own)
        for start in range(0, self.own_labels if every else 0, AT_A_TIME):
            some = np.arange(start, min(start + AT_A_TIME, self.own_labels))
            within = slice(*np.searchsorted(labels, [start, start + AT_A_TIME]).tolist())
            padded = np.zeros((3, some.size, *own.shape[2:]), np.int64)
            padded[:, labels[within] - start] = own[:, within]
            yield True, *self._both(whole, fold, whole.at(some), padded)

    def _both(self, whole: LabelTable, fold: int, totals: Ints, own: Ints) -> tuple[Counts, Counts]:
        """Return the contingency tables of totals, and of totals less those of a fold."""
        rows, others = whole.rows[0].copy(), whole.rows[0] - self.rows[fold]
        return _tables(totals, rows, self.weighted), _tables(totals - own, others, self.weighted)

    def occurring(self, fold: int) -> tuple[Ints, Ints]:
        """Return the labels that occur in a fold, ascending, and their totals."""
        first, stop = fold * self.own_labels, (fold + 1) * self.own_labels
        some = (self._held[1, first:stop] | self._held[2, first:stop]) != 0
        if self.weighted:
            some = some.any(axis=-1)
        for kind in (1, 2):
            bounds = kind * self.n_labels + np.array([first, stop])
            places = self._joined[0]
            some[places[slice(*np.searchsorted(places, bounds).tolist())] - bounds[0]] = True
        labels = np.flatnonzero(some)
        return labels, self.at(first + labels)

    def expect_sum(self, whole: LabelTable) -> None:
        """Raise ValueError unless the folds add up to the table of all rows."""
        left, rows = whole.totals, whole.rows[0] - self.rows.sum(axis=0)
        for fold in range(N_FOLDS):
            labels, own = self.occurring(fold)
            tp, n_pred, n_true = own
            fits = all(at_least_zero(more - tp, self.weighted) for more in (n_pred, n_true))
            expect(fits, "held has more hits than labels")
            left[:, labels] -= own
        for rest in (left, rows):
            if self.weighted or rest is rows:
                carry(rest.reshape(-1, LIMBS))
            expect(not rest.any(), "held does not add up")


def _tables(totals: Ints, rows: Ints, weighted: bool) -> Counts:
    """Return contingency tables of totals tp, n_pred and n_true; fixed-point sums are rounded at the end."""
    tp, n_pred, n_true = totals
    n_rows = rows if weighted else rows[0]
    parts = tp, n_pred - tp, n_true - tp, n_rows - n_pred - n_true + tp
    if not weighted:
        return Counts(*(part.astype(np.float64) for part in parts))
    found = []
    for part in parts:
        limbs = np.ascontiguousarray(part)
        carry(limbs.reshape(-1, LIMBS))
        found.append(as_floats(limbs))
    return Counts(*found)
