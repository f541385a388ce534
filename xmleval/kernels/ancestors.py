"""Labels and their ancestors in a hierarchy."""

from __future__ import annotations

from xmleval.base.arrays import Ints, Labels
from xmleval.kernels.jit import kernel


@kernel
def list_ancestors(
    ptr: Ints, parents: Ints, n_most: int, marks: Ints, stack: Ints, out_ptr: Ints, out: Labels
) -> int:
    """List each node with its ancestors, itself first; or only count them, without room for any.

    ptr, parents : int64 (nodes + 1,), (e,), without cycles
    n_most : how many may be listed in all
    marks, stack : int64 (nodes,), zeros; overwritten
    out_ptr : int64 (nodes + 1,), written; out : (t,), written, or (0,) to count alone
    Returns the first node that exceeds ``n_most``, -1 if none does.
    """
    n_out = 0
    out_ptr[0] = 0
    for label in range(out_ptr.size - 1):
        stack[0] = label
        n_unlisted_irrelevant = 1
        marks[label] = label + 1
        while n_unlisted_irrelevant:
            n_unlisted_irrelevant -= 1
            node = stack[n_unlisted_irrelevant]
            if n_out >= n_most:
                return label
            if out.size:
                out[n_out] = node
            n_out += 1
            for p in range(ptr[node], ptr[node + 1]):
                parent = parents[p]
                if marks[parent] != label + 1:
                    marks[parent] = label + 1
                    stack[n_unlisted_irrelevant] = parent
                    n_unlisted_irrelevant += 1
        out_ptr[label + 1] = n_out
    return -1


@kernel
def count_closed(
    true_ptr: Ints,
    true_labels: Labels,
    cut: Ints,
    list_ptr: Ints,
    list_labels: Labels,
    up_ptr: Ints,
    up: Labels,
    marks: Labels,
    numbers: Ints,
) -> None:
    """Count relevant, predicted and common labels by row, with their ancestors.

    true_ptr, true_labels : int64 (n + 1,), (t,)
    cut : int64 (n,), entries of each list that are predicted; list_ptr, list_labels : int64 (n +
        1,), (s,)
    up_ptr, up : int64 (n_listed + 1,), (a,), from `list_ancestors`; predicted labels from
    ``n_listed`` on are no nodes, and are in no relevant set
    marks : int32 or int64 (nodes,), zeros; overwritten
    numbers : int64 (3, n), written: relevant, predicted, both
    """
    n_listed = up_ptr.size - 1
    for i in range(true_ptr.size - 1):
        # marks of this row, above those of all before
        relevant = 2 * i + 1
        predicted = 2 * i + 2
        n = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            label = true_labels[t]
            for a in range(up_ptr[label], up_ptr[label + 1]):
                n += marks[up[a]] < relevant
                marks[up[a]] = relevant
        numbers[0, i] = n
        n = 0
        n_common = 0
        for s in range(list_ptr[i], list_ptr[i] + cut[i]):
            label = list_labels[s]
            if label >= n_listed:
                n += 1
                continue
            for a in range(up_ptr[label], up_ptr[label + 1]):
                mark = marks[up[a]]
                n += mark < predicted
                n_common += mark == relevant
                marks[up[a]] = predicted
        numbers[1, i] = n
        numbers[2, i] = n_common
