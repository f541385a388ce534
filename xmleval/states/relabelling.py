"""Relabelling: saved counts of some labels, with the numbers that these have among more labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Chunks, Ints
from xmleval.files.spill import Keys
from xmleval.kernels.keys import HALF
from xmleval.pooled.piles import label_of
from xmleval.view.block import Groups

SCORE = (1 << HALF) - 1  # bits of a score in a key of a label and a score


class Relabelling(NamedTuple):
    """New numbers of labels.

    numbers : int64 (n,), the new number of each label
    n_labels : number of labels, old and new ones
    groups : groups of all labels, if there are any
    """

    numbers: Ints
    n_labels: int
    groups: Groups | None = None

    @property
    def adds_labels(self) -> bool:
        """Whether there are more labels than before."""
        return self.n_labels > self.numbers.size

    @property
    def keeps_numbers(self) -> bool:
        """Whether all labels keep their numbers."""
        return bool(np.array_equal(self.numbers, np.arange(self.numbers.size)))

    @property
    def keeps_order(self) -> bool:
        """Whether all labels keep their order."""
        return bool((np.diff(self.numbers) > 0).all())

    def spread(self, table: NDArray[Any], axis: int, fill: float = 0) -> NDArray[Any]:
        """Return a table with the entries of labels at their new numbers, others filled."""
        shape = [*table.shape]
        shape[axis] = self.n_labels
        spread = np.full(shape, fill, table.dtype)
        places: list[Any] = [slice(None) for _ in shape]
        places[axis] = self.numbers
        spread[tuple(places)] = table
        return spread

    def keys(self, keys: NDArray[Any] | Chunks) -> Chunks:
        """Return keys of labels and scores with new labels, in any order."""
        chunks = keys
        if isinstance(keys, np.ndarray):
            chunks = Chunks(keys.dtype, keys.size, lambda: iter([keys]))

        def relabelled() -> Iterator[Keys]:
            for chunk in chunks.read():  # type: ignore[union-attr]
                yield self._new_keys(chunk)

        return Chunks(chunks.dtype, int(chunks.size), relabelled)

    def _new_keys(self, keys: Keys) -> Keys:
        """Return keys of labels and scores with new labels."""
        labels = label_of(keys)
        if keys.dtype == np.int64:
            return (self.numbers[labels] << HALF) | (keys & SCORE)
        new_keys = keys.copy()
        new_keys.real = self.numbers[labels]
        return new_keys

    def table(self, words: NDArray[Any] | Chunks, n_columns: int) -> NDArray[Any]:
        """Return a saved table, whose first column is a label, with new labels, sorted by keys."""
        vector = words
        if isinstance(words, Chunks):
            vector = np.concatenate([np.empty(0), *words.read()])
        rows = np.array(vector, np.float64).reshape(-1, n_columns)
        rows[:, 0] = self.numbers[rows[:, 0].astype(np.int64)]
        keys = rows[:, : n_columns - 2]
        return rows[np.lexsort(keys.T[::-1])].reshape(-1)

    def within(self, old: Ints, new: Ints) -> Relabelling:
        """Return the new numbers of the labels of a group within it.

        old, new : the labels of the group, ascending, by their numbers among all labels
        """
        return Relabelling(np.searchsorted(new, self.numbers[old]), new.size)
