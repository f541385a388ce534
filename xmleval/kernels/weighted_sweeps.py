"""Sweeps down the scores of weighted entries, tie groups whole; see `weight_sums` on tables."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.kernels.fixed import LIMBS, add_term, as_float
from xmleval.kernels.jit import kernel
from xmleval.kernels.sweeps import (
    ENVELOPE,
    CurveSums,
    LabelCurves,
    add_envelope_area,
    has_query,
    update_operating_points,
)
from xmleval.kernels.weight_sums import SUM, add_table, add_to, minus, plus, times

SEEN, WRONG, RIGHT, TIED = range(4)  # sums of a sweep


@kernel
def sweep_sums(
    relevant: Floats,
    irrelevant: Floats,
    unlisted: Floats,
    sums: CurveSums,
    strides: Floats,
    points: Floats,
) -> int:
    """Count weighted entries that are ranked together, from above.

    relevant, irrelevant : float64 (n, w + 2), (m, w + 2), tables whose last key word is the score
    unlisted : float64 (2, 3), relevant and irrelevant entries that are not in them: their score,
        NaN if they rank below all, and their sum
    sums : added to, each term times the weights of its entries; ``totals`` are float64 (2, 2), sums
        of all relevant and of all irrelevant entries, ``pairs`` float64 (4, 2), sums of relevant
        and of irrelevant entries above, and of products of the weights of pairs in the right order,
        and tied
    strides : float64 (2,), relevant and irrelevant weight from one point of the curve to the next
    points : float64 (p, 3), written: score, relevant and irrelevant weight at or above it; or (0,
    3) for none Returns the number of points.
    """
    totals = sums.totals
    pairs = sums.pairs
    peak = sums.peak
    at = relevant.shape[1] - SUM - 1  # word of the score
    i = relevant.shape[0] - 1
    j = irrelevant.shape[0] - 1
    n_points = 0
    waiting = unlisted[0, 1] > 0.0 or unlisted[1, 1] > 0.0
    while i >= 0 or j >= 0 or waiting:
        score = -np.inf
        if i >= 0:
            score = relevant[i, at]
        if j >= 0:
            score = max(score, irrelevant[j, at])
        group = 0.0
        group_low = 0.0
        bad = 0.0
        bad_low = 0.0
        if waiting and ((i < 0 and j < 0) or unlisted[0, 0] >= score):
            score = -np.inf if np.isnan(unlisted[0, 0]) else unlisted[0, 0]
            group, group_low = unlisted[0, 1:]
            bad, bad_low = unlisted[1, 1:]
            waiting = False
        if i >= 0 and relevant[i, at] == score:
            group, group_low = plus(group, group_low, relevant[i, at + 1], relevant[i, at + 2])
            i -= 1
        if j >= 0 and irrelevant[j, at] == score:
            bad, bad_low = plus(bad, bad_low, irrelevant[j, at + 1], irrelevant[j, at + 2])
            j -= 1
        seen_before = pairs[SEEN, 0]
        wrong_before = pairs[WRONG, 0]
        add_to(pairs[WRONG], bad, bad_low)
        if group > 0.0:
            add_to(pairs[SEEN], group, group_low)
            seen, seen_low = pairs[SEEN]
            wrong, wrong_low = pairs[WRONG]
            below, below_low = minus(totals[1, 0], totals[1, 1], wrong, wrong_low)
            below, below_low = times(group, group_low, below, below_low)
            add_to(pairs[RIGHT], below, below_low)
            tied, tied_low = times(group, group_low, bad, bad_low)
            add_to(pairs[TIED], tied, tied_low)
            size, size_low = plus(seen, seen_low, wrong, wrong_low)
            add_term(sums.precision, group * (seen / size))
            f1 = 2.0 * seen / plus(size, size_low, totals[0, 0], totals[0, 1])[0]
            if f1 > peak[0]:
                peak[0] = f1
                peak[1] = score
            update_operating_points(
                group, bad, score, seen, wrong, size, totals[0, 0], totals[1, 0], sums
            )
        if points.shape[0]:
            seen = pairs[SEEN, 0]
            wrong = pairs[WRONG, 0]
            left = minus(totals[0, 0], totals[0, 1], seen, pairs[SEEN, 1])[0]
            left += minus(totals[1, 0], totals[1, 1], wrong, pairs[WRONG, 1])[0]
            passed = np.floor(seen / strides[0]) > np.floor(seen_before / strides[0])
            passed = passed or np.floor(wrong / strides[1]) > np.floor(wrong_before / strides[1])
            if passed or left == 0.0:
                points[n_points, 0] = score
                points[n_points, 1] = seen
                points[n_points, 2] = wrong
                n_points += 1
    return n_points


@kernel
def sweep_labels(
    relevant: Floats,
    irrelevant: Floats,
    truth: Floats,
    rows: Floats,
    first: int,
    unlisted: float,
    queries: Floats,
    counts: Floats,
    curves: LabelCurves,
) -> None:
    """Do the same as `sweep_sums` for every label of a range.

    relevant, irrelevant : float64 (n, 4), (m, 4), tables by label and score
    truth : float64 (t, 3), table of relevant entries by label
    rows : float64 (n_labels, 2), sum of the weights of the rows in which each label is judged
    first, unlisted : the first label; score of all entries that are not in the tables, NaN if below
        all
    asked : float64 (n, 2), see `CurveSums`
    counts : float64 (n_labels, 2), written: sums of relevant and of irrelevant entries; curves :
        written
    """
    i = 0
    j = 0
    t = 0
    totals = np.zeros((2, SUM))
    unlisted_sums = np.zeros((2, 1 + SUM))
    pairs = np.zeros((4, SUM))
    limbs = np.zeros((1 + queries.shape[0], LIMBS), np.int64)
    strides = np.zeros(2)
    points = np.zeros((0, 3))
    n_most = relevant.shape[0] + 1 if has_query(queries, ENVELOPE) else 0
    envelope = np.empty((n_most, 2))
    n_envelope = np.zeros(1, np.int64)
    unlisted_sums[:, 0] = unlisted
    for place in range(counts.shape[0]):
        peak = curves.peak[place]
        label = float(first + place)
        i0 = i
        j0 = j
        while i < relevant.shape[0] and relevant[i, 0] == label:
            i += 1
        while j < irrelevant.shape[0] and irrelevant[j, 0] == label:
            j += 1
        totals[0] = 0.0
        if t < truth.shape[0] and truth[t, 0] == label:
            totals[0] = truth[t, 1:]
            t += 1
        totals[1] = minus(rows[place, 0], rows[place, 1], totals[0, 0], totals[0, 1])
        counts[place, 0] = totals[0, 0]
        counts[place, 1] = totals[1, 0]
        curves.pairs[place] = 0.0
        curves.precision[place] = 0.0
        peak[:, 0] = 0.0
        peak[:, 1] = np.nan
        if totals[0, 0] == 0.0:
            continue
        pairs[:] = 0.0
        limbs[:] = 0
        add_table(relevant[i0:i], pairs[0])
        add_table(irrelevant[j0:j], pairs[1])
        for kind in range(2):
            unlisted_sums[kind, 1:] = minus(
                totals[kind, 0], totals[kind, 1], pairs[kind, 0], pairs[kind, 1]
            )
        pairs[:] = 0.0
        n_envelope[0] = 0
        sums = CurveSums(
            totals, pairs, limbs[0], peak[0], queries, limbs[1:], peak[1:], envelope, n_envelope
        )
        sweep_sums(relevant[i0:i], irrelevant[j0:j], unlisted_sums, sums, strides, points)
        curves.pairs[place, 0] = pairs[RIGHT, 0]
        curves.pairs[place, 1] = pairs[TIED, 0]
        for at in range(queries.shape[0]):
            if queries[at, 0] == ENVELOPE:
                add_envelope_area(envelope, n_envelope, limbs[1 + at])
        for at in range(limbs.shape[0]):
            curves.precision[place, at] = as_float(limbs[at])
