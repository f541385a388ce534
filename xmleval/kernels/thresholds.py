"""Cuts of sorted scores with the best F1 or fewest errors, tie groups whole; sets by thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Floats, Ints, Labels, Scores
from xmleval.kernels.fixed import BITS, LIMBS, MASK, add_share
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import add_product
from xmleval.kernels.sorting import copy_to

# what a cut is for: the largest F1, the fewest errors, the number of relevant
F1, ERRORS, SIZE = range(3)
CLOSE = 1e-12  # products of floats that differ by more differ as integers


@kernel
def is_larger(first: Ints, second: Ints, n_shares: int) -> bool:
    """Whether a sum of shares exceeds another by more than the truncation of its terms.

    first, second : int64 (4,), see `fixed.add_share`; n_shares : how many terms each has at most
    """
    last = first[2] - second[2]
    middle = first[1] - second[1] + (last >> BITS)
    whole = first[0] - second[0] + (middle >> BITS)
    return bool(whole > 0 or (whole == 0 and ((middle & MASK) > 0 or (last & MASK) >= n_shares)))


@kernel
def sweep_f1(scores: Scores, units: Labels, relevant: Bools, n_true: Ints) -> int:
    """Find how many leading entries maximise the sum of F1 over units; the fewest of ties.

    Sums are compared as fractions: 1/3 + 2/3 equals 1. Sums that differ by less than 2^-104 a unit
    count as equal.

    scores : (s,), best first, equal within a tie group; units : (s,), the unit of each entry
    relevant : bool (s,)
    n_true : int64 (u,), relevant entries of each unit; F1 is 0 for a unit without relevant entries,
        or without predictions
    """
    hits = np.zeros(n_true.size, np.int64)
    size = np.zeros(n_true.size, np.int64)
    total = np.zeros(LIMBS, np.int64)
    largest = np.zeros(LIMBS, np.int64)
    best = 0
    p = 0
    while p < scores.size:
        score = scores[p]
        while p < scores.size and scores[p] == score:
            unit = units[p]
            if hits[unit]:
                add_share(total, 2 * hits[unit], size[unit] + n_true[unit], -1)
            size[unit] += 1
            hits[unit] += relevant[p]
            if hits[unit]:
                add_share(total, 2 * hits[unit], size[unit] + n_true[unit], 1)
            p += 1
        if is_larger(total, largest, n_true.size):
            copy_to(largest, total)
            best = p
    return best


@kernel
def sweep_groups(
    ptr: Ints,
    scores: Scores,
    relevant: Bools,
    n_true: Ints,
    floor: float,
    by_f1: bool,
    cut: Ints,
    values: Floats,
) -> None:
    """Find for each group how many leading entries to predict; the fewest of ties.

    ptr : int64 (g + 1,); scores : (s,), best first within a group; relevant : bool (s,)
    n_true : int64 (g,), relevant entries of each group
    floor : entries at or below this score are never predicted
    by_f1 : whether the largest F1 is best, else the fewest errors
    cut : int64 (g,), written; values : float64 (g,), written: F1 or errors at the cut
    """
    for group in range(ptr.size - 1):
        p = ptr[group]
        hits = 0
        largest = 0
        cut[group] = 0
        values[group] = 0.0 if by_f1 else n_true[group]
        while p < ptr[group + 1] and scores[p] > floor:
            score = scores[p]
            while p < ptr[group + 1] and scores[p] == score:
                hits += relevant[p]
                p += 1
            size = p - ptr[group]
            if by_f1:
                value = 2.0 * hits / (size + n_true[group])
                better = hits * (cut[group] + n_true[group]) > largest * (size + n_true[group])
            else:
                value = float(n_true[group] + size - 2 * hits)
                better = value < values[group]
            if better:
                cut[group] = size
                values[group] = value
                largest = hits


@kernel
def is_larger_product(a: int, b: int, c: int, d: int) -> bool:
    """Tell whether a b > c d, for integers from 0 to 2^62 - 1."""
    left = float(a) * float(b)
    right = float(c) * float(d)
    if left == 0.0 or right == 0.0 or abs(left - right) > CLOSE * (left + right):
        return left > right
    first = np.zeros(2, np.int64)
    second = np.zeros(2, np.int64)
    add_product(first, a, b)
    add_product(second, c, d)
    return bool(first[0] > second[0] or (first[0] == second[0] and first[1] > second[1]))


@kernel
def is_better(aim: int, hits: int, size: int, best_hits: int, best_size: int, n_true: int) -> bool:
    """Tell whether ``size`` predicted entries with ``hits`` relevant ones are better than others.

    aim : F1, ERRORS or SIZE; n_true : relevant entries in total
    """
    if aim == F1:
        return is_larger_product(hits, best_size + n_true, best_hits, size + n_true)
    if aim == ERRORS:
        return 2 * (hits - best_hits) > size - best_size
    return abs(size - n_true) < abs(best_size - n_true)


@kernel
def find_cut(
    relevant: Scores,
    n_relevant: NDArray[Any],
    irrelevant: Scores,
    n_irrelevant: NDArray[Any],
    above: Ints,
    n_true: int,
    floor: float,
    aim: int,
    best: Ints,
    next_score: Floats,
) -> None:
    """Find the best cut in a range of scores, or above it; the highest of ties.

    relevant, irrelevant : (n,), (m,), increasing; n_relevant, n_irrelevant : integers, entries of
        each
    above : int64 (2,), relevant and irrelevant entries above the range
    n_true, aim : see `is_better`; floor : entries at or below this score are never predicted
    best : int64 (2,), written: relevant and all entries above the cut
    next_score : float64 (2,), written: the highest score in the range and that below the cut, NaN
        for none
    """
    i = relevant.size - 1
    j = irrelevant.size - 1
    hits = above[0]
    size = above[0] + above[1]
    best[0] = hits
    best[1] = size
    next_score[:] = np.nan
    at_cut = True
    while i >= 0 or j >= 0:
        score = relevant[i] if j < 0 or (i >= 0 and relevant[i] >= irrelevant[j]) else irrelevant[j]
        if score <= floor:
            break
        if at_cut:
            next_score[1] = score
            at_cut = False
            if np.isnan(next_score[0]):
                next_score[0] = score
        while i >= 0 and relevant[i] == score:
            hits += n_relevant[i]
            size += n_relevant[i]
            i -= 1
        while j >= 0 and irrelevant[j] == score:
            size += n_irrelevant[j]
            j -= 1
        if is_better(aim, hits, size, best[0], best[1], n_true):
            best[0] = hits
            best[1] = size
            next_score[1] = np.nan
            at_cut = True


@kernel
def cut_labels(
    relevant_ptr: Ints,
    relevant: Scores,
    irrelevant_ptr: Ints,
    irrelevant: Scores,
    n_true: Ints,
    floor: float,
    aim: int,
    best: Ints,
    next_score: Floats,
) -> None:
    """Find the best cut of every label, as in `find_cut`.

    relevant_ptr, irrelevant_ptr : int64 (n_labels + 1,)
    relevant, irrelevant : (s,), (t,), scores increasing within each label
    n_true : int64 (n_labels,); best : int64 (n_labels, 2), next_score : float64 (n_labels, 2),
        written
    """
    above = np.zeros(2, np.int64)
    ones = np.ones(max(relevant.size, irrelevant.size), np.int8)
    for label in range(n_true.size):
        good = relevant[relevant_ptr[label] : relevant_ptr[label + 1]]
        bad = irrelevant[irrelevant_ptr[label] : irrelevant_ptr[label + 1]]
        find_cut(
            good,
            ones,
            bad,
            ones,
            above,
            n_true[label],
            floor,
            aim,
            best[label],
            next_score[label],
        )


@kernel
def select_above(
    ptr: Ints, labels: Labels, scores: Scores, thresholds: Scores, chosen_ptr: Ints, chosen: Labels
) -> None:
    """Write the entries whose score is above the threshold of their label.

    ptr, labels : int64 (n + 1,), (s,); scores : (s,); thresholds : (n_labels,)
    chosen_ptr : int64 (n + 1,), written
    chosen : (c,), written; if it is empty, entries are only counted
    """
    chosen_ptr[0] = n_chosen = 0
    for i in range(ptr.size - 1):
        for p in range(ptr[i], ptr[i + 1]):
            if scores[p] > thresholds[labels[p]]:
                if chosen.size:
                    chosen[n_chosen] = labels[p]
                n_chosen += 1
        chosen_ptr[i + 1] = n_chosen


@kernel
def count_above(ptr: Ints, scores: Scores, thresholds: Scores, cut: Ints) -> None:
    """Count the leading entries of rows above the threshold of their row.

    ptr : int64 (n + 1,); scores : (s,), best first within a row; thresholds : (n,)
    cut : int64 (n,), written
    """
    for i in range(ptr.size - 1):
        p = ptr[i]
        while p < ptr[i + 1] and scores[p] > thresholds[i]:
            p += 1
        cut[i] = p - ptr[i]


@kernel
def copy_leading(
    ptr: Ints, scores: Scores, n_above: Ints, n_labels: int, unlisted: float, leading: Floats
) -> None:
    """Copy the k highest scores of rows, unlisted labels included.

    ptr : int64 (n + 1,); scores : (s,), best first
    n_above : int64 (n,), entries above the unlisted labels
    unlisted : score of unlisted labels, or NaN if they repeat the last score of the row
    leading : float64 (n, k), written; a row with fewer than k labels repeats its last score, and a
        row without scores has 0
    """
    for i in range(ptr.size - 1):
        n_listed = ptr[i + 1] - ptr[i]
        n_unlisted = n_labels - n_listed
        for rank in range(leading.shape[1]):
            if rank < n_above[i]:
                leading[i, rank] = scores[ptr[i] + rank]
            elif not np.isnan(unlisted) and rank < n_above[i] + n_unlisted:
                leading[i, rank] = unlisted
            elif not np.isnan(unlisted) and rank < n_labels:
                leading[i, rank] = scores[ptr[i] + rank - n_unlisted]
            else:
                leading[i, rank] = leading[i, rank - 1] if rank else 0.0


@kernel
def apply_weights(values: Floats, weights: Floats, out: Floats) -> None:
    """Evaluate a linear model, term by term, so that the blocks of rows do not change a bit.

    values : float64 (n, k); weights : float64 (k + 1,), the constant first; out : float64 (n,),
        written
    """
    for i in range(values.shape[0]):
        out[i] = weights[0]
        for j in range(values.shape[1]):
            out[i] += weights[j + 1] * values[i, j]


@kernel
def apply_weights_sparse(
    ptr: Ints, columns: Labels, values: Floats, weights: Floats, out: Floats
) -> None:
    """Evaluate a linear model on CSR rows, with the same bits as `apply_weights`.

    ptr, columns : int64 (n + 1,), (s,), increasing within each row; values : float64 (s,)
    weights : float64 (k + 1,), the constant first; out : float64 (n,), written
    """
    for i in range(ptr.size - 1):
        out[i] = weights[0]
        for p in range(ptr[i], ptr[i + 1]):
            out[i] += weights[columns[p] + 1] * values[p]
