"""Curves of pooled scores, computed range by range; results do not depend on the ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.files.spill import Keys
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.products import LIMB_BITS, sum_products
from xmleval.kernels.sweeps import CurveSums, count_cut, count_group, sweep, trace
from xmleval.pooled.piles import Pile, PileRanges, common_dtype, quantiles, sample_piles
from xmleval.view.facts import Curve

LARGE = 1 << 20  # keys from which sorting ranges in parallel pays
LEAST_RANGE = 1 << 12  # bytes
NO_QUERIES: Floats = np.empty((0, 2))  # only the statistics that every sweep gives
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class Unlisted(NamedTuple):
    """Numbers of relevant and irrelevant unlisted entries, and their score (None: below all)."""

    relevant: int
    irrelevant: int
    level: float | None


class Last(NamedTuple):
    """Lowest scores of rows, ascending, and cumulative counts of unlisted irrelevant labels.

    The counts are of shape (m + 1,) for m rows.
    """

    scores: Scores
    n_unlisted_irrelevant: Ints


class Curves(NamedTuple):
    """Curves of the scores, and with the worst and the best scores of unlisted labels."""

    value: Curve
    worst: Curve | None = None
    best: Curve | None = None


class PartialCurve(NamedTuple):
    """Contribution of some entries to the curve of all; see `kernels.sweeps.CurveSums`.

    pairs : (relevant, irrelevant) pairs in the right order, and tied
    precision : fixed point, int64 (1 + n, 4), and areas; peak : float64 (1 + n, 2), and cuts
    points : float64 (p, 3)
    open_pairs : pairs of a relevant entry with an unlisted irrelevant label of a row whose lowest
        score is lower, or tied
    """

    pairs: tuple[int, int]
    precision: Ints
    peak: Floats
    points: Floats
    open_pairs: tuple[int, int]


def count_ranges(piles: Sequence[Pile], resources: Resources) -> int:
    """Return the number of score ranges to split piles into: to fit memory, and for all threads."""
    n_bytes = sum(pile.size for pile in piles) * common_dtype(piles, np.float32).itemsize
    n_ranges = max(1, -(-n_bytes // max(LEAST_RANGE, resources.sorted)))
    if resources.threads > 1 and sum(pile.size for pile in piles) > LARGE:
        return max(n_ranges, 2 * resources.threads)
    return n_ranges


def sweep_piles(
    relevant: Sequence[Pile],
    irrelevant: Pile,
    unlisted: Unlisted,
    resources: Resources,
    *,
    strides: Ints | None = None,
    last: Last | None = None,
    queries: Floats = NO_QUERIES,
) -> PartialCurve:
    """Sweep the scores of all entries, best first.

    relevant : scores of relevant entries, in several piles
    irrelevant : scores of irrelevant entries
    strides : int64 (2,), relevant and irrelevant entries between points of the curve
    last : lowest scores of rows, to count open pairs with the first relevant pile
    queries : float64 (n, 2), further statistics of the curve, see `kernels.sweeps.CurveSums`
    """
    piles = [*relevant, irrelevant]
    splitters, unlisted_range = choose_splitters(piles, unlisted.level, resources)
    ranges = PileRanges(piles, splitters, resources.map)
    n_unlisted = np.array([unlisted.relevant, unlisted.irrelevant])
    cells = np.stack([ranges.sizes[:-1].sum(axis=0), ranges.sizes[-1]])
    totals: Ints = cells.sum(axis=1) + n_unlisted
    if unlisted_range is not None:
        cells[:, unlisted_range] += n_unlisted
    above = cells[:, ::-1].cumsum(axis=1)[:, ::-1] - cells

    def count_one_score(number: int) -> PartialCurve:
        start = np.ascontiguousarray(above[:, number])
        n_good, n_bad = cells[:, number].tolist()
        score = np.full(1, splitters[number // 2])
        piece = count_tie_group(n_good, n_bad, float(score[0]), start, totals, strides, queries)
        return piece._replace(open_pairs=count_open_pairs(score, ranges.sizes[:1, number], last))

    def sweep_range(number: int) -> PartialCurve:
        start = np.ascontiguousarray(above[:, number])
        first = ranges.load(0, number)
        bad = ranges.load(len(relevant), number)
        good = first
        if len(relevant) > 1:
            good = ranges.load_all(range(len(relevant)), number)
        pairs = np.zeros((2, 2), np.int64)
        precision, peak = empty_sums(queries)
        sweep(good, bad, start, as_curve_sums(totals, pairs, precision, peak, queries))
        points = np.empty((0, 3))
        if strides is not None:
            points = _trace_scores(good, bad, start, totals, strides)
        open_pairs = (0, 0)
        if last is not None:
            open_pairs = count_open_pairs(*run_lengths(first), last)
        return PartialCurve(as_integers(pairs), precision, peak, points, open_pairs)

    def count(number: int) -> PartialCurve:
        if number % 2:
            return count_one_score(number)
        return sweep_range(number)

    down = [number for number in range(cells.shape[1] - 1, -1, -1) if cells[:, number].any()]
    pieces = resources.map(count, down)
    if unlisted_range is None and n_unlisted.any():
        n_good, n_bad = n_unlisted.tolist()
        listed = cells.sum(axis=1)
        pieces.append(count_tie_group(n_good, n_bad, -np.inf, listed, totals, strides, queries))
    return add_up(pieces, queries)


def _trace_scores(good: Scores, bad: Scores, start: Ints, totals: Ints, strides: Ints) -> Floats:
    """Return the points of the curve in a range of scores."""
    sizes = np.array([good.size, bad.size])
    n_most = int((sizes // strides).sum() + 3)
    points = np.empty((min(n_most, good.size + bad.size), 3))
    n = trace(*run_lengths(good), *run_lengths(bad), start, totals, strides, points)
    return points[:n]


def choose_splitters(
    piles: Sequence[Pile], level: float | None, resources: Resources
) -> tuple[Keys, int | None]:
    """Return scores to split piles at, and the number of the range of the unlisted score."""
    dtype = common_dtype(piles, np.float64)
    chosen = quantiles(sample_piles(piles), count_ranges(piles, resources))
    if level is not None:
        chosen = np.append(chosen, level)
    splitters: Keys = np.unique(chosen.astype(dtype))
    if level is None:
        return splitters, None
    return splitters, 2 * int(np.searchsorted(splitters, dtype.type(level))) + 1


def empty_sums(queries: Floats) -> tuple[Ints, Floats]:
    """Return ``precision`` and ``peak`` before any entry is counted, see `PartialCurve`."""
    n = 1 + len(queries)
    return np.zeros((n, LIMBS), np.int64), np.tile([0.0, np.nan], (n, 1))


def as_curve_sums(
    totals: NDArray[Any], pairs: NDArray[Any], precision: Ints, peak: Floats, queries: Floats
) -> CurveSums:
    """Return sums that a kernel adds to these arrays, see `PartialCurve`."""
    arrays = totals, pairs, precision[0], peak[0], queries, precision[1:], peak[1:]
    return CurveSums(*arrays, np.empty((0, 2)), np.zeros(1, np.int64))


def count_tie_group(
    n_good: int,
    n_bad: int,
    score: float,
    above: Ints,
    totals: Ints,
    strides: Ints | None,
    queries: Floats,
) -> PartialCurve:
    """Count relevant and irrelevant entries of one score, with so many above them."""
    good_reached = int(above[0]) + n_good
    bad_reached = int(above[1]) + n_bad
    pairs = np.zeros((2, 2), np.int64)
    precision, peak = empty_sums(queries)
    sums = as_curve_sums(totals, pairs, precision, peak, queries)
    group = (n_good, n_bad, score, good_reached, bad_reached)
    count_group(*group, totals, pairs, precision[0], peak[0])
    count_cut(*group, sums)
    points = np.empty((0, 3))
    if strides is not None:
        reached: Ints = np.array([good_reached, bad_reached])
        passes_stride = (reached // strides > above // strides).any()
        if passes_stride or (reached == totals).all():
            points = np.array([[score, good_reached, bad_reached]])
    return PartialCurve(as_integers(pairs), precision, peak, points, (0, 0))


def run_lengths(scores: Scores) -> tuple[Scores, Ints]:
    """Return the distinct scores of an ascending array, and their counts."""
    is_first = np.ones(min(scores.size, 1), np.bool_)
    starts = np.flatnonzero(np.concatenate([is_first, scores[1:] != scores[:-1]]))
    return scores[starts], np.diff(starts, append=scores.size)


def count_open_pairs(scores: Scores, counts: Ints, last: Last | None) -> tuple[int, int]:
    """Count open pairs of relevant entries, by their distinct scores; see `PartialCurve`."""
    pairs = np.zeros((2, 2), np.int64)
    if last is not None:
        below, up_to = (
            last.n_unlisted_irrelevant[np.searchsorted(last.scores, scores, side)] for side in SIDES
        )
        sum_products(counts, below, pairs[0])
        sum_products(counts, up_to - below, pairs[1])
    return as_integers(pairs)


def add_up(pieces: Sequence[PartialCurve], queries: Floats) -> PartialCurve:
    """Add up contributions, best scores first."""
    precision, peak = empty_sums(queries)
    for piece in pieces:
        precision += piece.precision
        carry(precision)
        better = piece.peak[:, 0] >= peak[:, 0]  # of equal cuts the later, but for F1 the first
        better[0] = piece.peak[0, 0] > peak[0, 0]
        better[1:] = (better[1:] | np.isnan(peak[1:, 1])) & ~np.isnan(piece.peak[1:, 1])
        peak[better] = piece.peak[better]
    pairs = add_pairs(piece.pairs for piece in pieces)
    points = np.concatenate([np.empty((0, 3)), *(piece.points for piece in pieces)])
    open_pairs = add_pairs(piece.open_pairs for piece in pieces)
    return PartialCurve(pairs, precision, peak, points, open_pairs)


def thin_points(points: Floats, n_points: int) -> Floats:
    """Return the start of a curve and at most ``n_points`` + 1 of its points."""
    points = np.concatenate([[[np.inf, 0.0, 0.0]], points])
    if len(points) <= n_points + 2:
        return points
    return points[np.linspace(0, len(points) - 1, n_points + 2).round().astype(np.int64)]


def add_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of the first and of the second items of pairs."""
    first_sum = 0
    second_sum = 0
    for first, second in pairs:
        first_sum = first_sum + first
        second_sum = second_sum + second
    return first_sum, second_sum


def as_integers(limbs: Ints) -> tuple[int, int]:
    """Return two sums of pairs, int64 (2, 2), as integers."""
    first, second = ((int(high) << LIMB_BITS) + int(low) for high, low in limbs)
    return first, second
