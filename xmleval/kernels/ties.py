"""Equal scores on both sides of a cutoff."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, Labels, Scores
from xmleval.kernels.jit import kernel, kernel_with_work, n_rows
from xmleval.kernels.matching import index_of


@kernel_with_work(n_rows)
def flag_cut_ties(ptr: Ints, scores: Scores, head_ptr: Ints, tied: Bools) -> None:
    """Flag the rows, best first, that are cut between two entries with the same score.

    ptr, scores : int64 (n + 1,), (s,); head_ptr : int64 (n + 1,); tied : (n,), written
    """
    for i in range(ptr.size - 1):
        n = head_ptr[i + 1] - head_ptr[i]
        stop = ptr[i + 1]
        p = ptr[i] + n
        tied[i] = n > 0 and p < stop and scores[p] == scores[p - 1]


@kernel_with_work(n_rows)
def count_cut_ties(
    ptr: Ints, scores: Scores, head_ptr: Ints, heads: Scores, tied: Bools, out_ptr: Ints
) -> None:
    """Count the entries of flagged rows that were cut and tie with the last entry that was kept.

    ptr, scores : int64 (n + 1,), (s,), whole rows; head_ptr, heads : the scores that were kept
    tied : (n,); out_ptr : int64 (n + 1,), written: where those of each row begin
    """
    out_ptr[0] = 0
    for i in range(ptr.size - 1):
        n = 0
        if tied[i]:
            score = heads[head_ptr[i + 1] - 1]
            for p in range(ptr[i], ptr[i + 1]):
                n += scores[p] == score
            for p in range(head_ptr[i], head_ptr[i + 1]):
                n -= heads[p] == score
        out_ptr[i + 1] = out_ptr[i] + n


@kernel
def collect_cut_ties(
    ptr: Ints,
    labels: Labels,
    scores: Scores,
    head_ptr: Ints,
    heads: Scores,
    out_ptr: Ints,
    out: Labels,
) -> None:
    """Write the labels that `count_cut_ties` counts: the last of those with their score.

    ptr, labels, scores : int64 (n + 1,), (s,), (s,), whole rows; head_ptr, heads : the scores that
        were kept
    out_ptr : int64 (n + 1,); out : (out_ptr[-1],), written
    """
    for i in range(ptr.size - 1):
        q = out_ptr[i + 1]
        p = ptr[i + 1]
        while q > out_ptr[i]:
            p -= 1
            if scores[p] == heads[head_ptr[i + 1] - 1]:
                q -= 1
                out[q] = labels[p]


@kernel
def append_ties(
    head_ptr: Ints,
    heads: Labels,
    head_scores: Scores,
    cut_ptr: Ints,
    cut_labels: Labels,
    ptr: Ints,
    labels: Labels,
    scores: Scores,
) -> None:
    """Write the entries of rows, and behind them the cut entries that tie with the last one.

    head_ptr, heads, head_scores : int64 (n + 1,), (s,), (s,), best first
    cut_ptr, cut_labels : int64 (n + 1,), (r,)
    ptr : int64 (n + 1,), head_ptr + cut_ptr; labels, scores : (s + r,), written
    """
    for i in range(ptr.size - 1):
        q = ptr[i]
        for p in range(head_ptr[i], head_ptr[i + 1]):
            labels[q] = heads[p]
            scores[q] = head_scores[p]
            q += 1
        for p in range(cut_ptr[i], cut_ptr[i + 1]):
            labels[q] = cut_labels[p]
            scores[q] = scores[q - 1]
            q += 1


@kernel
def has_equal_neighbours(scores: Scores) -> bool:
    """Whether any entry has the score of the one before it, in any row. scores : (s,)."""
    n = 0
    for p in range(1, scores.size):  # without a branch, so that it vectorises
        n += scores[p] == scores[p - 1]
    return n > 0


@kernel
def relevant_among(labels: Labels, truth: Labels) -> int:
    """Return how many of some labels are relevant. labels : (s,); truth : (t,), increasing."""
    n = 0
    for label in labels:
        n += index_of(truth, label) >= 0
    return n


@kernel
def has_equal_gains(labels: Labels, truth: Labels, gains: Floats) -> bool:
    """Whether the relevant ones among some labels gain the same.

    labels : (s,); truth : (t,), increasing
    gains : float64 (t,), of relevant labels; (0,) if all gain the same
    """
    if gains.size == 0:
        return True
    first = -1
    for label in labels:
        at = index_of(truth, label)
        if at < 0:
            continue
        if first < 0:
            first = at
        elif gains[at] != gains[first]:
            return False
    return True


@kernel
def count_tied_rows(
    true_ptr: Ints,
    true_labels: Labels,
    true_gains: Floats,
    ptr: Ints,
    labels: Labels,
    scores: Scores,
    cutoffs: Ints,
    noted: Bools,
    counts: Ints,
    is_noted: Bools,
) -> None:
    """Count the rows where a measure depends on the order of tied labels, some of them relevant.

    true_ptr, true_labels : int64 (n + 1,), (t,), increasing within a row
    true_gains : float64 (t,), gains of relevant labels; (0,) if all gain the same
    ptr, labels, scores : int64 (n + 1,), (s,), (s,), best first
    cutoffs : int64 (c,), 0 for the number of relevant labels of a row
    noted : (3, c), by cutoff: whether a row is noted if a tie across it can change hits or what
        they gain, whether there is any hit, or the rank of the first one
    counts : int64 (6, c), added to, by cutoff: rows of which hits, or what they gain, depend on the
        order, whether there is any, the rank of the first relevant label, or any rank; and rows of
        which hits, or ranks, of some of the relevant labels can depend on it
    is_noted : (n,), set to True for rows with such a tie
    """
    flags = np.empty(counts.shape, np.bool_)
    for i in range(ptr.size - 1):
        first = ptr[i]
        stop = ptr[i + 1]
        truth = true_labels[true_ptr[i] : true_ptr[i + 1]]
        gains = true_gains[true_ptr[i] : true_ptr[i + 1]]
        deepest = 0
        for k in cutoffs:
            deepest = max(deepest, k if k > 0 else truth.size)
        is_tied = False
        p = first
        while p < stop and p < first + deepest:
            start = p
            score = scores[p]
            p += 1
            while p < stop and scores[p] == score:
                p += 1
            size = p - start
            if size == 1:
                continue
            n_relevant = relevant_among(labels[start:p], truth)
            if n_relevant == 0:
                continue
            if not is_tied:
                flags[:] = False
                is_tied = True
            above = start - first
            is_first = relevant_among(labels[first:start], truth) == 0
            order_matters = n_relevant < size or not has_equal_gains(labels[start:p], truth, gains)
            for c in range(cutoffs.size):
                k = cutoffs[c] if cutoffs[c] > 0 else truth.size
                if above >= k:
                    continue
                flags[5, c] = True
                flags[4, c] |= k < above + size
                if not order_matters:
                    continue
                flags[3, c] = True
                flags[2, c] |= is_first
                if k < above + size:
                    can_miss_all = is_first and size - n_relevant >= k - above
                    flags[0, c] = True
                    flags[1, c] |= can_miss_all
                    is_noted[i] |= noted[0, c]
                    is_noted[i] |= noted[1, c] and can_miss_all
                    is_noted[i] |= noted[2, c] and is_first
        if is_tied:
            for c in range(cutoffs.size):
                for kind in range(6):
                    counts[kind, c] += flags[kind, c]
