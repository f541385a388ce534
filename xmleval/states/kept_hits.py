"""Hits of single rows, kept as bits, since few rows differ in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.kernels.hit_tables import keep_gains, mark_hits, number_marks
from xmleval.records import Bytes, Floats, Ints, Labels, Profile, Propensity
from xmleval.states.contents import Contents, expect
from xmleval.view.view import View

BYTE = 8
FEW_KEYS = 1 << 20  # which may be counted in a table


class KeptHits(NamedTuple):
    """Hits of single rows.

    n_relevant : int64 (n,)
    marks : uint8 (n, b), bit r % 8 of byte r // 8 for a hit at rank r + 1
    gains : float64 (n, 8 b), inverse propensities of hits, or None
    """

    n_relevant: Ints
    marks: Bytes
    gains: Floats | None

    @classmethod
    def of(cls, view: View, width: int, propensity: Propensity | None) -> KeptHits:
        """Return the hits of a block at ``width`` ranks, and their inverse propensities if given."""
        ptr, labels = view.block.truth[:2]
        marks = np.zeros((view.n_rows, max(1, -(-width // BYTE))), np.uint8)
        mark_hits(ptr, view.ranks, width, marks)
        if propensity is None:
            return cls(view.n_relevant, marks, None)
        gains = np.zeros((view.n_rows, BYTE * marks.shape[1]))
        keep_gains(ptr, labels, view.ranks, propensity.values, gains[:, :width])
        return cls(view.n_relevant, marks, gains)

    @classmethod
    def joined(cls, chunks: Sequence[KeptHits]) -> KeptHits:
        """Return the rows of several chunks."""
        n_bytes = max([1, *(chunk.marks.shape[1] for chunk in chunks)])
        none = cls(np.empty(0, np.int64), np.empty((0, n_bytes), np.uint8), np.empty((0, BYTE * n_bytes)))
        several = [chunk.widened(n_bytes) for chunk in chunks] or [none]
        gains = [chunk.gains for chunk in several if chunk.gains is not None]
        n_relevant, marks = (np.concatenate([own[part] for own in several]) for part in (0, 1))
        return cls(n_relevant, marks, np.concatenate(gains) if gains else None)

    @classmethod
    def taken(cls, contents: Contents, stem: str, n_labels: int, depth: int, with_gains: bool) -> KeptHits:
        """Take what was saved."""
        n_relevant = contents.take(f"{stem}.n_relevant", None, most=n_labels)
        marks = contents.take(f"{stem}.marks", n_relevant.size, None, dtype=np.uint8, most=255)
        width = BYTE * marks.shape[1]
        ranks = n_relevant.size, width
        expect(width < depth + BYTE or width == BYTE, f"{stem}.marks at {width} ranks")
        if not with_gains:
            return cls(n_relevant, marks, None)
        return cls(n_relevant, marks, contents.take(f"{stem}.gains", *ranks, dtype=np.float64, least=None))

    def widened(self, n_bytes: int) -> KeptHits:
        """Return the same with more bytes, of further ranks without hits."""
        more = n_bytes - self.marks.shape[1]
        if not more:
            return self
        gains = None if self.gains is None else np.pad(self.gains, ((0, 0), (0, BYTE * more)))
        return self._replace(marks=np.pad(self.marks, ((0, 0), (0, more))), gains=gains)

    def profile(self) -> Profile:
        """Return the profile of each row."""
        hits = np.unpackbits(self.marks, axis=1, bitorder="little").astype(np.float64)
        return Profile(self.n_relevant, np.ones(self.n_relevant.size), hits, self.gains, None)

    def distinct(self) -> tuple[Profile, Labels]:
        """Return the different profiles of hits, and the number of that of each row."""
        if self.marks.shape[1] > 1:
            return self._replace(gains=None).profile(), np.arange(self.n_relevant.size)
        n_keys = int(self.n_relevant.max(initial=0)) + 1 << BYTE
        if n_keys <= FEW_KEYS:
            of: Labels = np.empty(self.n_relevant.size, np.int32)
            numbers: Labels = np.zeros(n_keys, np.int32)
            number_marks(self.n_relevant, self.marks, numbers, of)
            present = np.flatnonzero(numbers)
        else:
            keys = self.n_relevant << BYTE | self.marks[:, 0]
            present, of = np.unique(keys, return_inverse=True)
        marks = (present & (1 << BYTE) - 1).astype(np.uint8)[:, None]
        return KeptHits(present >> BYTE, marks, None).profile(), of
