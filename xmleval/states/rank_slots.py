"""Slots of the tables of a block's rows, by number of relevant labels and by fold."""

from __future__ import annotations

import numpy as np

from xmleval.cached import cached
from xmleval.kernels.gains import group_rows
from xmleval.records import Ints
from xmleval.view.view import View

BY_FOLD = 1 << 44  # a number of relevant labels with its fold is fold * BY_FOLD + number


class Slots:
    """A slot for each number of relevant labels that rows of a block have; with folds, in each of them.

    ``n_rows`` is the size of each slot, ``n_relevant`` its number of relevant labels, with its fold.
    """

    def __init__(self, view: View, folds: bool) -> None:
        keys, self.most = view.n_relevant, int(view.n_relevant.max(initial=0))  # the most of a row
        width = self.most + 1
        if folds:
            keys = keys + view.folds.astype(np.int64) * width
        per_key = np.bincount(keys, minlength=1)
        self._keys, self._present = keys, per_key.nonzero()[0]
        self.n_rows: Ints = per_key[self._present]
        self.n_relevant: Ints = self._present + self._present // width * (BY_FOLD - width)
        self.n_empty = int(per_key[::width].sum())  # rows without relevant labels

    @cached
    def of_rows(self) -> Ints:
        """Slot of each row."""
        return self._numbers[self._keys]

    @cached
    def grouped(self) -> tuple[Ints, Ints]:
        """Rows by slot, and where those of each start."""
        group_ptr = np.concatenate([[0], np.cumsum(self.n_rows)])
        order = np.empty(self._keys.size, np.int64)
        group_rows(self._keys, group_ptr[self._numbers], order)
        return order, group_ptr

    @property
    def _numbers(self) -> Ints:
        """Slot of each key."""
        numbers = np.zeros(int(self._present[-1]) + 1 if self._present.size else 1, np.int64)
        numbers[self._present] = np.arange(self._present.size)
        return numbers
