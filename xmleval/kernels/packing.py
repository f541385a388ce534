"""Counts by place, packed bucket by bucket: see `kernels.values` for buckets and places.

::

    bytes | 16: n * 256 + form, sum of counts      | 2 n: places | n * width: counts | n places
          | 16: 65,536 * 256 + form, sum of counts | 65,536 * width: counts          | whole table
    form    logarithm, to base 2, of the width in bytes; `WHOLE` more for the whole table

Places and counts are each padded to 8 bytes, which stay as they were; empty buckets take nothing.
The places 0, 1 and 3, each once, are the words 3 * 256 + 0 and 3, then 0, 1, 3 in two bytes each,
and 1, 1, 1 in one.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Ints, Labels
from xmleval.kernels.addresses import array_at
from xmleval.kernels.jit import Whole, kernel
from xmleval.kernels.keys import LEAST_RANK, MOST_RANK

HALF = 16
N_PLACES = 1 << HALF
# scores of a bucket up to which listing their places beats passing over the whole table
FEW = 1 << 12
MOST = 1 << 61  # scores of a part
HEADER = 2  # int64 words
BYTE = 8
WHOLE = 4


@kernel
def add_counts(
    places: Labels, counts: Labels, table: Ints, listed: Labels, n_listed: Whole
) -> Whole:
    """Add the counts of places to a table, as `count_places` does; without places, those of all."""
    if places.size == 0:
        for place in range(N_PLACES):
            table[place] += table.dtype.type(counts[place])
        return n_listed
    for p in range(places.size):
        place = places[p]
        if n_listed >= 0:
            listed[n_listed] = place
            n_listed += 1 if table[place] == 0 else 0
        table[place] += table.dtype.type(counts[p])
    return n_listed


@kernel
def add_packed(address: int, table: Ints, listed: Labels, n_listed: Whole) -> Whole:
    """Add the packed counts of a bucket to a table, as `count_places` does."""
    header = array_at(address, HEADER, np.int64)
    n = header[0] >> BYTE
    form = header[0] & (WHOLE - 1)
    address += 8 * HEADER
    n_places = 0 if header[0] & WHOLE else n
    places = array_at(address, n_places, np.uint16)
    address += (2 * n_places + 7) & -8
    if form == 0:
        return add_counts(places, array_at(address, n, np.uint8), table, listed, n_listed)
    if form == 1:
        return add_counts(places, array_at(address, n, np.uint16), table, listed, n_listed)
    if form == 2:
        return add_counts(places, array_at(address, n, np.uint32), table, listed, n_listed)
    return add_counts(places, array_at(address, n, np.int64), table, listed, n_listed)


@kernel
def write_counts(table: Ints, listed: Labels, n: Whole, counts: Labels) -> None:
    """Write the counts of n listed places, or of all if n < 0."""
    if n < 0:
        for place in range(N_PLACES):
            counts[place] = table[place]
    else:
        for i in range(n):
            counts[i] = table[listed[i]]


@kernel
def pack_counts(table: Ints, listed: Labels, n: Whole, size: int, data: Ints, at: Whole) -> Whole:
    """Write counts of n listed places, ``size`` in all, as words to ``data``; return the end."""
    largest = np.int64(0)
    for i in range(n):
        largest = max(largest, np.int64(table[listed[i]]))
    form = np.int64(largest >> 8 > 0) + np.int64(largest >> 16 > 0) + np.int64(largest >> 32 > 0)
    n_words = (n + 3) // 4  # of places
    whole = n_words + ((n << form) + 7) // 8 >= (N_PLACES << form) // 8
    n_counts = N_PLACES if whole else n
    data[at] = (n_counts << BYTE) + form + (WHOLE if whole else 0)
    data[at + 1] = size
    at += HEADER
    if not whole:
        places = data[at : at + n_words].view(np.uint16)
        for i in range(n):
            places[i] = listed[i]
        at += n_words
    end = at + ((n_counts << form) + 7) // 8
    counts = data[at:end]
    n_written = -1 if whole else n
    if form == 0:
        write_counts(table, listed, n_written, counts.view(np.uint8))
    elif form == 1:
        write_counts(table, listed, n_written, counts.view(np.uint16))
    elif form == 2:
        write_counts(table, listed, n_written, counts.view(np.uint32))
    else:
        write_counts(table, listed, n_written, counts)
    return end


@kernel
def check_packed(first: int, starts: Ints, data: Ints) -> Whole:
    """Return the number of scores of packed counts, or -1 for bytes that are not theirs, or NaN.

    first : the first bucket
    starts : int64 (b + 1,), from 0 up, multiples of 8, within ``data``, int64
    """
    total: np.int64 = np.int64(0)
    for i in range(starts.size - 1):
        at = starts[i] // 8
        end = starts[i + 1] // 8
        if at == end:
            continue
        if end - at <= HEADER:
            return -1
        n = data[at] >> BYTE
        form = data[at] & (WHOLE - 1)
        whole = (data[at] & ((1 << BYTE) - 1)) >= WHOLE
        if (
            n < 1
            or n > N_PLACES
            or (data[at] & ((1 << BYTE) - 1)) >= 2 * WHOLE
            or (whole and n < N_PLACES)
        ):
            return -1
        n_words = 0 if whole else (n + 3) // 4
        if end - at != HEADER + n_words + ((n << form) + 7) // 8:
            return -1
        places = data[at + HEADER : at + HEADER + n_words].view(np.uint16)
        counts = data[at + HEADER + n_words : end]
        size = np.int64(0)
        for p in range(n):
            count = np.int64(0)
            if form == 0:
                count = np.int64(counts.view(np.uint8)[p])
            elif form == 1:
                count = np.int64(counts.view(np.uint16)[p])
            elif form == 2:
                count = np.int64(counts.view(np.uint32)[p])
            else:
                count = counts[p]
            if count < 0 or count > MOST or (count == 0 and not whole):
                return -1
            rank = ((first + i) << HALF) + (p if whole else np.int64(places[p]))
            if count and (rank < LEAST_RANK or rank > MOST_RANK):
                return -1
            size += count
            if size > MOST:
                return -1
        total += size
        if size != data[at + 1] or size <= (FEW if whole else 0) or total > MOST:
            return -1
    return total
