"""Sweeps down pooled scores that leave out one fold of the rows at a time, all in one pass.

Scores are counted in tables, int64 (2 n + 1, folds), around n increasing scores of relevant entries: row
2 i + 1 counts the scores that equal score i, row 2 i those between scores i - 1 and i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import add_product
from xmleval.kernels.sweeps import finish
from xmleval.records import Floats, Ints, Scores

SIMPLE = 2.0**62  # number of pairs up to which sums fit in 64 bits
PIECE = 1 << 11  # relevant scores of a label at a time, which bounds the tables
FEW = 1 << 14  # relevant scores of a label for which a table of all folds is small
MOST = 1 << 20  # irrelevant scores of a label that are gathered, which bounds their memory
CELLS = 4  # for each relevant score, so that few have several


@kernel
def walk_folds(
    good: Ints, bad: Ints, above: Ints, totals: Ints, pairs_alone: bool, pairs: Ints, precision: Ints
) -> None:
    """Count pairs and precision of the entries outside each fold, around n scores, best first.

    good, bad : int64 (2 n + 1, folds), relevant and irrelevant entries around the scores
    above : int64 (2, folds), relevant and irrelevant entries above; those of the tables are added
    totals : int64 (2, folds), all entries; pairs_alone : whether precision is not needed
    pairs : int64 (folds, 2, 2), added to: pairs in the right order, and tied, as limbs of `add_product`
    precision : int64 (folds, 4), fixed point, added to: for every relevant entry, that of its group's end
    """
    n_folds = good.shape[1]
    n_bad = totals[1].sum()
    simple = pairs_alone and float(good.sum()) * float(n_bad) < SIMPLE
    right, level = np.zeros(n_folds, np.int64), np.zeros(n_folds, np.int64)
    above[1] += bad[bad.shape[0] - 1]
    for i in range(good.shape[0] - 2, 0, -2):
        group, tied, seen, wrong = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for fold in range(n_folds):
            above[0, fold] += good[i, fold]
            above[1, fold] += bad[i, fold]
            group += good[i, fold]
            tied += bad[i, fold]
            seen += above[0, fold]
            wrong += above[1, fold]
        if simple:
            for fold in range(n_folds):
                others = group - good[i, fold]
                right[fold] += others * (n_bad - totals[1, fold] - wrong + above[1, fold])
                level[fold] += others * (tied - bad[i, fold])
            above[1] += bad[i - 1]
            continue
        for fold in range(n_folds):
            others = group - good[i, fold]
            if others == 0:
                continue
            further = wrong - above[1, fold]
            add_product(pairs[fold, 0], others, n_bad - totals[1, fold] - further)
            add_product(pairs[fold, 1], others, tied - bad[i, fold])
            if not pairs_alone:
                hits = seen - above[0, fold]
                add_term(precision[fold], others * (hits / (hits + further)))
        above[1] += bad[i - 1]
    for fold in range(n_folds):
        add_product(pairs[fold, 0], 1, right[fold])
        add_product(pairs[fold, 1], 1, level[fold])


@kernel
def first_between(scores: Scores, score: float, low: int, high: int) -> Any:
    """Return the first place from low to high - 1 whose score is not lower, or high; scores increase."""
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] < score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def row_among(scores: Scores, score: float) -> Any:
    """Return the row of a score in a table around increasing scores."""
    low = first_between(scores, score, 0, scores.size)
    return 2 * low + (1 if low < scores.size and scores[low] == score else 0)


@kernel
def count_around(
    some: Scores, start: int, stop: int, scores: Scores, in_order: bool, fold: int, counted: Ints
) -> None:
    """Count scores around some[start:stop], but for those from a neighbour on, which others count.

    some : (n,), increasing; scores : (s,), increasing if ``in_order``
    counted : int64 (2 (stop - start) + 1, folds), added to
    """
    piece, first, end = some[start:stop], 0, scores.size
    if in_order:
        first = np.searchsorted(scores, some[start]) if start > 0 else 0
        end = np.searchsorted(scores, some[stop]) if stop < some.size else scores.size
    for score in scores[first:end]:
        if stop < some.size and score >= some[stop]:
            continue
        if start > 0 and score < some[start]:
            continue
        counted[row_among(piece, score), fold] += 1


@kernel
def distinct_scores(scores: Scores) -> int:
    """Sort scores, and move the distinct ones to the front; return how many they are."""
    scores.sort()
    n = 0
    for i in range(scores.size):
        if n == 0 or scores[i] != scores[n - 1]:
            scores[n] = scores[i]
            n += 1
    return n


@kernel
def sweep_around_pieces(
    some: Scores, good_ptr: Ints, good: Scores, bad_ptr: Ints, bad: Scores, in_order: bool, label: int,
    unlisted: Ints, level: float, tables: Ints, above: Ints, totals: Ints, pairs_alone: bool, pairs: Ints,
    precision: Ints,
) -> None:  # fmt: skip
    """Do as `walk_folds` for one label, pieces of its distinct relevant scores at a time.

    some : (n,), increasing: the distinct relevant scores, and that of unlisted entries
    good_ptr, good, bad_ptr, bad : see `sweep_fold_labels`; in_order : whether scores of a fold increase
    unlisted : int64 (2, folds), unlisted entries; level : their score, or NaN if they rank below everything
    tables : int64 (2, 2 PIECE + 1, folds), overwritten; the others as in `walk_folds`
    """
    n_folds = good_ptr.shape[0]
    for stop in range(some.size, 0, -PIECE):
        start = max(0, stop - PIECE)
        counted = tables[:, : 2 * (stop - start) + 1]
        counted[:] = 0
        for fold in range(n_folds):
            own = good[good_ptr[fold, label] : good_ptr[fold, label + 1]]
            count_around(some, start, stop, own, in_order, fold, counted[0])
            own = bad[bad_ptr[fold, label] : bad_ptr[fold, label + 1]]
            count_around(some, start, stop, own, in_order, fold, counted[1])
        if not np.isnan(level):
            row = row_among(some, level)
            if 2 * start < row < 2 * stop:
                counted[:, row - 2 * start] += unlisted
        walk_folds(counted[0], counted[1], above, totals, pairs_alone, pairs, precision)
    if np.isnan(level):
        above[:] = totals - unlisted  # also where no relevant entry is listed
        counted = tables[:, :3]
        counted[:] = 0
        counted[:, 1] = unlisted
        walk_folds(counted[0], counted[1], above, totals, pairs_alone, pairs, precision)


@kernel
def cell_of(score: float, low: float, scale: float, n_cells: int) -> Any:
    """Return the cell of a score among cells of equal width; of a higher score it is never lower."""
    place = (score - low) * scale
    if not place > 0:
        return 0
    return n_cells - 1 if place >= n_cells - 1 else np.int64(place)


@kernel
def first_not_below(scores: Scores, score: float, low: float, scale: float, cells: Ints) -> Any:
    """Return the place of the first of increasing scores that is not lower, found within its cell."""
    cell = cell_of(score, low, scale, cells.size - 1)
    return first_between(scores, score, cells[cell], cells[cell + 1])


@kernel
def gather_folds(ptr: Ints, scores: Scores, label: int, found: Scores, folds: Ints) -> None:
    """Write the scores of a label of all folds, and their folds."""
    n = 0
    for fold in range(ptr.shape[0]):
        for p in range(ptr[fold, label], ptr[fold, label + 1]):
            found[n], folds[n] = scores[p], fold
            n += 1


@kernel
def sweep_fold_pairs(
    good: Scores, good_folds: Ints, bad: Scores, bad_folds: Ints, missing: Ints, unlisted: float,
    some: Scores, places: Ints, cells: Ints, own_above: Any, spare: Ints, pairs: Floats,
) -> None:  # fmt: skip
    """Count the pairs of a label outside each fold: all, less those with an entry of the fold.

    good, bad : (n,), (m,), scores of relevant and of irrelevant entries, in any order
    good_folds, bad_folds : int64 (n,), (m,), their folds
    missing : int64 (2, folds), entries that are not listed; unlisted : see `sweep_fold_labels`
    some, places, own_above : (n,), int64 (4, n + 1), int32 (n + 1, folds), overwritten
    cells, spare : int64 (c,), int64 (6, folds), overwritten; with more cells, scores are found faster
    pairs : float64 (folds, 2), written; no number of pairs exceeds 64 bits
    """
    n_folds, n = pairs.shape[0], good.size
    spare[:], places[:], cells[:], own_above[:] = 0, 0, 0, 0
    right, tied = spare[0], spare[1]  # pairs with an entry of the fold
    above, beside = spare[2], spare[3]  # relevant entries with a higher score than unlisted ones, or the same
    below, equal = spare[4], spare[5]  # irrelevant entries with a lower score, or the same
    firsts, ends = places[0], places[1]  # of equal relevant scores
    n_below, n_equal = places[2], places[3]  # irrelevant entries below the i-th relevant score, or equal
    n_right, n_tied = np.int64(0), np.int64(0)
    low, scale = 0.0, 0.0
    some[:] = good
    if n > 1:
        some.sort()
        low, width = float(some[0]), float(some[n - 1]) - float(some[0])
        scale = (cells.size - 1) / width if 0 < width < np.inf else 0.0
    for i in range(n - 1, -1, -1):
        ends[i] = ends[i + 1] if i + 1 < n and some[i] == some[i + 1] else i + 1
        cells[cell_of(some[i], low, scale, cells.size - 1) + 1] += 1
    for i in range(cells.size - 1):
        cells[i + 1] += cells[i]
    for p in range(n):
        fold, firsts[p] = good_folds[p], first_not_below(some, good[p], low, scale, cells)
        own_above[firsts[p], fold] += 1
        above[fold] += not good[p] <= unlisted
        beside[fold] += good[p] == unlisted
    for i in range(n - 1, -1, -1):
        for fold in range(n_folds):
            own_above[i, fold] += own_above[i + 1, fold]
    for q in range(bad.size):
        score, fold, first, same = bad[q], bad_folds[q], 0, 0
        if n:
            first = first_not_below(some, score, low, scale, cells)
            same = ends[first] - first if first < n and some[first] == score else 0
        higher, own = n - first - same, own_above[first + same, fold]
        n_right += higher
        n_tied += same
        right[fold] += higher - own
        tied[fold] += same - (own_above[first, fold] - own)
        n_below[first + same] += 1
        n_equal[first] += same > 0
        below[fold] += score < unlisted
        equal[fold] += score == unlisted
    for i in range(n):
        n_below[i + 1] += n_below[i]
    for p in range(n):
        right[good_folds[p]] += n_below[firsts[p]]
        tied[good_folds[p]] += n_equal[firsts[p]]
    n_good, n_bad, n_above, n_beside, n_lower, n_same = 0, 0, 0, 0, 0, 0
    for fold in range(n_folds):
        n_good += missing[0, fold]
        n_bad += missing[1, fold]
        n_above += above[fold]
        n_beside += beside[fold]
        n_lower += below[fold]
        n_same += equal[fold]
    for fold in range(n_folds):
        left_good, left_bad = n_good - missing[0, fold], n_bad - missing[1, fold]
        unlisted_right = (n_above - above[fold]) * left_bad + left_good * (n_lower - below[fold])
        unlisted_tied = (n_beside - beside[fold]) * left_bad + left_good * (n_same - equal[fold] + left_bad)
        pairs[fold, 0] = n_right - right[fold] + unlisted_right
        pairs[fold, 1] = n_tied - tied[fold] + unlisted_tied


@kernel
def sweep_fold_labels(
    labels: Ints, good_ptr: Ints, good: Scores, bad_ptr: Ints, bad: Scores, n_true: Ints, n_rows: Ints,
    unlisted: float, pairs_alone: bool, pairs: Floats, precision: Floats,
) -> None:  # fmt: skip
    """Count pairs and precision of some labels outside each fold.

    labels : int64 (n,)
    good_ptr, bad_ptr : int64 (folds, n_labels + 1), where the scores of each label of each fold start
    good, bad : (s,), (t,), scores of relevant and of irrelevant entries, in any order within a label
    n_true : int64 (folds, n_labels), rows in which each label is relevant; n_rows : int64 (folds,), all rows
    unlisted : score of entries that are not listed, or NaN if they rank below everything
    pairs : float64 (folds, n, 2); precision : float64 (folds, n, 1); written
    """
    n_folds = good_ptr.shape[0]
    tables = np.empty((2, 2 * PIECE + 1, n_folds), np.int64)
    limbs, total = np.empty((n_folds, 2, 2), np.int64), np.empty((n_folds, 4), np.int64)
    above, totals = np.empty((2, n_folds), np.int64), np.empty((2, n_folds), np.int64)
    missing, spare = np.empty((2, n_folds), np.int64), np.empty((6, n_folds), np.int64)
    few_good, few_bad, some = np.empty(0, good.dtype), np.empty(0, bad.dtype), np.empty(0, good.dtype)
    good_folds, bad_folds, places = np.empty(0, np.int64), np.empty(0, np.int64), np.empty((4, 1), np.int64)
    cells, own_above = np.empty(1, np.int64), np.empty((1, n_folds), np.int32)
    level = np.full(1, unlisted).astype(good.dtype)[0]
    n_every = float(n_rows.sum())
    for at in range(labels.size):
        label = labels[at]
        n_good, n_bad, n_relevant, n_missing = 0, 0, 0, 0
        for fold in range(n_folds):
            own_good = good_ptr[fold, label + 1] - good_ptr[fold, label]
            own_bad = bad_ptr[fold, label + 1] - bad_ptr[fold, label]
            own_true = n_true[fold, label]
            totals[0, fold], totals[1, fold] = own_true, n_rows[fold] - own_true
            missing[0, fold], missing[1, fold] = own_true - own_good, n_rows[fold] - own_true - own_bad
            n_good += own_good
            n_bad += own_bad
            n_relevant += own_true
            n_missing += missing[0, fold] + missing[1, fold]
        few = n_good <= FEW and n_bad <= MOST
        if pairs_alone and few and n_relevant * n_every < SIMPLE:
            if n_good > some.size:
                n = 2 * n_good
                some, few_good = np.empty(n, good.dtype), np.empty(n, good.dtype)
                good_folds, cells = np.empty(n, np.int64), np.empty(CELLS * n + 1, np.int64)
                places, own_above = np.empty((4, n + 1), np.int64), np.empty((n + 1, n_folds), np.int32)
            if n_bad > few_bad.size:
                n = 2 * n_bad
                few_bad, bad_folds = np.empty(n, bad.dtype), np.empty(n, np.int64)
            gather_folds(good_ptr, good, label, few_good, good_folds)
            gather_folds(bad_ptr, bad, label, few_bad, bad_folds)
            sweep_fold_pairs(
                few_good[:n_good], good_folds, few_bad[:n_bad], bad_folds, missing, level, some[:n_good],
                places[:, : n_good + 1], cells[: CELLS * n_good + 1], own_above[: n_good + 1], spare,
                pairs[:, at],
            )  # fmt: skip
            precision[:, at] = 0.0
            continue
        limbs[:], total[:], above[:] = 0, 0, 0
        waiting = 0 if np.isnan(unlisted) or n_missing == 0 else 1
        around = np.empty(n_good + waiting, good.dtype)
        if waiting:
            around[n_good] = unlisted
        place = 0
        for fold in range(n_folds):
            for p in range(good_ptr[fold, label], good_ptr[fold, label + 1]):
                around[place] = good[p]
                place += 1
        around = around[: distinct_scores(around)]
        sweep_around_pieces(
            around, good_ptr, good, bad_ptr, bad, False, label, missing, unlisted, tables, above, totals,
            pairs_alone, limbs, total,
        )  # fmt: skip
        for fold in range(n_folds):
            finish(at, limbs[fold], total[fold : fold + 1], pairs[fold], precision[fold])
