"""Ordering the listed labels of each instance, best first."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Ints, Labels, Scores
from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import longest_row, sort_down


@kernel
def rank_rows(ptr: Ints, labels: Labels, scores: Scores) -> None:
    """Order each row by score downwards, in place; ties keep the order they came in.

    ptr : int64 (n + 1,); labels, scores : (s,), moved together
    """
    spare = longest_row(ptr)
    spare_scores, spare_labels = scores[:spare].copy(), labels[:spare].copy()
    for i in range(ptr.size - 1):
        sort_down(scores, labels, ptr[i], ptr[i + 1], spare_scores, spare_labels)


@kernel
def head_pointer(ptr: Ints, depth: int) -> Ints:
    """Return the CSR pointer of rows cut to at most ``depth`` entries."""
    out = np.zeros(ptr.size, np.int64)
    for i in range(ptr.size - 1):
        out[i + 1] = out[i] + min(depth, ptr[i + 1] - ptr[i])
    return out


@kernel
def copy_heads(ptr: Ints, values: Scores, head_ptr: Ints, heads: Scores) -> None:
    """Copy the leading entries of each row; heads : (head_ptr[-1],), written."""
    for i in range(ptr.size - 1):
        for p in range(head_ptr[i + 1] - head_ptr[i]):
            heads[head_ptr[i] + p] = values[ptr[i] + p]


@kernel
def falls(ptr: Ints, scores: Scores) -> bool:
    """Tell whether no row's scores rise."""
    n_rises = 0
    for p in range(1, scores.size):  # over all rows, which vectorises, and less where rows begin
        n_rises += scores[p] > scores[p - 1]
    for i in range(1, ptr.size - 1):
        start = ptr[i]
        if 0 < start < scores.size and ptr[i + 1] > start:
            n_rises -= scores[start] > scores[start - 1]
    return n_rises == 0


@kernel
def select_heads(
    ptr: Ints, labels: Labels, scores: Scores, head_ptr: Ints, head_labels: Labels, head_scores: Scores
) -> None:
    """Write the best entries of each row in order; ties keep the order they came in.

    ptr, labels, scores : int64 (n + 1,), (s,), (s,); head_ptr from `head_pointer`; the rest is written
    """
    for i in range(ptr.size - 1):
        lo, depth = head_ptr[i], head_ptr[i + 1] - head_ptr[i]
        if depth == 0:
            continue
        held = 0
        for p in range(ptr[i], ptr[i + 1]):
            score = scores[p]
            if held == depth and score <= head_scores[lo + depth - 1]:
                continue
            j = lo + (held if held < depth else depth - 1)
            while j > lo and head_scores[j - 1] < score:
                head_scores[j], head_labels[j] = head_scores[j - 1], head_labels[j - 1]
                j -= 1
            head_scores[j], head_labels[j] = score, labels[p]
            if held < depth:
                held += 1


@kernel
def count_leading(ptr: Ints, scores: Scores, value: float, with_equal: bool, n_leading: Ints) -> None:
    """Count the leading entries of each row (best first) above a value, or at and above it.

    ptr : int64 (n + 1,); scores : (s,); n_leading : int64 (n,), written
    """
    for i in range(ptr.size - 1):
        lo, hi = ptr[i], ptr[i + 1]
        while lo < hi:
            middle = (lo + hi) // 2
            if scores[middle] > value or (with_equal and scores[middle] == value):
                lo = middle + 1
            else:
                hi = middle
        n_leading[i] = lo - ptr[i]


@kernel
def count_reaching(ptr: Ints, scores: Scores, value: float, n_reaching: Ints) -> None:
    """Count the entries of each row, in any order, at and above a value; n_reaching : int64 (n,), written."""
    for i in range(ptr.size - 1):
        n = 0
        for p in range(ptr[i], ptr[i + 1]):
            n += scores[p] >= value
        n_reaching[i] = n


@kernel
def fill_heads(
    ptr: Ints, labels: Labels, n_above: Ints, n_labels: int, head_ptr: Ints, head_labels: Labels
) -> None:
    """Write the first labels of each row where unlisted labels compete, in the order of their ids.

    The order is: the ``n_above`` leading entries, the unlisted labels by id, the other entries.
    head_ptr : int64 (n + 1,), how many labels each row wants; head_labels is written
    """
    depth = longest_row(head_ptr)
    listed = labels[:0].copy()
    if labels.size:
        listed = np.empty(longest_row(ptr), labels.dtype)
    for i in range(ptr.size - 1):
        lo, n = ptr[i], ptr[i + 1] - ptr[i]
        out, stop = head_ptr[i], head_ptr[i + 1]
        for p in range(min(n_above[i], stop - out)):
            head_labels[out] = labels[lo + p]
            out += 1
        if out < stop and n < n_labels:
            # ids below n + depth hold enough unlisted labels; only listed ids there matter
            n_low = 0
            for p in range(lo, lo + n):
                if labels[p] < n + depth:
                    listed[n_low] = labels[p]
                    n_low += 1
            listed[:n_low].sort()
            label, at = 0, 0
            while out < stop and label < n_labels:
                if at < n_low and listed[at] == label:
                    at += 1
                else:
                    head_labels[out] = label
                    out += 1
                label += 1
        for p in range(n_above[i], n):
            if out < stop:
                head_labels[out] = labels[lo + p]
                out += 1
