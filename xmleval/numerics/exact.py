"""Conversion of fixed-point sums to floats, and exact sums and means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.fixed import BITS, LIMBS, sum_terms
from xmleval.kernels.products import split

SCALE = 1 << BITS * (LIMBS - 1)  # units of the last bit of a fixed-point sum in 1
EXACT_BITS = 26  # of a number whose product with one of 27 bits is exact
LARGE = 2.0**80  # unbounded numbers count as infinite from here on,
ABOUT_LARGE = "{}: numbers of 1.2e24 (2^80) or more in size count as infinite"
LARGE_UNIT = 2.0**48  # and are added up in this unit, so that 2^31 of them fit a sum
NO_WEIGHT: Floats = np.empty(0)  # kernels read this as weight 1 for every row


def as_floats(limbs: Ints) -> Floats:
    """Return fixed-point sums, int64 (..., 4), as float64 (...)."""
    total = np.zeros(limbs.shape[:-1])
    for limb in range(LIMBS - 1, -1, -1):
        total += np.ldexp(limbs[..., limb].astype(np.float64), -BITS * limb)
    return total


def as_integer(limbs: Ints) -> int:
    """Return one fixed-point sum, int64 (4,), as an integer in units of its last bit."""
    total = 0
    for limb in limbs.tolist():
        total = (total << BITS) + limb
    return total


def limbs_of(units: int) -> list[int]:
    """Return the fixed-point sum that `as_integer` returns as ``units``."""
    mask = (1 << BITS) - 1
    highest = units >> BITS * (LIMBS - 1)
    others = [units >> BITS * place & mask for place in range(LIMBS - 2, -1, -1)]
    return [highest, *others]


def without_large(values: Floats, weight: Floats = NO_WEIGHT) -> tuple[Floats, Ints]:
    """Return unbounded numbers in `LARGE_UNIT`, large ones as 0, and how many are large.

    The counts, int64 (2,), are of large numbers above and below 0 with a weight above 0.
    """
    large = np.abs(values) >= LARGE
    if not large.any():
        return values / LARGE_UNIT, np.zeros(2, np.int64)
    is_counted = large
    if weight.size:
        is_counted = large & (weight > 0.0)
    n_positive = np.count_nonzero(is_counted & (values > 0.0))
    counts: Ints = np.array([n_positive, np.count_nonzero(is_counted) - n_positive])
    return np.where(large, 0.0, values / LARGE_UNIT), counts


def sum_of_large(n_positive: int, n_negative: int) -> float:
    """Return the sum of large numbers, which count as infinite; 0 if there are none."""
    above = math.inf if n_positive else 0.0
    below = math.inf if n_negative else 0.0
    return above - below


def exact_mean(values: Floats) -> float:
    """Return the mean of the unbounded numbers that are not NaN, rounded once; NaN without any."""
    n_defined = int(np.count_nonzero(~np.isnan(values)))
    if not n_defined:
        return math.nan
    small, n_large = without_large(values)
    finite: float = scaled_sum(small) / (n_defined * SCALE) * LARGE_UNIT
    return finite + sum_of_large(*n_large.tolist())


def scaled_sum(values: Floats, times: Ints | None = None) -> Any:
    """Return the sum of the values that are not NaN, in units of 1 / `SCALE`.

    times : how many times each value is taken; None for once

    The sum is exact but for the bits of terms below 2^-156, so that no grouping changes it; it is
    an integer, or infinite.
    """
    if np.isinf(values).any():
        repeated = values if times is None else values * times
        return float(np.nansum(repeated))
    terms = [values]
    if times is not None:
        halves = split(values)
        low = times & ((1 << EXACT_BITS) - 1)
        high = times >> EXACT_BITS
        terms = [half * low for half in halves]
        if high.any():
            terms += [half * high * 2.0**EXACT_BITS for half in halves]
    total: Ints = np.zeros(LIMBS, np.int64)
    for term in terms:
        sum_terms(np.ascontiguousarray(term), NO_WEIGHT, total, total)
    return as_integer(total)
