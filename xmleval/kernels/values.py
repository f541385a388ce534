"""Counts of float32 scores by value.

The rank of a score among all float32 numbers, 0 for the lowest, has two halves: the leading one is
its bucket, the trailing one its place within the bucket. That of 0.5 is BF00|0000, that of the next
number BF00|0001. Scores come as *parts*, rows of an int64 array (p, `FIELDS`) for each multiset:

- ordered scores: the place of each score, bucket after bucket;
- packed counts: for each bucket, the counts of its places.

The fields of a part are its first bucket, the one after its last, the addresses of where its
buckets start and of its places, and whether it is packed. Where buckets start is uint32, in places,
of ordered scores, and int64, in bytes, of packed ones. With the scores 0.75, 0.5 and the second one
after it, BF00 starts at 0, BF01 at 2 and BF41 at 3, and the places are 0, 2 and 0.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Ints, Labels
from xmleval.kernels.addresses import array_at
from xmleval.kernels.jit import Whole, kernel, kernel_with_work
from xmleval.kernels.keys import bits_of_rank, rank_of_bits
from xmleval.kernels.packing import BYTE, FEW, HALF, HEADER, N_PLACES, add_packed, pack_counts
from xmleval.kernels.products import add_product
from xmleval.kernels.sorting import copy_to
from xmleval.kernels.sweeps import CurveSums, count_cut, count_group

FIELDS = 5
FIRST, STOP, OFFSETS, DATA, PACKED = range(FIELDS)
N_BUCKETS = 1 << HALF
LAST = N_PLACES - 1
SIMPLE = 1 << 31  # scores of a bucket from which its pairs may not fit in 64 bits
SHORT = 24  # places up to which insertion beats sorting by digits


@kernel
def order_by_bucket(scores: Labels, starts: Labels, places: Labels) -> None:
    """Order scores by bucket.

    scores : uint32 (n,), bits of float32 without NaN
    starts : uint32 (N_BUCKETS + 1,), written: where each bucket starts
    places : uint16 (n,), written
    """
    starts[:] = 0
    ends = starts[1:]  # sizes, then where the next score of each bucket goes
    for p in range(scores.size):
        ends[rank_of_bits(scores[p]) >> np.uint64(HALF)] += np.uint32(1)
    total = np.uint32(0)
    for bucket in range(N_BUCKETS):
        size = ends[bucket]
        ends[bucket] = total
        total += size
    for p in range(scores.size):
        rank = rank_of_bits(scores[p])
        bucket = rank >> np.uint64(HALF)
        at = ends[bucket]
        places[np.uint64(at)] = np.uint16(rank & np.uint64(LAST))
        ends[bucket] = at + np.uint32(1)


def n_offsets(parts: Ints, sizes: Ints) -> int:
    """Return the number of bucket starts that `add_sizes` reads, at most."""
    return len(parts) * sizes.size


@kernel_with_work(n_offsets)
def add_sizes(parts: Ints, sizes: Ints) -> None:
    """Add the number of scores of parts in each bucket; int64 (p, FIELDS), int64 (N_BUCKETS,)."""
    for part in parts:
        first = part[FIRST]
        stop = part[STOP]
        if part[PACKED]:
            offsets = array_at(part[OFFSETS], stop - first + 1, np.int64)
            for bucket in range(first, stop):
                if offsets[bucket - first] < offsets[bucket - first + 1]:
                    at = part[DATA] + offsets[bucket - first]
                    sizes[bucket] += array_at(at, HEADER, np.int64)[1]
        else:
            starts = array_at(part[OFFSETS], stop - first + 1, np.uint32)
            for bucket in range(first, stop):
                sizes[bucket] += np.int64(starts[bucket - first + 1]) - np.int64(
                    starts[bucket - first]
                )


@kernel
def count_places(places: Labels, table: Ints, listed: Labels, n_listed: Whole) -> Whole:
    """Count places in a table, and list new ones if ``n_listed`` >= 0; return the number listed."""
    unit = table.dtype.type(1)
    if n_listed < 0:
        for place in places:
            table[place] += unit
        return n_listed
    n = np.uint64(n_listed)
    for place in places:
        listed[n] = place
        n += np.uint64(table[place] == 0)
        table[place] += unit
    return np.int64(n)


@kernel
def count_bucket(
    parts: Ints, bucket: int, size: int, table: Ints, listed: Labels, spare: Labels
) -> Whole:
    """Count the scores of a bucket by place; return the number of listed places, -1 if too many.

    size : number of scores in the bucket
    table : (N_PLACES,), zeros, added to
    listed : uint16 (N_PLACES + 1,), written: the places in ascending order; spare : as large,
        overwritten
    """
    n_listed: Whole = 0 if size <= FEW else -1
    for part in parts:
        first = part[FIRST]
        stop = part[STOP]
        if not first <= bucket < stop:
            continue
        if part[PACKED]:
            offsets = array_at(part[OFFSETS], stop - first + 1, np.int64)
            start = offsets[bucket - first]
            end = offsets[bucket - first + 1]
            if start < end:
                n_listed = add_packed(part[DATA] + start, table, listed, n_listed)
        else:
            starts = array_at(part[OFFSETS], stop - first + 1, np.uint32)
            start = np.int64(starts[bucket - first])
            end = np.int64(starts[bucket - first + 1])
            places = array_at(part[DATA] + 2 * start, end - start, np.uint16)
            n_listed = count_places(places, table, listed, n_listed)
    if n_listed > 0:
        sort_places(listed, n_listed, spare)
    return n_listed


@kernel
def sort_places(places: Labels, n: Whole, spare: Labels) -> None:
    """Sort places[:n] upwards, by two digits; uint16, uint16 (at least n,), overwritten."""
    if n <= SHORT:
        for i in range(1, n):
            place = places[i]
            j = i
            while j > 0 and places[j - 1] > place:
                places[j] = places[j - 1]
                j -= 1
            places[j] = place
        return
    for shift in range(0, HALF, BYTE):
        starts = np.zeros((1 << BYTE) + 1, np.int32)
        for i in range(n):
            starts[((places[i] >> np.uint16(shift)) & np.uint16(255)) + 1] += np.int32(1)
        for digit in range(1 << BYTE):
            starts[digit + 1] += starts[digit]
        for i in range(n):
            digit = (places[i] >> np.uint16(shift)) & np.uint16(255)
            spare[starts[digit]] = places[i]
            starts[digit] += np.int32(1)
        copy_to(places[:n], spare[:n])


@kernel
def list_places(table: Ints, listed: Labels) -> Whole:
    """List the places of a table that are not zero, in ascending order; return how many."""
    n_listed = np.uint64(0)
    for place in range(N_PLACES):
        listed[n_listed] = np.uint16(place)
        n_listed += np.uint64(table[place] != 0)
    return np.int64(n_listed)


@kernel
def clear_table(table: Ints, listed: Labels, n_listed: Whole) -> None:
    """Set a table to zero: its listed places, or all if ``n_listed`` < 0."""
    if n_listed < 0:
        table[:] = 0
    else:
        for i in range(n_listed):
            table[listed[i]] = 0


@kernel
def sum_counts(counts: Ints) -> Whole:
    """Return the sum of counts."""
    total = np.int64(0)
    for count in counts:
        total += np.int64(count)
    return total


@kernel
def count_pairs(good: Ints, bad: Ints) -> tuple[np.int64, np.int64]:
    """Return the pairs of a score in ``good`` and a lower one in ``bad``, and of two that are tied.

    good, bad : (N_PLACES,), counts by place
    """
    right = np.int64(0)
    tied = np.int64(0)
    below = np.int64(0)
    for place in range(N_PLACES):
        group = np.int64(good[place])
        level = np.int64(bad[place])
        right += group * below
        tied += group * level
        below += level
    return right, tied


@kernel
def list_bucket(
    parts: Ints, bucket: int, size: int, table: Ints, listed: Labels, spare: Labels
) -> tuple[Whole, Whole]:
    """Do as `count_bucket`, and list the places in any case; return its result and their number."""
    n_listed = count_bucket(parts, bucket, size, table, listed, spare)
    return n_listed, list_places(table, listed) if n_listed < 0 else n_listed


def n_in_buckets(parts: Ints, sizes: Ints, first: int, stop: int, *_: object) -> int:
    """Return the number of scores in a range of buckets, and of buckets."""
    return int(sizes[first:stop].sum()) + stop - first


@kernel_with_work(n_in_buckets)
def export_buckets(
    parts: Ints, sizes: Ints, first: int, stop: int, table: Ints, scores: Labels, counts: Ints
) -> int:
    """Write the distinct scores of a range of buckets, ascending, with counts; return their number.

    parts, sizes : see `count_bucket`, and int64 (N_BUCKETS,), see `add_sizes`
    table : (N_PLACES,), zeros, and again at the end; wide enough for the counts
    scores : uint32 (d,), written: bits of float32; counts : int64 (d,), written
    """
    listed = np.empty(N_PLACES + 1, np.uint16)
    spare = np.empty(N_PLACES + 1, np.uint16)
    n_found = 0
    for bucket in range(first, stop):
        if sizes[bucket] == 0:
            continue
        n_listed, n = list_bucket(parts, bucket, sizes[bucket], table, listed, spare)
        for i in range(n):
            place = np.int64(listed[i])
            scores[n_found] = np.uint32(bits_of_rank((bucket << HALF) + place))
            counts[n_found] = table[place]
            n_found += 1
        clear_table(table, listed, n_listed)
    return n_found


@kernel_with_work(n_in_buckets)
def pack_buckets(
    parts: Ints, sizes: Ints, first: int, stop: int, table: Ints, offsets: Ints, data: Ints
) -> None:
    """Pack the counts of a range of buckets, see `kernels.packing`.

    parts, sizes, table : as in `export_buckets`
    offsets : int64 (stop - first + 1,), written: where each bucket starts in bytes, a multiple of 8
    data : int64, written; empty buckets take nothing
    """
    listed = np.empty(N_PLACES + 1, np.uint16)
    spare = np.empty(N_PLACES + 1, np.uint16)
    at: Whole = 0
    for bucket in range(first, stop):
        offsets[bucket - first] = 8 * at
        if sizes[bucket] == 0:
            continue
        n_listed, n = list_bucket(parts, bucket, sizes[bucket], table, listed, spare)
        at = pack_counts(table, listed, n, sizes[bucket], data, at)
        clear_table(table, listed, n_listed)
    offsets[stop - first] = 8 * at


def n_swept(relevant: Ints, irrelevant: Ints, sizes: Ints, *_: object) -> int:
    """Return the number of scores of some buckets, and of a table of places."""
    return int(sizes.sum()) + N_PLACES


@kernel_with_work(n_swept)
def sweep_buckets(
    relevant: Ints,
    irrelevant: Ints,
    sizes: Ints,
    above: Ints,
    first: int,
    level: int,
    unlisted: Ints,
    pairs_alone: bool,
    tables: Ints,
    sums: CurveSums,
) -> None:
    """Count the entries that are ranked together, in a range of buckets.

    relevant, irrelevant : parts of the scores, see `count_bucket`
    sizes : int64 (2, b), relevant and irrelevant scores of each bucket from ``first`` on, see
        `add_sizes`
    above : int64 (2,), relevant and irrelevant entries above these buckets, unlisted ones among
        them
    level : rank of the score of unlisted entries; if it is in none of these buckets, or -1, they
        are not counted here
    unlisted : int64 (2,), relevant and irrelevant unlisted entries
    pairs_alone : whether precision, peak, areas and cuts may be left incomplete
    tables : (2, N_PLACES), counts of relevant and irrelevant places, wide enough; zeros, and again
        at the end
    """
    listed = np.empty(N_PLACES + 1, np.uint16)
    bad_places = np.empty(N_PLACES + 1, np.uint16)
    spare = np.empty(N_PLACES + 1, np.uint16)
    good = tables[0]
    bad = tables[1]
    totals = sums.totals
    pairs = sums.pairs
    precision = sums.precision
    peak = sums.peak
    queries = sums.queries.size
    seen = above[0]
    wrong = above[1]
    score = np.empty(1, np.float32)
    bits = score.view(np.uint32)
    for bucket in range(first + sizes.shape[1] - 1, first - 1, -1):
        n_relevant = sizes[0, bucket - first]
        n_irrelevant = sizes[1, bucket - first]
        at_level = level & LAST if level >> HALF == bucket else -1
        if n_relevant == 0 and at_level < 0:
            wrong += n_irrelevant
            continue
        # places that are listed, -1 where a table has too many; n are those of tie groups
        n_listed = n = count_bucket(relevant, bucket, n_relevant, good, listed, spare)
        n_others = count_bucket(irrelevant, bucket, n_irrelevant, bad, bad_places, spare)
        n_bad: int = n_irrelevant
        before: int = wrong  # irrelevant entries above this bucket
        simple = pairs_alone and at_level < 0 and max(n_relevant, n_bad) < SIMPLE
        right: np.int64 = np.int64(0)
        tied_pairs: np.int64 = np.int64(0)
        if simple and n_listed < 0 and n_others < 0:
            right, tied_pairs = count_pairs(good, bad)
        elif n_listed < 0:
            n = list_places(good, listed)
        if at_level >= 0 and good[at_level] == 0:  # a tie group of its own
            listed[n] = np.uint16(at_level)
            n += 1
            sort_places(listed, n, spare)
        end: Whole = N_PLACES
        j = n_others - 1
        for i in range(n - 1, -1, -1):
            place = np.int64(listed[i])
            if n_others < 0:
                wrong += sum_counts(bad[place:end])
                end = place
            while j >= 0 and bad_places[j] >= listed[i]:
                wrong += bad[bad_places[j]]
                j -= 1
            group: np.int64 = np.int64(good[place])
            tied: np.int64 = np.int64(bad[place])
            if place == at_level:
                group = group + unlisted[0]
                tied = tied + unlisted[1]
                wrong = wrong + unlisted[1]
            if simple:
                right += group * (before + n_bad - wrong)
                tied_pairs += group * tied
                continue
            seen += group
            bits[0] = np.uint32(bits_of_rank((bucket << HALF) + place))
            cut = np.float64(score[0])
            count_group(group, tied, cut, seen, wrong, totals, pairs, precision, peak)
            if queries:
                count_cut(group, tied, cut, seen, wrong, sums)
        if simple:
            add_product(pairs[0], 1, right)
            add_product(pairs[0], n_relevant, totals[1] - before - n_bad)
            add_product(pairs[1], 1, tied_pairs)
            seen += n_relevant
        wrong = before + n_bad + (unlisted[1] if at_level >= 0 else 0)
        clear_table(good, listed, n if n_listed >= 0 else -1)
        clear_table(bad, bad_places, n_others)
