"""Totals of each label: relevant, predicted, both."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.fixed import BITS, LIMBS, MASK, ONE, as_float, carry
from xmleval.kernels.jit import kernel
from xmleval.records import Bools, Bytes, Floats, Ints, Labels

SMALL_BITS = 5  # of totals that are small
SMALL = 1 << SMALL_BITS
N_TALLIES = 1 << 3 * SMALL_BITS
FULL = 1 << 62  # units of a sum of weights that are carried
BATCH = 1 << 9  # entries whose sums are asked for together
Ends = tuple[int, int]


@kernel
def count_entries(labels: Labels, counts: Ints) -> None:
    """Count how often each label occurs; counts : int64 (n_labels,), added to."""
    for label in labels:
        counts[label] += 1


@kernel
def count_in_bytes(labels: Labels, first: int, counts: Bytes, carried: Ints) -> int:
    """Count how often each label occurs, in single bytes, which stay near the processor.

    first : place of label 0 in ``counts``
    counts : uint8 (c,), added to, up to 255, then from 0 again
    carried : int64 (n,), written: places that were counted from 255 to 0

    Returns how many were.
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
def add_weights(
    labels: Labels, n_within: Ints, weight: Floats, first: int, ends: Ends, sums: Ints, carried: Ints
) -> int:
    """Sum the weights of instances by label, for the labels of a range.

    n_within : int64 (n,), how many of the labels are each instance's, which stand together
    weight : float64 (n,), within 2^-50..1 or 0, so that units of 2^-104 hold them
    first : place of label 0 in ``sums``
    ends : where the range starts and stops
    sums : int64 (s, 2), added to; first column in units of 2^-52, modulo `FULL`, second of 2^-104, below 2^52
    carried : int64 (p,), as many as labels, written: places that were full, once each time

    Returns how many were.
    """
    places, highs, lows = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    i, left, n_carried, seen = -1, 0, 0, 0
    high = low = np.int64(0)
    for begin in range(0, labels.size, BATCH):
        n = 0
        for p in range(begin, min(begin + BATCH, labels.size)):
            while left == 0:
                i += 1
                left = n_within[i]
                term = weight[i] * ONE
                high = np.int64(term)
                low = np.int64((term - high) * ONE)
            left -= 1
            places[n], highs[n], lows[n] = first + labels[p], high, low
            n += ends[0] <= labels[p] < ends[1]  # which spares a branch
        for t in range(n):  # memory answers many questions at a time if nothing else is done meanwhile
            seen |= sums[places[t], 0]
        for t in range(n):
            place = places[t]
            low_sum = sums[place, 1] + lows[t]
            high_sum = sums[place, 0] + highs[t] + (low_sum >> BITS)
            sums[place, 1] = low_sum & MASK
            sums[place, 0] = high_sum & (FULL - 1)
            if high_sum >= FULL:
                carried[n_carried] = place
                n_carried += 1
    return n_carried + (seen < 0)  # which no sum is: reads that are of no use would not be done


@kernel
def add_sums(sums: Ints, others: Ints, carried: Ints) -> int:
    """Add sums of weights to others in place; all arrays, and what is returned, as of `add_weights`."""
    n_carried = 0
    for place in range(sums.shape[0]):
        low = sums[place, 1] + others[place, 1]
        high = sums[place, 0] + others[place, 0] + (low >> BITS)
        sums[place, 1] = low & MASK
        sums[place, 0] = high & (FULL - 1)
        if high >= FULL:
            carried[n_carried] = place
            n_carried += 1
    return n_carried


@kernel
def subtract_sums(
    sums: Ints, places: Ints, times: Ints, start: int, stop: int, rows: Ints, labels: Ints, cells: Floats
) -> int:
    """Turn sums of weights of the labels start..stop-1 into contingency tables, where there are any.

    sums : int64 (3, n_labels, 2), tp, n_pred, n_true, each as of `add_weights`
    places, times : int64 (c,), rising places of sums, as if (3 * n_labels, 2), that were full, and how often
    rows : int64 (4,), sum of all weights, in limbs as of `fixed.add_term`
    labels : int64 (n,), written: labels with a sum that is not 0
    cells : float64 (4, n), written: their tp, fp, fn, tn; rounded last: what is nothing must come out as 0

    Returns how many labels these are.
    """
    n_labels = sums.shape[1]
    found = np.zeros((3, LIMBS), np.int64)
    limbs = np.empty((4, LIMBS), np.int64)
    reached = np.empty(3, np.int64)
    for kind in range(3):
        reached[kind] = np.searchsorted(places, kind * n_labels + start)
    n = 0
    for j in range(start, stop):
        something = False
        for kind in range(3):
            high, place = sums[kind, j, 0], reached[kind]
            found[kind, 0] = high >> BITS
            found[kind, 1] = high & MASK
            found[kind, 2] = sums[kind, j, 1]
            if place < places.size and places[place] == kind * n_labels + j:
                found[kind, 0] += times[place] * (FULL >> BITS)
                reached[kind] += 1
            something |= (found[kind, 0] | found[kind, 1] | found[kind, 2]) != 0
        if not something:
            continue
        for limb in range(LIMBS):
            tp, n_pred, n_true = found[0, limb], found[1, limb], found[2, limb]
            limbs[0, limb] = tp
            limbs[1, limb] = n_pred - tp
            limbs[2, limb] = n_true - tp
            limbs[3, limb] = rows[limb] - n_pred - n_true + tp
        carry(limbs)
        for cell in range(4):
            cells[cell, n] = as_float(limbs[cell])
        labels[n] = j
        n += 1
    return n


@kernel
def take_leading(cut: Ints, ptr: Ints, labels: Labels, taken: Labels) -> None:
    """Write the leading entries of each row; cut : int64 (n,), how many; taken : (cut.sum(),)."""
    n_taken = 0
    for i in range(cut.size):
        for p in range(ptr[i], ptr[i] + cut[i]):
            taken[n_taken] = labels[p]
            n_taken += 1


@kernel
def tally_labels(counts: Bytes, skipped: Bools, start: int, stop: int, tallies: Ints, others: Ints) -> int:
    """Count how many of the labels start..stop-1 share their counts, where all three are small.

    counts : uint8 (3, n_labels), tp, n_pred, n_true
    skipped : bool (n_labels,), labels to leave out
    tallies : int64 (N_TALLIES + 1,), added to, by tp, n_pred and n_true as digits; the last one is no result
    others : int64 (stop - start + 1,), written: labels with larger counts

    Returns how many others there are.
    """
    n_others = 0
    for label in range(start, stop):
        tp, n_pred = np.int64(counts[0, label]), np.int64(counts[1, label])
        n_true = np.int64(counts[2, label])
        large = (tp | n_pred | n_true) >= SMALL
        others[n_others] = label
        n_others += bool(large and not skipped[label])
        place = (((tp << SMALL_BITS) | n_pred) << SMALL_BITS) | n_true
        tallies[N_TALLIES if large or skipped[label] else place] += 1  # which spares a branch
    return n_others
