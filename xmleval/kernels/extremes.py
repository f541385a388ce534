"""Lowest relevant and highest irrelevant scores of instances and of labels."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, Labels, Scores
from xmleval.kernels.jit import kernel


@kernel
def find_extremes(
    list_ptr: Ints,
    scores: Scores,
    relevant: Bools,
    n_relevant: Ints,
    n_cells: Ints,
    unlisted: float,
    lowest: Floats,
    highest: Floats,
) -> None:
    """Find the lowest relevant and the highest irrelevant score of every instance.

    list_ptr : int64 (n + 1,); scores : (s,), relevant : bool (s,), in any order within a row
    n_relevant, n_cells : int64 (n,), relevant labels and all labels of each row, listed or not
    unlisted : score of unlisted labels, NaN if they have none
    lowest, highest : float64 (n,), written; NaN where a row has no pairs, or a label has no score
    """
    for i in range(list_ptr.size - 1):
        lo = list_ptr[i]
        hi = list_ptr[i + 1]
        lowest[i] = highest[i] = np.nan
        if n_relevant[i] == 0 or n_relevant[i] == n_cells[i]:
            continue
        if hi - lo < n_cells[i] and np.isnan(unlisted):
            continue
        low = np.inf
        high = -np.inf
        n_found = 0
        for p in range(lo, hi):
            if relevant[p]:
                n_found += 1
                low = min(low, float(scores[p]))
            else:
                high = max(high, float(scores[p]))
        n_missing = n_relevant[i] - n_found
        if n_missing:
            low = min(low, unlisted)
        if n_cells[i] - (hi - lo) > n_missing:
            high = max(high, unlisted)
        lowest[i] = low
        highest[i] = high


@kernel
def widen_extremes(
    list_ptr: Ints,
    list_labels: Labels,
    scores: Scores,
    relevant: Bools,
    true_ptr: Ints,
    true_labels: Labels,
    weight: Floats,
    ends: Floats,
    counts: Ints,
) -> None:
    """Update the extremes of every label by the scores of some instances.

    list_ptr, list_labels : int64 (n + 1,), (s,); scores : (s,); relevant : bool (s,)
    true_ptr, true_labels : int64 (n + 1,), (t,)
    weight : float64 (n,), or (0,) without weights; instances of weight 0 do not count
    ends : float64 (2, n_labels), lowest relevant and highest irrelevant score so far, updated
    counts : int64 (3, n_labels), added to: listed relevant, listed irrelevant, and all relevant
        entries
    """
    for i in range(list_ptr.size - 1):
        if weight.size and weight[i] == 0.0:
            continue
        for t in range(true_ptr[i], true_ptr[i + 1]):
            counts[2, true_labels[t]] += 1
        for p in range(list_ptr[i], list_ptr[i + 1]):
            label = list_labels[p]
            score = float(scores[p]) + 0.0  # -0.0 as 0.0
            if relevant[p]:
                counts[0, label] += 1
                ends[0, label] = min(ends[0, label], score)
            else:
                counts[1, label] += 1
                ends[1, label] = max(ends[1, label], score)
