"""How many labels rows list, and whether their lists look cut."""

from __future__ import annotations

from typing import NamedTuple

from xmleval.base.arrays import Ints
from xmleval.kernels.checking import look_at_sizes

# number of longest lists from which their equal length shows that they are cut
FEW = 4


class ListLengths(NamedTuple):
    """How long the lists of some rows are.

    n_lists : number of rows that list any label
    deepest : largest number of labels that a row lists
    n_deepest : number of rows that list so many
    """

    n_lists: int = 0
    deepest: int = 0
    n_deepest: int = 0

    def plus(self, added: ListLengths) -> ListLengths:
        """Return the lengths of the given rows and of other ones."""
        deepest = max(self.deepest, added.deepest)
        n_deepest = 0
        for lengths in (self, added):
            if lengths.deepest == deepest:
                n_deepest += lengths.n_deepest
        return ListLengths(self.n_lists + added.n_lists, deepest, n_deepest)

    def are_cut(self, n_rows: int, n_labels: int) -> bool:
        """Return whether the lists look cut: several rows, or most, have the largest length."""
        has_many = self.n_deepest >= FEW or (n_rows > 1 and 2 * self.n_deepest > n_rows)
        return has_many and 0 < self.deepest < n_labels


def measure_lengths(ptr: Ints, most: int | None = None) -> ListLengths:
    """Return how long the lists of a block are; longer ones than ``most`` count as that long."""
    return ListLengths(*look_at_sizes(ptr, ptr[-1] if most is None else most))
