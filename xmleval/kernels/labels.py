"""Totals of each label: relevant, predicted, both."""

from __future__ import annotations

from xmleval.arrays import Floats, Ints, Labels
from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel


@kernel
def count_entries(labels: Labels, counts: Ints) -> None:
    """Count how often each label occurs; counts : int32 or int64 (n_labels,), added to."""
    for label in labels:
        counts[label] += 1


@kernel
def count_labels(
    true_labels: Labels, hits: Labels, cut: Ints, list_ptr: Ints, list_labels: Labels, totals: Ints
) -> None:
    """Count per label where it is both relevant and predicted, predicted, and relevant.

    hits : (h,), labels of the instances' relevant and predicted labels
    cut : int64 (n,), leading entries of the list that are predicted
    totals : int32 or int64 (3, n_labels), added to: tp, n_pred, n_true
    """
    # tables of millions of labels are far from the processor: one loop for each, which waits for nothing
    count_entries(hits, totals[0])
    if cut.sum() == list_labels.size:
        count_entries(list_labels, totals[1])
    else:
        for i in range(cut.size):
            for p in range(list_ptr[i], list_ptr[i] + cut[i]):
                totals[1, list_labels[p]] += 1
    count_entries(true_labels, totals[2])


@kernel
def weigh_labels(
    true_ptr: Ints,
    true_labels: Labels,
    hits: Labels,
    n_within: Ints,
    cut: Ints,
    list_ptr: Ints,
    list_labels: Labels,
    weight: Floats,
    totals: Ints,
) -> None:
    """Sum instance weights as `count_labels` counts instances.

    hits, n_within : (h,), int64 (n,), as of `matching.find_hits`
    totals : int64 (3, n_labels, 4)
    """
    n_hits = 0
    for i in range(true_ptr.size - 1):
        for h in range(n_hits, n_hits + n_within[i]):
            add_term(totals[0, hits[h]], weight[i])
        n_hits += n_within[i]
        for p in range(list_ptr[i], list_ptr[i] + cut[i]):
            add_term(totals[1, list_labels[p]], weight[i])
        for t in range(true_ptr[i], true_ptr[i + 1]):
            add_term(totals[2, true_labels[t]], weight[i])
