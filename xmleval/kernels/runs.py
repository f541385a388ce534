"""Sweeps down sorted scores of relevant and irrelevant cells, tie groups whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel
from xmleval.kernels.keys import BIAS, HALF, LOW
from xmleval.records import Bools, Floats, Ints, Scores

STRIDE = 32  # scores that are passed, or compared without a branch to mispredict, at a time


@kernel
def add_product(limbs: Ints, a: int, b: int) -> None:
    """Add a * b, with a below 2^31 and b below 2^63, to a sum in two limbs of 2^32, int64 (2,)."""
    low = limbs[1] + a * (b & LOW)
    limbs[1] = low & LOW
    limbs[0] += a * (b >> HALF) + (low >> HALF)


@kernel
def sum_products(one: Ints, other: Ints, limbs: Ints) -> None:
    """Add up products of numbers below 2^62; limbs : int64 (2, 2), of the low and the high 31 bits of one."""
    for p in range(one.size):
        add_product(limbs[0], one[p] & (BIAS - 1), other[p])
        add_product(limbs[1], one[p] >> (HALF - 1), other[p])


@kernel
def search_stride(scores: Scores, base: int, score: float) -> tuple[Any, Any]:
    """Find a score among the `STRIDE` from base on: the first not less and the first more; no branches."""
    one = np.uint64(1)
    low = high = np.uint64(base)  # unsigned: a signed index is first asked whether it counts from the end
    half = np.uint64(STRIDE // 2)
    while half:
        low += half * np.uint64(scores[low + half - one] < score)
        high += half * np.uint64(scores[high + half - one] <= score)
        half >>= one
    low += np.uint64(scores[low] < score)
    high += np.uint64(scores[high] <= score)
    return np.int64(low), np.int64(high)


@kernel
def find_from_low(scores: Scores, base: int, score: float) -> tuple[int, int, int]:
    """Find a score from below: strides of less, from ``base`` on, the first not less, the first more."""
    while base + STRIDE <= scores.size and scores[base + STRIDE - 1] < score:
        base += STRIDE
    low, high = base, base
    if base + STRIDE <= scores.size:
        low, high = search_stride(scores, base, score)
    else:
        while low < scores.size and scores[low] < score:
            low += 1
        high = low
    while high < scores.size and scores[high] == score:
        high += 1
    return base, low, high


@kernel
def find_from_high(scores: Scores, top: int, score: float) -> tuple[int, int, int]:
    """Find a score from above: strides of more, ``top`` down, the first not less, the first more."""
    while top >= STRIDE and scores[top - STRIDE] > score:
        top -= STRIDE
    low, high = top, top
    if top >= STRIDE:
        low, high = search_stride(scores, top - STRIDE, score)
    else:
        while high > 0 and scores[high - 1] > score:
            high -= 1
        low = high
    while low > 0 and scores[low - 1] == score:
        low -= 1
    return top, low, high


@kernel
def weigh_group(group: int, seen: int, wrong: int, n_relevant: int) -> tuple[float, float]:
    """Return the precision of a tie group's relevant cells, summed, and the F1 of the cut behind it.

    seen, wrong : relevant and irrelevant cells down to the group's end
    """
    return group * (seen / (seen + wrong)), 2.0 * seen / (seen + wrong + n_relevant)


@kernel
def count_group(
    group: int, others: int, score: float, seen: int, wrong: int, totals: Ints, pairs: Ints,
    precision: Ints, peak: Floats,
) -> None:  # fmt: skip
    """Count a tie group of ``group`` relevant and ``others`` irrelevant cells, see `sweep`."""
    if group == 0:
        return
    term, f1 = weigh_group(group, seen, wrong, totals[0])
    add_product(pairs[0], group, totals[1] - wrong)
    add_product(pairs[1], group, others)
    add_term(precision, term)
    if f1 > peak[0]:
        peak[0], peak[1] = f1, score


@kernel
def sweep(
    relevant: Scores, irrelevant: Scores, above: Ints, totals: Ints, pairs: Ints, precision: Ints,
    peak: Floats,
) -> None:  # fmt: skip
    """Walk down the scores of cells that are ranked together.

    relevant, irrelevant : scores, rising, of a range of scores
    above, totals : int64 (2,), relevant and irrelevant cells with higher scores, and in all
    pairs : int64 (2, 2), added to: pairs of these relevant cells with an irrelevant one that are in the
    right order, and level, as limbs
    precision : int64 (4,), added to: precision at the end of its tie group of every relevant cell
    peak : float64 (2,), largest F1 of a cut so far and the score it is at, replaced by larger ones
    """
    i, top = relevant.size - 1, irrelevant.size
    seen = above[0]
    while i >= 0:
        score, start = relevant[i], i
        while i >= 0 and relevant[i] == score:
            i -= 1
        seen += start - i
        top, low, high = find_from_high(irrelevant, top, score)
        wrong = above[1] + (irrelevant.size - low)
        count_group(start - i, high - low, float(score), seen, wrong, totals, pairs, precision, peak)


@kernel
def count_pairs(relevant: Scores, irrelevant: Scores, pairs: Ints) -> None:
    """Count pairs of a relevant and an irrelevant score, in the right order and level.

    relevant, irrelevant : rising, fewer than 2^31 each
    pairs : int64 (2, 2), added to, as limbs
    """
    base, right, level = 0, 0, 0
    low, high, last = 0, 0, np.nan
    for score in relevant:
        if score != last:  # a tie group, which may be long, is walked through once
            base, low, high = find_from_low(irrelevant, base, score)
            last = score
        right += low
        level += high - low
    add_product(pairs[0], 1, right)
    add_product(pairs[1], 1, level)


@kernel
def trace(
    relevant: Scores, irrelevant: Scores, above: Ints, totals: Ints, strides: Ints, points: Floats
) -> int:
    """Write points of the curve: where a multiple of a stride is passed, and its end; return how many.

    relevant, irrelevant, above, totals : see `sweep`
    strides : int64 (2,), relevant and irrelevant cells from one point to the next
    points : float64 (p, 3), written: score, relevant and irrelevant cells at or above it
    """
    i, j = relevant.size - 1, irrelevant.size - 1
    seen, wrong = above[0], above[1]
    n_points = 0
    while i >= 0 or j >= 0:
        score = relevant[i] if j < 0 or (i >= 0 and relevant[i] >= irrelevant[j]) else irrelevant[j]
        before, before_wrong = seen, wrong
        while i >= 0 and relevant[i] == score:
            seen += 1
            i -= 1
        while j >= 0 and irrelevant[j] == score:
            wrong += 1
            j -= 1
        ends = seen == totals[0] and wrong == totals[1]
        if (
            ends
            or seen // strides[0] > before // strides[0]
            or wrong // strides[1] > before_wrong // strides[1]
        ):
            points[n_points, 0], points[n_points, 1], points[n_points, 2] = score, seen, wrong
            n_points += 1
    return n_points


@kernel
def as_float(limbs: Ints) -> float:
    """Return a sum in two limbs."""
    return float(limbs[0] * 4294967296.0 + limbs[1])


@kernel
def finish(label: int, limbs: Ints, total: Ints, pairs: Floats, precision: Floats) -> None:
    """Write the sums of one label as floats."""
    pairs[label, 0], pairs[label, 1] = as_float(limbs[0]), as_float(limbs[1])
    fraction = total[1] / 4503599627370496.0 + total[2] / 4503599627370496.0**2
    precision[label] = total[0] + fraction


@kernel
def count_down(
    relevant: Scores, irrelevant: Scores, n_unlisted: Ints, level: float, totals: Ints, pairs: Ints,
    precision: Ints, peak: Floats,
) -> None:  # fmt: skip
    """Walk down relevant scores, counting the irrelevant ones, which are in any order; see `sweep_labels`."""
    i = relevant.size - 1
    waiting = n_unlisted[0] + n_unlisted[1] > 0
    below = np.isnan(level)
    seen, passed = 0, 0
    while i >= 0 or waiting:
        at_level = waiting and (i < 0 or (not below and level >= relevant[i]))
        score = -np.inf if at_level and below else level if at_level else float(relevant[i])
        group, others, greater = 0, 0, 0
        if at_level and below:
            greater = irrelevant.size
        else:
            while i >= 0 and relevant[i] == score:
                group += 1
                i -= 1
            for p in range(irrelevant.size):
                greater += irrelevant[p] > score
                others += irrelevant[p] == score
        if at_level:
            waiting = False
            group += n_unlisted[0]
            others += n_unlisted[1]
        seen += group
        wrong = greater + passed + others
        passed += n_unlisted[1] if at_level else 0
        count_group(group, others, score, seen, wrong, totals, pairs, precision, peak)


@kernel
def sweep_labels(
    relevant_ptr: Ints, relevant: Scores, irrelevant_ptr: Ints, irrelevant: Scores, in_order: Bools,
    n_unlisted: Ints, level: float, pairs: Floats, precision: Floats, peak: Floats,
) -> None:  # fmt: skip
    """Walk down the scores of every label.

    *_ptr, relevant, irrelevant : int64 (n_labels + 1,), scores rising within each label
    in_order : bool (n_labels,), whether the irrelevant ones of a label do rise
    n_unlisted : int64 (n_labels, 2), relevant and irrelevant cells that share one place
    level : their score, or NaN where they stand below everything
    pairs, peak : float64 (n_labels, 2); precision : float64 (n_labels,); written, see `sweep`
    """
    limbs, total = np.zeros((2, 2), np.int64), np.zeros(4, np.int64)
    above, totals = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for label in range(n_unlisted.shape[0]):
        if relevant_ptr[label] == relevant_ptr[label + 1] and n_unlisted[label, 0] == 0:
            pairs[label, 0] = pairs[label, 1] = precision[label] = peak[label, 0] = 0.0
            peak[label, 1] = np.nan
            continue
        right = relevant[relevant_ptr[label] : relevant_ptr[label + 1]]
        wrong = irrelevant[irrelevant_ptr[label] : irrelevant_ptr[label + 1]]
        limbs[:], total[:], above[:] = 0, 0, 0
        totals[0], totals[1] = right.size + n_unlisted[label, 0], wrong.size + n_unlisted[label, 1]
        best = peak[label]
        best[0], best[1] = 0.0, np.nan
        if not in_order[label]:
            count_down(right, wrong, n_unlisted[label], level, totals, limbs, total, best)
            finish(label, limbs, total, pairs, precision)
            continue
        i0, i1, j0, j1 = 0, 0, 0, 0
        if not np.isnan(level):
            i0, i1 = int(np.searchsorted(right, level)), int(np.searchsorted(right, level, side="right"))
            j0, j1 = int(np.searchsorted(wrong, level)), int(np.searchsorted(wrong, level, side="right"))
        sweep(right[i1:], wrong[j1:], above, totals, limbs, total, best)
        group, others = n_unlisted[label, 0] + i1 - i0, n_unlisted[label, 1] + j1 - j0
        above[0], above[1] = right.size - i1 + group, wrong.size - j1 + others
        score = -np.inf if np.isnan(level) else level
        count_group(group, others, score, above[0], above[1], totals, limbs, total, best)
        sweep(right[:i0], wrong[:j0], above, totals, limbs, total, best)
        finish(label, limbs, total, pairs, precision)


@kernel
def sum_below(scores: Scores, reference: Scores, weights: Ints, pairs: Ints) -> None:
    """Add up, over scores, the weight of a reference below each of them, and level with it.

    scores : (n,), rising; reference : (r,), rising
    weights : int64 (r + 1,), weight of the first entries of the reference, of none to all
    pairs : int64 (2, 2), added to: below and level, as limbs
    """
    i = 0
    while i < scores.size:
        start = i
        while i < scores.size and scores[i] == scores[start]:
            i += 1
        low = np.searchsorted(reference, scores[start])
        high = np.searchsorted(reference, scores[start], side="right")
        add_product(pairs[0], i - start, weights[low])
        add_product(pairs[1], i - start, weights[high] - weights[low])


@kernel
def sum_labels_below(
    ptr: Ints, scores: Scores, taken_ptr: Ints, taken: Scores, last: Scores, pairs: Floats
) -> None:
    """Count, for the scores of every label, the last scores of rows below each, and level with it.

    ptr, scores : int64 (n_labels + 1,), (s,), rising within each label
    last : (m,), rising: last scores of all rows
    taken_ptr, taken : int64 (n_labels + 1,), (t,), rising: last scores of the rows that do not count
    pairs : float64 (n_labels, 2), added to: below and level
    """
    found, less = np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)
    places = np.arange(max(last.size, taken.size) + 1)
    for label in range(ptr.size - 1):
        own = scores[ptr[label] : ptr[label + 1]]
        if own.size == 0:
            continue
        others = taken[taken_ptr[label] : taken_ptr[label + 1]]
        found[:], less[:] = 0, 0
        sum_below(own, last, places, found)
        sum_below(own, others, places, less)
        for kind in range(2):
            pairs[label, kind] += as_float(found[kind] - less[kind])
