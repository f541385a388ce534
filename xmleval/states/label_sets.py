"""LabelSets: how many different label sets occur."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Floats, Ints, Truth
from xmleval.kernels.rows import hash_rows
from xmleval.states.limbs import Commit, saved

ENOUGH = 1 << 16


class LabelSets:
    """Distinct 128-bit fingerprints of label sets, sorted; int64 (d, 2).

    Two of a billion different sets share a fingerprint with a probability below 1e-20.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._sorted: Ints = np.empty((0, 2), np.int64)
        self._recent: list[Ints] = []  # joined when they outgrow what is sorted, so that time stays linear

    @property
    def fingerprints(self) -> Ints:
        """Return the distinct fingerprints, sorted."""
        if self._recent:
            self._sorted, self._recent = _distinct([self._sorted, *self._recent]), []
        return self._sorted

    def prepare(self, truth: Truth) -> Commit:
        """Add the label sets of a block."""
        found = np.empty((truth.ptr.size - 1, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, found)
        return self._take(_distinct([found]), truth.ptr.size - 1)

    def prepare_merge(self, other: LabelSets) -> Commit:
        """Add another state."""
        return self._take(other.fingerprints, other.n_rows)

    def _take(self, found: Ints, n_rows: int) -> Commit:
        sorted_, recent = self._sorted, [*self._recent, found]
        if sum(len(part) for part in recent) > max(len(sorted_), ENOUGH):
            sorted_, recent = _distinct([sorted_, *recent]), []
        n_rows += self.n_rows

        def commit() -> None:
            self._sorted, self._recent, self.n_rows = sorted_, recent, n_rows

        return commit

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {"fingerprints": self.fingerprints, "n_rows": np.array([self.n_rows])}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self._sorted, self._recent = _distinct([saved(arrays, "fingerprints", None, 2)]), []
        self.n_rows = int(saved(arrays, "n_rows", 1)[0])


def _distinct(parts: list[Ints]) -> Ints:
    both = np.concatenate(parts)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    new = np.ones(len(both), np.bool_)
    new[1:] = (both[1:] != both[:-1]).any(axis=1)
    return both[new]
