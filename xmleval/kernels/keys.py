"""Keys: scores, alone or with their label, as integers in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.arrays import Bools, Ints, Labels, Scores
from xmleval.kernels.checking import HASH
from xmleval.kernels.jit import Whole, kernel
from xmleval.kernels.matching import index_of

HALF = 32
LOW = (1 << HALF) - 1
MINUS_ZERO = 1 << (HALF - 1)  # bits of -0.0, and rank of 0.0
# of -inf and inf
LEAST_RANK = 0x007FFFFF
MOST_RANK = 0xFF800000
SCANNED = 16  # splitters up to which comparing with each of them beats binary search
FEW_RELEVANT = 16  # relevant labels of a row up to which comparing with each of them beats hashing
TABLE_BITS = 12
HASHED = 1 << (TABLE_BITS - 2)  # relevant labels of a row up to which hashing beats binary search


@kernel
def rank_of_bits(bits: np.uint32) -> Any:
    """Return the rank of a float32 number, 0 to 2^32 - 1; -0.0 has that of 0.0; bits : uint32."""
    number = np.int64(bits)
    flipped = number ^ (MINUS_ZERO | (-(number >> (HALF - 1)) & (MINUS_ZERO - 1)))
    return np.uint64(flipped + np.int64(number == MINUS_ZERO))


@kernel
def bits_of_rank(rank: Whole) -> Whole:
    """Return the bits of the float32 number of a rank."""
    return rank ^ (MINUS_ZERO if rank >= MINUS_ZERO else LOW)


@kernel
def flag_by_comparing(row: Labels, truth: Labels, flags: Bools) -> None:
    """Flag the entries of a row that are among a few labels.

    Comparing with four labels a pass over the row is up to 2.4 times as fast as with one.

    row : (s,); truth : (t,), int32 or int64; flags : bool (s,), written
    """
    n = truth.size
    flags[:] = False
    for t in range(0, n, 4):
        a = truth[t]
        b = truth[min(t + 1, n - 1)]
        c = truth[min(t + 2, n - 1)]
        d = truth[min(t + 3, n - 1)]
        for s in range(row.size):
            label = row[s]
            flags[s] |= (label == a) | (label == b) | (label == c) | (label == d)


@kernel
def flag_by_hashing(row: Labels, truth: Labels, table: Labels, flags: Bools) -> None:
    """Flag the entries of a row that are among some labels, by a hash table of one label a bucket.

    row : (s,); truth : (up to HASHED,); flags : bool (s,), written
    table : (2^TABLE_BITS,), all -1, and again at the end
    """
    shift = np.uint64(64 - TABLE_BITS)
    n_collisions = 0
    for label in truth:
        bucket = (np.uint64(label) * HASH) >> shift
        n_collisions += table[bucket] >= 0
        table[bucket] = label
    for s in range(row.size):
        flags[s] = table[(np.uint64(row[s]) * HASH) >> shift] == row[s]
    for label in truth:
        # replaced by a later label
        if n_collisions and table[(np.uint64(label) * HASH) >> shift] != label:
            for s in range(row.size):
                flags[s] |= row[s] == label
    for label in truth:
        table[(np.uint64(label) * HASH) >> shift] = -1


@kernel
def flag_listed(
    list_ptr: Ints, list_labels: Labels, true_ptr: Ints, true_labels: Labels, relevant: Bools
) -> None:
    """Flag the listed entries that are relevant, without finding their places.

    list_ptr, list_labels : int64 (n + 1,), (s,) distinct labels of each row, in any order
    true_ptr, true_labels : int64 (n + 1,), (t,) strictly increasing within each row
    relevant : bool (s,), written
    """
    table = np.full(1 << TABLE_BITS, -1, list_labels.dtype)
    for i in range(true_ptr.size - 1):
        row = list_labels[list_ptr[i] : list_ptr[i + 1]]
        flags = relevant[list_ptr[i] : list_ptr[i + 1]]
        truth = true_labels[true_ptr[i] : true_ptr[i + 1]]
        if truth.size <= FEW_RELEVANT:
            flag_by_comparing(row, truth, flags)
        elif truth.size <= HASHED:
            flag_by_hashing(row, truth, table, flags)
        else:
            for s in range(row.size):
                flags[s] = index_of(truth, row[s]) >= 0


@kernel
def part_scores(flags: Bools, scores: Labels, flagged: Labels, unflagged: Labels) -> None:
    """Write the scores of flagged entries and of the others, -0.0 as 0.0; both keep their order.

    Each score is written to both arrays, which needs no branch: both have room for one more. Bits
    stay as they are where a processor takes denormals for 0.0.

    flags : bool (s,); scores : uint32 or uint64 (s,), bits of floats
    flagged, unflagged : (f + 1,), (s - f + 1,) of their type, written
    """
    n_flagged = np.uint64(0)
    bits_of = scores.dtype.type
    minus_zero = bits_of(1) << bits_of(8 * scores.itemsize - 1)
    for p in range(flags.size):
        bits = scores[p] * bits_of(scores[p] != minus_zero)
        flagged[n_flagged] = unflagged[np.uint64(p) - n_flagged] = bits
        n_flagged += np.uint64(flags[p])


@kernel
def find_last(ptr: Ints, scores: Scores, last: Scores) -> None:
    """Find the lowest score of every row; infinite for an empty row.

    ptr : int64 (n + 1,); scores : (s,), in any order within a row; last : (n,), written
    """
    for i in range(ptr.size - 1):
        lowest = scores.dtype.type(np.inf)
        for p in range(ptr[i], ptr[i + 1]):
            lowest = min(lowest, scores[p])
        last[i] = lowest + scores.dtype.type(0)


@kernel
def encode_keys(labels: Labels, scores: Scores, keys: Ints) -> None:
    """Write one integer for each (label, float32 score), in the order of the pairs.

    labels : int32 (n,); scores : uint32 (n,), bits of float32 without NaN; keys : int64 (n,)
    """
    for p in range(labels.size):
        keys[p] = (np.int64(labels[p]) << HALF) + np.int64(rank_of_bits(scores[p]))


@kernel
def decode_keys(keys: Ints, scores: Scores) -> None:
    """Write the bits of the float32 scores of keys, int64 (n,), to scores, uint32 (n,)."""
    for p in range(keys.size):
        scores[p] = np.uint32(bits_of_rank(keys[p] & LOW))


@kernel
def count_keys(keys: Ints, first: int, counts: Ints) -> bool:
    """Count keys by label; return whether all have a valid label and score.

    keys : int64 (n,), any; first : the first label; counts : int64 (labels,), added to
    """
    n_labels = np.uint64(counts.size)
    for key in keys:
        label = np.uint64((key >> HALF) - first)  # a place below 0 is a large one
        rank = key & LOW
        if label >= n_labels or rank < LEAST_RANK or rank > MOST_RANK:
            return False
        counts[label] += 1
    return True


@kernel
def place_keys(keys: Ints, first: int, place_of: Ints, scores: Ints) -> None:
    """Append the scores of keys to those of their labels.

    keys : int64 (n,), from `encode_keys`; first : the first label
    place_of : int64 (labels,), the next free place of each label, advanced
    scores : uint32 (s,), bits of float32, written
    """
    for p in range(keys.size):
        label = np.uint64((keys[p] >> HALF) - first)
        scores[np.uint64(place_of[label])] = np.uint32(bits_of_rank(keys[p] & LOW))
        place_of[label] += 1


@kernel
def place_pairs(pairs: Scores, first: int, place_of: Ints, scores: Scores) -> None:
    """Append scores as `place_keys` does, from float64 (n, 2), labels and scores."""
    for p in range(pairs.shape[0]):
        label = int(pairs[p, 0]) - first
        scores[place_of[label]] = pairs[p, 1]
        place_of[label] += 1


@kernel
def part_keys(keys: Scores, splitters: Scores, bucket: Ints, parted: Scores, offsets: Ints) -> None:
    """Partition keys into the ranges between splitters, in any order within a range.

    keys, parted : (n,), parted is written
    splitters : (s,), increasing; the ranges are: below the first, equal to it, between it and the
        second, ...
    bucket : int32 (n,) or, for at most `SCANNED` splitters, uint8 (n,), overwritten
    offsets : int64 (2 s + 2,), written: where each range starts, and the end
    """
    for p in range(keys.size):
        bucket[p] = 0
    if splitters.size <= SCANNED:
        for splitter in splitters:  # one after another, so that each pass vectorises
            for p in range(keys.size):
                above = keys[p] > splitter
                reached = keys[p] >= splitter
                bucket[p] += bucket.dtype.type(above) + bucket.dtype.type(reached)
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
