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
def row_among(scores: Scores, score: float) -> Any:
    """Return the row of a score in a table around increasing scores."""
    low, high = 0, scores.size
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] < score:
            low = middle + 1
        else:
            high = middle
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
def sweep_fold_labels(
    good_ptr: Ints, good: Scores, bad_ptr: Ints, bad: Scores, n_unlisted: Ints, unlisted: float,
    pairs_alone: bool, pairs: Floats, precision: Floats,
) -> None:  # fmt: skip
    """Count pairs and precision of every label outside each fold.

    good_ptr, bad_ptr : int64 (folds, labels + 1), where the scores of each label of each fold start
    good, bad : (s,), (t,), scores of relevant and of irrelevant entries, in any order within a label
    n_unlisted : int64 (2, folds, labels), relevant and irrelevant entries that are not listed, all tied
    unlisted : their score, or NaN if they rank below everything
    pairs : float64 (folds, labels, 2); precision : float64 (folds, labels, 1); written
    """
    n_folds, n_labels = good_ptr.shape[0], good_ptr.shape[1] - 1
    tables = np.empty((2, 2 * PIECE + 1, n_folds), np.int64)
    limbs, total = np.empty((n_folds, 2, 2), np.int64), np.empty((n_folds, 4), np.int64)
    above, totals = np.empty((2, n_folds), np.int64), np.empty((2, n_folds), np.int64)
    for label in range(n_labels):
        n_listed = 0
        for fold in range(n_folds):
            n_good = good_ptr[fold, label + 1] - good_ptr[fold, label]
            totals[0, fold] = n_good + n_unlisted[0, fold, label]
            totals[1, fold] = bad_ptr[fold, label + 1] - bad_ptr[fold, label] + n_unlisted[1, fold, label]
            n_listed += n_good
        limbs[:], total[:], above[:] = 0, 0, 0
        missing = n_unlisted[:, :, label].copy()
        if totals[0].sum():
            waiting = 0 if np.isnan(unlisted) or missing.sum() == 0 else 1
            some = np.empty(n_listed + waiting, good.dtype)
            if waiting:
                some[n_listed] = unlisted
            place = 0
            for fold in range(n_folds):
                for p in range(good_ptr[fold, label], good_ptr[fold, label + 1]):
                    some[place] = good[p]
                    place += 1
            some = some[: distinct_scores(some)]
            sweep_around_pieces(
                some, good_ptr, good, bad_ptr, bad, False, label, missing, unlisted, tables, above, totals,
                pairs_alone, limbs, total,
            )  # fmt: skip
        for fold in range(n_folds):
            finish(label, limbs[fold], total[fold : fold + 1], pairs[fold], precision[fold])
