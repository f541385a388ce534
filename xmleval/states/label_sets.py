"""LabelSets: how many different label sets occur."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.arrays import Floats, Ints, Truth
from xmleval.kernels.rows import HASH_GROUPS, drop_repeats, group_by_hash, hash_rows
from xmleval.states.limbs import Commit, saved
from xmleval.states.turns import map_in_turns

ENOUGH = 1 << 20


class Grouped(NamedTuple):
    """Fingerprints in groups, see `kernels.rows.group_by_hash`."""

    starts: Ints
    rows: Ints

    @classmethod
    def of(cls, rows: Ints) -> Grouped:
        """Group fingerprints."""
        found = cls(np.empty(HASH_GROUPS + 1, np.int64), np.empty_like(rows))
        group_by_hash(rows, *found)
        return found


class LabelSets:
    """Distinct 128-bit fingerprints of label sets.

    Two of a billion different sets share a fingerprint with a probability below 1e-20.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._distinct = Grouped.of(np.empty((0, 2), np.int64))
        self._recent: list[Grouped] = []  # joined when they outgrow the others, so that time stays linear

    def fingerprints(self, threads: int = 1) -> Ints:
        """Return the distinct fingerprints, int64 (d, 2), in any order."""
        if self._recent:
            self._distinct, self._recent = _joined([self._distinct, *self._recent], threads), []
        return self._distinct.rows

    def prepare(self, truth: Truth) -> Commit:
        """Add the label sets of a block."""
        found = np.empty((truth.ptr.size - 1, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, found)
        return self._take([Grouped.of(found)], truth.ptr.size - 1)

    def prepare_merge(self, other: LabelSets) -> Commit:
        """Add another state."""
        return self._take([other._distinct, *other._recent], other.n_rows)

    def _take(self, found: list[Grouped], n_rows: int) -> Commit:
        distinct, recent = self._distinct, [*self._recent, *found]
        if sum(len(part.rows) for part in recent) > max(len(distinct.rows), ENOUGH):
            distinct, recent = _joined([distinct, *recent]), []
        n_rows += self.n_rows

        def commit() -> None:
            self._distinct, self._recent, self.n_rows = distinct, recent, n_rows

        return commit

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        found = self.fingerprints()
        return {"fingerprints": found[np.lexsort(found.T)], "n_rows": np.array([self.n_rows])}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        fingerprints = Grouped.of(saved(arrays, "fingerprints", None, 2))
        self._distinct, self._recent = _joined([fingerprints]), []
        self.n_rows = int(saved(arrays, "n_rows", 1)[0])


def _joined(parts: list[Grouped], threads: int = 1) -> Grouped:
    """Drop what repeats, group by group."""

    def of_group(group: int) -> Ints:
        rows = np.concatenate([part.rows[part.starts[group] : part.starts[group + 1]] for part in parts])
        distinct = np.empty_like(rows)
        return distinct[: drop_repeats(rows, distinct)]

    found = map_in_turns(of_group, range(HASH_GROUPS), threads)
    return Grouped(np.cumsum([0, *map(len, found)]), np.concatenate(found))
