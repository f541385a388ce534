"""Checks of untrusted index arrays: each returns the first offence as (code, row, position)."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import longest_row, sort_down
from xmleval.records import Ints, Labels

FEW, MANY = 8, 2048  # ids of a row up to which two words tell most apart, and up to which buckets do
BUCKET_BITS = 15  # buckets that a level-1 cache holds; more where rows are long
MOST_FALLS = 1 << 30  # that 32 bits count
NEAR = 1 << 13  # ids that are looked at twice before they leave the level-1 cache
LAST_TAG = np.uint8(254)  # a row takes up to two
HASH = np.uint64(0x9E3779B97F4A7C15)

FINE, BAD_POINTER, BAD_LABEL, UNSORTED, DUPLICATE = range(5)


@kernel
def check_pointer(ptr: Labels, n_stored: int) -> tuple[int, int, int]:
    """Verify that a CSR pointer starts at 0, never falls and stays within the stored entries."""
    if ptr[0] != 0:
        return BAD_POINTER, 0, 0
    n_bad = 0
    for i in range(ptr.size - 1):  # without a way out, so that it vectorises
        n_bad += (ptr[i + 1] < ptr[i]) | (ptr[i + 1] > n_stored)
    if n_bad == 0:
        return FINE, -1, -1
    for i in range(ptr.size - 1):
        if ptr[i + 1] < ptr[i] or ptr[i + 1] > n_stored:
            return BAD_POINTER, i, i + 1
    return FINE, -1, -1


@kernel
def find_outside(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Find the first id that is out of range."""
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            if labels[p] < 0 or labels[p] >= n_labels:
                return BAD_LABEL, i, p
    return FINE, -1, -1


@kernel
def check_labels(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Verify that ids lie in range and rise strictly within each row.

    Out of range comes first, so that no later step can be led out of its arrays.
    """
    worst = FINE
    if labels.size:
        # one pass over all rows, which vectorises, with counts as narrow as ids
        lowest, highest, n_falls = labels[0], labels[0], 0
        for start in range(1, labels.size, MOST_FALLS):
            several = np.int32(0)
            later = labels[start : start + MOST_FALLS]
            earlier = labels[start - 1 : start - 1 + later.size]
            for p in range(later.size):
                label = later[p]
                lowest = label if label < lowest else lowest
                highest = label if label > highest else highest
                several = np.int32(several + np.int32(label <= earlier[p]))
            n_falls += int(several)
        for i in range(1, ptr.size - 1):  # falls where rows begin are none
            start = ptr[i]
            if 0 < start < labels.size and ptr[i + 1] > start:
                n_falls -= labels[start] <= labels[start - 1]
        if n_falls:
            worst = UNSORTED
        if lowest < 0 or highest >= n_labels:
            worst = BAD_LABEL
    if worst == FINE:
        return FINE, -1, -1
    if worst == BAD_LABEL:
        return find_outside(ptr, labels, n_labels)
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            if p > ptr[i] and labels[p] == labels[p - 1]:
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
def find_met(labels: Labels, tags: Labels, tag: np.uint8, shift: np.uint64) -> int:
    """Find the first id that occurred before, comparing those that share a bucket; -1 where there is none.

    tags : uint8 (buckets,), the tag of the last row that used each, changed where the row is not short
    tag : uint8, that of no row before; shift : of a hash to its bucket
    """
    few = labels.size <= FEW
    for p in range(labels.size):
        bucket = (np.uint64(labels[p]) * HASH) >> shift
        if not few and tags[bucket] != tag:
            tags[bucket] = tag
            continue
        if contains(labels[:p], labels[p]):
            return p
    return -1


@kernel
def exceeds(labels: Labels, n_labels: int) -> bool:
    """Tell whether any id is out of range; all are looked at, which vectorises."""
    if labels.size == 0:
        return False
    lowest, highest = labels[0], labels[0]
    for p in range(labels.size):
        lowest, highest = min(lowest, labels[p]), max(highest, labels[p])
    return bool(lowest < 0 or highest >= n_labels)


@kernel
def contains(labels: Labels, label: int) -> bool:
    """Tell whether an id is among others; all are looked at, which vectorises."""
    found = False
    for p in range(labels.size):
        found |= labels[p] == label
    return found


@kernel
def find_duplicate(
    ptr: Ints, labels: Labels, tags: Labels, tag: np.uint8, shift: np.uint64, scratch: Labels
) -> tuple[int, int, np.uint8]:
    """Find an id that a row holds twice; return the row, the position or -1, and the last tag.

    Ids of a row are thrown into buckets, those of a short row into the bits of two words, without a branch
    for each; rows where two met there, or too long for it, are looked at again.

    tags, tag, shift : as of `find_met`; scratch : as long as the longest row where it is too long for buckets
    """
    for i in range(ptr.size - 1):
        lo, hi = ptr[i], ptr[i + 1]
        met, last, position = np.uint64(0), np.uint64(0), -1
        if hi - lo > MANY:
            position = find_twin(labels[lo:hi], scratch[: hi - lo])
        elif hi - lo > FEW:
            row = labels[lo:hi]
            tag = np.uint8(tag + 1)
            for p in range(row.size):
                bucket = (np.uint64(row[p]) * HASH) >> shift
                meets = tags[bucket] == tag
                last = np.uint64(p) if meets else last
                met += np.uint64(meets)
                tags[bucket] = tag
            if met == 1:  # nothing but this one can be there twice
                met = np.uint64(contains(row[:last], row[last]))
        else:
            one, six = np.uint64(1), np.uint64(63)
            seen = also = np.uint64(0)
            for p in range(lo, hi):
                mixed = np.uint64(labels[p]) * HASH
                bit, other_bit = mixed >> np.uint64(58), (mixed >> np.uint64(52)) & six
                met |= (seen >> bit) & (also >> other_bit) & one
                seen |= one << bit
                also |= one << other_bit
        if met:
            tag = np.uint8(tag + 1)
            position = find_met(labels[lo:hi], tags, tag, shift)
        if position >= 0:
            return i, lo + position, tag
        if tag >= LAST_TAG:
            tags[:] = 0
            tag = np.uint8(0)
    return -1, -1, tag


@kernel
def check_list(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Verify that ids of unsorted lists lie in range, and that no row holds one twice."""
    longest = longest_row(ptr)
    step = max(1, NEAR // max(1, longest))
    bits = BUCKET_BITS
    while (1 << bits) < 32 * min(longest, MANY):
        bits += 1
    tags = np.zeros(1 << bits, np.uint8)
    scratch = np.empty(longest if longest > MANY else 0, labels.dtype)
    tag = np.uint8(0)
    for start in range(0, ptr.size - 1, step):
        rows = ptr[start : start + step + 1]
        if exceeds(labels[rows[0] : rows[-1]], n_labels):
            code, i, position = find_outside(rows, labels, n_labels)
            return code, start + i, position
        i, position, tag = find_duplicate(rows, labels, tags, tag, np.uint64(64 - bits), scratch)
        if position >= 0:
            return DUPLICATE, start + i, position
    return FINE, -1, -1
