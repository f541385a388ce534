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
        self._sizes, self._folds = view.n_relevant, folds
        self.most = int(self._sizes.max(initial=0))  # relevant labels of a row
        width = self.most + 1
        self._keys = self._sizes + view.folds.astype(np.int64) * width if folds else self._sizes
        per_key = np.bincount(self._keys, minlength=1)
        self._present = present = per_key.nonzero()[0]
        self.n_rows: Ints = per_key[present]
        self.n_relevant: Ints = present + present // width * (BY_FOLD - width)
        self.n_empty = int(per_key[::width].sum())  # rows without relevant labels

    @cached
    def of_rows(self) -> Ints:
        """Slot of each row."""
        slots = np.zeros(int(self._keys.max(initial=0)) + 1, np.int64)
        slots[self._present] = np.arange(self._present.size)
        return slots[self._keys]

    @cached
    def grouped(self) -> tuple[Ints, Ints, Ints]:
        """Rows by number of relevant labels, where those of each start, and their slots with folds.

        Numbers that no row has are left out, so that without folds a slot is the place of its number.
        """
        per_size = np.bincount(self._sizes, minlength=1)
        order = np.empty(self._sizes.size, np.int64)
        group_rows(self._sizes, np.cumsum(per_size) - per_size, order)
        group_ptr = np.concatenate([[0], np.cumsum(per_size[per_size > 0])])
        return order, group_ptr, self.of_rows if self._folds else np.empty(0, np.int64)
