"""Keys: scores, alone or with their label, as numbers that sort like them."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.checking import HASH
from xmleval.kernels.jit import kernel
from xmleval.records import Bools, Ints, Labels, Scores

HALF = 32
LOW = (1 << HALF) - 1
BIAS = 1 << (HALF - 1)
SCANNED = 16  # splitters up to which comparing with each of them beats searching
COMPARED = 16  # relevant labels of a row up to which comparing with each of them beats looking them up
TABLE_BITS = 12
TABLED = 1 << (TABLE_BITS - 2)  # up to which looking them up in a table beats searching


@kernel
def rank_of(bits: int) -> int:
    """Return the place of a float32, free of -0.0, among all of them: 0..2^32 - 1.

    bits : int32, those of the number
    """
    return int(bits ^ ((bits >> (HALF - 1)) & (BIAS - 1))) + BIAS


@kernel
def flag_relevant(list_ptr: Ints, true_ptr: Ints, positions: Ints, relevant: Bools) -> None:
    """Flag the listed entries that are relevant.

    positions : int64 (t,), 1-based place of each relevant label in its row's list, 0 where it is not listed
    relevant : bool (s,), False at first
    """
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if positions[t]:
                relevant[list_ptr[i] + positions[t] - 1] = True


@kernel
def flag_few(row: Labels, truth: Labels, flags: Bools) -> None:
    """Flag the entries of a row that are among a few labels, comparing with four of them at a time."""
    n = truth.size
    if n == 0:
        flags[:] = False
    for t in range(0, n, 4):
        a, b, c, d = truth[t], truth[min(t + 1, n - 1)], truth[min(t + 2, n - 1)], truth[min(t + 3, n - 1)]
        if t == 0:
            for s in range(row.size):
                label = row[s]
                flags[s] = (label == a) | (label == b) | (label == c) | (label == d)
        else:
            for s in range(row.size):
                label = row[s]
                flags[s] |= (label == a) | (label == b) | (label == c) | (label == d)


@kernel
def flag_listed(
    list_ptr: Ints, list_labels: Labels, true_ptr: Ints, true_labels: Labels, relevant: Bools
) -> None:
    """Flag the listed entries that are relevant, where nobody asks for their places.

    list_ptr, list_labels : int64 (n + 1,), (s,) distinct labels of each row, in any order
    true_ptr, true_labels : int64 (n + 1,), (t,) strictly increasing within each row
    relevant : bool (s,), written
    """
    table = np.full(1 << TABLE_BITS, -1, list_labels.dtype)
    shift = np.uint64(64 - TABLE_BITS)
    for i in range(true_ptr.size - 1):
        row = list_labels[list_ptr[i] : list_ptr[i + 1]]
        flags = relevant[list_ptr[i] : list_ptr[i + 1]]
        truth = true_labels[true_ptr[i] : true_ptr[i + 1]]
        if truth.size <= COMPARED:
            flag_few(row, truth, flags)
        elif truth.size <= TABLED:
            n_met = 0
            for label in truth:
                bucket = (np.uint64(label) * HASH) >> shift
                n_met += table[bucket] >= 0
                table[bucket] = label
            for s in range(row.size):
                flags[s] = table[(np.uint64(row[s]) * HASH) >> shift] == row[s]
            if n_met:
                for label in truth:  # those that another took the place of
                    if table[(np.uint64(label) * HASH) >> shift] != label:
                        for s in range(row.size):
                            flags[s] |= row[s] == label
            for label in truth:
                table[(np.uint64(label) * HASH) >> shift] = -1
        else:
            for s in range(row.size):
                t = np.searchsorted(truth, row[s])
                flags[s] = t < truth.size and truth[t] == row[s]


@kernel
def part_scores(flags: Bools, scores: Scores, flagged: Scores, others: Scores) -> None:
    """Write the scores of flagged entries and those of the others, -0.0 as 0.0; both in order.

    Both have room for one more: each score is written to both, which spares a branch.
    """
    n_flagged = np.uint64(0)
    zero = scores.dtype.type(0)
    for p in range(flags.size):
        flagged[n_flagged] = others[np.uint64(p) - n_flagged] = scores[p] + zero
        n_flagged += np.uint64(flags[p])


@kernel
def find_last(ptr: Ints, scores: Scores, last: Scores) -> None:
    """Find the least score of each row; infinite where it has none.

    ptr : int64 (n + 1,); scores : (s,), in any order within a row; last : (n,), written
    """
    for i in range(ptr.size - 1):
        least = scores.dtype.type(np.inf)
        for p in range(ptr[i], ptr[i + 1]):
            least = min(least, scores[p])
        last[i] = least + scores.dtype.type(0)


@kernel
def encode_keys(labels: Labels, scores: Scores, keys: Ints) -> None:
    """Write one integer for each (label, float32 score), which sorts like the pair.

    labels : int32 (n,); scores : int32 (n,), bits of float32 without -0.0 and NaN; keys : int64 (n,)
    """
    for p in range(labels.size):
        keys[p] = (np.int64(labels[p]) << HALF) + rank_of(scores[p])


@kernel
def decode_keys(keys: Ints, scores: Scores) -> None:
    """Write the bits of the float32 scores of keys, int32 (n,)."""
    for p in range(keys.size):
        rank = (keys[p] & LOW) - BIAS
        scores[p] = np.int32(rank ^ ((rank >> (HALF - 1)) & (BIAS - 1)))


@kernel
def group_keys(keys: Ints, first: int, ptr: Ints, scores: Ints) -> None:
    """Bring the scores of keys together by label, in any order within each.

    keys : int64 (n,), from `encode_keys`; first : the first label
    ptr : int64 (labels + 1,), written; scores : int32 (n,), bits of float32, written
    """
    ptr[:] = 0
    for p in range(keys.size):
        ptr[(keys[p] >> HALF) - first + 1] += 1
    for label in range(ptr.size - 1):
        ptr[label + 1] += ptr[label]
    place_of = ptr[:-1].copy()
    for p in range(keys.size):
        label = (keys[p] >> HALF) - first
        rank = (keys[p] & LOW) - BIAS
        scores[place_of[label]] = np.int32(rank ^ ((rank >> (HALF - 1)) & (BIAS - 1)))
        place_of[label] += 1


@kernel
def group_pairs(pairs: Scores, first: int, ptr: Ints, scores: Scores) -> None:
    """Bring scores together by label as `group_keys` does; pairs : float64 (n, 2), labels and scores."""
    ptr[:] = 0
    for p in range(pairs.shape[0]):
        ptr[int(pairs[p, 0]) - first + 1] += 1
    for label in range(ptr.size - 1):
        ptr[label + 1] += ptr[label]
    place_of = ptr[:-1].copy()
    for p in range(pairs.shape[0]):
        label = int(pairs[p, 0]) - first
        scores[place_of[label]] = pairs[p, 1]
        place_of[label] += 1


@kernel
def count_leading_bits(flags: Bools, scores: Scores, shift: int, counts: Ints) -> None:
    """Count entries by the leading bits of their scores' order, flagged ones and others apart.

    scores : int32 (n,), bits of float32 without NaN; shift : bits that are dropped
    counts : int64 (2, 2^(32 - shift)), added to
    """
    for p in range(flags.size):
        bits = scores[p]
        if bits == -BIAS:  # -0.0 equals 0.0
            bits = np.int32(0)
        counts[0 if flags[p] else 1, rank_of(bits) >> shift] += 1


@kernel
def part_keys(keys: Scores, splitters: Scores, bucket: Ints, parted: Scores, offsets: Ints) -> None:
    """Write keys in the order of ranges that splitters make; within a range in any order.

    splitters : (s,), rising; the ranges are: below the first, equal to it, between it and the second, ...
    bucket : int32 or, for at most 16 splitters, uint8 (n,), overwritten; parted : (n,), written
    offsets : int64 (2 s + 2,), written: where each range starts, and the end
    """
    for p in range(keys.size):
        bucket[p] = 0
    if splitters.size <= SCANNED:
        for splitter in splitters:  # one after another, so that each pass vectorises
            for p in range(keys.size):
                above, level = keys[p] > splitter, keys[p] >= splitter
                bucket[p] += bucket.dtype.type(above) + bucket.dtype.type(level)
    else:
        for p in range(keys.size):
            place = np.searchsorted(splitters, keys[p])
            equal = place < splitters.size and splitters[place] == keys[p]
            bucket[p] = 2 * place + np.int32(equal)
    offsets[:] = 0
    for p in range(keys.size):
        offsets[bucket[p] + 1] += 1
    for b in range(offsets.size - 1):
        offsets[b + 1] += offsets[b]
    place_of = offsets[:-1].copy()
    for p in range(keys.size):
        b = bucket[p]
        parted[place_of[b]] = keys[p]
        place_of[b] += 1
