"""Values: float32 scores counted by value, which take no more memory than distinct scores need."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Chunks, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.kernels.packing import HEADER, N_PLACES
from xmleval.kernels.values import (
    FIELDS,
    N_BUCKETS,
    add_sizes,
    export_buckets,
    order_by_bucket,
    pack_buckets,
)
from xmleval.pooled.piles import append_joined

CHUNK = 1 << 20  # scores ordered at a time: in arrays of this size the system gives large pages
MANY = 1 << 18  # scores from which an array is ordered as it comes
WIDE = 1 << 32  # scores of a bucket from which counts may not fit in 32 bits
TASKS = 8  # tasks per thread, each a range of buckets
EXPORTED = 1 << 16  # distinct scores exported at a time, unless a bucket has more
BUCKET_COST = 1 << 11  # of a bucket that is not empty, in scores


class Ordered(NamedTuple):
    """Scores in the order of their buckets; see `kernels.values`.

    first : the first bucket; starts : uint32 (buckets + 1,), where each starts
    places : uint16 (n,), which may have one more
    """

    first: int
    starts: NDArray[np.uint32]
    places: NDArray[np.uint16]

    @property
    def size(self) -> int:
        """Number of scores."""
        return int(self.starts[-1])


class Packed(NamedTuple):
    """Counts of places, bucket by bucket; see `kernels.packing`.

    first : the first bucket; starts : int64 (buckets + 1,), where each starts in bytes; places :
        int64 (w,)
    size : number of scores
    """

    first: int
    starts: Ints
    places: Ints
    size: int


class Buckets(NamedTuple):
    """Parts as kernels take them; ``kept`` keeps their arrays.

    parts : int64 (p, FIELDS); sizes : int64 (N_BUCKETS,), number of scores of each bucket
    """

    parts: Ints
    sizes: Ints
    kept: list[Ordered | Packed]

    @property
    def table_dtype(self) -> np.dtype[Any]:
        """Type of the counts of any place."""
        largest = self.sizes.max(initial=0)
        return np.dtype(np.uint32 if largest < WIDE else np.int64)


class Values:
    """A multiset of float32 scores.

    few : arrays of scores, until there are many
    ordered : scores ordered by bucket
    packed : counts of scores, to save memory
    """

    def __init__(self, packed: Sequence[Packed] = ()) -> None:
        self.few: list[Scores] = []
        self.ordered: list[Ordered] = []
        self.packed: list[Packed] = [*packed]

    @property
    def parts(self) -> list[Any]:
        """All arrays, ordered and packed parts."""
        return [*self.few, *self.ordered, *self.packed]

    @property
    def size(self) -> int:
        """Number of scores."""
        return sum(part.size for part in self.parts)

    def add(self, scores: Scores) -> None:
        """Add scores, float32 without NaN; they are ordered once there are many."""
        if scores.size >= MANY:
            self.ordered += order(scores)
        elif scores.size:
            append_joined(self.few, scores)
        if sum(part.size for part in self.few) >= CHUNK:
            few, self.few = self.few, []
            self.ordered += order(np.concatenate(few))

    def merge(self, added: Values) -> None:
        """Add the scores of another multiset."""
        for scores in added.few:
            self.add(scores)
        self.ordered = [*self.ordered, *added.ordered]
        self.packed = [*self.packed, *added.packed]

    def pack(self, resources: Resources) -> None:
        """Pack all scores."""
        packed = self._packed(resources)
        few = list[Scores]()
        ordered = list[Ordered]()
        # nothing is made from here on: a failure would lose scores
        self.few = few
        self.ordered = ordered
        self.packed = packed

    def _packed(self, resources: Resources) -> list[Packed]:
        """Return all scores packed, in ranges of buckets."""
        in_order = sorted(self.packed, key=lambda part: part.first)
        if not self.few and not self.ordered and _are_disjoint(in_order):
            return in_order
        buckets = as_buckets([self])
        bounds = cut(buckets.sizes, 2 * TASKS * resources.threads)

        def pack_range(number: int) -> Packed:
            return _pack(buckets, bounds[number], bounds[number + 1])

        packed = resources.map(pack_range, range(len(bounds) - 1))
        return [part for part in packed if part.size]

    def packed_together(self, resources: Resources) -> tuple[Ints, Ints, Chunks]:
        """Return all scores packed as one part: first bucket (1,), starts, and places."""
        parts = self._packed(resources)
        n_bytes = 0
        first = parts[0].first
        starts: Ints = np.empty(parts[-1].first + parts[-1].starts.size - first, np.int64)
        for part in parts:
            place = part.first - first
            starts[place : place + part.starts.size] = n_bytes + part.starts
            n_bytes += int(part.starts[-1])
            starts[place + part.starts.size :] = n_bytes  # of empty buckets up to the next part
        places = Chunks(np.dtype(np.int64), n_bytes // 8, lambda: (part.places for part in parts))
        return np.array([first]), starts, places

    def chunks(self) -> Iterator[Scores]:
        """Yield all scores in ascending order."""
        for scores, counts in distinct(as_buckets([self])):
            reached = np.cumsum(counts)
            start = 0
            while start < scores.size:
                done = int(reached[start - 1]) if start else 0
                stop = max(start + 1, int(np.searchsorted(reached, done + EXPORTED)))
                n_left = counts[start:stop].copy()
                while n_left[0] > EXPORTED:  # one score may occur very often
                    yield np.full(EXPORTED, scores[start])
                    n_left[0] -= EXPORTED
                yield np.repeat(scores[start:stop], n_left)
                start = stop


def _are_disjoint(parts: Sequence[Packed]) -> bool:
    """Whether no part, in ascending order, starts before the end of the part before it."""
    for part, following in pairwise(parts):
        if following.first < part.first + part.starts.size - 1:
            return False
    return True


def _pack(buckets: Buckets, first: int, stop: int) -> Packed:
    """Pack the scores of a range of buckets, without empty ones at its ends."""
    occurring = first + np.flatnonzero(buckets.sizes[first:stop])
    first = 0
    stop = 0
    if occurring.size:
        first = int(occurring[0])
        stop = int(occurring[-1]) + 1
    sizes = buckets.sizes[first:stop]
    starts: Ints = np.empty(stop - first + 1, np.int64)
    # zeros, as the gaps between packed buckets are not written
    words: Ints = np.zeros(_most_words(sizes), np.int64)
    table = np.zeros(N_PLACES, buckets.table_dtype)
    pack_buckets(buckets.parts, buckets.sizes, first, stop, table, starts, words)
    return Packed(first, starts, words[: starts[-1] // 8].copy(), int(sizes.sum()))


class Scratch(threading.local):
    """Arrays that a thread scatters scores to, kept for reuse.

    They stay in the cache, which saves a fifth of the time.
    """

    size = CHUNK  # of places: no more scores are ordered at a time

    def __init__(self) -> None:
        self.free: list[tuple[NDArray[np.uint32], NDArray[np.uint16]]] = []


SCRATCH = Scratch()


def order(scores: Scores) -> list[Ordered]:
    """Order float32 scores by bucket."""
    parts = []
    starts: NDArray[np.uint32]
    places: NDArray[np.uint16]
    if SCRATCH.free:
        # taken out, so that a signal handler that orders scores meanwhile uses other arrays
        starts, places = SCRATCH.free.pop()
    else:
        starts = np.empty(N_BUCKETS + 1, np.uint32)
        places = np.empty(SCRATCH.size, np.uint16)
    for start in range(0, scores.size, CHUNK):
        chunk = np.ascontiguousarray(scores[start : start + CHUNK])
        ordered = places[: chunk.size]
        order_by_bucket(chunk.view(np.uint32), starts, ordered)
        first = int(np.searchsorted(starts, np.uint32(0), "right")) - 1
        stop = int(np.searchsorted(starts, starts[-1]))
        parts.append(Ordered(first, starts[first : stop + 1].copy(), ordered.copy()))
    SCRATCH.free = [(starts, places)]
    return parts


def as_buckets(multisets: Sequence[Values]) -> Buckets:
    """Return the parts of multisets as kernels take them; their few scores are ordered for it."""
    few = [scores for values in multisets for scores in values.few]
    kept: list[Ordered | Packed] = []
    if few:
        kept += order(np.concatenate(few))
    for values in multisets:
        kept += values.ordered
        kept += values.packed
    parts: Ints = np.empty((len(kept), FIELDS), np.int64)
    for row, part in zip(parts, kept, strict=True):
        # not by `__array_interface__`, which ends the process where there is no memory (NumPy 2.4)
        addresses = [array.ctypes.data for array in (part.starts, part.places)]
        stop = part.first + part.starts.size - 1
        row[:] = part.first, stop, *addresses, isinstance(part, Packed)
    sizes: Ints = np.zeros(N_BUCKETS, np.int64)
    add_sizes(parts, sizes)
    return Buckets(parts, sizes, kept)


def cut(sizes: Ints, n_tasks: int) -> list[int]:
    """Return the bounds of ranges of buckets with about equal costs.

    sizes : int64 (N_BUCKETS,), number of scores of each bucket
    """
    # no booleans, as NumPy 2.4 ends the process where it has no memory to convert them
    cost = np.cumsum(sizes + BUCKET_COST * np.minimum(sizes, 1))
    total = int(cost[-1])
    bounds = {0, N_BUCKETS}
    if total:
        bounds.update(bisect_left(cost, total * number // n_tasks) for number in range(1, n_tasks))
    return sorted(bounds)


def joint_bounds(multisets: Sequence[Buckets], first: int = 0, stop: int = N_BUCKETS) -> list[int]:
    """Return the bounds of ranges of buckets in which all multisets have few distinct scores."""
    n_distinct = [np.minimum(buckets.sizes[first:stop], N_PLACES) for buckets in multisets]
    range_numbers = np.cumsum(np.sum(n_distinct, axis=0)) // EXPORTED
    inner = first + 1 + np.flatnonzero(range_numbers[1:] > range_numbers[:-1])
    return [first, *inner.tolist(), stop]


def distinct(
    buckets: Buckets, first: int = 0, stop: int = N_BUCKETS
) -> Iterator[tuple[Scores, Ints]]:
    """Yield the distinct scores of a range of buckets, ascending, with their counts, in pieces."""
    table = np.zeros(N_PLACES, buckets.table_dtype)
    n_distinct = np.minimum(buckets.sizes, N_PLACES)
    while first < stop:
        reached = np.cumsum(n_distinct[first:stop])
        end = first + max(1, int(np.searchsorted(reached, EXPORTED)))
        n_most = reached[end - first - 1]
        bits = np.empty(n_most, np.uint32)
        counts = np.empty(n_most, np.int64)
        n = export_buckets(buckets.parts, buckets.sizes, first, end, table, bits, counts)
        yield bits[:n].view(np.float32), counts[:n]
        first = end


def _most_words(sizes: Ints) -> int:
    """Return an upper bound of the words that buckets of some sizes are packed into."""
    form = sum((sizes >> (8 << power) > 0).astype(np.int64) for power in range(3))
    n_places = np.minimum(sizes, N_PLACES)
    as_list = (n_places + 3) // 4 + ((n_places << form) + 7) // 8
    as_table = (N_PLACES << form) // 8
    n_words = np.minimum(as_list, as_table) + HEADER
    return int(n_words[sizes > 0].sum())
