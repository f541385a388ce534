"""Standard errors and confidence intervals from values without one jackknife group of the rows each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats


class Estimate(NamedTuple):
    """A confidence interval, half its width before it is cut to what is possible, and its standard error."""

    lower: float
    upper: float
    half_width: float
    standard_error: float
    n_groups: int


def standard_error(replicates: Floats) -> float:
    """Return the jackknife's standard error; NaN if any value is not finite, or of fewer than two.

    It is sqrt((G - 1) / G * sum of squared deviations of the values from their mean), for G values that
    leave one of G groups out each (Wolter 2007, Introduction to Variance Estimation, 4.2).
    """
    n = replicates.size
    if n < 2 or not np.isfinite(replicates).all():
        return math.nan
    deviations = replicates - replicates.mean()
    return math.sqrt((n - 1) / n * math.fsum(deviations * deviations))


def estimate(
    value: float, replicates: Floats, confidence: float, lowest: float = -math.inf, highest: float = math.inf
) -> Estimate | None:
    """Return a confidence interval by Student's t within the possible values, or None if it is undefined."""
    error = standard_error(replicates)
    if not math.isfinite(error) or not math.isfinite(value):
        return None
    from scipy.special import stdtrit  # only here: it takes a tenth of a second to import

    half = float(stdtrit(replicates.size - 1, 0.5 + confidence / 2)) * error
    return Estimate(max(lowest, value - half), min(highest, value + half), half, error, replicates.size)


def difference_p(difference: float, replicates: Floats) -> float:
    """Test whether a difference is 0, two-sided, by Student's t, from those without each group of rows."""
    error = standard_error(replicates)
    if not math.isfinite(error) or not math.isfinite(difference):
        return math.nan
    if not error:
        return 0.0 if difference else 1.0
    from scipy.special import stdtr  # only here: it takes a tenth of a second to import

    return float(2 * stdtr(replicates.size - 1, -abs(difference) / error))
