"""Lists of several models, joined row by row."""

from __future__ import annotations

from xmleval.kernels.jit import kernel
from xmleval.records import Floats, Ints, Labels


@kernel
def append_rows(ptr: Ints, labels: Labels, first: int, ends: Ints, joined: Labels, places: Ints) -> None:
    """Write the labels of each row behind those that the row has so far, and where each came from.

    ptr, labels : int64 (n + 1,), (s,); first : place of the first label
    ends : int64 (n,), where each row of ``joined`` ends, moved on
    joined, places : (t,), int64 (t,), written
    """
    for i in range(ptr.size - 1):
        out = ends[i]
        for p in range(ptr[i], ptr[i + 1]):
            joined[out], places[out] = labels[p], first + p
            out += 1
        ends[i] = out


@kernel
def count_distinct(ptr: Ints, labels: Labels, joint_ptr: Ints) -> None:
    """Write the CSR pointer of rows without repeated labels.

    ptr, labels : int64 (n + 1,), (t,), rising within each row; joint_ptr : int64 (n + 1,), written
    """
    joint_ptr[0], n = 0, 0
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            n += p == ptr[i] or labels[p] != labels[p - 1]
        joint_ptr[i + 1] = n


@kernel
def combine_equal(
    ptr: Ints, labels: Labels, values: Floats, base: Floats, largest: bool, joint: Labels, scores: Floats
) -> None:
    """Write each label of a row once, with the sum of its values or the largest of them.

    Values are added from the smallest to the largest, so that their order does not matter.

    ptr, labels, values : int64 (n + 1,), (t,), float64 (t,); labels rise within each row; values are sorted
    base : float64 (n,), what sums of a row start with; empty for 0
    joint, scores : as many labels as `count_distinct` counts, float64 of the same size, written
    """
    out = 0
    for i in range(ptr.size - 1):
        start = ptr[i]
        while start < ptr[i + 1]:
            stop = start + 1
            while stop < ptr[i + 1] and labels[stop] == labels[start]:
                value, p = values[stop], stop
                while p > start and values[p - 1] > value:
                    values[p] = values[p - 1]
                    p -= 1
                values[p] = value
                stop += 1
            total = base[i] if base.size else 0.0
            for p in range(start, stop):
                total += values[p]
            joint[out], scores[out] = labels[start], values[stop - 1] if largest else total
            out += 1
            start = stop


@kernel
def add_up_rows(ptr: Ints, values: Floats, sums: Floats) -> None:
    """Write the sum of each row's values, added in order; float64 (s,), (n,)."""
    for i in range(ptr.size - 1):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            total += values[p]
        sums[i] = total
