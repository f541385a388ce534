"""Friedman's test of models over data sets, and post-hoc tests of pairs, as in Demsar 2006."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.numerics.rounding import subtract


class OmnibusTest(NamedTuple):
    """A test of whether any of several models differs from the others."""

    statistic: float
    degrees_of_freedom: tuple[int, ...]
    p_value: float


def ranks_within_rows(values: Floats, higher_is_better: bool) -> Floats:
    """Return the ranks within each row, float64 (n, k): 1 for the best, averages for ties.

    Values are tied with the next best one where they differ from it by rounding alone.
    """
    signed = -values if higher_is_better else values
    ranks = np.empty(values.shape)
    for row_ranks, row_values in zip(ranks, signed, strict=True):
        order = np.argsort(row_values)
        ascending = row_values[order]
        tie_groups = np.cumsum(subtract(ascending, np.roll(ascending, 1)) > 0)
        sizes = np.bincount(tie_groups)
        mean_ranks = np.cumsum(sizes) - (sizes - 1) / 2
        row_ranks[order] = mean_ranks[tie_groups]
    return ranks


def omnibus_tests(ranks: Floats, corrected: bool = False) -> dict[str, OmnibusTest]:
    """Return Friedman's test and that of Iman and Davenport for ranks of k models on n data sets.

    Iman and Davenport's test is less conservative. Demsar's formula does not correct for ties; the
    corrected one is that of `scipy.stats.friedmanchisquare`. Where all rows are ranked alike, F is
    infinite and p is the chance of that: without ties 1 / k!^(n - 1), as in Conover (1999).
    """
    from scipy.special import chdtrc, fdtrc  # only here: errors and help need none of it

    n, k = ranks.shape
    chi_square, ratio = _friedman_statistics(ranks, corrected)
    chi_square_p = float(chdtrc(k - 1, chi_square))
    free = (k - 1, (k - 1) * (n - 1))
    ratio_p = float(fdtrc(*free, ratio))
    if ratio == math.inf:
        ratio_p = _chance_of_equal_rows(ranks)
    return {
        "friedman": OmnibusTest(chi_square, free[:1], chi_square_p),
        "iman_davenport": OmnibusTest(ratio, free, ratio_p),
    }


def _friedman_statistics(ranks: Floats, corrected: bool) -> tuple[float, float]:
    """Return Friedman's chi square, and the F ratio of Iman and Davenport; NaN if all are tied."""
    n, k = ranks.shape
    doubled: Ints = np.rint(2 * ranks).astype(np.int64)  # whole numbers, so that nothing is rounded
    squares = sum(int(total) ** 2 for total in doubled.sum(0))
    above = 3 * (squares - n * n * k * (k + 1) ** 2)
    below = n * k * (k + 1)
    if corrected:
        all_ties = n * k * (k - 1) * (k + 1)
        above = above * all_ties
        below = below * (all_ties - count_ties(ranks))
    chi_square = above / below if below else math.nan
    left = n * (k - 1) * below - above
    if left:
        return chi_square, (n - 1) * above / left
    return chi_square, math.inf if below else math.nan


def _chance_of_equal_rows(ranks: Floats) -> float:
    """Return the chance that all rows are ranked like the first one."""
    n, k = ranks.shape
    _, tie_sizes = np.unique(ranks[0], return_counts=True)
    n_alike = math.prod(math.factorial(size) for size in tie_sizes.tolist())
    n_rankings = math.factorial(k) // n_alike
    return float(1 / n_rankings ** (n - 1))


def count_ties(ranks: Floats) -> int:
    """Return the sum of t^3 - t over all groups of t tied ranks in a row.

    It is 12 times what squared ranks lack to those without ties. This also holds where two of three
    models are tied with the third, but not with one another; see `share_ranks`.
    """
    n, k = ranks.shape
    doubled: Ints = np.rint(2 * ranks).astype(np.int64)
    squares = int((doubled**2).sum())
    without_ties: int = 2 * n * k * (k + 1) * (2 * k + 1)
    return without_ties - 3 * squares


def share_ranks(ranks: Floats, pairs: Iterable[tuple[int, int]]) -> Floats:
    """Return ranks of k models on a data set, float64 (k,), in which further pairs are tied.

    A rank is 1 + the number of better models + half the number of those that it is tied with.
    """
    shared = ranks.copy()
    for pair in pairs:
        better, worse = sorted(pair, key=ranks.__getitem__)
        if ranks[better] < ranks[worse]:
            shared[better] += 0.5
            shared[worse] -= 0.5
    return shared


def critical_difference(n: int, k: int, alpha: float, with_control: bool) -> float:
    """Return the least significant difference of average ranks.

    It is Nemenyi's for all pairs, and Bonferroni and Dunn's for pairs with a control.
    """
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
        beyond = (i for i in range(first, len(ranks)) if ranks[i] - lowest >= difference)
        end = next(beyond, len(ranks))
        if end - first > 1 and (not runs or end > runs[-1].stop):
            runs.append(slice(first, end))
    return runs
