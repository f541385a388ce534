"""Find the best cut of the scores of all entries, or of the scores of every label."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.kernels.thresholds import cut_labels, find_cut, is_better
from xmleval.pooled.columns import LabelScores, sort_each, visit_labels
from xmleval.pooled.curves import choose_splitters, run_lengths
from xmleval.pooled.piles import Pile, PileRanges
from xmleval.pooled.store import Store
from xmleval.pooled.value_curves import join_distinct
from xmleval.pooled.values import Values, as_buckets, joint_bounds

Runs = tuple[Scores, Ints, Scores, Ints]


class ScoreRanges(NamedTuple):
    """Scores of relevant and of irrelevant entries, in ranges that ascend.

    sizes : int64 (2, ranges), relevant and irrelevant entries of each range
    load : takes the number of a range; distinct scores, ascending, and their counts, relevant ones
        first
    """

    sizes: Ints
    load: Callable[[int], Runs]


def best_cut(
    store: Store,
    relevant: str,
    irrelevant: str,
    n_true: int,
    floor: float,
    aim: int,
    resources: Resources,
) -> float:
    """Return the score below the best cut of all entries, the highest of several.

    Infinity if no score is above the floor; the floor if everything above it is best.

    store : scores by kind
    relevant, irrelevant : kinds
    n_true : relevant entries, with and without a score
    floor : entries at or below this score are never predicted
    aim : see `kernels.thresholds.is_better`
    """
    if store.by_value([relevant, irrelevant]):
        ranges = _split_values(store.values[relevant], store.values[irrelevant])
    else:
        ranges = _split_piles(store.as_pile(relevant), store.as_pile(irrelevant), resources)
    above = ranges.sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - ranges.sizes

    def cut(number: int) -> tuple[list[int], list[float]]:
        best = np.empty(2, np.int64)
        next_score = np.empty(2)
        start = np.ascontiguousarray(above[:, number])
        find_cut(*ranges.load(number), start, n_true, floor, aim, best, next_score)
        return best.tolist(), next_score.tolist()

    down = np.flatnonzero(ranges.sizes.any(axis=0))[::-1].tolist()
    best = [0, 0]
    threshold = math.nan
    any_above = False
    for counts, (first, below) in resources.map(cut, down):
        any_above |= not math.isnan(first)
        if is_better(aim, counts[0], counts[1], best[0], best[1], n_true):
            best = counts
            threshold = below
        elif math.isnan(threshold):  # the cut is between this range and one above
            threshold = first
    store.file.trim()
    if not math.isnan(threshold):
        return threshold
    return floor if any_above else math.inf


def _split_values(relevant: Values, irrelevant: Values) -> ScoreRanges:
    """Split scores counted by value into ranges with few distinct ones."""
    sides = [as_buckets([values]) for values in (relevant, irrelevant)]
    bounds = joint_bounds(sides)
    sizes = np.stack([np.add.reduceat(side.sizes, bounds[:-1]) for side in sides])

    def load(number: int) -> Runs:
        first = bounds[number]
        stop = bounds[number + 1]
        good, bad = (join_distinct(side, first, stop) for side in sides)
        return *good, *bad

    return ScoreRanges(sizes, load)


def _split_piles(relevant: Pile, irrelevant: Pile, resources: Resources) -> ScoreRanges:
    """Split scores in any order into ranges; odd ranges have one score."""
    piles = [relevant, irrelevant]
    splitters, _ = choose_splitters(piles, None, resources)
    ranges = PileRanges(piles, splitters, resources.map)

    def load(number: int) -> Runs:
        if number % 2:
            score = splitters[number // 2 : number // 2 + 1]
            counts = ranges.sizes[:, number : number + 1]
            return score, counts[0].copy(), score, counts[1].copy()
        good, bad = (run_lengths(ranges.load(pile, number)) for pile in range(2))
        return *good, *bad

    return ScoreRanges(ranges.sizes, load)


class LabelCuts(NamedTuple):
    """The best cut of every label, the highest of several.

    best : int64 (n_labels, 2), relevant and all entries above it
    scores : float64 (n_labels, 2), the highest score above the floor and that below the cut, NaN
        for none
    """

    best: Ints
    scores: Floats


def best_label_cuts(
    relevant: Pile, irrelevant: Pile, n_true: Ints, floor: float, aim: int, resources: Resources
) -> LabelCuts:
    """Return the best cut of every label.

    relevant, irrelevant : keys of relevant and of irrelevant entries
    n_true : int64 (n_labels,), relevant entries by label, with and without a score
    floor, aim : see `best_cut`
    """
    n_labels = n_true.size
    cuts = LabelCuts(np.empty((n_labels, 2), np.int64), np.empty((n_labels, 2)))

    def cut(start: int, stop: int, good: LabelScores, bad: LabelScores) -> None:
        sort_each(bad)
        part = LabelCuts(cuts.best[start:stop], cuts.scores[start:stop])
        cut_labels(*good, *bad, n_true[start:stop], floor, aim, part.best, part.scores)

    visit_labels(relevant, irrelevant, n_labels, cut, resources)
    return cuts
