"""Scores grouped by label, block by block."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Bools, Ints, Labels, Scores
from xmleval.kernels.jit import kernel


@kernel
def group_entries(flags: Bools, labels: Labels, scores: Scores, ptr: Ints, grouped: Scores) -> None:
    """Group scores by label, those of flagged entries behind all others; -0.0 becomes 0.0.

    flags, labels, scores : bool (s,), (s,), (s,)
    ptr : int64 (2, n_labels + 1), written: where the scores of each label start, of others and of
        flagged
    grouped : (s,), written, in any order within a label
    """
    ptr[:] = 0
    for p in range(labels.size):
        ptr[np.uint64(flags[p]), np.uint64(labels[p] + 1)] += 1
    last = ptr.shape[1] - 1
    for side in range(2):
        if side:
            ptr[1, 0] = ptr[0, last]
        for i in range(last):
            ptr[side, i + 1] += ptr[side, i]
    place_of = ptr[:, :-1].copy()
    zero = scores.dtype.type(0)
    for p in range(labels.size):
        kind = np.int64(flags[p])  # signed: a seventh less time here
        label = labels[p]
        grouped[place_of[kind, label]] = scores[p] + zero
        place_of[kind, label] += 1


@kernel
def append_columns(ptr: Ints, scores: Scores, place_of: Ints, columns: Scores) -> None:
    """Append scores to the columns of their labels.

    ptr, scores : int64 (labels + 1,), (s,)
    place_of : int64 (labels,), where the next score of each label goes, advanced
    columns : (all scores,), written
    """
    for label in range(place_of.size):
        place = place_of[label]
        for p in range(ptr[label], ptr[label + 1]):
            columns[place] = scores[p]
            place += 1
        place_of[label] = place


@kernel
def sort_columns(ptr: Ints, scores: Scores, longest: int) -> None:
    """Sort in place the scores of labels with at most ``longest``; int64 (labels + 1,), (s,)."""
    for label in range(ptr.size - 1):
        if 1 < ptr[label + 1] - ptr[label] <= longest:
            scores[ptr[label] : ptr[label + 1]].sort()
