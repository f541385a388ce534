"""How many labels rows list, and whether their lists look cut."""

from __future__ import annotations

from typing import NamedTuple

from xmleval.base.arrays import Ints
from xmleval.kernels.checking import look_at_sizes

FEW = 4  # rows that end where lists are cut, below which no difference that they make is significant


class ListLengths(NamedTuple):
    """Numbers of rows by the length of their lists; those of disjoint rows are added.

    n_lists : rows that list any label; deepest : most labels that a row lists; n_deepest : rows that list
    so many
    """

    n_lists: int = 0
    deepest: int = 0
    n_deepest: int = 0

    def plus(self, added: ListLengths) -> ListLengths:
        """Return the numbers of both."""
        deepest = max(self.deepest, added.deepest)
        n_deepest = sum(each.n_deepest for each in (self, added) if each.deepest == deepest)
        return ListLengths(self.n_lists + added.n_lists, deepest, n_deepest)

    def are_cut(self, n_rows: int, n_labels: int) -> bool:
        """Tell whether several rows, or most, end at the greatest length, as lists that are cut do."""
        many = self.n_deepest >= FEW or (n_rows > 1 and 2 * self.n_deepest > n_rows)
        return many and 0 < self.deepest < n_labels


def lengths_of(ptr: Ints, most: int | None = None) -> ListLengths:
    """Return how long the lists of a block are, with all that are longer than ``most`` of that length."""
    return ListLengths(*look_at_sizes(ptr, ptr[-1] if most is None else most))
