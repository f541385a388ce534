"""LabelSets: how many different label sets occur."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Floats, Ints, Truth
from xmleval.kernels.rows import hash_rows


class LabelSets:
    """Distinct 128-bit fingerprints of label sets, sorted; int64 (d, 2).

    Two of a billion different sets share a fingerprint with a probability below 1e-20.
    """

    def __init__(self) -> None:
        self.fingerprints: Ints = np.empty((0, 2), np.int64)
        self.n_rows = 0

    def update(self, truth: Truth) -> None:
        """Add the label sets of a block."""
        found = np.empty((truth.ptr.size - 1, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, found)
        self._add(found, truth.ptr.size - 1)

    def merge(self, other: LabelSets) -> None:
        """Add another state."""
        self._add(other.fingerprints, other.n_rows)

    def _add(self, found: Ints, n_rows: int) -> None:
        both = np.concatenate((self.fingerprints, found))
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        new = np.ones(len(both), np.bool_)
        new[1:] = (both[1:] != both[:-1]).any(axis=1)
        self.fingerprints = both[new]
        self.n_rows += n_rows

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {"fingerprints": self.fingerprints, "n_rows": np.array([self.n_rows])}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self.fingerprints = arrays["fingerprints"].astype(np.int64)
        self.n_rows = int(arrays["n_rows"][0])
