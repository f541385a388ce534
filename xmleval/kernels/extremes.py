"""Lowest relevant and highest irrelevant scores, of instances and of labels."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.records import Bools, Floats, Ints, Labels, Scores


@kernel
def find_extremes(
    list_ptr: Ints, scores: Scores, relevant: Bools, n_relevant: Ints, n_labels: int, level: float,
    lowest: Floats, highest: Floats,
) -> None:  # fmt: skip
    """Find the lowest relevant and the highest irrelevant score of each instance.

    list_ptr : int64 (n + 1,); scores, relevant : (s,), in any order within a row; n_relevant : int64 (n,)
    level : score of the labels that are not listed, NaN where they have none
    lowest, highest : float64 (n,), written; NaN where there are no pairs, or a label has no score
    """
    for i in range(list_ptr.size - 1):
        lo, hi = list_ptr[i], list_ptr[i + 1]
        lowest[i] = highest[i] = np.nan
        if n_relevant[i] == 0 or n_relevant[i] == n_labels:
            continue
        if hi - lo < n_labels and np.isnan(level):
            continue
        least, most, n_found = np.inf, -np.inf, 0
        for p in range(lo, hi):
            if relevant[p]:
                n_found += 1
                least = min(least, float(scores[p]))
            else:
                most = max(most, float(scores[p]))
        n_missing = n_relevant[i] - n_found
        if n_missing:
            least = min(least, level)
        if n_labels - (hi - lo) > n_missing:
            most = max(most, level)
        lowest[i], highest[i] = least, most


@kernel
def widen_extremes(
    list_ptr: Ints, list_labels: Labels, scores: Scores, relevant: Bools, true_ptr: Ints,
    true_labels: Labels, weight: Floats, ends: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Take the scores of some instances into the extremes of every label.

    weight : float64 (n,), or (0,); instances that weigh nothing do not count
    ends : float64 (2, n_labels), lowest relevant and highest irrelevant score, widened
    counts : int64 (3, n_labels), added to: relevant and irrelevant listed cells, relevant ones
    """
    for i in range(list_ptr.size - 1):
        if weight.size and weight[i] == 0.0:
            continue
        for t in range(true_ptr[i], true_ptr[i + 1]):
            counts[2, true_labels[t]] += 1
        for p in range(list_ptr[i], list_ptr[i + 1]):
            label, score = list_labels[p], float(scores[p]) + 0.0  # -0.0 as 0.0
            if relevant[p]:
                counts[0, label] += 1
                ends[0, label] = min(ends[0, label], score)
            else:
                counts[1, label] += 1
                ends[1, label] = max(ends[1, label], score)
