"""Scores in the order of bands of consecutive numbers, and pairs counted within bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.kernels.keys import rank_of
from xmleval.records import Bools, Ints, Labels, Scores

TRAILING_BITS = 16  # a bucket is what shares all but so many of its trailing bits; bands are made of them
MINUS_ZERO = np.uint32(1 << 31)
CHUNK = 1 << 17  # scores that are brought into order at a time, within a level-2 cache
WAYS = 4  # places of a chunk that are worked on in turns, so that no step waits for the one before


@kernel
def count_cell(flag: int, bits: int, cell_of: Labels, way: int, following: Labels) -> Any:
    """Count a score, given by its bits (uint32), in the cell of its band, kind and way; return the cell."""
    kinds = np.uint64(flag) * np.uint64(WAYS)
    cell = np.uint64(cell_of[np.uint64(bits) >> np.uint64(TRAILING_BITS)]) + kinds + np.uint64(way)
    following[cell] += np.uint32(1)
    return cell


@kernel
def place_score(bits: int, cell: int, following: Labels, out: Labels) -> None:
    """Write a score's bits, those of 0.0 for -0.0, where its cell goes on.

    Floats are left alone here: a processor that takes denormals for 0.0 would move them to another band.
    """
    place = following[np.uint64(cell)]
    following[np.uint64(cell)] = place + np.uint32(1)
    out[np.uint64(place)] = bits if bits != MINUS_ZERO else np.uint32(0)


@kernel
def order_by_band(
    flags: Bools, scores: Labels, cell_of: Labels, first: int, ordered: Labels, starts: Ints
) -> None:
    """Write scores chunk by chunk: the flagged ones in the order of their bands, then the others in theirs.

    scores : uint32 (n,), bits of float32 without NaN; ordered : uint32 (n,), written
    cell_of : uint16 (2^16,), 8 times the band of each bucket, by the leading bits of its numbers
    first : the first place of ``ordered`` as it is to be counted
    starts : int64 (2, chunks, bands + 1), written: where each band starts in each chunk, and its end, of
    flagged ones and of others; at most 2^13 bands
    """
    n_bands = starts.shape[2] - 1
    following, cells = np.empty(2 * n_bands * WAYS, np.uint32), np.empty(CHUNK, np.uint16)
    near = np.empty(CHUNK, np.uint32)  # in the cache, where writing here and there costs little
    for c in range(starts.shape[1]):
        at = c * CHUNK
        some, kinds = scores[at : at + CHUNK], flags[at : at + CHUNK]
        step = some.size // WAYS
        following[:] = 0
        for p in range(step):
            for way in range(WAYS):
                q = np.uint64(p + way * step)
                cells[q] = count_cell(kinds[q], some[q], cell_of, way, following)
        for p in range(WAYS * step, some.size):
            cells[p] = count_cell(kinds[p], some[p], cell_of, 0, following)
        total = np.uint32(0)
        for other in range(2):
            for band in range(n_bands):
                starts[other, c, band] = first + at + np.int64(total)
                cell = (2 * band + 1 - other) * WAYS
                for way in range(WAYS):
                    here = following[cell + way]
                    following[cell + way] = total
                    total = np.uint32(total + here)
            starts[other, c, n_bands] = first + at + np.int64(total)
        for p in range(step):
            for way in range(WAYS):
                q = np.uint64(p + way * step)
                place_score(some[q], cells[q], following, near)
        for p in range(WAYS * step, some.size):
            place_score(some[p], cells[p], following, near)
        ordered[at : at + some.size] = near[: some.size]


@kernel
def count_bands(
    scores: Ints, good: Ints, bad: Ints, begin: int, end: int, first: Ints, dense: Bools, sums: Ints
) -> None:
    """Count, within bands, the irrelevant scores below each relevant one, and those not above it.

    scores : int32 (n,), from `order_by_band`; good, bad : int64 (chunks, bands + 1), where the bands of
    relevant and of irrelevant scores start
    begin, end : of the bands to look at; dense : bool (bands,), whether to look at each
    first : int64 (bands + 1,), rank of the first number of each, see `keys.rank_of`
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
    """Write the scores of a band, in any order; return how many there are."""
    n_found = 0
    for c in range(starts.shape[0]):
        for p in range(starts[c, band], starts[c, band + 1]):
            found[n_found] = scores[p]
            n_found += 1
    return n_found
