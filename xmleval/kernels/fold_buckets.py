"""Sweeps down scores counted by value that leave out one fold of the rows at a time, all in one pass.

The pairs of a bucket that are left without a fold are all, less those of its relevant entries with all
irrelevant ones and of its irrelevant entries with all relevant ones, which count those within it twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from xmleval.kernels.addresses import pointer_to
from xmleval.kernels.fixed import LIMBS, UNCARRIED, add_limbs, split_term
from xmleval.kernels.fold_sweeps import walk_folds
from xmleval.kernels.jit import kernel
from xmleval.kernels.packing import FEW, HALF, HEADER, N_PLACES, add_packed
from xmleval.kernels.products import add_product
from xmleval.kernels.values import (
    DATA,
    FIRST,
    LAST,
    OFFSETS,
    PACKED,
    STOP,
    clear_table,
    list_bucket,
    sort_places,
)
from xmleval.records import Ints, Labels

HALF_WORD = 32
LOW_WORD = (1 << HALF_WORD) - 1
MOST_SIMPLE = 1 << 31  # scores of a bucket up to which counts fit in half a word, and pairs in 62 bits
BRIEF = 1 << 18  # pairs of scores up to which comparing all is faster than a table of places


@kernel
def count_fold(part: Ints, bucket: int, rows: Labels, counted: Ints, table: Ints, listed: Labels) -> None:
    """Add the scores of a part in a bucket to the counts of a fold.

    part : int64 (FIELDS,), see `kernels.values`; rows : int32 (N_PLACES,), row of the table of each place
    counted : int64 (2 n + 1,), added to
    table : int64 (N_PLACES,), zeros, and again at the end; listed : uint16 (N_PLACES + 1,), overwritten
    """
    first, stop = part[FIRST], part[STOP]
    if not first <= bucket < stop:
        return
    if not part[PACKED]:
        starts = carray(pointer_to(part[OFFSETS]), (stop - first + 1,), np.uint32)
        start, end = np.int64(starts[bucket - first]), np.int64(starts[bucket - first + 1])
        for place in carray(pointer_to(part[DATA] + 2 * start), (end - start,), np.uint16):
            counted[rows[place]] += 1
        return
    offsets = carray(pointer_to(part[OFFSETS]), (stop - first + 1,), np.int64)
    if offsets[bucket - first] == offsets[bucket - first + 1]:
        return
    at = part[DATA] + offsets[bucket - first]
    few = carray(pointer_to(at), (HEADER,), np.int64)[1] <= FEW
    n_listed = add_packed(at, table, listed, 0 if few else -1)
    for i in range(n_listed if few else N_PLACES):
        place = np.int64(listed[i]) if few else i
        counted[rows[place]] += table[place]
    clear_table(table, listed, n_listed)


@kernel
def sum_at(part: Ints, bucket: int, table: Ints) -> tuple[Any, Any]:
    """Sum what a table holds at the places of a part in a bucket, each of two halves of its words.

    part : int64 (FIELDS,), not packed; table : int64 (N_PLACES,)
    """
    upper, lower = np.int64(0), np.int64(0)
    for place in places_of(part, bucket):
        word = table[place]
        upper += word >> HALF_WORD
        lower += word & LOW_WORD
    return upper, lower


@kernel
def places_of(part: Ints, bucket: int) -> Any:
    """Return the places of a part in a bucket; int64 (FIELDS,), not packed."""
    first, stop = part[FIRST], part[STOP]
    if not first <= bucket < stop:
        return carray(pointer_to(part[DATA]), (0,), np.uint16)
    starts = carray(pointer_to(part[OFFSETS]), (stop - first + 1,), np.uint32)
    start, end = np.int64(starts[bucket - first]), np.int64(starts[bucket - first + 1])
    return carray(pointer_to(part[DATA] + 2 * start), (end - start,), np.uint16)


@kernel
def count_pairs(good: Labels, bad: Labels) -> tuple[Any, Any]:
    """Count the pairs of places, uint16 (n,) and (m,), whose second one is lower, or the same."""
    right, level = np.int64(0), np.int64(0)
    for i in range(good.size):
        place, lower, same = np.int32(good[i]), np.int32(0), np.int32(0)  # narrow, for wide vectors
        for j in range(bad.size):
            other = np.int32(bad[np.uint64(j)])
            lower += np.int32(other < place)
            same += np.int32(other == place)
        right += lower
        level += same
    return right, level


@kernel
def tabulate_lower(counts: Labels, words: Ints, upwards: bool) -> None:
    """Write the sum of the counts before each place, or after it, and its count, in halves of a word.

    counts : int32 (N_PLACES,); words : int64 (N_PLACES,), written
    """
    total = np.int64(0)
    for step in range(N_PLACES):
        place = step if upwards else N_PLACES - 1 - step
        words[place] = total << HALF_WORD | np.int64(counts[place])
        total += counts[place]


@kernel
def count_bucket_pairs(
    relevant: Ints, irrelevant: Ints, good_folds: Ints, bad_folds: Ints, sizes: Ints, bucket: int,
    counts: Labels, words: Ints, right: Ints, level: Ints,
) -> None:  # fmt: skip
    """Count the pairs of entries of a bucket outside each fold: all, less those of a fold's own entries.

    relevant, irrelevant, good_folds, bad_folds, as in `sweep_fold_buckets`, parts not packed
    sizes : int64 (2, folds), relevant and irrelevant scores of the bucket, fewer than 2^31
    counts : int32 (2, N_PLACES), zeros, written: relevant and irrelevant scores of each place
    words : int64 (N_PLACES,), overwritten
    right, level : int64 (folds,), written: pairs in the right order, and tied
    """
    right[:], level[:] = 0, 0
    for part in relevant:
        for place in places_of(part, bucket):
            counts[0, place] += 1
    for part in irrelevant:
        for place in places_of(part, bucket):
            counts[1, place] += 1
    tabulate_lower(counts[1], words, True)
    every_right, every_level = np.int64(0), np.int64(0)
    for p in range(relevant.shape[0]):
        lower, same = sum_at(relevant[p], bucket, words)
        right[good_folds[p]] -= lower
        level[good_folds[p]] -= same
        every_right += lower
        every_level += same
    tabulate_lower(counts[0], words, False)
    for p in range(irrelevant.shape[0]):
        higher, same = sum_at(irrelevant[p], bucket, words)
        right[bad_folds[p]] -= higher
        level[bad_folds[p]] -= same
    own = np.empty(N_PLACES, np.int32)
    for fold in range(right.size):
        right[fold] += every_right
        level[fold] += every_level
        brief = float(sizes[0, fold]) * float(sizes[1, fold]) < BRIEF
        if not brief:
            own[:] = 0
            for q in range(irrelevant.shape[0]):
                if bad_folds[q] == fold:
                    for place in places_of(irrelevant[q], bucket):
                        own[place] += 1
            tabulate_lower(own, words, True)
        for p in range(relevant.shape[0]):
            if good_folds[p] != fold:
                continue
            if not brief:
                lower, same = sum_at(relevant[p], bucket, words)
                right[fold] += lower
                level[fold] += same
                continue
            for q in range(irrelevant.shape[0]):
                if bad_folds[q] == fold:
                    lower, same = count_pairs(
                        places_of(relevant[p], bucket), places_of(irrelevant[q], bucket)
                    )
                    right[fold] += lower
                    level[fold] += same


@kernel
def sum_bucket_precision(
    relevant: Ints, irrelevant: Ints, good_folds: Ints, bad_folds: Ints, bucket: int, counts: Labels,
    segments: Labels, above: Ints, precision: Ints,
) -> None:  # fmt: skip
    """Sum the precision of the relevant entries of a bucket outside each fold.

    counts : int32 (N_PLACES,), relevant scores of each place; segments : int32 (N_PLACES,), overwritten
    above : int64 (2, folds), entries above the bucket, unchanged
    precision : as in `walk_folds`; the others as in `count_bucket_pairs`
    """
    n, n_folds = 0, above.shape[1]
    for place in range(N_PLACES):
        n += counts[place] > 0
        segments[place] = n
    good, bad = np.zeros((n + 1, n_folds), np.int32), np.zeros((n + 1, n_folds), np.int32)
    for p in range(relevant.shape[0]):
        for place in places_of(relevant[p], bucket):
            good[np.uint64(segments[place]), np.uint64(good_folds[p])] += 1
    for p in range(irrelevant.shape[0]):
        for place in places_of(irrelevant[p], bucket):
            bad[np.uint64(segments[place]), np.uint64(bad_folds[p])] += 1
    seen, wrong, sums = above[0].copy(), above[1].copy(), np.zeros((LIMBS, n_folds), np.int64)
    every_seen, every_wrong = seen.sum(), wrong.sum()
    for i in range(n, 0, -1):
        group, more = np.int64(0), np.int64(0)
        for fold in range(n_folds):
            group += good[i, fold]
            more += bad[i, fold]
        every_seen += group
        every_wrong += more
        for fold in range(n_folds):
            seen[fold] += good[i, fold]
            wrong[fold] += bad[i, fold]
            hits = every_seen - seen[fold]
            further = every_wrong - wrong[fold]
            # without other relevant entries 0, and no 0 / 0
            term = (group - good[i, fold]) * (hits / max(1, hits + further))
            whole, first, second, third = split_term(term)
            sums[0, fold] += whole
            sums[1, fold] += first
            sums[2, fold] += second
            sums[3, fold] += third
        if i % UNCARRIED == 0 or i == 1:
            for fold in range(n_folds):
                add_limbs(precision[fold], sums[0, fold], sums[1, fold], sums[2, fold], sums[3, fold])
            sums[:] = 0


@kernel
def sweep_fold_buckets(
    relevant: Ints, irrelevant: Ints, good_folds: Ints, bad_folds: Ints, buckets: Ints, sizes: Ints,
    first: int, stop: int, level: int, unlisted: Ints, above: Ints, totals: Ints, pairs_alone: bool,
    pairs: Ints, precision: Ints,
) -> None:  # fmt: skip
    """Do as `walk_folds` for scores counted by value, in a range of buckets.

    relevant, irrelevant : parts of the scores, see `kernels.values`; good_folds, bad_folds : their folds
    buckets : int64 (b,), increasing: those that are not empty, and that of ``level``
    sizes : int64 (2, b, folds), relevant and irrelevant scores of each; first, stop : the range of them
    level : rank of the score of unlisted entries, -1 if they rank below all
    unlisted : int64 (2, folds), relevant and irrelevant unlisted entries
    above, totals, pairs_alone, pairs, precision : as in `walk_folds`
    """
    n_folds, packed = sizes.shape[2], False
    for p in range(relevant.shape[0]):
        packed |= relevant[p, PACKED] != 0
    for p in range(irrelevant.shape[0]):
        packed |= irrelevant[p, PACKED] != 0
    listed, spare = np.empty(N_PLACES + 1, np.uint16), np.empty(N_PLACES + 1, np.uint16)
    table, rows = np.zeros(N_PLACES, np.int64), np.empty(N_PLACES, np.int32)
    counts, words = np.empty((2, N_PLACES), np.int32), np.empty(N_PLACES, np.int64)
    right, same = np.empty(n_folds, np.int64), np.empty(n_folds, np.int64)
    for number in range(stop - 1, first - 1, -1):
        bucket = buckets[number]
        at_level = level & LAST if level >> HALF == bucket else -1
        own, others = sizes[0, number], sizes[1, number]
        n_relevant, n_irrelevant = own.sum(), others.sum()
        if n_relevant == 0 and at_level < 0:
            above[1] += others
            continue
        if not packed and at_level < 0 and max(n_relevant, n_irrelevant) < MOST_SIMPLE:
            counts[:] = 0
            count_bucket_pairs(
                relevant, irrelevant, good_folds, bad_folds, sizes[:, number], bucket, counts, words, right,
                same,
            )  # fmt: skip
            if not pairs_alone:
                sum_bucket_precision(
                    relevant, irrelevant, good_folds, bad_folds, bucket, counts[0], rows, above, precision
                )
            above[0] += own
            above[1] += others
            below = totals[1] - above[1]
            n_below = below.sum()
            for fold in range(n_folds):
                add_product(pairs[fold, 0], 1, right[fold])
                add_product(pairs[fold, 0], n_relevant - own[fold], n_below - below[fold])
                add_product(pairs[fold, 1], 1, same[fold])
            continue
        n_listed, n = list_bucket(relevant, bucket, n_relevant, table, listed, spare)
        new = at_level >= 0 and table[at_level] == 0  # a tie group of its own
        clear_table(table, listed, n if n_listed >= 0 else -1)
        if new:
            listed[n] = np.uint16(at_level)
            n += 1
            sort_places(listed, n, spare)
        start = np.int64(0)
        for i in range(n):
            place = np.int64(listed[i])
            rows[start:place] = 2 * i
            rows[place] = 2 * i + 1
            start = place + 1
        rows[start:] = 2 * n
        counted = np.zeros((2, n_folds, 2 * n + 1), np.int64)
        for p in range(relevant.shape[0]):
            count_fold(relevant[p], bucket, rows, counted[0, good_folds[p]], table, spare)
        for p in range(irrelevant.shape[0]):
            count_fold(irrelevant[p], bucket, rows, counted[1, bad_folds[p]], table, spare)
        if at_level >= 0:
            counted[:, :, rows[at_level]] += unlisted
        good, bad = counted[0].T.copy(), counted[1].T.copy()
        walk_folds(good, bad, above, totals, pairs_alone, pairs, precision)
