"""The best cut of the scores of all entries, and that of the scores of each label."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.kernels.thresholds import cut_labels, find_cut, is_better
from xmleval.pooled.columns import Columns, over_labels, sort_each
from xmleval.pooled.curves import run_lengths, splitters_of
from xmleval.pooled.piles import Pile, Ranges
from xmleval.pooled.store import Store
from xmleval.pooled.value_curves import joined
from xmleval.pooled.values import Values, as_buckets, joint_bounds

Runs = tuple[Scores, Ints, Scores, Ints]


class Parted(NamedTuple):
    """Scores of relevant and of irrelevant entries, in ranges that ascend.

    sizes : int64 (2, ranges), relevant and irrelevant entries of each range
    load : takes the number of a range; distinct scores, ascending, and their counts, relevant ones first
    """

    sizes: Ints
    load: Callable[[int], Runs]


def best_cut(
    store: Store, relevant: str, irrelevant: str, n_true: int, floor: float, aim: int, resources: Resources
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
        parted = _by_value(store.values[relevant], store.values[irrelevant])
    else:
        parted = _by_score(store.as_pile(relevant), store.as_pile(irrelevant), resources)
    above = parted.sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - parted.sizes

    def cut(number: int) -> tuple[list[int], list[float]]:
        best, next_score = np.empty(2, np.int64), np.empty(2)
        start = np.ascontiguousarray(above[:, number])
        find_cut(*parted.load(number), start, n_true, floor, aim, best, next_score)
        return best.tolist(), next_score.tolist()

    down = np.flatnonzero(parted.sizes.any(axis=0))[::-1].tolist()
    best, threshold, any_above = [0, 0], math.nan, False
    for counts, (first, below) in resources.map(cut, down):
        any_above |= not math.isnan(first)
        if is_better(aim, counts[0], counts[1], best[0], best[1], n_true):
            best, threshold = counts, below
        elif math.isnan(threshold):  # the cut is between this range and one above
            threshold = first
    store.file.trim()
    if math.isnan(threshold):
        return floor if any_above else math.inf
    return threshold


def _by_value(relevant: Values, irrelevant: Values) -> Parted:
    """Part scores counted by value into ranges with few distinct ones."""
    sides = [as_buckets([values]) for values in (relevant, irrelevant)]
    bounds = joint_bounds(sides)
    sizes = np.stack([np.add.reduceat(side.sizes, bounds[:-1]) for side in sides])

    def load(number: int) -> Runs:
        good, bad = (joined(side, bounds[number], bounds[number + 1]) for side in sides)
        return *good, *bad

    return Parted(sizes, load)


def _by_score(relevant: Pile, irrelevant: Pile, resources: Resources) -> Parted:
    """Part scores in any order, of which odd ranges hold one score."""
    piles = [relevant, irrelevant]
    splitters, _ = splitters_of(piles, None, resources)
    ranges = Ranges(piles, splitters, resources.map)

    def load(number: int) -> Runs:
        if number % 2:
            score, counts = splitters[number // 2 : number // 2 + 1], ranges.sizes[:, number : number + 1]
            return score, counts[0].copy(), score, counts[1].copy()
        good, bad = (run_lengths(ranges.load(pile, number)) for pile in range(2))
        return *good, *bad

    return Parted(ranges.sizes, load)


class LabelCuts(NamedTuple):
    """The best cut of each label, the highest of several.

    best : int64 (n_labels, 2), relevant and all entries above it
    scores : float64 (n_labels, 2), the highest score above the floor and that below the cut, NaN for none
    """

    best: Ints
    scores: Floats


def best_label_cuts(
    relevant: Pile, irrelevant: Pile, n_true: Ints, floor: float, aim: int, resources: Resources
) -> LabelCuts:
    """Return the best cut of each label; arguments as in `best_cut`, of keys, with ``n_true`` by label."""
    n_labels = n_true.size
    cuts = LabelCuts(np.empty((n_labels, 2), np.int64), np.empty((n_labels, 2)))

    def cut(start: int, stop: int, good: Columns, bad: Columns) -> None:
        sort_each(bad)
        part = LabelCuts(cuts.best[start:stop], cuts.scores[start:stop])
        cut_labels(*good, *bad, n_true[start:stop], floor, aim, part.best, part.scores)

    over_labels(relevant, irrelevant, n_labels, cut, resources)
    return cuts
