"""Friedman's test of models over data sets, and the tests of pairs that follow it, as in Demsar 2006."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.numerics.rounding import subtract


class OmnibusTest(NamedTuple):
    """A test of whether any of several models differs: its statistic, degrees of freedom and p-value."""

    statistic: float
    degrees_of_freedom: tuple[int, ...]
    p_value: float


def ranks_within_rows(values: Floats, higher_is_better: bool) -> Floats:
    """Return the ranks within each row, float64 (n, k): 1 for the best, averages for ties.

    Values are tied with the next best one where they differ from it by rounding alone.
    """
    signed = -values if higher_is_better else values
    ranks = np.empty(values.shape)
    for row, of_models in zip(ranks, signed, strict=True):
        order = np.argsort(of_models)
        ties = np.cumsum(subtract(of_models[order], np.roll(of_models[order], 1)) > 0)
        sizes = np.bincount(ties)
        row[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[ties]
    return ranks


def omnibus_tests(ranks: Floats, corrected: bool = False) -> dict[str, OmnibusTest]:
    """Return Friedman's test of ranks, (n, k), and that of Iman and Davenport, which is less conservative.

    Demsar's formula does not correct for ties; the corrected one is that of `scipy.stats.friedmanchisquare`.
    Where all rows are ranked alike, F is infinite and p is the chance of that: without ties 1 / k!^(n - 1),
    as in Conover (1999).
    """
    from scipy.special import chdtrc, fdtrc  # only here: errors and help need none of it

    n, k = ranks.shape
    doubled: Ints = np.rint(2 * ranks).astype(np.int64)  # whole numbers, so that nothing is rounded
    squares = sum(int(total) ** 2 for total in doubled.sum(0))
    above, below = 3 * (squares - n * n * k * (k + 1) ** 2), n * k * (k + 1)
    if corrected:
        all_ties = n * k * (k - 1) * (k + 1)
        above, below = above * all_ties, below * (all_ties - count_ties(ranks))
    free, left = (k - 1, (k - 1) * (n - 1)), n * (k - 1) * below - above
    chi_square = above / below if below else math.nan  # all are tied
    ratio = (n - 1) * above / left if left else math.inf if below else math.nan
    p_values = float(chdtrc(k - 1, chi_square)), float(fdtrc(*free, ratio))
    if ratio == math.inf:
        alike = math.prod(math.factorial(t) for t in np.unique(ranks[0], return_counts=True)[1].tolist())
        p_values = p_values[0], 1 / (math.factorial(k) // alike) ** (n - 1)
    tests = map(OmnibusTest, (chi_square, ratio), (free[:1], free), p_values)
    return dict(zip(("friedman", "iman_davenport"), tests, strict=True))


def count_ties(ranks: Floats) -> int:
    """Return the sum of t^3 - t over the sets of t tied ranks of each row."""
    return sum(int(t) ** 3 - int(t) for row in ranks for t in np.unique(row, return_counts=True)[1])


def critical_difference(n: int, k: int, alpha: float, with_control: bool) -> float:
    """Return the least significant difference of average ranks: Nemenyi's, or Bonferroni and Dunn's."""
    if with_control:
        from scipy.special import ndtri

        quantile = -float(ndtri(alpha / (2 * (k - 1))))
    else:
        from scipy.stats import studentized_range

        quantile = float(studentized_range.isf(alpha, k, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(k * (k + 1) / (6 * n))


def find_groups(ranks: Sequence[float], difference: float) -> list[slice]:
    """Return the longest runs of two or more ranks in ascending order whose ends differ by less."""
    runs: list[slice] = []
    for first, lowest in enumerate(ranks):
        end = next((i for i in range(first, len(ranks)) if ranks[i] - lowest >= difference), len(ranks))
        if end - first > 1 and (not runs or end > runs[-1].stop):
            runs.append(slice(first, end))
    return runs
