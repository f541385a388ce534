"""Totals by label: relevant, predicted, both."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Bools, Bytes, Floats, Ints, Labels
from xmleval.kernels.fixed import BITS, LIMBS, MASK, ONE, as_float, carry
from xmleval.kernels.jit import Whole, kernel

SMALL_BITS = 5  # of a small count
SMALL = 1 << SMALL_BITS
N_TALLIES = 1 << 3 * SMALL_BITS
FULL = 1 << 62  # units at which a sum of weights overflows
BATCH = 1 << 9  # entries whose sums are prefetched together
Ends = tuple[int, int]


@kernel
def count_entries(labels: Labels, counts: Ints) -> None:
    """Count how often each label occurs; labels : (n,); counts : int64 (n_labels,), added to."""
    for label in labels:
        counts[np.uint64(label)] += 1


@kernel
def count_in_bytes(labels: Labels, first: int, counts: Bytes, carried: Ints) -> int:
    """Count how often each label occurs, modulo 256: a table of bytes stays in the cache.

    labels : (n,); first : place of label 0 in ``counts``
    counts : uint8 (c,), added to modulo 256
    carried : int64 (n,), written: places that overflowed, once for each time

    Returns how many overflowed.
    """
    n_carried = 0
    for label in labels:
        place = np.uint64(first + label)
        count = (np.int64(counts[place]) + 1) & 255
        counts[place] = count
        if count == 0:
            carried[n_carried] = place
            n_carried += 1
    return n_carried


@kernel
def prefetch(sums: Ints, places: Ints) -> int:
    """Read the sums at some places, so that they are in the cache when they are added to.

    The cache misses of independent reads overlap: with 670,000 labels `add_weights` is 1.7 times as
    fast. The value returned has no meaning, but the compiler drops reads whose values are not used.

    sums : int64 (s, 2); places : int64 (n,)
    """
    used = 0
    for place in places:
        used |= sums[np.uint64(place), 0]
    return used


@kernel
def add_weights(
    labels: Labels,
    n_within: Ints,
    weight: Floats,
    first: int,
    ends: Ends,
    sums: Ints,
    carried: Ints,
) -> int:
    """Sum the weights of instances by label, for the labels of a range.

    labels : (p,), instance by instance; n_within : int64 (n,), how many of them each instance has
    weight : float64 (n,), within 2^-50..1 or 0, so that units of 2^-104 hold them
    first : place of label 0 in ``sums``
    ends : where the range of labels starts and stops
    sums : int64 (s, 2), added to; first column in units of 2^-52, modulo `FULL`, second of 2^-104,
        below 2^52
    carried : int64 (p,), written: places that overflowed, once for each time

    Returns how many overflowed.
    """
    places = np.empty(BATCH, np.int64)
    highs = np.empty(BATCH, np.int64)
    lows = np.empty(BATCH, np.int64)
    i = -1
    left = 0
    n_carried = 0
    used = 0
    high = low = np.int64(0)
    for start in range(0, labels.size, BATCH):
        n = 0
        for p in range(start, min(start + BATCH, labels.size)):
            while left == 0:
                i += 1
                left = n_within[i]
                term = weight[i] * ONE
                high = np.int64(term)
                low = np.int64((term - high) * ONE)
            left -= 1
            # unsigned indices avoid Numba's negative-index check: 1.2 times as fast
            at = np.uint64(n)
            places[at] = first + labels[p]
            highs[at] = high
            lows[at] = low
            # written before it is known to count, which needs no branch
            n += ends[0] <= labels[p] < ends[1]
        used |= prefetch(sums, places[:n])
        for t in range(n):
            place = np.uint64(places[t])
            low_sum = sums[place, 1] + lows[t]
            high_sum = sums[place, 0] + highs[t] + (low_sum >> BITS)
            sums[place, 1] = low_sum & MASK
            sums[place, 0] = high_sum & (FULL - 1)
            if high_sum >= FULL:
                carried[n_carried] = place
                n_carried += 1
    return n_carried + (used < 0)  # sums are never negative: adds 0


@kernel
def add_sums(sums: Ints, added: Ints, carried: Ints) -> int:
    """Add the sums of weights ``added`` to ``sums``; return how many overflowed.

    sums, added : int64 (s, 2), as in `add_weights`; carried : int64 (s,), written, places that
        overflowed
    """
    n_carried = 0
    for place in range(sums.shape[0]):
        low = sums[place, 1] + added[place, 1]
        high = sums[place, 0] + added[place, 0] + (low >> BITS)
        sums[place, 1] = low & MASK
        sums[place, 0] = high & (FULL - 1)
        if high >= FULL:
            carried[n_carried] = place
            n_carried += 1
    return n_carried


@kernel
def subtract_sums(
    sums: Ints,
    places: Ints,
    times: Ints,
    start: int,
    stop: int,
    rows: Ints,
    are_judged: bool,
    labels: Ints,
    tables: Floats,
) -> int:
    """Turn sums of weights of labels start..stop-1 into contingency tables, if there are any.

    sums : int64 (kinds, n_labels, 2), tp, n_pred, n_true and any weights of rows that
        judge a label, or do not, each as in `add_weights`
    places, times : int64 (c,), increasing places of sums, as if (kinds * n_labels, 2), that
        overflowed; how often
    rows : int64 (4,), sum of all weights, in limbs as in `fixed.add_term`
    are_judged : whether given labels are judged, and no others, or all others
    labels : int64 (n,), written: labels with a sum that is not 0
    tables : float64 (4, n), written: their tp, fp, fn, tn, rounded after the subtraction, so that 0
        stays 0

    Returns how many labels these are.
    """
    n_kinds, n_labels, _ = sums.shape
    of_kinds = np.zeros((4, LIMBS), np.int64)  # 0 where no cells are given
    limbs = np.empty((4, LIMBS), np.int64)
    reached = np.empty(n_kinds, np.int64)
    for kind in range(n_kinds):
        reached[kind] = np.searchsorted(places, kind * n_labels + start)
    n = 0
    for j in range(start, stop):
        something = False
        for kind in range(n_kinds):
            high = sums[kind, j, 0]
            place = reached[kind]
            of_kinds[kind, 0] = high >> BITS
            of_kinds[kind, 1] = high & MASK
            of_kinds[kind, 2] = sums[kind, j, 1]
            if place < places.size and places[place] == kind * n_labels + j:
                of_kinds[kind, 0] += times[place] * (FULL >> BITS)
                reached[kind] += 1
            something |= (of_kinds[kind, 0] | of_kinds[kind, 1] | of_kinds[kind, 2]) != 0
        if not something:
            continue
        for limb in range(LIMBS):
            tp = of_kinds[0, limb]
            n_pred = of_kinds[1, limb]
            n_true = of_kinds[2, limb]
            limbs[0, limb] = tp
            limbs[1, limb] = n_pred - tp
            limbs[2, limb] = n_true - tp
            n_judged = of_kinds[3, limb]
            if not are_judged:
                n_judged = rows[limb] - n_judged
            limbs[3, limb] = n_judged - n_pred - n_true + tp
        carry(limbs)
        for part in range(4):
            tables[part, n] = as_float(limbs[part])
        labels[n] = j
        n += 1
    return n


@kernel
def tally_labels(
    counts: Bytes, skipped: Bools, start: int, stop: int, tallies: Ints, untallied: Ints
) -> Whole:
    """Tally the labels start..stop-1 by their counts tp, n_pred and n_true, if all three are small.

    A tally is at tp * `SMALL`^2 + n_pred * `SMALL` + n_true.

    counts : uint8 (3, n_labels), tp, n_pred, n_true
    skipped : bool (n_labels,), labels to leave out
    tallies : int64 (N_TALLIES + 1,), added to; the last one takes labels that are not tallied
    untallied : int64 (stop - start + 1,), written: labels with larger counts

    Returns how many are not tallied.
    """
    # unsigned, as in `checking.find_duplicate`
    n_others = np.uint64(0)
    bits = np.uint64(SMALL_BITS)
    for label in range(np.uint64(start), np.uint64(stop)):
        tp = np.uint64(counts[0, label])
        n_pred = np.uint64(counts[1, label])
        n_true = np.uint64(counts[2, label])
        skip = skipped[label]
        large = (tp | n_pred | n_true) >= SMALL
        untallied[n_others] = label
        n_others += np.uint64(large and not skip)
        place = (((tp << bits) | n_pred) << bits) | n_true
        tallies[np.uint64(N_TALLIES) if large or skip else place] += 1
    return np.int64(n_others)
