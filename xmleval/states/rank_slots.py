"""Slots of the tables of a block's rows, by number of relevant labels and by jackknife group."""

from __future__ import annotations

import numpy as np

from xmleval.cached import cached
from xmleval.kernels.gains import LANES, WIDTH, group_rows, key_rows
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.records import Ints
from xmleval.view.view import View

BY_GROUP = 1 << 44  # a number of relevant labels with its group is group * BY_GROUP + number


class Slots:
    """A slot for each number of relevant labels that rows of a block have; with jackknife groups, in each.

    ``n_rows`` is the size of each slot, ``n_relevant`` its number of relevant labels, with its group.
    """

    def __init__(self, view: View, groups: bool) -> None:
        sizes, n_groups = view.n_relevant, N_GROUPS if groups else 1
        self._n_groups = n_groups
        self.most = int(sizes.max(initial=0))  # relevant labels of a row
        self._keys, self._per_key = sizes, np.bincount(sizes, minlength=1)
        self._sizes = np.arange(self._per_key.size)  # number of relevant labels of every `n_groups` keys
        if groups:
            self._sizes = self._per_key.nonzero()[0]  # a few rows may have very many labels
            numbers = np.zeros(self.most + 1, np.int64)
            numbers[self._sizes] = np.arange(self._sizes.size)
            self._keys, self._per_key = np.empty_like(sizes), np.zeros(self._sizes.size * n_groups, np.int64)
            key_rows(numbers.take(sizes), view.jackknife, n_groups, self._keys, self._per_key)
        by_group = self._per_key.reshape(self._sizes.size, n_groups).T
        group, number = by_group.nonzero()
        self.n_rows: Ints = by_group[group, number]
        self.n_relevant: Ints = group * BY_GROUP + self._sizes[number]
        self.n_empty = int(by_group[:, self._sizes == 0].sum())  # rows without relevant labels
        self._of_keys = np.zeros(self._per_key.size, np.int64)
        self._of_keys[number * n_groups + group] = np.arange(group.size)

    @property
    def n_lanes(self) -> int:
        """Number of buffers that `sum_leading_gains` fills with relevant labels."""
        n_rows = self._per_key.reshape(self._sizes.size, self._n_groups).sum(axis=1)
        return int((-(-n_rows // LANES) * -(-self._sizes // WIDTH)).sum())

    @cached
    def of_rows(self) -> Ints:
        """Slot of each row."""
        return self._of_keys[self._keys]

    @cached
    def grouped(self) -> tuple[Ints, Ints, Ints]:
        """Rows by number of relevant labels and then by group, where those of each start, and their slots."""
        order, starts = np.empty(self._keys.size, np.int64), np.cumsum(self._per_key) - self._per_key
        filled = self._per_key.nonzero()[0]
        group_ptr = np.append(starts[filled], order.size)
        group_rows(self._keys, starts, order)
        return order, group_ptr, self._of_keys[filled]
