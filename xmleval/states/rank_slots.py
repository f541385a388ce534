"""Slots of the tables of a block's rows, by number of relevant labels and by fold."""

from __future__ import annotations

import numpy as np

from xmleval.cached import cached
from xmleval.kernels.folds import N_FOLDS
from xmleval.kernels.gains import LANES, WIDTH, group_rows, key_rows
from xmleval.records import Ints
from xmleval.view.view import View

BY_FOLD = 1 << 44  # a number of relevant labels with its fold is fold * BY_FOLD + number


class Slots:
    """A slot for each number of relevant labels that rows of a block have; with folds, in each of them.

    ``n_rows`` is the size of each slot, ``n_relevant`` its number of relevant labels, with its fold.
    """

    def __init__(self, view: View, folds: bool) -> None:
        sizes, n_folds = view.n_relevant, N_FOLDS if folds else 1
        self._n_folds = n_folds
        self.most = int(sizes.max(initial=0))  # relevant labels of a row
        self._keys, self._per_key = sizes, np.bincount(sizes, minlength=1)
        self._sizes = np.arange(self._per_key.size)  # number of relevant labels of every `n_folds` keys
        if folds:
            self._sizes = self._per_key.nonzero()[0]  # a few rows may have very many labels
            numbers = np.zeros(self.most + 1, np.int64)
            numbers[self._sizes] = np.arange(self._sizes.size)
            self._keys, self._per_key = np.empty_like(sizes), np.zeros(self._sizes.size * n_folds, np.int64)
            key_rows(numbers.take(sizes), view.folds, n_folds, self._keys, self._per_key)
        by_fold = self._per_key.reshape(self._sizes.size, n_folds).T
        fold, number = by_fold.nonzero()
        self.n_rows: Ints = by_fold[fold, number]
        self.n_relevant: Ints = fold * BY_FOLD + self._sizes[number]
        self.n_empty = int(by_fold[:, self._sizes == 0].sum())  # rows without relevant labels
        self._of_keys = np.zeros(self._per_key.size, np.int64)
        self._of_keys[number * n_folds + fold] = np.arange(fold.size)

    @property
    def n_lanes(self) -> int:
        """Number of buffers that `sum_leading_gains` fills with relevant labels."""
        n_rows = self._per_key.reshape(self._sizes.size, self._n_folds).sum(axis=1)
        return int((-(-n_rows // LANES) * -(-self._sizes // WIDTH)).sum())

    @cached
    def of_rows(self) -> Ints:
        """Slot of each row."""
        return self._of_keys[self._keys]

    @cached
    def grouped(self) -> tuple[Ints, Ints, Ints]:
        """Rows by number of relevant labels and then by fold, where those of each start, and their slots."""
        order, starts = np.empty(self._keys.size, np.int64), np.cumsum(self._per_key) - self._per_key
        filled = self._per_key.nonzero()[0]
        group_ptr = np.append(starts[filled], order.size)
        group_rows(self._keys, starts, order)
        return order, group_ptr, self._of_keys[filled]
