"""Sorting of short rows in place, with a worst case of n log n."""

from __future__ import annotations

from xmleval.base.arrays import Ints, Labels, Scores
from xmleval.kernels.jit import kernel

RUN = 16  # entries sorted by insertion; longer rows merge such runs


@kernel
def sort_down(
    keys: Scores, payload: Labels, lo: int, hi: int, spare_keys: Scores, spare_payload: Labels
) -> None:
    """Sort keys[lo:hi] downwards in place, stably; the payload moves along.

    keys, payload : (s,); spare_keys, spare_payload : at least hi - lo entries of their types,
        overwritten
    """
    for start in range(lo, hi, RUN):
        stop = min(start + RUN, hi)
        for i in range(start + 1, stop):
            key = keys[i]
            item = payload[i]
            j = i
            while j > start and keys[j - 1] < key:
                keys[j] = keys[j - 1]
                payload[j] = payload[j - 1]
                j -= 1
            keys[j] = key
            payload[j] = item
    width = RUN
    while width < hi - lo:
        for start in range(lo, hi - width, 2 * width):
            middle = start + width
            stop = min(middle + width, hi)
            if keys[middle - 1] >= keys[middle]:
                continue
            for i in range(width):
                spare_keys[i] = keys[start + i]
                spare_payload[i] = payload[start + i]
            left = 0
            right = middle
            out = start
            while left < width and right < stop:
                if spare_keys[left] >= keys[right]:
                    keys[out] = spare_keys[left]
                    payload[out] = spare_payload[left]
                    left += 1
                else:
                    keys[out] = keys[right]
                    payload[out] = payload[right]
                    right += 1
                out += 1
            while left < width:
                keys[out] = spare_keys[left]
                payload[out] = spare_payload[left]
                left += 1
                out += 1
        width *= 2


@kernel
def copy_to(target: Scores, values: Scores) -> None:
    """Copy a vector to one of the same size; assigning slices compiles for seconds."""
    for i in range(values.size):
        target[i] = values[i]


@kernel
def sort_up(values: Ints, lo: int, hi: int) -> None:
    """Sort values[lo:hi] upwards in place; values : int64 (s,)."""
    if hi - lo > RUN:
        values[lo:hi].sort()
        return
    for i in range(lo + 1, hi):
        value = values[i]
        j = i
        while j > lo and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def longest_row(ptr: Ints) -> int:
    """Return the length of the longest row of a CSR pointer, int64 (n + 1,)."""
    longest = 0
    for i in range(ptr.size - 1):
        longest = max(longest, ptr[i + 1] - ptr[i])
    return longest


@kernel
def group_rows(keys: Labels, following: Ints, order: Ints) -> None:
    """Group the rows by their keys.

    keys : int64 or uint8 (n,)
    following : int64 (largest key + 1,), where the rows of each key start; advanced to where they
        end
    order : int64 (n,), written: the rows, those of equal keys next to one another
    """
    for i in range(keys.size):
        n = keys[i]
        order[following[n]] = i
        following[n] += 1
