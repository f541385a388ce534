"""Tests of two models on the same rows, from the values of a measure by row.

Rows where a value is NaN, as the measure is undefined there, are dropped. No p-value depends on
the order of rows or on which model comes first. ``differences`` are float64 arrays of shape (n,),
by row; p-values are two-sided, 1 where all differences are 0, and NaN with too few, or where one is
infinite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.sign_flips import WORD, add_signed_sums
from xmleval.numerics.exact import exact_mean
from xmleval.numerics.rounding import subtract

UNIT_BITS = 40  # differences that agree to 2^-40 of the largest are equal: both values are rounded
SUM_BITS = 61
MOST_FLIPPED = 16  # rows whose signs are all tried


class Outcomes(NamedTuple):
    """Number of rows on which the first of two models is better, as good, and worse."""

    wins: int
    ties: int
    losses: int


def wins_ties_losses(a: Floats, b: Floats, direction: str) -> Outcomes:
    """Count the rows on which model a is better than model b, equal but for rounding, and worse."""
    rows = np.flatnonzero(a != b)  # often few
    gaps = subtract(a[rows], b[rows])
    if direction != "up":
        gaps = -gaps
    wins = int(np.count_nonzero(gaps > 0))
    ties = int(np.count_nonzero(gaps == 0))
    losses = int(np.count_nonzero(gaps < 0))
    return Outcomes(wins, a.size - rows.size + ties, losses)


def sign_flip_p(differences: Floats, n_draws: int = 10_000, seed: int = 0) -> float:
    """Test whether the mean of paired differences is 0, by randomisation.

    Where the models do not differ, each difference is as likely with the other sign. p is the share
    of assignments of signs whose mean is at least as far from 0. With up to 16 differences other
    than 0, or more if ``n_draws`` allows, all assignments are counted. Otherwise p is (1 + b) / (1
    + n_draws) for b of ``n_draws`` random assignments, which is valid for any number of draws
    (Phipson & Smyth 2010).

    Sums are of integers, in units of 2^-40 of the largest difference, and those that agree within
    what this rounds are equal. The same ``seed`` gives the same p for the same differences in any
    order.

    Examples
    --------
    >>> sign_flip_p(np.array([0.2, 0.4, 0.2, 0.0, np.nan, 0.2]))
    0.125
    """
    units = in_units(differences)
    if units is None:
        return math.nan
    if not units.size:
        return 1.0
    n = units.size
    # both sums are off by up to half a unit a row, and rounded
    extreme = abs(int(units.sum())) - 2 * n
    terms = np.sort(np.abs(units))
    if n <= max(MOST_FLIPPED, n_draws.bit_length() - 1):
        sums = np.zeros(1, np.int64)
        for term in terms:
            sums = np.concatenate((sums + term, sums - term))
        return float(np.mean(np.abs(sums) >= extreme))
    n_words = -(-n // WORD)
    padded: Ints = np.zeros(n_words * WORD, np.int64)
    padded[:n] = terms
    sums = np.zeros(n_draws, np.int64)
    add_signed_sums(padded, np.uint64(seed), 0, sums)
    n_extreme = int(np.count_nonzero(np.abs(sums) >= extreme))
    return (1 + n_extreme) / (1 + n_draws)


def in_units(differences: Floats) -> Ints | None:
    """Return differences other than 0 as integers, in units of 2^-40 of the largest.

    None if all are NaN, or one is infinite. With very many rows, units are larger, so that no sum
    overflows.
    """
    defined = differences[~np.isnan(differences)]
    largest = float(np.abs(defined).max(initial=0.0))
    if not defined.size or math.isinf(largest):
        return None
    n_nonzero = int(np.count_nonzero(defined))
    bits = min(UNIT_BITS, SUM_BITS - n_nonzero.bit_length())
    _, exponent = math.frexp(largest)
    scaled = np.rint(np.ldexp(defined, bits - exponent))
    return np.asarray(scaled[scaled != 0], np.int64)


def paired_t_p(differences: Floats) -> float:
    """Test whether the mean of paired differences is 0, by Student's t.

    It is the test of `scipy.stats.ttest_rel`.
    """
    from scipy.special import stdtr  # `scipy.stats` takes a second to import

    defined = differences[~np.isnan(differences)]
    n = defined.size
    if n < 2 or not np.isfinite(defined).all():
        return math.nan
    largest = float(np.abs(defined).max())
    defined = defined / (largest or 1.0)  # no square overflows or vanishes
    mean = exact_mean(defined)
    variance_of_mean = exact_mean((defined - mean) ** 2) / (n - 1)
    if not variance_of_mean:
        return 0.0 if mean else 1.0
    return float(2 * stdtr(n - 1, -abs(mean) / math.sqrt(variance_of_mean)))


def wilcoxon_p(differences: Floats) -> float:
    """Test whether paired differences are symmetric about 0, by Wilcoxon's signed ranks.

    Differences that are 0 are dropped, as `scipy.stats.wilcoxon` does by default
    (``zero_method="wilcox"``), which also chooses between the exact and the normal distribution.
    Those that agree to 2^-40 of the largest are ties.
    """
    units = in_units(differences)
    if units is None:
        return math.nan
    if not units.size:
        return 1.0
    from scipy.stats import wilcoxon

    sizes, size_of_row = np.unique(np.abs(units), return_inverse=True)
    # sizes that differ by one unit are equal, as both are rounded
    levels = np.cumsum(np.diff(sizes, prepend=sizes[0] - 2) > 1)
    return float(wilcoxon(np.sign(units) * levels[size_of_row]).pvalue)


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values of several tests by Holm's method.

    It bounds the chance of any false rejection. A test that could not be made has NaN, and does not
    count. Reject where the corrected p-values, which are in the same order, are below alpha.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    uncorrected = np.asarray(p_values, np.float64)
    tested = np.flatnonzero(~np.isnan(uncorrected))
    order = tested[np.argsort(uncorrected[tested], kind="stable")]
    corrected = uncorrected.copy()
    steps = uncorrected[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
