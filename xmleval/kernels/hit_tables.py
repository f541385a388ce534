"""Tables of hits by number of relevant labels and rank."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.kernels.decimal import U0, U1, U2, U3, U4, U5
from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel, kernel_with_work
from xmleval.kernels.matching import COMPARED, PAIRS, index_of
from xmleval.kernels.sorting import longest_row

SPLIT_HIGH = 1.5 * 2.0**32  # adding and subtracting it rounds to a multiple of 2^-20
SPLIT_LOW = 1.5  # the same for 2^-52
LARGEST_SUM = 2.0**33  # up to it, sums of multiples of 2^-20 are exact in float64
MOST_TERMS = 1 << 21  # up to it, sums of remainders below 2^-20 are exact as well
INSERTED = 32  # depth up to which insertion beats sorting all values


@kernel
def keep_largest(values: Floats, best: Floats) -> int:
    """Write the largest values in decreasing order; return how many.

    values : float64 (n,), may be reordered; best : float64 (depth,), its first min(n, depth) are
        written
    """
    depth = min(best.size, values.size)
    if depth > INSERTED:
        values.sort()
        for j in range(depth):
            best[j] = values[values.size - 1 - j]
        return depth
    n_held = 0
    for value in values:
        if n_held == depth:
            if n_held == 0 or value <= best[n_held - 1]:
                continue
            n_held -= 1
        j = n_held
        while j > 0 and best[j - 1] < value:
            best[j] = best[j - 1]
            j -= 1
        best[j] = value
        n_held += 1
    return n_held


@kernel
def count_hits(true_ptr: Ints, ranks: Ints, slots: Ints, hits: Ints) -> None:
    """Count hits by the instance's slot and rank.

    true_ptr : int64 (n + 1,); ranks : int64 (t,), rank of each relevant label, 0 for none
    slots : int64 (n,), slot of each instance
    hits : int64 (slots, depth + 1), added to; column 0 takes labels that are no hits
    """
    depth = hits.shape[1] - 1
    for i in range(true_ptr.size - 1):
        slot = slots[i]
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = ranks[t] if ranks[t] <= depth else 0
            hits[slot, rank] += 1  # misses too: a branch would be mispredicted


@kernel
def search_leading_hits(truth: Labels, row: Labels, hits: Ints) -> None:
    """Add to hits, int64 (s,), by place, the labels of a row among many increasing ones."""
    for s in range(row.size):
        hits[s] += index_of(truth, row[s]) >= 0


def n_compared_within(
    true_ptr: Ints,
    true_labels: Labels,
    list_ptr: Ints,
    list_labels: Labels,
    slots: Ints,
    hits: Ints,
) -> int:
    """Return the work of comparing all relevant labels with the leading listed ones."""
    return int(hits.shape[1]) * (slots.size + int(true_ptr[-1]) // PAIRS)


@kernel_with_work(n_compared_within)
def count_leading_hits(
    true_ptr: Ints,
    true_labels: Labels,
    list_ptr: Ints,
    list_labels: Labels,
    slots: Ints,
    hits: Ints,
) -> None:
    """Count hits as `count_hits` does, where the rank of a listed label is its place in the list.

    Five labels of a list are compared with each relevant one together, which is up to twice as
    fast.

    true_ptr, true_labels : int64 (n + 1,), (t,), increasing within each row
    list_ptr, list_labels : int64 (n + 1,), (s,), best first within each row
    slots : int64 (n,), slot of each instance; hits : int64 (slots, depth), added to
    """
    depth = hits.shape[1]
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        row = hits[slots[i]]
        start = np.uint64(list_ptr[i])
        n = np.uint64(min(depth, list_ptr[i + 1] - list_ptr[i]))
        if stop - first > COMPARED:
            search_leading_hits(true_labels[first:stop], list_labels[start : start + n], row)
            continue
        s = U0  # unsigned, so that Numba does not check for negative indices
        while s + U5 <= n:  # in a function of its own, this would take a third longer
            a = list_labels[start + s]
            b = list_labels[start + s + U1]
            c = list_labels[start + s + U2]
            d = list_labels[start + s + U3]
            e = list_labels[start + s + U4]
            n_a = np.int64(0)
            n_b = np.int64(0)
            n_c = np.int64(0)
            n_d = np.int64(0)
            n_e = np.int64(0)
            for t in range(np.uint64(first), np.uint64(stop)):
                label = true_labels[t]
                n_a += label == a
                n_b += label == b
                n_c += label == c
                n_d += label == d
                n_e += label == e
            row[s] += n_a
            row[s + U1] += n_b
            row[s + U2] += n_c
            row[s + U3] += n_d
            row[s + U4] += n_e
            s += U5
        while s < n:
            label = list_labels[start + s]
            n_equal = np.int64(0)
            for t in range(np.uint64(first), np.uint64(stop)):
                n_equal += true_labels[t] == label
            row[s] += n_equal
            s += U1


@kernel
def sum_exact_gains(
    true_ptr: Ints,
    true_labels: Labels,
    ranks: Ints,
    slots: Ints,
    propensity: Floats,
    gains: Floats,
    ideals: Floats,
) -> None:
    """Sum hit propensities by slot and rank, and the largest propensities by slot and place.

    Each term is split into multiples of 2^-20 and of 2^-52, whose sums are exact in float64 if
    propensities are 1 or more, sums below `LARGEST_SUM`, and terms at most `MOST_TERMS`.

    true_ptr, true_labels : int64 (n + 1,), (t,); ranks : int64 (t,), 0 for none
    slots : int64 (n,), slot of each instance
    propensity : float64 (n_labels,)
    gains : float64 (slots, depth + 1, 2), added to; column 0 takes labels that are no hits
    ideals : float64 (slots, depth, 2), added to
    """
    n_hit_ranks = gains.shape[1] - 1
    depth = ideals.shape[1]
    row = np.empty(longest_row(true_ptr), np.float64)
    best = np.empty(depth, np.float64)
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        n = true_ptr[i + 1] - first
        slot = slots[i]
        for t in range(n):
            row[t] = propensity[true_labels[first + t]]
        for t in range(n):
            rank = ranks[first + t] if ranks[first + t] <= n_hit_ranks else 0
            high = (row[t] + SPLIT_HIGH) - SPLIT_HIGH
            gains[slot, rank, 0] += high
            gains[slot, rank, 1] += ((row[t] - high) + SPLIT_LOW) - SPLIT_LOW
        for place in range(keep_largest(row[:n], best)):
            high = (best[place] + SPLIT_HIGH) - SPLIT_HIGH
            ideals[slot, place, 0] += high
            ideals[slot, place, 1] += ((best[place] - high) + SPLIT_LOW) - SPLIT_LOW


@kernel
def add_split_sums(sums: Floats, limbs: Ints) -> None:
    """Add split sums, float64 (n, 2), to fixed-point sums, int64 (n, 4)."""
    for i in range(sums.shape[0]):
        add_term(limbs[i], sums[i, 0])
        add_term(limbs[i], sums[i, 1])


@kernel
def sum_gains(
    true_ptr: Ints,
    true_labels: Labels,
    ranks: Ints,
    slots: Ints,
    propensity: Floats,
    weight: Floats,
    gains: Ints,
) -> None:
    """Sum the weighted propensities of hits by slot and rank.

    true_ptr, true_labels : int64 (n + 1,), (t,); ranks : int64 (t,), 0 for none
    slots : int64 (n,), slot of each instance
    propensity : float64 (n_labels,); weight : float64 (n,); either (0,) where all are 1
    gains : int64 (slots, depth, 4), fixed point, added to
    """
    depth = gains.shape[1]
    for i in range(true_ptr.size - 1):
        slot = slots[i]
        unit = weight[i] if weight.size else 1.0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= depth:
                gain = propensity[true_labels[t]] * unit if propensity.size else unit
                add_term(gains[slot, ranks[t] - 1], gain)


@kernel
def sum_ideals(
    true_ptr: Ints,
    true_labels: Labels,
    slots: Ints,
    propensity: Floats,
    weight: Floats,
    ideals: Ints,
) -> None:
    """Sum each instance's largest propensities by slot and by place, largest first.

    ideals : int64 (slots, depth, 4), fixed point, added to; the other arrays as in `sum_gains`
    """
    best = np.empty(ideals.shape[1], np.float64)
    row = np.empty(longest_row(true_ptr), np.float64)
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        n = true_ptr[i + 1] - first
        for t in range(n):
            row[t] = propensity[true_labels[first + t]]
        unit = weight[i] if weight.size else 1.0
        for r in range(keep_largest(row[:n], best)):
            add_term(ideals[slots[i], r], best[r] * unit)


@kernel
def place_gains(
    true_ptr: Ints, true_labels: Labels, ranks: Ints, propensity: Floats, gains: Floats
) -> None:
    """Write the propensities of hits by instance and rank.

    true_ptr, true_labels : int64 (n + 1,), (t,); ranks : int64 (t,), 0 for none
    propensity : float64 (n_labels,), or (0,) where all are 1
    gains : float64 (n, depth), zero at first
    """
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= gains.shape[1]:
                gains[i, ranks[t] - 1] = propensity[true_labels[t]] if propensity.size else 1.0
