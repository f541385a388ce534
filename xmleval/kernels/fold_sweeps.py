"""Sweeps down pooled scores that leave out one fold of the rows at a time, all in one pass.

Scores of all entries are counted in tables, int64 (2 n + 1, folds), around n increasing scores of relevant
entries: row 2 i + 1 counts the scores that equal score i, row 2 i those between scores i - 1 and i. Scores of
labels are sorted keys: from the highest bit on, the label, the rank of the score, whether the entry is
relevant, and its fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.kernels.fixed import LIMBS, add_limbs, add_terms
from xmleval.kernels.folds import FOLD_BITS, N_FOLDS
from xmleval.kernels.jit import kernel
from xmleval.kernels.keys import HALF
from xmleval.kernels.products import add_product, product_sum
from xmleval.kernels.sweeps import leading_float
from xmleval.records import Floats, Ints, Scores

SIMPLE = 2.0**62  # number of pairs up to which sums fit in 64 bits
PIECE = 1 << 11  # relevant scores at a time, which bounds the tables
RELEVANT = N_FOLDS  # above the fold, so that of equal scores those of relevant entries are the last
MARK_BITS = FOLD_BITS + 1  # of a key of a label
BELOW_LABEL = HALF + MARK_BITS  # bits
MOST_LABELS = (1 << 63 - BELOW_LABEL) - 1  # so that the number behind the last fits, too


@kernel
def leave_out_group(
    good: Ints, bad: Ints, above: Ints, totals: Ints, simple: bool, pairs_alone: bool, sums: Ints,
    pairs: Ints, terms: Floats, precision: Ints,
) -> None:  # fmt: skip
    """Count pairs and precision of a tie group outside each fold.

    good, bad : int64 (folds,), its relevant and irrelevant entries; added to those ``above``
    simple : whether pairs are added to ``sums``, int64 (2, folds), as no number of them exceeds 64 bits
    terms : float64 (folds,), overwritten; precision : int64 (4, folds), fixed point, added to
    above, totals, pairs_alone, pairs : as in `walk_folds`
    """
    n_folds = good.size
    group, tied, seen, wrong, n_bad = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for fold in range(n_folds):
        above[0, fold] += good[fold]
        above[1, fold] += bad[fold]
        group += good[fold]
        tied += bad[fold]
        seen += above[0, fold]
        wrong += above[1, fold]
        n_bad += totals[1, fold]
    if simple:
        for fold in range(n_folds):
            others = group - good[fold]
            sums[0, fold] += others * (n_bad - totals[1, fold] - wrong + above[1, fold])
            sums[1, fold] += others * (tied - bad[fold])
    else:
        for fold in range(n_folds):
            others = group - good[fold]
            further = wrong - above[1, fold]
            add_product(pairs[fold, 0], others, n_bad - totals[1, fold] - further)
            add_product(pairs[fold, 1], others, tied - bad[fold])
    if not pairs_alone:
        for fold in range(n_folds):
            hits = seen - above[0, fold]
            every = hits + wrong - above[1, fold]
            terms[fold] = (group - good[fold]) * (hits / max(every, 1))  # of no entry, 0
        add_terms(terms, precision)


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
    simple = float(good.sum()) * float(totals[1].sum()) < SIMPLE
    sums, terms, total = (
        np.zeros((2, n_folds), np.int64),
        np.empty(n_folds),
        np.zeros((LIMBS, n_folds), np.int64),
    )
    above[1] += bad[bad.shape[0] - 1]
    for i in range(good.shape[0] - 2, 0, -2):
        leave_out_group(good[i], bad[i], above, totals, simple, pairs_alone, sums, pairs, terms, total)
        above[1] += bad[i - 1]
    for fold in range(n_folds):
        add_product(pairs[fold, 0], 1, sums[0, fold])
        add_product(pairs[fold, 1], 1, sums[1, fold])
        add_limbs(precision[fold], total[0, fold], total[1, fold], total[2, fold], total[3, fold])


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
def count_around(some: Scores, start: int, stop: int, scores: Scores, fold: int, counted: Ints) -> None:
    """Count scores around some[start:stop], but for those from a neighbour on, which others count.

    some, scores : (n,), (s,), increasing
    counted : int64 (2 (stop - start) + 1, folds), added to
    """
    first = np.searchsorted(scores, some[start]) if start > 0 else 0
    end = np.searchsorted(scores, some[stop]) if stop < some.size else scores.size
    for score in scores[first:end]:
        counted[row_among(some[start:stop], score), fold] += 1


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
    some: Scores, good_ptr: Ints, good: Scores, bad_ptr: Ints, bad: Scores, unlisted: Ints, level: float,
    tables: Ints, above: Ints, totals: Ints, pairs_alone: bool, pairs: Ints, precision: Ints,
) -> None:  # fmt: skip
    """Do as `walk_folds`, pieces of the distinct relevant scores at a time.

    some : (n,), increasing: the distinct relevant scores, and that of unlisted entries
    good_ptr, bad_ptr : int64 (folds + 1,), where the scores of each fold start
    good, bad : (s,), (t,), scores of relevant and of irrelevant entries, increasing within each fold
    unlisted : int64 (2, folds), unlisted entries; level : their score
    tables : int64 (2, 2 PIECE + 1, folds), overwritten; the others as in `walk_folds`
    """
    for stop in range(some.size, 0, -PIECE):
        start = max(0, stop - PIECE)
        counted = tables[:, : 2 * (stop - start) + 1]
        counted[:] = 0
        for fold in range(good_ptr.size - 1):
            own = good[good_ptr[fold] : good_ptr[fold + 1]]
            count_around(some, start, stop, own, fold, counted[0])
            own = bad[bad_ptr[fold] : bad_ptr[fold + 1]]
            count_around(some, start, stop, own, fold, counted[1])
        row = row_among(some, level)
        if 2 * start < row < 2 * stop:
            counted[:, row - 2 * start] += unlisted
        walk_folds(counted[0], counted[1], above, totals, pairs_alone, pairs, precision)


@kernel
def walk_keys(
    keys: Ints, above: Ints, totals: Ints, simple: bool, pairs_alone: bool, own: Ints, sums: Ints,
    pairs: Ints, terms: Floats, precision: Ints,
) -> None:  # fmt: skip
    """Count pairs and precision outside each fold of the tie groups of keys of one label.

    keys : int64 (s,), increasing; own : int64 (2, folds), overwritten
    above, totals, simple, pairs_alone, sums, pairs, terms, precision : as in `leave_out_group`
    """
    p = keys.size
    while p > 0:
        p -= 1
        mark = keys[p] & (2 * RELEVANT - 1)
        if mark < RELEVANT:  # an irrelevant entry, with no relevant one of the same score
            above[1, mark] += 1
            continue
        score = keys[p] >> MARK_BITS
        own[:] = 0
        own[0, mark - RELEVANT] += 1
        while p > 0 and keys[p - 1] >> MARK_BITS == score:
            p -= 1
            count_mark(keys[p], 1, own)
        leave_out_group(own[0], own[1], above, totals, simple, pairs_alone, sums, pairs, terms, precision)


@kernel
def count_mark(key: int, n: int, counted: Ints) -> None:
    """Count the entry of a key n times; counted : int64 (2, folds), relevant and irrelevant, added to."""
    mark = key & (2 * RELEVANT - 1)
    if mark < RELEVANT:
        counted[1, mark] += n
    else:
        counted[0, mark - RELEVANT] += n


@kernel
def sweep_fold_labels(
    labels: Ints, keys: Ints, n_true: Ints, n_rows: Ints, level: int, pairs_alone: bool, pairs: Floats,
    precision: Floats,
) -> None:  # fmt: skip
    """Count pairs and precision of some labels outside each fold.

    labels : int64 (n,), increasing; keys : int64 (s,), increasing, of any labels
    n_true : int64 (folds, n), rows in which each label is relevant; n_rows : int64 (folds,), all rows
    level : rank of the score of unlisted entries, or -1 if they rank below everything
    pairs : float64 (folds, n, 2); precision : float64 (folds, n, 1); written
    """
    n_folds = n_rows.size
    totals, missing = np.empty((2, n_folds), np.int64), np.empty((2, n_folds), np.int64)
    above, own, sums = np.empty_like(totals), np.empty_like(totals), np.empty_like(totals)
    limbs, terms = np.empty((n_folds, 2, 2), np.int64), np.empty(n_folds)
    total = np.empty((LIMBS, n_folds), np.int64)
    n_every, stop = float(n_rows.sum()), keys.size
    for at in range(labels.size - 1, -1, -1):
        n_relevant = np.int64(0)
        for fold in range(n_folds):
            totals[0, fold], totals[1, fold] = n_true[fold, at], n_rows[fold] - n_true[fold, at]
            n_relevant += n_true[fold, at]
        simple = float(n_relevant) * n_every < SIMPLE
        missing[:], above[:], sums[:], limbs[:], total[:] = totals, 0, 0, 0, 0
        while stop > 0 and keys[stop - 1] >> BELOW_LABEL > labels[at]:
            stop -= 1
        start = stop
        while start > 0 and keys[start - 1] >> BELOW_LABEL == labels[at]:
            start -= 1
            count_mark(keys[start], -1, missing)
        first = start  # of the scores above unlisted entries
        if level >= 0:
            after = (labels[at] << BELOW_LABEL) + ((level + 1) << MARK_BITS)
            first += np.searchsorted(keys[start:stop], after)
        walk_keys(keys[first:stop], above, totals, simple, pairs_alone, own, sums, limbs, terms, total)
        while first > start and level == (keys[first - 1] >> MARK_BITS) & ((1 << HALF) - 1):
            first -= 1
            count_mark(keys[first], 1, missing)
        leave_out_group(missing[0], missing[1], above, totals, simple, pairs_alone, sums, limbs, terms, total)
        walk_keys(keys[start:first], above, totals, simple, pairs_alone, own, sums, limbs, terms, total)
        stop = start
        for fold in range(n_folds):
            pairs[fold, at, 0], pairs[fold, at, 1] = sums[0, fold], sums[1, fold]
            precision[fold, at, 0] = leading_float(total[0, fold], total[1, fold], total[2, fold])
        if not simple:
            for fold in range(n_folds):
                pairs[fold, at, 0], pairs[fold, at, 1] = (
                    product_sum(limbs[fold, 0]),
                    product_sum(limbs[fold, 1]),
                )
