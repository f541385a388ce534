"""Totals of each label: relevant, predicted, both."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Bools, Bytes, Floats, Ints, Labels
from xmleval.kernels.fixed import LIMBS, add_term, as_float, carry
from xmleval.kernels.jit import kernel

SMALL_BITS = 5  # of totals that are small
SMALL = 1 << SMALL_BITS
N_TALLIES = 1 << 3 * SMALL_BITS


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
def add_weights(labels: Labels, n_within: Ints, weight: Floats, sums: Ints) -> None:
    """Sum the weights of instances by label.

    n_within : int64 (n,), how many of the labels are each instance's, which stand together
    weight : float64 (n,); sums : int64 (n_labels, 4), added to
    """
    p = 0
    for i in range(n_within.size):
        for _ in range(n_within[i]):
            add_term(sums[labels[p]], weight[i])
            p += 1


@kernel
def subtract_sums(sums: Ints, first: int, start: int, stop: int, rows: Ints, cells: Floats) -> None:
    """Turn sums of weights of the labels start..stop-1 into contingency tables.

    sums : int64 (3, n_labels, 4), tp, n_pred, n_true, in limbs as of `fixed.add_term`
    rows : int64 (4,), sum of all weights
    cells : float64 (4, n), written, from label ``first`` on: tp, fp, fn, tn; rounded last: what is nothing
    must come out as 0
    """
    limbs = np.empty((4, LIMBS), np.int64)
    for j in range(start, stop):
        for limb in range(LIMBS):
            tp, n_pred, n_true = sums[0, j, limb], sums[1, j, limb], sums[2, j, limb]
            limbs[0, limb] = tp
            limbs[1, limb] = n_pred - tp
            limbs[2, limb] = n_true - tp
            limbs[3, limb] = rows[limb] - n_pred - n_true + tp
        carry(limbs)
        for cell in range(4):
            cells[cell, j - first] = as_float(limbs[cell])


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
