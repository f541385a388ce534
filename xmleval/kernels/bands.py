"""Scores in the order of bands of consecutive numbers, and pairs counted within bands."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.kernels.keys import rank_of
from xmleval.records import Bools, Ints, Labels, Scores

TRAILING_BITS = 16  # scores that share all but so many trailing bits share a bucket; a band is some buckets
MINUS_ZERO = np.uint32(1 << 31)
CHUNK = 1 << 17  # scores ordered at a time; they fit in a level-2 cache


@kernel
def order_chunk(
    flags: Bools, scores: Labels, cell_of: Labels, starts: Ints, cells: Labels, out: Labels
) -> None:
    """Order one chunk by counting sort; see `order_by_band`.

    flags : bool (c,); scores, out : uint32 (c,); cell_of : uint16 (2^16,)
    starts : int64 (2, bands + 1), written, counted from the start of the chunk
    cells : uint16 (at least c,), overwritten
    """
    n_bands = starts.shape[1] - 1
    following = np.zeros(2 * n_bands, np.uint32)  # per band: unflagged, flagged; counts, then next places
    for p in range(scores.size):
        cells[p] = cell_of[scores[p] >> np.uint32(TRAILING_BITS)] + flags[p]
        following[cells[p]] += np.uint32(1)
    total = np.uint32(0)
    for other in range(2):
        for band in range(n_bands):
            cell = 2 * band + 1 - other
            starts[other, band] = total
            count = following[cell]
            following[cell] = total
            total = np.uint32(total + count)
        starts[other, n_bands] = total
    for p in range(scores.size):
        # as integers: a processor that flushes denormals to 0.0 would move them to another band
        bits = scores[p]
        out[following[cells[p]]] = bits if bits != MINUS_ZERO else np.uint32(0)
        following[cells[p]] += np.uint32(1)


@kernel
def order_by_band(
    flags: Bools, scores: Labels, cell_of: Labels, first: int, ordered: Labels, starts: Ints
) -> None:
    """Order scores by band within each chunk, the flagged ones before the others; -0.0 becomes 0.0.

    ::

        ordered   |        chunk 0        |        chunk 1        | ...
                  | flagged   | others    | flagged   | others    |
        bands     | 0 | 1 |.. | 0 | 1 |.. | 0 | 1 |.. | 0 | 1 |.. |
                  ^   ^       ^           ^
        starts    |   |       |           [0, 1, 0]
                  |   |       [1, 0, 0] = [0, 0, bands]
                  |   [0, 0, 1]
                  [0, 0, 0] = first

    flags : bool (n,); scores : uint32 (n,), bits of float32 without NaN; ordered : uint32 (n,), written
    cell_of : uint16 (2^16,), twice the band of each bucket, by the leading bits of its numbers
    first : the place of ``ordered`` in the array that ``starts`` refers to
    starts : int64 (2, chunks, bands + 1), written: where each band of each chunk starts, and the end of the
        last one, of flagged scores and of others; at most 2^15 bands
    """
    cells, near = np.empty(CHUNK, np.uint16), np.empty(CHUNK, np.uint32)
    for c in range(starts.shape[1]):
        at = c * CHUNK
        some = scores[at : at + CHUNK]
        # scattered writes stay in the cache, and are copied in order: 1.4 times as fast
        order_chunk(flags[at : at + CHUNK], some, cell_of, starts[:, c], cells, near)
        starts[:, c] += first + at
        ordered[at : at + some.size] = near[: some.size]


@kernel
def count_bands(
    scores: Ints, good: Ints, bad: Ints, begin: int, end: int, first: Ints, dense: Bools, sums: Ints
) -> None:
    """Count, within bands, the irrelevant scores below each relevant one, and those not above it.

    The memory is that of a table over the numbers of the widest dense band.

    scores : int32 (n,), from `order_by_band`
    good, bad : int64 (chunks, bands + 1), where the bands of relevant and of irrelevant scores start
    begin, end : the bands to count; dense : bool (bands,), False for bands to skip
    first : int64 (bands + 1,), rank of the first number of each band, see `keys.rank_of`
    sums : int64 (2,), added to
    """
    most = 0
    for band in range(begin, end):
        most = max(most, first[band + 1] - first[band] if dense[band] else 0)
    table = np.empty(most + 1, np.uint32)  # irrelevant scores below each number
    below, up_to, one = np.int64(0), np.int64(0), np.uint64(1)
    for band in range(begin, end):
        if not dense[band]:
            continue
        start, n_numbers = first[band], first[band + 1] - first[band]
        table[: n_numbers + 1] = 0
        for c in range(bad.shape[0]):
            for p in range(bad[c, band], bad[c, band + 1]):
                table[np.uint64(rank_of(scores[np.uint64(p)]) - start)] += np.uint32(1)
        total = np.uint32(0)
        for number in range(n_numbers + 1):
            here = table[number]
            table[number] = total
            total = np.uint32(total + here)
        for c in range(good.shape[0]):
            for p in range(good[c, band], good[c, band + 1]):
                place = np.uint64(rank_of(scores[np.uint64(p)]) - start)
                below += np.int64(table[place])
                up_to += np.int64(table[place + one])
    sums[0] += below
    sums[1] += up_to


@kernel
def gather_band(scores: Scores, starts: Ints, band: int, found: Scores) -> int:
    """Write the scores of a band, in any order; return how many there are.

    scores : (n,); starts : int64 (chunks, bands + 1); found : (as many as the band has,), written
    """
    n_found = 0
    for c in range(starts.shape[0]):
        for p in range(starts[c, band], starts[c, band + 1]):
            found[n_found] = scores[p]
            n_found += 1
    return n_found
