"""Curves of weighted entries: one of all entries, or one for every label."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.kernels.sweeps import LabelCurves
from xmleval.kernels.weight_sums import SUM, minus
from xmleval.kernels.weighted_sweeps import sweep_labels, sweep_sums
from xmleval.numerics.exact import as_floats
from xmleval.pooled.curves import as_curve_sums, empty_sums
from xmleval.pooled.weight_sums import ONE, KeySums, WeightRanges, as_units, n_ranges
from xmleval.view.facts import Curve


def sweep_entries(
    relevant: KeySums,
    irrelevant: KeySums,
    totals: Floats,
    unlisted: float,
    unit: float,
    resources: Resources,
    queries: Floats,
    n_points: int,
) -> tuple[Curve, Floats]:
    """Sweep the scores of all entries, best first; return the curve and its points.

    The curve has arrays of size 1.

    relevant, irrelevant : weights by score
    totals : float64 (2, 2), weights of all relevant and of all irrelevant entries; the difference
        to the listed ones is unlisted
    unlisted : the score of unlisted entries, NaN if they rank below all
    unit : the weight that is stored as 1
    queries : float64 (n, 2), further statistics of the curve, see `kernels.sweeps.CurveSums`
    n_points : number of points of the curve; 0 for none
    """
    sides = relevant, irrelevant
    unlisted_sums = np.array(
        [[unlisted, *minus(*total, *side.total)] for total, side in zip(totals, sides, strict=True)]
    )
    no_sums = unlisted_sums * [1.0, 0.0, 0.0]
    ranges = WeightRanges(sides, n_ranges(sides, resources))
    unlisted_range = 0
    if not np.isnan(unlisted):
        unlisted_range = int(np.searchsorted(ranges.cuts, unlisted, "right"))
    precision, peak = empty_sums(queries)
    sums = as_curve_sums(totals, np.zeros((4, SUM)), precision, peak, queries)
    strides = _point_strides(sides, unit, n_points)
    points: list[Floats] = []
    for number in reversed(range(ranges.n)):
        good, bad = (ranges.load(side, number) for side in range(2))
        n_most = 0
        if n_points:
            n_most = min(len(good) + len(bad) + 1, n_points + 8)
        block = np.empty((n_most, 3))
        sums_here = unlisted_sums if number == unlisted_range else no_sums
        n = sweep_sums(good, bad, sums_here, sums, strides, block)
        points.append(block[:n] * [1.0, unit, unit])
    weights = [as_units(total) for total in totals]
    pairs = [as_units(total, 2) for total in sums.pairs[2:]]
    counts = [np.array([number], object) for number in (*weights, *pairs)]
    areas = as_floats(precision)[None] * ONE  # in units, too
    curve = Curve._make([*counts, areas, *peak.T[:, None]])
    return curve, np.concatenate(points)


def _point_strides(sides: tuple[KeySums, KeySums], unit: float, n_points: int) -> Floats:
    """Return the relevant and irrelevant weights between points of the curve."""
    weights = np.array([2 * side.total[0] * unit / max(n_points, 1) for side in sides])
    strides = np.where(weights < 1, weights, np.ceil(weights)) / unit
    # of unlisted entries alone, any weight passes
    return np.maximum(strides, np.finfo(np.float64).tiny)


def _judged_rows(judgements: Floats, rows: Floats | None, start: int, stop: int) -> Floats:
    """Return the weights of the rows in which each label of a range is judged, float64 (n, 2).

    judgements : float64 (t, 3), table of rows that judge each label, or do not; see `sweep_columns`
    """
    judged = np.zeros((stop - start, SUM))
    if rows is not None:
        judged[:] = rows
    for label, *weight in judgements.tolist():
        place = int(label) - start
        judged[place] = weight if rows is None else minus(*rows, *weight)
    return judged


def sweep_columns(
    relevant: KeySums,
    irrelevant: KeySums,
    truth: KeySums,
    judgements: KeySums,
    rows: Floats | None,
    n_labels: int,
    unlisted: float,
    unit: float,
    resources: Resources,
    queries: Floats,
) -> Curve:
    """Sweep the scores of every label, best first.

    relevant, irrelevant : weights by label and score
    truth : weights of relevant entries by label
    judgements : weights of rows in which each label is not judged; if ``rows`` is None, is judged
    rows : float64 (2,), sum of the weights of all rows
    unlisted, unit, resources, queries : see `sweep_entries`
    """
    counts = np.empty((n_labels, 2))
    curves = LabelCurves.empty(n_labels, queries)
    collections = relevant, irrelevant, truth, judgements
    n_wanted = max(n_ranges(collections, resources), resources.threads)
    ranges = WeightRanges(collections, n_wanted)
    bounds = [0, *ranges.cuts.astype(np.int64).tolist(), n_labels]

    def sweep_range(number: int) -> None:
        good, bad, true, cells = (ranges.load(collection, number) for collection in range(4))
        start = bounds[number]
        stop = bounds[number + 1]
        sweep_labels(
            good,
            bad,
            true,
            _judged_rows(cells, rows, start, stop),
            start,
            unlisted,
            queries,
            counts[start:stop],
            curves.part(start, stop),
        )

    resources.map(sweep_range, range(ranges.n))
    weights = counts.T * unit
    pairs = curves.pairs.T * unit**2
    precision = curves.precision * unit
    return Curve._make([*weights, *pairs, precision, *np.moveaxis(curves.peak, -1, 0)])
