"""Curves of weighted entries: of all together, and of each label."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.kernels.sweeps import LabelCurves
from xmleval.kernels.weight_sums import SUM, minus
from xmleval.kernels.weighted_sweeps import sweep_labels, sweep_sums
from xmleval.numerics.exact import as_floats
from xmleval.pooled.curves import none_yet, sums_of
from xmleval.pooled.weight_sums import ONE, KeySums, Ranges, as_units, n_ranges
from xmleval.view.facts import Curve


def sweep_entries(
    relevant: KeySums,
    irrelevant: KeySums,
    totals: Floats,
    unlisted: float,
    unit: float,
    resources: Resources,
    asked: Floats,
    n_points: int,
) -> tuple[Curve, Floats]:
    """Sweep the scores of all entries, best first; return the curve, arrays of size 1, and its points.

    relevant, irrelevant : weights by score
    totals : float64 (2, 2), weights of all relevant and of all irrelevant entries; the rest is unlisted
    unlisted : the score of unlisted entries, NaN if they rank below all
    unit : the weight that is held as 1
    asked : float64 (n, 2), what else is asked of the curve, see `kernels.sweeps.CurveSums`
    n_points : number of points of the curve; 0 for none
    """
    sides = relevant, irrelevant
    unlisted_sums = np.array(
        [[unlisted, *minus(*total, *side.total)] for total, side in zip(totals, sides, strict=True)]
    )
    none = unlisted_sums * [1.0, 0.0, 0.0]
    ranges = Ranges(sides, n_ranges(sides, resources))
    at_rest = 0 if np.isnan(unlisted) else int(np.searchsorted(ranges.cuts, unlisted, "right"))
    precision, peak = none_yet(asked)
    sums = sums_of(totals, np.zeros((4, SUM)), precision, peak, asked)
    strides = np.array([2 * side.total[0] * unit / max(n_points, 1) for side in sides])
    strides = np.where(strides < 1, strides, np.ceil(strides)) / unit
    strides = np.maximum(strides, np.finfo(np.float64).tiny)  # of unlisted entries alone, any weight passes
    points: list[Floats] = []
    for number in reversed(range(ranges.n)):
        good, bad = (ranges.load(which, number) for which in range(2))
        block = np.empty((min(len(good) + len(bad) + 1, n_points + 8) if n_points else 0, 3))
        unlisted_here = unlisted_sums if number == at_rest else none
        n = sweep_sums(good, bad, unlisted_here, sums, strides, block)
        points.append(block[:n] * [1.0, unit, unit])
    counts = [*map(as_units, totals), *(as_units(pairs, 2) for pairs in sums.pairs[2:])]
    areas = as_floats(precision)[None] * ONE  # in units, too
    curve = Curve._make([*(np.array([n], object) for n in counts), areas, *peak.T[:, None]])
    return curve, np.concatenate(points)


def sweep_columns(
    relevant: KeySums,
    irrelevant: KeySums,
    truth: KeySums,
    rows: Floats,
    n_labels: int,
    unlisted: float,
    unit: float,
    resources: Resources,
    asked: Floats,
) -> Curve:
    """Sweep the scores of every label, best first.

    relevant, irrelevant : weights by label and score
    truth : weights of relevant entries by label
    rows : float64 (2,), sum of the weights of all rows
    unlisted, unit, resources, asked : see `sweep_entries`
    """
    counts, curves = np.empty((n_labels, 2)), LabelCurves.empty(n_labels, asked)
    collections = relevant, irrelevant, truth
    ranges = Ranges(collections, max(n_ranges(collections, resources), resources.threads))
    bounds = [0, *ranges.cuts.astype(np.int64).tolist(), n_labels]

    def task(number: int) -> None:
        good, bad, true = (ranges.load(which, number) for which in range(3))
        start, stop = bounds[number : number + 2]
        sweep_labels(
            good, bad, true, rows, start, unlisted, asked, counts[start:stop], curves.part(start, stop)
        )

    resources.map(task, range(ranges.n))
    weights, pairs = counts.T * unit, curves.pairs.T * unit**2
    return Curve._make([*weights, *pairs, curves.precision * unit, *np.moveaxis(curves.peak, -1, 0)])
