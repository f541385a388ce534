"""Scores partitioned into bands of consecutive float32 numbers in one pass."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.kernels.bands import CHUNK, TRAILING_BITS, order_by_band
from xmleval.kernels.keys import HALF, count_leading_bits
from xmleval.records import Bools, Ints, Scores

N_BANDS = 128  # approximately
SAMPLED = 1 << 13  # scores sampled to choose bands
GOLDEN = 0.6180339887498949  # fractional parts of its multiples are evenly spread and aperiodic


class Bands(NamedTuple):
    """Ranges of float32 numbers with about as many scores in each.

    first : int64 (b + 1,), rank of the first number of each, and the end; see `keys.rank_of`
    cell_of : uint16 (2^16,), see `kernels.bands.order_by_band`
    """

    first: Ints
    cell_of: NDArray[np.uint16]


class Banded(NamedTuple):
    """Scores ordered by band within each chunk; see `kernels.bands.order_by_band`.

    bands : Bands
    starts : int64 (chunks, bands + 1), start of each band in ``scores`` per chunk, and the end
    scores : float32 (n,), shared with other parts
    """

    bands: Bands
    starts: Ints
    scores: Scores

    @property
    def size(self) -> int:
        """Number of scores."""
        return int((self.starts[:, -1] - self.starts[:, 0]).sum())

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """Type of the scores."""
        return np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        """Size of the scores and of their starts in bytes."""
        return self.size * self.scores.itemsize + self.starts.nbytes

    def keys(self) -> list[Scores]:
        """Return views of the scores, chunk by chunk."""
        ends = zip(self.starts[:, 0].tolist(), self.starts[:, -1].tolist(), strict=True)
        return [self.scores[start:end] for start, end in ends]


class Shared:
    """The bands and the array that workers share to collect scores by band.

    The scores of the first block determine the bands, and whether there is an array.
    """

    def __init__(self) -> None:
        self._bands: Bands | None = None
        self._room: Scores = np.empty(0, np.float32)
        self._used = 0
        self.closed = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as empty."""
        return Shared, ()

    def close(self) -> None:
        """Stop accepting scores."""
        with self._lock:
            self._room, self.closed = np.empty(0, np.float32), True

    def part(self, flags: Bools, scores: Scores, most: int) -> tuple[Banded, Banded] | None:
        """Add scores and return the flagged and the other ones; None if the array is full.

        Parameters
        ----------
        flags : bool (n,)
            Which scores to return first.
        scores : float32 (n,)
            Scores.
        most : int
            Size of the array if this is the first block; 0 for no array.
        """
        with self._lock:
            if self._bands is None and most and not self.closed:
                self._bands = choose_bands(scores)
                with contextlib.suppress(MemoryError):  # the array is optional
                    self._room = np.empty(most, np.float32)
            bands, room, start = self._bands, self._room, self._used
            if bands is None or start + scores.size > room.size:
                self.closed |= bands is None
                return None
            self._used += scores.size
        starts = np.empty((2, -(-scores.size // CHUNK), bands.first.size), np.int64)
        ordered = room[start : start + scores.size].view(np.uint32)
        order_by_band(flags, scores.view(np.uint32), bands.cell_of, start, ordered, starts)
        return Banded(bands, starts[0], room), Banded(bands, starts[1], room)


def choose_bands(scores: Scores) -> Bands:
    """Choose bands from a sample of the scores; a bucket with more than its share gets its own band."""
    counts = np.zeros((2, 1 << (HALF - TRAILING_BITS)), np.int64)
    places = (np.arange(SAMPLED) * GOLDEN % 1.0 * scores.size).astype(np.int64)
    count_leading_bits(np.ones(SAMPLED, np.bool_), scores[places].view(np.int32), TRAILING_BITS, counts)
    buckets = np.flatnonzero(counts[0])
    found, share = counts[0, buckets], SAMPLED // N_BANDS
    large = buckets[found > share // 2]
    begins = buckets[np.diff((np.cumsum(found) - found) // share, prepend=-1) > 0]
    half = counts.shape[1] // 2  # bucket of 0.0; -0.0, in the bucket before it, counts as 0.0
    first = np.unique(np.concatenate([[0], begins, large, large + 1, buckets[-1:] + 1]))
    first[first == half] = half - 1
    first = np.unique(first[first < 2 * half])
    band_of = np.zeros(2 * half, np.uint16)
    band_of[first[1:]] = 1
    band_of = np.cumsum(band_of, dtype=np.uint16)
    # leading bits order non-negative numbers first, then negative ones downwards
    cell_of = 2 * np.concatenate([band_of[half:], band_of[half - 1 :: -1]])
    return Bands(np.append(first << TRAILING_BITS, 1 << HALF), cell_of)
