"""Checks of untrusted index arrays: each returns the first offence as (code, row, position)."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.arrays import Bytes, Ints, Labels
from xmleval.kernels.decimal import U1, U2, U3, U4
from xmleval.kernels.jit import kernel, kernel_with_work, slow_entries
from xmleval.kernels.sorting import copy_to, longest_row, sort_down

HASHED = 2048  # ids of a row up to which hashing beats sorting
BUCKET_BITS = 15  # buckets that fit in a level-1 cache; more where rows are long
LAST_TAG = 255  # of uint8; a row uses up to two tags
CACHED = 1 << 13  # ids that are read twice while they are in the level-1 cache
MOST_FALLS = 1 << 30  # that an int32 counts
FIRST_IDS = 33  # of which a missing 0 among others tells that ids count from 1
# ids at a time, of which few hold any of the first ones where there are many labels
LOOKED_AT = 256
# multiplicative hashing (Knuth), by 2^64 over the golden ratio
HASH = np.uint64(0x9E3779B97F4A7C15)

FINE, BAD_POINTER, BAD_LABEL, UNSORTED, DUPLICATE = range(5)


@kernel
def check_pointer(ptr: Labels, n_stored: int) -> tuple[int, int, int]:
    """Verify that a CSR pointer starts at 0, never falls and stays within the stored entries.

    ptr : int32 or int64 (n + 1,)
    """
    if ptr[0] != 0:
        return BAD_POINTER, 0, 0
    n_bad = 0
    for i in range(ptr.size - 1):  # no early exit, so that it vectorises
        n_bad += (ptr[i + 1] < ptr[i]) | (ptr[i + 1] > n_stored)
    if n_bad == 0:
        return FINE, -1, -1
    for i in range(ptr.size - 1):
        if ptr[i + 1] < ptr[i] or ptr[i + 1] > n_stored:
            return BAD_POINTER, i, i + 1
    return FINE, -1, -1


@kernel
def look_at_sizes(ptr: Ints, most: int) -> tuple[int, int, int]:
    """Return the number of non-empty rows, the largest size up to ``most``, and its rows.

    ptr : int64 (n + 1,)
    """
    n_filled = largest = n_largest = 0
    for i in range(ptr.size - 1):
        size = min(ptr[i + 1] - ptr[i], most)
        n_filled += size > 0
        if size > largest:
            largest = size
            n_largest = 0
        n_largest += size == largest
    return n_filled, largest, n_largest


@kernel
def find_outside(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Find the first id that is out of range; ptr, labels : int64 (n + 1,), (s,)."""
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            if labels[p] < 0 or labels[p] >= n_labels:
                return BAD_LABEL, i, p
    return FINE, -1, -1


@kernel
def check_labels(ptr: Ints, labels: Labels, n_labels: int) -> tuple[int, int, int]:
    """Verify that ids lie in range and rise strictly within each row.

    Ids out of range are reported first: later steps index arrays by them.

    ptr, labels : int64 (n + 1,), (s,)
    """
    worst = FINE
    if labels.size:
        # one pass over all rows vectorises; int32 counts keep the vectors as narrow as ids
        lowest = labels[0]
        highest = labels[0]
        n_falls = 0
        for start in range(1, labels.size, MOST_FALLS):
            n_late = np.int32(0)
            later = labels[start : start + MOST_FALLS]
            earlier = labels[start - 1 : start - 1 + later.size]
            for p in range(later.size):
                label = later[p]
                lowest = label if label < lowest else lowest
                highest = label if label > highest else highest
                n_late = np.int32(n_late + np.int32(label <= earlier[p]))
            n_falls += int(n_late)
        for i in range(1, ptr.size - 1):  # between two rows a fall is allowed
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


@kernel_with_work(slow_entries(3))
def sort_labels(ptr: Ints, labels: Labels, order: Ints) -> None:
    """Sort each row's labels upwards in place, and permute ``order`` alike.

    ptr, labels : int64 (n + 1,), (s,); order : int64 (s,), 0..s-1 at first
    """
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
def has_outside(labels: Labels, n_labels: int) -> bool:
    """Tell whether any id is out of range; no early exit, so that it vectorises. labels : (s,)."""
    if labels.size == 0:
        return False
    lowest = labels[0]
    highest = labels[0]
    for p in range(labels.size):
        lowest = min(lowest, labels[p])
        highest = max(highest, labels[p])
    return bool(lowest < 0 or highest >= n_labels)


@kernel
def contains(labels: Labels, label: int) -> bool:
    """Tell whether an id is among others; no early exit, so that it vectorises. labels : (s,)."""
    is_listed = False
    for p in range(labels.size):
        is_listed |= labels[p] == label
    return is_listed


@kernel
def look_at_ids(labels: Labels) -> tuple[Any, Any]:
    """Return a bit for each missing one of the first ids, and the highest id; (0, -1) with id 0.

    labels : (s,), at least 0
    """
    missing = np.int64((1 << FIRST_IDS) - 1)
    highest = -1
    for start in range(0, labels.size, LOOKED_AT):
        part = labels[start : start + LOOKED_AT]
        lowest = part[0]
        largest = part[0]
        for p in range(part.size):  # vectorises
            lowest = min(lowest, part[p])
            largest = max(largest, part[p])
        if lowest < FIRST_IDS:
            for p in range(part.size):
                if part[p] < FIRST_IDS:
                    missing &= ~(np.int64(1) << np.int64(part[p]))
            if missing & 1 == 0:
                return 0, -1
        highest = max(highest, largest)
    return missing, highest


@kernel
def find_repeat_by_sorting(row: Labels, scratch: Labels) -> int:
    """Find the first id that occurs earlier in its row, by sorting a copy; -1 if all differ.

    row, scratch : (s,), scratch is overwritten
    """
    copy_to(scratch, row)
    scratch.sort()
    n_same = 0
    for p in range(1, row.size):
        n_same += scratch[p] == scratch[p - 1]
    if n_same == 0:
        return -1
    seen = np.zeros(row.size, np.bool_)
    for p in range(row.size):
        place = np.searchsorted(scratch, row[p])
        if seen[place]:
            return p
        seen[place] = True
    return -1


@kernel
def find_repeat_by_hashing(row: Labels, tags: Bytes, tag: np.uint8, shift: np.uint64) -> int:
    """Find the first id that occurs earlier in its row, by buckets; -1 if all differ.

    row : (s,); tags : uint8 (buckets,), ``tag`` where this row uses the bucket; written
    shift : maps a hash to its bucket
    """
    for p in range(row.size):
        bucket = (np.uint64(row[p]) * HASH) >> shift
        if tags[bucket] == tag and contains(row[:p], row[p]):
            return p
        tags[bucket] = tag
    return -1


@kernel
def five_differ(labels: Labels, first: np.uint64) -> bool:
    """Whether five ids, from position ``first`` (unsigned), all differ: the usual top five."""
    a = labels[first]
    b = labels[first + U1]
    c = labels[first + U2]
    d = labels[first + U3]
    e = labels[first + U4]
    # no branch before the end
    same_in_four = (b == a) | (c == a) | (c == b) | (d == a) | (d == b) | (d == c)
    return not (same_in_four | (e == a) | (e == b) | (e == c) | (e == d))


@kernel
def find_duplicate(
    ptr: Ints, labels: Labels, tags: Bytes, tag: int, shift: np.uint64, scratch: Labels
) -> tuple[int, int, int]:
    """Find a repeated id in a row; return the row, the position (or -1) and the last tag used.

    ptr, labels : int64 (n + 1,), (s,)
    tags, shift : as in `find_repeat_by_hashing`; tag : the last one used
    scratch : as long as the longest row, if that is longer than `HASHED`
    """
    for i in range(ptr.size - 1):
        lo = ptr[i]
        hi = ptr[i + 1]
        position = -1
        if hi - lo == 5 and five_differ(labels, np.uint64(lo)):
            continue
        if tag > LAST_TAG - 2:
            tags[:] = 0
            tag = 0
        if hi - lo > HASHED:
            position = find_repeat_by_sorting(labels[lo:hi], scratch[: hi - lo])
        else:
            tag += 1
            used = np.uint8(tag)
            n_collisions = 0
            # not in a function, as a call per row would take longer than the loop; unsigned, so
            # that Numba does not check for negative indices
            for p in range(np.uint64(lo), np.uint64(hi)):
                bucket = (np.uint64(labels[p]) * HASH) >> shift
                n_collisions += tags[bucket] == used  # counted, as a branch would be mispredicted
                tags[bucket] = used
            if n_collisions:
                tag += 1
                position = find_repeat_by_hashing(labels[lo:hi], tags, np.uint8(tag), shift)
        if position >= 0:
            return i, lo + position, tag
    return -1, -1, tag


@kernel
def check_list(ptr: Ints, labels: Labels, n_labels: int, seen: Ints) -> tuple[int, int, int]:
    """Verify that ids of unsorted lists are in range and occur once in a row.

    ptr, labels : int64 (n + 1,), (s,); seen : int64 (2,), written: what `look_at_ids` returns
    """
    seen[0] = (1 << FIRST_IDS) - 1
    seen[1] = -1
    longest = longest_row(ptr)
    step = max(1, CACHED // max(1, longest))
    bits = BUCKET_BITS
    while (1 << bits) < 32 * min(longest, HASHED):
        bits += 1
    tags = np.zeros(1 << bits, np.uint8)
    tag = 0
    scratch = np.empty(longest if longest > HASHED else 0, labels.dtype)
    for start in range(0, ptr.size - 1, step):
        rows = ptr[start : start + step + 1]
        cached = labels[rows[0] : rows[-1]]
        if has_outside(cached, n_labels):
            code, i, position = find_outside(rows, labels, n_labels)
            return code, start + i, position
        if seen[0] & 1:
            missing, highest = look_at_ids(cached)
            seen[0] &= missing
            seen[1] = max(seen[1], highest) if missing & 1 else -1
        i, position, tag = find_duplicate(rows, labels, tags, tag, np.uint64(64 - bits), scratch)
        if position >= 0:
            return DUPLICATE, start + i, position
    return FINE, -1, -1
