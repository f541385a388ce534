"""Sweeps down the scores of weighted entries, tie groups whole; see `weight_sums` on tables."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.fixed import LIMBS, add_term, as_float
from xmleval.kernels.jit import kernel
from xmleval.kernels.sweeps import reach
from xmleval.kernels.weight_sums import SUM, add_table, add_to, minus, plus, times
from xmleval.records import Floats, Ints

SEEN, WRONG, RIGHT, TIED = range(4)  # sums of a sweep


@kernel
def sweep_sums(
    relevant: Floats, irrelevant: Floats, rest: Floats, totals: Floats, asked: Floats, sums: Floats,
    precision: Ints, peak: Floats, strides: Floats, points: Floats,
) -> int:  # fmt: skip
    """Count pairs, precision and the best F1 of weighted entries that are ranked together, from above.

    relevant, irrelevant : float64 (n, w + 2), (m, w + 2), tables whose last key word is the score
    rest : float64 (2, 3), relevant and irrelevant entries that are not in them: their score, NaN if they rank
        below all, and their sum
    totals : float64 (2, 2), sums of all relevant and of all irrelevant entries
    asked : float64 (n, 2), what else is asked of the curve, see `sweeps.reach`
    sums : float64 (4, 2), added to: sums of relevant and of irrelevant entries above, and of products of the
        weights of pairs in the right order, and tied
    precision : int64 (1 + n, 4), fixed point, added to: sum over relevant entries of their weight times the
        precision at their group's end, then the areas of `reach`
    peak : float64 (1 + n, 2), replaced by better ones: largest F1 of a cut so far and its score, then the
        cuts of `reach`
    strides : float64 (2,), relevant and irrelevant weight from one point of the curve to the next
    points : float64 (p, 3), written: score, relevant and irrelevant weight at or above it; or (0, 3) for none
    Returns the number of points.
    """
    at = relevant.shape[1] - SUM - 1  # word of the score
    i, j, n_points = relevant.shape[0] - 1, irrelevant.shape[0] - 1, 0
    waiting = rest[0, 1] > 0.0 or rest[1, 1] > 0.0
    while i >= 0 or j >= 0 or waiting:
        score = -np.inf
        if i >= 0:
            score = relevant[i, at]
        if j >= 0:
            score = max(score, irrelevant[j, at])
        group, group_low, others, others_low = 0.0, 0.0, 0.0, 0.0
        if waiting and ((i < 0 and j < 0) or rest[0, 0] >= score):
            score = -np.inf if np.isnan(rest[0, 0]) else rest[0, 0]
            group, group_low, others, others_low = rest[0, 1], rest[0, 2], rest[1, 1], rest[1, 2]
            waiting = False
        if i >= 0 and relevant[i, at] == score:
            group, group_low = plus(group, group_low, relevant[i, at + 1], relevant[i, at + 2])
            i -= 1
        if j >= 0 and irrelevant[j, at] == score:
            others, others_low = plus(others, others_low, irrelevant[j, at + 1], irrelevant[j, at + 2])
            j -= 1
        seen_before, wrong_before = sums[SEEN, 0], sums[WRONG, 0]
        add_to(sums[WRONG], others, others_low)
        if group > 0.0:
            add_to(sums[SEEN], group, group_low)
            seen, seen_low = sums[SEEN]
            wrong, wrong_low = sums[WRONG]
            below, below_low = minus(totals[1, 0], totals[1, 1], wrong, wrong_low)
            below, below_low = times(group, group_low, below, below_low)
            add_to(sums[RIGHT], below, below_low)
            tied, tied_low = times(group, group_low, others, others_low)
            add_to(sums[TIED], tied, tied_low)
            size, size_low = plus(seen, seen_low, wrong, wrong_low)
            add_term(precision[0], group * (seen / size))
            f1 = 2.0 * seen / plus(size, size_low, totals[0, 0], totals[0, 1])[0]
            if f1 > peak[0, 0]:
                peak[0, 0], peak[0, 1] = f1, score
            if asked.shape[0]:
                reach(
                    asked, group, others, score, seen, wrong, size, totals[0, 0], totals[1, 0], precision[1:],
                    peak[1:],
                )  # fmt: skip
        if points.shape[0]:
            seen, wrong = sums[SEEN, 0], sums[WRONG, 0]
            left = minus(totals[0, 0], totals[0, 1], seen, sums[SEEN, 1])[0]
            left += minus(totals[1, 0], totals[1, 1], wrong, sums[WRONG, 1])[0]
            passed = np.floor(seen / strides[0]) > np.floor(seen_before / strides[0])
            passed = passed or np.floor(wrong / strides[1]) > np.floor(wrong_before / strides[1])
            if passed or left == 0.0:
                points[n_points, 0], points[n_points, 1], points[n_points, 2] = score, seen, wrong
                n_points += 1
    return n_points


@kernel
def sweep_labels(
    relevant: Floats, irrelevant: Floats, truth: Floats, rows: Floats, first: int, unlisted: float,
    asked: Floats, sums: Floats, precision: Floats, peak: Floats,
) -> None:  # fmt: skip
    """Do the same as `sweep_sums` for every label of a range.

    relevant, irrelevant : float64 (n, 4), (m, 4), tables by label and score; truth : float64 (t, 3), by label
    rows : float64 (2,), sum of the weights of all rows
    first, unlisted : the first label; score of all entries that are not in the tables, NaN if below all
    sums : float64 (n_labels, 4), written: sums of relevant and of irrelevant entries, and of products of the
        weights of pairs in the right order, and tied
    precision : float64 (n_labels, 1 + n); peak : float64 (n_labels, 1 + n, 2); written, as in `sweep_sums`
    """
    i, j, t = 0, 0, 0
    totals, rest, found = np.zeros((2, SUM)), np.zeros((2, 1 + SUM)), np.zeros((4, SUM))
    limbs = np.zeros((1 + asked.shape[0], LIMBS), np.int64)
    strides, points = np.zeros(2), np.zeros((0, 3))
    rest[:, 0] = unlisted
    for place in range(sums.shape[0]):
        label = float(first + place)
        i0, j0 = i, j
        while i < relevant.shape[0] and relevant[i, 0] == label:
            i += 1
        while j < irrelevant.shape[0] and irrelevant[j, 0] == label:
            j += 1
        totals[0] = 0.0
        if t < truth.shape[0] and truth[t, 0] == label:
            totals[0] = truth[t, 1:]
            t += 1
        totals[1] = minus(rows[0], rows[1], totals[0, 0], totals[0, 1])
        sums[place, 0], sums[place, 1] = totals[0, 0], totals[1, 0]
        sums[place, 2:], precision[place], peak[place, :, 0], peak[place, :, 1] = 0.0, 0.0, 0.0, np.nan
        if totals[0, 0] == 0.0:
            continue
        found[:], limbs[:] = 0.0, 0
        add_table(relevant[i0:i], found[0])
        add_table(irrelevant[j0:j], found[1])
        for kind in range(2):
            rest[kind, 1:] = minus(totals[kind, 0], totals[kind, 1], found[kind, 0], found[kind, 1])
        found[:] = 0.0
        sweep_sums(
            relevant[i0:i], irrelevant[j0:j], rest, totals, asked, found, limbs, peak[place], strides, points
        )  # fmt: skip
        sums[place, 2], sums[place, 3] = found[RIGHT, 0], found[TIED, 0]
        for at in range(limbs.shape[0]):
            precision[place, at] = as_float(limbs[at])
