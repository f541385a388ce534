"""Differences of values that may be equal but computed in several ways, and so rounded apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from xmleval.base.arrays import Floats

RELATIVE_ROUNDING = 2.0**-45  # of the larger of two values


def bound_rounding(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return by how much two equal values may differ; 0 if one is infinite."""
    larger = np.maximum(np.abs(a), np.abs(b))
    bound: Floats = RELATIVE_ROUNDING * np.where(np.isfinite(larger), larger, 0)
    return bound


def subtract(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a - b, 0 where these differ by rounding alone, and NaN where one is NaN.

    Examples
    --------
    >>> subtract([0.1 + 0.2, 0.5, np.inf], [0.3, 0.25, np.inf]).tolist()
    [0.0, 0.25, 0.0]
    """
    with np.errstate(invalid="ignore"):  # of infinite values
        gaps = np.subtract(a, b, dtype=np.float64)
    is_equal = np.equal(a, b) | (np.abs(gaps) <= bound_rounding(a, b))
    difference: Floats = np.where(is_equal, 0.0, gaps)
    return difference
