"""Checks of untrusted index arrays: each returns the first offence as (code, row, position)."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Ints, Labels
from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import longest_row, sort_down

FEW, MANY = 8, 2048  # ids of a row up to which two words tell most apart, and up to which buckets do
HASH = np.uint64(0x9E3779B97F4A7C15)

FINE, BAD_POINTER, BAD_LABEL, UNSORTED, DUPLICATE = range(5)


@kernel
def check_pointer(ptr: Labels, n_stored: int) -> tuple[int, int, int]:
    """Verify that a CSR pointer starts at 0, never falls and stays within the stored entries."""
    if ptr[0] != 0:
        return BAD_POINTER, 0, 0
    for i in range(ptr.size - 1):
        if ptr[i + 1] < ptr[i] or ptr[i + 1] > n_stored:
            return BAD_POINTER, i, i + 1
    return FINE, -1, -1


@kernel
def check_labels(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Verify that ids lie in range and rise strictly within each row.

    Out of range comes first, so that no later step can be led out of its arrays.
    """
    worst = FINE
    n_falls = 0
    for p in range(labels.size):
        n_falls += labels[p] < 0 or labels[p] >= n_labels
    if n_falls:
        worst = BAD_LABEL
    else:
        for p in range(1, labels.size):
            n_falls += labels[p] <= labels[p - 1]
        for i in range(1, ptr.size - 1):
            start = ptr[i]
            if 0 < start < labels.size and ptr[i + 1] > start:
                n_falls -= labels[start] <= labels[start - 1]
        if n_falls:
            worst = UNSORTED
    if worst == FINE:
        return FINE, -1, -1
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            if worst == BAD_LABEL and (labels[p] < 0 or labels[p] >= n_labels):
                return BAD_LABEL, i, p
            if worst == UNSORTED and p > ptr[i] and labels[p] == labels[p - 1]:
                return DUPLICATE, i, p
    return UNSORTED, -1, -1


@kernel
def sort_labels(ptr: Ints, labels: Labels, order: Ints) -> None:
    """Sort each row's labels upwards in place; ``order`` (int64, 0..s-1 at first) moves along."""
    spare = longest_row(ptr)
    spare_keys = labels[:0].copy()
    if spare:
        spare_keys = labels[:spare].copy()
    spare_order = order[:spare].copy()
    for p in range(labels.size):
        labels[p] = -labels[p]
    for i in range(ptr.size - 1):
        sort_down(labels, order, ptr[i], ptr[i + 1], spare_keys, spare_order)
    for p in range(labels.size):
        labels[p] = -labels[p]


@kernel
def find_twin(labels: Labels, scratch: Labels) -> int:
    """Find the first id that occurred before, by sorting a copy; -1 where there is none."""
    scratch[:] = labels
    scratch.sort()
    n_same = 0
    for p in range(1, labels.size):
        n_same += scratch[p] == scratch[p - 1]
    if n_same == 0:
        return -1
    seen = np.zeros(labels.size, np.bool_)
    for p in range(labels.size):
        at = np.searchsorted(scratch, labels[p])
        if seen[at]:
            return p
        seen[at] = True
    return -1


@kernel
def find_duplicate(ptr: Ints, labels: Labels) -> tuple[int, int, int]:
    """Find an id that a row of an unsorted list holds twice.

    Ids of a row are thrown into buckets, those of a short row into the bits of two words; only those that
    meet another one there are compared with the ids before them. Rows too long for the buckets are sorted
    on a copy.
    """
    longest = longest_row(ptr)
    bits = 4
    while (1 << bits) < 32 * min(longest, MANY):
        bits += 1
    visitor = np.full(1 << bits, -1, np.int32)
    shift = np.uint64(64 - bits)
    scratch = np.empty(longest if longest > MANY else 0, labels.dtype)
    for i in range(ptr.size - 1):
        lo, hi = ptr[i], ptr[i + 1]
        n = hi - lo
        if n > MANY:
            position = find_twin(labels[lo:hi], scratch[:n])
            if position >= 0:
                return DUPLICATE, i, lo + position
            continue
        if n <= FEW:
            one, six = np.uint64(1), np.uint64(63)
            seen = also = met_both = np.uint64(0)
            for p in range(lo, hi):
                mixed = np.uint64(labels[p]) * HASH
                bit, other_bit = mixed >> np.uint64(58), (mixed >> np.uint64(52)) & six
                met_both |= (seen >> bit) & (also >> other_bit) & one
                seen |= one << bit
                also |= one << other_bit
            if met_both == 0:
                continue
        for p in range(lo, hi):
            label = labels[p]
            if n > FEW:
                bucket = (np.uint64(label) * HASH) >> shift
                met = visitor[bucket] == i
                visitor[bucket] = i
                if not met:
                    continue
            twice = False
            for other in range(lo, p):
                twice |= labels[other] == label
            if twice:
                return DUPLICATE, i, p
    return FINE, -1, -1
