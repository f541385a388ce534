"""Sweeps down sorted scores of relevant and irrelevant entries, tie groups whole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Floats, Ints, Scores
from xmleval.kernels.fixed import LIMBS, ONE, add_term
from xmleval.kernels.jit import Whole, kernel, kernel_with_work, slow_entries
from xmleval.kernels.products import add_product, product_sum

# queries of a curve, besides its largest F1; ENVELOPE only of the curves of labels
RECALL, PRECISION, FALLOUT, AREA, ENVELOPE = range(5)
STRIDE = 32  # scores skipped at a time; within them a binary search has no branches to mispredict


class CurveSums(NamedTuple):
    """Sums over the entries of a curve and its best cuts so far; a sweep adds whole tie groups.

    totals : int64 (2,), all relevant and all irrelevant entries
    pairs : int64 (2, 2), pairs of relevant entries with any irrelevant one that are in the right
        order, and tied, each as limbs of `add_product`, the high one first
    precision : int64 (4,), fixed point: for every relevant entry, the precision at the end of its
        group
    peak : float64 (2,), the largest F1 of a cut, and its score
    queries : float64 (n, 2), what, and a number x above 0 and at most 1: largest recall with
        precision >= x, largest precision with recall >= x, smallest false positive rate with recall
        >= x, the area under the ROC curve up to the false positive rate x, or the area under the
        envelope of the precision-recall curve, for which x is unused
    areas : int64 (n, 4), fixed point: the first area as a share of x, or the second one, times the
        number of relevant entries; zeros where no area is a query
    cuts : float64 (n, 2), value of the best cut (negated, if small ones are better) and its score;
        unused where an area is a query
    envelope : float64 (s, 2), cuts of decreasing precision, each the largest from there on: the
        precision, and the relevant entries at or above it; s is 0 where it is no query
    n_envelope : int64 (1,), their number so far
    """

    totals: NDArray[Any]  # float64 of entries with weights
    pairs: NDArray[Any]
    precision: Ints
    peak: Floats
    queries: Floats
    areas: Ints
    cuts: Floats
    envelope: Floats
    n_envelope: Ints


class LabelCurves(NamedTuple):
    """Sums of the curve of every label as floats, each n + 1 long for n queries, see `CurveSums`.

    pairs : float64 (n_labels, 2); precision : float64 (n_labels, 1 + n), and areas
    peak : float64 (n_labels, 1 + n, 2), and cuts
    """

    pairs: Floats
    precision: Floats
    peak: Floats

    @classmethod
    def empty(cls, n_labels: int, queries: Floats) -> LabelCurves:
        """Return arrays to write."""
        n = 1 + len(queries)
        return cls(np.empty((n_labels, 2)), np.empty((n_labels, n)), np.empty((n_labels, n, 2)))

    def part(self, start: int, stop: int) -> LabelCurves:
        """Return the arrays of labels start..stop-1."""
        return LabelCurves(*(array[start:stop] for array in self))


@kernel
def search_stride(scores: Scores, base: int, score: float) -> tuple[Any, Any]:
    """Return the first of `STRIDE` scores from ``base`` on not below, and the first above."""
    unit = np.uint64(1)
    low = high = np.uint64(base)  # unsigned, which avoids Numba's negative-index check
    half = np.uint64(STRIDE // 2)
    while half:
        low += half * np.uint64(scores[low + half - unit] < score)
        high += half * np.uint64(scores[high + half - unit] <= score)
        half >>= unit
    low += np.uint64(scores[low] < score)
    high += np.uint64(scores[high] <= score)
    return np.int64(low), np.int64(high)


@kernel
def find_from_high(scores: Scores, top: int, score: float) -> tuple[int, int, int]:
    """Find a score from ``top`` down: return the new top, first place not below, first above.

    scores : (n,), increasing; ``top`` falls by whole strides of higher scores
    """
    while top >= STRIDE and scores[top - STRIDE] > score:
        top -= STRIDE
    low = top
    high = top
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
def share_ranked(tied: float, wrong: float, limit: float) -> float:
    """Return the area that a relevant entry adds left of ``limit`` irrelevant ones, over ``limit``.

    tied, wrong : irrelevant entries of its tie group, and down to its end
    """
    before = wrong - tied
    if wrong <= limit:
        return ((limit - wrong) + tied / 2.0) / limit
    left = limit - before  # which is multiplied: a power of C has other bits than one of LLVM
    return left * left / (2.0 * tied * limit) if before < limit else 0.0


@kernel
def add_to_envelope(precision: float, seen: float, envelope: Floats, n_envelope: Ints) -> None:
    """Add the cut at the end of a tie group; it replaces those above it of at most its precision.

    seen : relevant entries at or above the cut; envelope, n_envelope : see `CurveSums`
    """
    n = n_envelope[0]
    while n > 0 and envelope[n - 1, 0] <= precision:
        n -= 1
    envelope[n, 0] = precision
    envelope[n, 1] = seen
    n_envelope[0] = n + 1


@kernel
def add_envelope_area(envelope: Floats, n_envelope: Ints, area: Ints) -> None:
    """Add the precision of the envelope at every relevant entry; see `CurveSums`."""
    before = 0.0
    for i in range(n_envelope[0]):
        add_term(area, (envelope[i, 1] - before) * envelope[i, 0])
        before = envelope[i, 1]


@kernel
def has_query(queries: Floats, kind: int) -> bool:
    """Return whether any query is of a kind."""
    n = 0
    for i in range(queries.shape[0]):
        n += queries[i, 0] == kind
    return n > 0


@kernel
def update_operating_points(
    group: float,
    tied: float,
    score: float,
    seen: float,
    wrong: float,
    size: float,
    n_relevant: float,
    n_irrelevant: float,
    sums: CurveSums,
) -> None:
    """Consider the cut at the end of a tie group for every query; later cuts win ties.

    group, tied : weight of the group's relevant and irrelevant entries; seen, wrong, size : weight
        of the relevant, the irrelevant and all entries down to its end; n_relevant, n_irrelevant :
        of all
    """
    recall = seen / n_relevant
    for i in range(sums.queries.shape[0]):
        kind = sums.queries[i, 0]
        number = sums.queries[i, 1]
        if kind == AREA:
            if n_irrelevant > 0:
                add_term(sums.areas[i], group * share_ranked(tied, wrong, number * n_irrelevant))
            continue
        if kind == ENVELOPE:
            add_to_envelope(seen / size, seen, sums.envelope, sums.n_envelope)
            continue
        value = seen / size
        limit = recall
        if kind == RECALL:
            value, limit = recall, value
        elif kind == FALLOUT:
            value = -(wrong / n_irrelevant) if n_irrelevant > 0 else 0.0
        if limit >= number and (value >= sums.cuts[i, 0] or np.isnan(sums.cuts[i, 1])):
            sums.cuts[i, 0] = value
            sums.cuts[i, 1] = score


@kernel
def count_group(
    group: Whole,
    tied: Whole,
    score: float,
    seen: int,
    wrong: int,
    totals: Ints,
    pairs: Ints,
    precision: Ints,
    peak: Floats,
) -> None:
    """Count a tie group of ``group`` relevant and ``tied`` irrelevant entries.

    seen, wrong : relevant and irrelevant entries down to the group's end
    totals, pairs, precision, peak : see `CurveSums`, which would take longer to pass
    """
    if group == 0:
        return
    add_product(pairs[0], group, totals[1] - wrong)
    add_product(pairs[1], group, tied)
    add_term(precision, group * (seen / (seen + wrong)))
    f1 = 2.0 * seen / (seen + wrong + totals[0])
    if f1 > peak[0]:
        peak[0] = f1
        peak[1] = score


@kernel
def count_cut(
    group: Whole, tied: Whole, score: float, seen: int, wrong: int, sums: CurveSums
) -> None:
    """Consider the cut at the end of a tie group for every query; see `count_group`."""
    if group:
        n_relevant = float(sums.totals[0])
        n_irrelevant = float(sums.totals[1])
        update_operating_points(
            float(group),
            float(tied),
            score,
            float(seen),
            float(wrong),
            float(seen + wrong),
            n_relevant,
            n_irrelevant,
            sums,
        )


@kernel
def sweep(relevant: Scores, irrelevant: Scores, above: Ints, sums: CurveSums) -> None:
    """Count the entries that are ranked together, in a range of scores.

    relevant, irrelevant : (n,), (m,), increasing, the scores in the range
    above : int64 (2,), relevant and irrelevant entries above the range
    """
    totals = sums.totals
    pairs = sums.pairs
    precision = sums.precision
    peak = sums.peak
    queries = sums.queries.size
    i = relevant.size - 1
    top = irrelevant.size
    seen = above[0]
    while i >= 0:
        score = relevant[i]
        start = i
        i -= 1
        while i >= 0 and relevant[i] == score:
            i -= 1
        seen += start - i
        top, low, high = find_from_high(irrelevant, top, score)
        wrong = above[1] + (irrelevant.size - low)
        count_group(
            start - i, high - low, float(score), seen, wrong, totals, pairs, precision, peak
        )
        if queries:
            count_cut(start - i, high - low, float(score), seen, wrong, sums)


@kernel
def trace(
    relevant: Scores,
    n_relevant: Ints,
    irrelevant: Scores,
    n_irrelevant: Ints,
    above: Ints,
    totals: Ints,
    strides: Ints,
    points: Floats,
) -> int:
    """Write points of the curve at multiples of a stride and at the end; return their number.

    relevant, irrelevant : (n,), (m,), strictly increasing; n_relevant, n_irrelevant : int64,
        entries of each
    above : as in `sweep`; totals : int64 (2,), as in `CurveSums`
    strides : int64 (2,), relevant and irrelevant entries from one point to the next
    points : float64 (p, 3), written: score, relevant and irrelevant entries at or above it
    """
    i = relevant.size - 1
    j = irrelevant.size - 1
    seen = above[0]
    wrong = above[1]
    n_points = 0
    while i >= 0 or j >= 0:
        # one of the two at least, whatever the scores are, so that it ends
        is_relevant = i >= 0 and (j < 0 or not relevant[i] < irrelevant[j])
        is_irrelevant = j >= 0 and (i < 0 or not irrelevant[j] < relevant[i])
        score = relevant[i] if is_relevant else irrelevant[j]
        before = seen
        before_wrong = wrong
        if is_relevant:
            seen += n_relevant[i]
            i -= 1
        if is_irrelevant:
            wrong += n_irrelevant[j]
            j -= 1
        ends = seen == totals[0] and wrong == totals[1]
        if (
            ends
            or seen // strides[0] > before // strides[0]
            or wrong // strides[1] > before_wrong // strides[1]
        ):
            points[n_points, 0] = score
            points[n_points, 1] = seen
            points[n_points, 2] = wrong
            n_points += 1
    return n_points


@kernel
def leading_float(whole: int, first: int, second: int) -> float:
    """Return a sum in fixed point as a float, from its leading limbs."""
    fraction = first / ONE + second / (float(ONE) * ONE)
    return whole + fraction


@kernel
def count_down(
    relevant: Scores, irrelevant: Scores, n_unlisted: Ints, unlisted: float, sums: CurveSums
) -> None:
    """Count the tie groups of one label, whose irrelevant scores are in any order.

    Each group passes over all irrelevant scores: faster than sorting them, for few relevant ones.

    relevant : (n,), increasing; irrelevant : (m,); n_unlisted, unlisted : as in `sweep_labels`,
        int64 (2,)
    """
    totals = sums.totals
    pairs = sums.pairs
    precision = sums.precision
    peak = sums.peak
    queries = sums.queries.size
    i = relevant.size - 1
    waiting = n_unlisted[0] + n_unlisted[1] > 0
    below = np.isnan(unlisted)
    seen = 0
    passed = 0
    while i >= 0 or waiting:
        at_unlisted = waiting and (i < 0 or (not below and unlisted >= relevant[i]))
        score = (
            -np.inf if at_unlisted and below else unlisted if at_unlisted else float(relevant[i])
        )
        group = 0
        tied = 0
        greater = 0
        if at_unlisted and below:
            greater = irrelevant.size
        else:
            if not at_unlisted:
                group += 1
                i -= 1
            while i >= 0 and relevant[i] == score:
                group += 1
                i -= 1
            for p in range(irrelevant.size):
                greater += irrelevant[p] > score
                tied += irrelevant[p] == score
        if at_unlisted:
            waiting = False
            group += n_unlisted[0]
            tied += n_unlisted[1]
        seen += group
        wrong = greater + passed + tied
        passed += n_unlisted[1] if at_unlisted else 0
        count_group(group, tied, score, seen, wrong, totals, pairs, precision, peak)
        if queries:
            count_cut(group, tied, score, seen, wrong, sums)


@kernel
def sweep_around(
    relevant: Scores, irrelevant: Scores, n_unlisted: Ints, unlisted: float, sums: CurveSums
) -> None:
    """Count the tie groups of one label: those above the unlisted entries, theirs, and those below.

    relevant, irrelevant : (n,), (m,), increasing; n_unlisted, unlisted : as in `sweep_labels`,
        int64 (2,)
    """
    # where scores tied with the unlisted entries start and stop
    i0 = 0
    i1 = 0
    j0 = 0
    j1 = 0
    score = -np.inf
    if not np.isnan(unlisted):
        score = unlisted
        i0 = int(np.searchsorted(relevant, unlisted))
        i1 = int(np.searchsorted(relevant, unlisted, "right"))
        j0 = int(np.searchsorted(irrelevant, unlisted))
        j1 = int(np.searchsorted(irrelevant, unlisted, "right"))
    above = np.zeros(2, np.int64)
    sweep(relevant[i1:], irrelevant[j1:], above, sums)
    group = n_unlisted[0] + i1 - i0
    tied = n_unlisted[1] + j1 - j0
    above[0] = relevant.size - i1 + group
    above[1] = irrelevant.size - j1 + tied
    count_group(
        group, tied, score, above[0], above[1], sums.totals, sums.pairs, sums.precision, sums.peak
    )
    if sums.queries.size:
        count_cut(group, tied, score, above[0], above[1], sums)
    sweep(relevant[:i0], irrelevant[:j0], above, sums)


@kernel_with_work(slow_entries(3))
def sweep_labels(
    relevant_ptr: Ints,
    relevant: Scores,
    irrelevant_ptr: Ints,
    irrelevant: Scores,
    in_order: Bools,
    n_unlisted: Ints,
    unlisted: float,
    queries: Floats,
    curves: LabelCurves,
) -> None:
    """Count the entries of every label.

    relevant_ptr, irrelevant_ptr : int64 (n_labels + 1,)
    relevant, irrelevant : (s,), (t,), scores increasing within each label
    in_order : bool (n_labels,), False where the irrelevant scores of a label are in any order
    n_unlisted : int64 (n_labels, 2), relevant and irrelevant entries that are not listed, all tied
    unlisted : their score, or NaN if they rank below everything
    queries : float64 (n, 2), see `CurveSums`; curves : written
    """
    n = queries.shape[0]
    pairs_of = curves.pairs
    areas_of = curves.precision
    peaks = curves.peak
    pairs = np.zeros((2, 2), np.int64)
    totals = np.zeros(2, np.int64)
    precision = np.zeros(LIMBS, np.int64)
    areas = np.zeros((n, LIMBS), np.int64)
    peak = np.zeros(2)
    cuts = np.zeros((n, 2))
    n_envelope = np.zeros(1, np.int64)
    n_most = 0
    if has_query(queries, ENVELOPE):
        for label in range(n_unlisted.shape[0]):
            n_most = max(n_most, relevant_ptr[label + 1] - relevant_ptr[label] + 1)
    envelope = np.empty((n_most, 2))
    sums = CurveSums(totals, pairs, precision, peak, queries, areas, cuts, envelope, n_envelope)
    for label in range(n_unlisted.shape[0]):
        start = relevant_ptr[label]
        stop = relevant_ptr[label + 1]
        missing = n_unlisted[label]
        for i in range(1 + n):
            areas_of[label, i] = 0.0
            peaks[label, i, 0] = 0.0
            peaks[label, i, 1] = np.nan
        if start == stop and missing[0] == 0:  # most labels of a long tail
            pairs_of[label, 0] = pairs_of[label, 1] = 0.0
            continue
        right = relevant[start:stop]
        wrong = irrelevant[irrelevant_ptr[label] : irrelevant_ptr[label + 1]]
        totals[0] = right.size + missing[0]
        totals[1] = wrong.size + missing[1]
        pairs[:] = 0
        precision[:] = 0
        areas[:] = 0
        peak[0] = 0.0
        peak[1] = np.nan
        cuts[:, 0] = 0.0
        cuts[:, 1] = np.nan
        n_envelope[0] = 0
        if in_order[label]:
            sweep_around(right, wrong, missing, unlisted, sums)
        else:
            count_down(right, wrong, missing, unlisted, sums)
        pairs_of[label, 0] = product_sum(pairs[0])
        pairs_of[label, 1] = product_sum(pairs[1])
        areas_of[label, 0] = leading_float(precision[0], precision[1], precision[2])
        peaks[label, 0, 0] = peak[0]
        peaks[label, 0, 1] = peak[1]
        for i in range(n):
            if queries[i, 0] == ENVELOPE:
                add_envelope_area(envelope, n_envelope, areas[i])
            areas_of[label, 1 + i] = leading_float(areas[i, 0], areas[i, 1], areas[i, 2])
            peaks[label, 1 + i, 0] = cuts[i, 0]
            peaks[label, 1 + i, 1] = cuts[i, 1]
