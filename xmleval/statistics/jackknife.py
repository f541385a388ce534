"""Standard errors and confidence intervals from values without each jackknife group of rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats


class Estimate(NamedTuple):
    """A confidence interval, limited to possible values, and its standard error.

    half_width : half the width of the interval before it is limited
    """

    lower: float
    upper: float
    half_width: float
    standard_error: float
    n_groups: int


def standard_error(replicates: Floats) -> float:
    """Return the jackknife's standard error; NaN if any value is not finite, or of fewer than two.

    It is sqrt((G - 1) / G * sum of squared deviations of the values from their mean), for G values
    that leave one of G groups out each (Wolter 2007, Introduction to Variance Estimation, 4.2).
    """
    n = replicates.size
    if n < 2 or not np.isfinite(replicates).all():
        return math.nan
    deviations = replicates - replicates.mean()
    return math.sqrt((n - 1) / n * math.fsum(deviations * deviations))


def estimate(
    value: float,
    replicates: Floats,
    confidence: float,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Estimate | None:
    """Return a confidence interval by Student's t; None if it is undefined.

    lowest, highest : possible values, to which the interval is limited
    """
    error = standard_error(replicates)
    if not math.isfinite(error) or not math.isfinite(value):
        return None
    n_groups = replicates.size
    half_width = half_width_of(error, n_groups, confidence)
    lower = max(lowest, value - half_width)
    upper = min(highest, value + half_width)
    return Estimate(lower, upper, half_width, error, n_groups)


def half_width_of(error: float, n_groups: int, confidence: float) -> float:
    """Return half the width of a confidence interval by Student's t, before it is limited."""
    from scipy.special import stdtrit  # only here: it takes a tenth of a second to import

    return float(stdtrit(n_groups - 1, 0.5 + confidence / 2)) * error


def difference_p(difference: float, replicates: Floats) -> float:
    """Return the two-sided p-value of a difference, by Student's t.

    replicates : differences without each group of rows
    """
    error = standard_error(replicates)
    if not math.isfinite(error) or not math.isfinite(difference):
        return math.nan
    if not error:
        return 0.0 if difference else 1.0
    from scipy.special import stdtr  # only here: it takes a tenth of a second to import

    return float(2 * stdtr(replicates.size - 1, -abs(difference) / error))
