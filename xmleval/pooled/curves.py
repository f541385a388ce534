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
from xmleval.pooled.piles import Pile, Ranges, common_dtype, quantiles, sampled
from xmleval.view.facts import Curve

LARGE = 1 << 20  # keys from which sorting ranges in parallel pays
LEAST_RANGE = 1 << 12  # bytes
NOTHING: Floats = np.empty((0, 2))  # asked of a curve beside what every sweep gives
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class Unlisted(NamedTuple):
    """Numbers of relevant and irrelevant unlisted entries, and their common score (None: below all)."""

    relevant: int
    irrelevant: int
    level: float | None


class Last(NamedTuple):
    """Lowest scores of rows, ascending, and cumulative counts of unlisted irrelevant labels, (m + 1,)."""

    scores: Scores
    n_left: Ints


class Curves(NamedTuple):
    """Curves of the given scores, and those for the worst and the best scores of unlisted labels."""

    value: Curve
    worst: Curve | None = None
    best: Curve | None = None


class Found(NamedTuple):
    """Contribution of some entries to the curve of all; see `kernels.sweeps.CurveSums`.

    pairs : (relevant, irrelevant) pairs in the right order, and tied
    precision : fixed point, int64 (1 + n, 4), and areas; peak : float64 (1 + n, 2), and cuts
    points : float64 (p, 3)
    open_pairs : pairs of a relevant entry with an unlisted irrelevant label of a row whose lowest score is
        lower, or tied
    """

    pairs: tuple[int, int]
    precision: Ints
    peak: Floats
    points: Floats
    open_pairs: tuple[int, int]


def n_ranges(piles: Sequence[Pile], resources: Resources) -> int:
    """Return the number of score ranges to split piles into."""
    return max(_n_parts(piles, resources), 1 if _is_small(piles, resources) else 2 * resources.threads)


def _is_small(piles: Sequence[Pile], resources: Resources) -> bool:
    return resources.threads == 1 or sum(pile.size for pile in piles) <= LARGE


def _n_parts(piles: Sequence[Pile], resources: Resources) -> int:
    n_bytes = sum(pile.size for pile in piles) * common_dtype(piles, np.float32).itemsize
    return max(1, -(-n_bytes // max(LEAST_RANGE, resources.sorted)))


def sweep_piles(
    relevant: Sequence[Pile],
    irrelevant: Pile,
    unlisted: Unlisted,
    resources: Resources,
    *,
    strides: Ints | None = None,
    last: Last | None = None,
    asked: Floats = NOTHING,
) -> Found:
    """Sweep the scores of all entries, best first.

    relevant : scores of relevant entries, in several piles
    irrelevant : scores of irrelevant entries
    strides : int64 (2,), relevant and irrelevant entries between points of the curve
    last : lowest scores of rows, to count open pairs with the first relevant pile
    asked : float64 (n, 2), what else is asked of the curve, see `kernels.sweeps.CurveSums`
    """
    piles = [*relevant, irrelevant]
    splitters, level_at = splitters_of(piles, unlisted.level, resources)
    ranges = Ranges(piles, splitters, resources.map)
    listed = np.stack([ranges.sizes[:-1].sum(axis=0), ranges.sizes[-1]])
    without = np.array([unlisted.relevant, unlisted.irrelevant])
    totals: Ints = listed.sum(axis=1) + without
    cells = listed.copy()
    if level_at is not None:
        cells[:, level_at] += without
    above = cells[:, ::-1].cumsum(axis=1)[:, ::-1] - cells

    def count(number: int) -> Found:
        start = np.ascontiguousarray(above[:, number])
        if number % 2:
            group, n_bad = cells[:, number].tolist()
            score = np.full(1, splitters[number // 2])
            piece = tie_group(group, n_bad, float(score[0]), start, totals, strides, asked)
            return piece._replace(open_pairs=pairs_left(score, ranges.sizes[:1, number], last))
        first, bad = ranges.load(0, number), ranges.load(len(relevant), number)
        good = first if len(relevant) == 1 else ranges.load_all(range(len(relevant)), number)
        pairs, points = np.zeros((2, 2), np.int64), np.empty((0, 3))
        precision, peak = none_yet(asked)
        sweep(good, bad, start, sums_of(totals, pairs, precision, peak, asked))
        if strides is not None:
            passed = (listed[:, number] // strides).sum() + 3
            points = np.empty((min(int(passed), good.size + bad.size), 3))
            runs = *run_lengths(good), *run_lengths(bad)
            points = points[: trace(*runs, start, totals, strides, points)]
        open_pairs = pairs_left(*run_lengths(first), last) if last else (0, 0)
        return Found(as_integers(pairs), precision, peak, points, open_pairs)

    down = [number for number in range(cells.shape[1] - 1, -1, -1) if cells[:, number].any()]
    pieces = resources.map(count, down)
    if level_at is None and without.any():
        seen = cells.sum(axis=1)
        group, n_bad = without.tolist()
        pieces.append(tie_group(group, n_bad, -np.inf, seen, totals, strides, asked))
    return added_up(pieces, asked)


def splitters_of(piles: Sequence[Pile], level: float | None, resources: Resources) -> tuple[Keys, int | None]:
    """Return scores to split piles at, and the number of the range of the unlisted score."""
    dtype = common_dtype(piles, np.float64)
    chosen = quantiles(sampled(piles), n_ranges(piles, resources))
    if level is not None:
        chosen = np.append(chosen, level)
    splitters: Keys = np.unique(chosen.astype(dtype))
    if level is None:
        return splitters, None
    return splitters, 2 * int(np.searchsorted(splitters, dtype.type(level))) + 1


def none_yet(asked: Floats) -> tuple[Ints, Floats]:
    """Return ``precision`` and ``peak`` of no entries, see `Found`."""
    n = 1 + len(asked)
    return np.zeros((n, LIMBS), np.int64), np.tile([0.0, np.nan], (n, 1))


def sums_of(
    totals: NDArray[Any], pairs: NDArray[Any], precision: Ints, peak: Floats, asked: Floats
) -> CurveSums:
    """Return sums that a kernel adds to these arrays, see `Found`."""
    return CurveSums(totals, pairs, precision[0], peak[0], asked, precision[1:], peak[1:])


def tie_group(
    group: int, n_bad: int, score: float, above: Ints, totals: Ints, strides: Ints | None, asked: Floats
) -> Found:
    """Count entries of one score."""
    seen, wrong = int(above[0]) + group, int(above[1]) + n_bad
    pairs, points = np.zeros((2, 2), np.int64), np.empty((0, 3))
    precision, peak = none_yet(asked)
    count_group(group, n_bad, score, seen, wrong, totals, pairs, precision[0], peak[0])
    count_cut(group, n_bad, score, seen, wrong, sums_of(totals, pairs, precision, peak, asked))
    reached: Ints = np.array([seen, wrong])
    if strides is not None and ((reached // strides > above // strides).any() or (reached == totals).all()):
        points = np.array([[score, seen, wrong]])
    return Found(as_integers(pairs), precision, peak, points, (0, 0))


def run_lengths(scores: Scores) -> tuple[Scores, Ints]:
    """Return the distinct ones of ascending scores, and how many there are of each."""
    starts = np.flatnonzero(
        np.concatenate([np.ones(min(scores.size, 1), np.bool_), scores[1:] != scores[:-1]])
    )
    return scores[starts], np.diff(starts, append=scores.size)


def pairs_left(scores: Scores, counts: Ints, last: Last | None) -> tuple[int, int]:
    """Count open pairs of distinct scores, each held by so many entries."""
    pairs = np.zeros((2, 2), np.int64)
    if last is not None:
        below, up_to = (last.n_left[np.searchsorted(last.scores, scores, side)] for side in SIDES)
        sum_products(counts, below, pairs[0])
        sum_products(counts, up_to - below, pairs[1])
    return as_integers(pairs)


def added_up(pieces: Sequence[Found], asked: Floats) -> Found:
    """Add up contributions, best scores first."""
    precision, peak = none_yet(asked)
    for part in pieces:
        precision += part.precision
        carry(precision)
        better = part.peak[:, 0] >= peak[:, 0]  # of equal ones the later, but for F1
        better[0] = part.peak[0, 0] > peak[0, 0]
        better[1:] = (better[1:] | np.isnan(peak[1:, 1])) & ~np.isnan(part.peak[1:, 1])
        peak[better] = part.peak[better]
    return Found(
        added(part.pairs for part in pieces),
        precision,
        peak,
        np.concatenate([np.empty((0, 3)), *(part.points for part in pieces)]),
        added(part.open_pairs for part in pieces),
    )


def thinned(points: Floats, n_points: int) -> Floats:
    """Return the start of a curve and at most ``n_points`` + 1 of its points."""
    points = np.concatenate([[[np.inf, 0.0, 0.0]], points])
    if len(points) <= n_points + 2:
        return points
    return points[np.linspace(0, len(points) - 1, n_points + 2).round().astype(np.int64)]


def added(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of the first and of the second items of pairs."""
    first, second = 0, 0
    for a, b in pairs:
        first, second = first + a, second + b
    return first, second


def as_integers(limbs: Ints) -> tuple[int, int]:
    """Return two sums of pairs, int64 (2, 2), as integers."""
    first, second = ((int(high) << LIMB_BITS) + int(low) for high, low in limbs)
    return first, second
