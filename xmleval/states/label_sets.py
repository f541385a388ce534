"""LabelSets: how many different label sets occur."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.exact import Commit, saved
from xmleval.kernels.rows import HASH_GROUPS, drop_repeats, group_by_hash, hash_rows
from xmleval.records import Floats, Ints, Truth
from xmleval.threads import map_in_turns

ENOUGH = 1 << 16
MOST_PARTS = 16


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
        self._distinct: list[Grouped] = []  # each without repeats; several where states were merged
        self._recent: list[Ints] = []  # joined when they outgrow the others, so that time stays linear
        self._n_recent = 0

    def fingerprints(self, threads: int = 1) -> Ints:
        """Return the distinct fingerprints, int64 (d, 2), in any order."""
        if self._recent or len(self._distinct) != 1:
            self._distinct, self._recent, self._n_recent = [self._joined(threads)], [], 0
        return self._distinct[0].rows

    def _joined(self, threads: int = 1) -> Grouped:
        return _without_repeats([*self._distinct, *map(Grouped.of, _whole(self._recent))], threads)

    def prepare(self, truth: Truth) -> Commit:
        """Add the label sets of a block."""
        found = np.empty((truth.ptr.size - 1, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, found)
        outgrown = self._n_recent > max(sum(len(part.rows) for part in self._distinct), ENOUGH)
        joined = self._joined() if outgrown else None

        def commit() -> None:
            if joined:
                self._distinct, self._recent, self._n_recent = [joined], [], 0
            if len(found):
                self._recent.append(found)
            self._n_recent += len(found)
            self.n_rows += len(found)

        return commit

    def prepare_merge(self, other: LabelSets) -> Commit:
        """Add another state."""
        distinct = [*self._distinct, *other._distinct]
        recent = _whole([*self._recent, *other._recent])
        most = max(sum(len(part.rows) for part in distinct), MOST_PARTS * ENOUGH)
        if len(distinct) > MOST_PARTS or sum(map(len, recent)) > most:
            distinct, recent = [_without_repeats([*distinct, *map(Grouped.of, recent)])], []
        n_rows = self.n_rows + other.n_rows

        def commit() -> None:
            self._distinct, self._recent, self.n_rows = distinct, recent, n_rows
            self._n_recent = sum(map(len, recent))

        return commit

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        found = self.fingerprints()
        return {"fingerprints": found[np.lexsort(found.T)], "n_rows": np.array([self.n_rows])}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        fingerprints = Grouped.of(saved(arrays, "fingerprints", None, 2))
        self._distinct, self._recent, self._n_recent = [_without_repeats([fingerprints])], [], 0
        self.n_rows = int(saved(arrays, "n_rows", 1)[0])


def _whole(parts: list[Ints]) -> list[Ints]:
    """Return one array of all, if there are any."""
    return [np.concatenate(parts)] if parts else []


def _without_repeats(parts: list[Grouped], threads: int = 1) -> Grouped:
    """Drop what repeats, group by group."""

    def of_group(group: int) -> Ints:
        nothing = np.empty((0, 2), np.int64)
        own = [part.rows[part.starts[group] : part.starts[group + 1]] for part in parts]
        rows = np.concatenate([nothing, *own])
        distinct = np.empty_like(rows)
        return distinct[: drop_repeats(rows, distinct)]

    n_rows = sum(len(part.rows) for part in parts)
    found = map_in_turns(of_group, range(HASH_GROUPS), threads if n_rows > ENOUGH else 1)
    return Grouped(np.cumsum([0, *map(len, found)]), np.concatenate(found))
