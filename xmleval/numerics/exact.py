"""Conversion of fixed-point and exact sums to floats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.exact import DOWN, LEAST, N_LIMBS, SIZE, UP, WIDTH, add_exact
from xmleval.kernels.fixed import BITS, LIMBS, sum_terms

SCALE = 1 << BITS * (LIMBS - 1)  # units of the last bit of a fixed-point sum in 1
ONE_EXACT = 1 << LEAST  # units of an exact sum in 1
EXACT_BITS = 26  # of a number whose product with one of 27 bits is exact
SPLITTER = 2.0**27 + 1.0  # splits the 53 bits of a float64 in halves
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


def _whole(total: Ints) -> int:
    """Return an exact sum, int64 (70,), of finite terms in units of 2^-1074."""
    lower = total[: N_LIMBS - 1].astype("<u4").tobytes()  # but the last limb, all within 0..2^32-1
    return int.from_bytes(lower, "little") + (int(total[N_LIMBS - 1]) << WIDTH * (N_LIMBS - 1))


def limbs_of(units: int) -> list[int]:
    """Return the fixed-point sum that `as_integer` returns as ``units``."""
    mask = (1 << BITS) - 1
    return [
        units >> BITS * (LIMBS - 1),
        *(units >> BITS * place & mask for place in range(LIMBS - 2, -1, -1)),
    ]


def split(value: float) -> tuple[float, float]:
    """Return two numbers of at most 27 bits, whose sum is the value."""
    high = value * SPLITTER - (value * SPLITTER - value)
    return high, value - high


def exact_quotient(total: Ints, weight: int, unit: int = 1) -> float:
    """Return an exact sum, int64 (70,), divided by weight / unit, which is positive, and rounded once."""
    up, down = int(total[UP]), int(total[DOWN])
    if up or down:
        return math.nan if up and down else math.inf if up else -math.inf
    whole = _whole(total)
    try:
        return whole * unit / (weight << LEAST)  # integers: one division, correctly rounded
    except OverflowError:  # rounded weighted terms can exceed the exact mean
        return math.inf if whole > 0 else -math.inf


def exact_product(values: Floats, times: Ints) -> int:
    """Return the sum of finite values, each taken so many times, in units of 2^-1074; exact in any order."""
    total: Ints = np.zeros(SIZE, np.int64)
    high = (np.ascontiguousarray(values).view(np.int64) & -(1 << EXACT_BITS + 1)).view(np.float64)
    low, sign, left, unit = values - high, np.sign(times), np.abs(times), 1.0
    while left.any():
        digits = sign * (left & (1 << EXACT_BITS) - 1) * unit
        for part in (high, low):
            add_exact(part * digits, NO_WEIGHT, total)
        left, unit = left >> EXACT_BITS, unit * 2.0**EXACT_BITS
    return _whole(total)


def exact_mean(values: Floats) -> float:
    """Return the mean of the values that are not NaN, rounded once; NaN if there are none."""
    total: Ints = np.zeros(SIZE, np.int64)
    add_exact(values, NO_WEIGHT, total)
    n_defined = int(np.count_nonzero(~np.isnan(values)))
    return exact_quotient(total, n_defined) if n_defined else math.nan


def scaled_sum(values: Floats, times: Ints | None = None) -> Any:
    """Return the sum of the values that are not NaN, each taken so many times, in units of 1 / `SCALE`.

    It is exact but for what terms have below 2^-156, so that no grouping changes it; an integer, or infinite.
    """
    if np.isinf(values).any():
        return float(np.nansum(values if times is None else values * times))
    terms = [values]
    if times is not None:
        high = (np.ascontiguousarray(values).view(np.int64) & -(1 << EXACT_BITS + 1)).view(np.float64)
        low, high_times = times & ((1 << EXACT_BITS) - 1), times >> EXACT_BITS
        terms = [high * low, (values - high) * low]
        if high_times.any():
            terms += [part * high_times * 2.0**EXACT_BITS for part in (high, values - high)]
    total: Ints = np.zeros(LIMBS, np.int64)
    for part in terms:
        sum_terms(np.ascontiguousarray(part), NO_WEIGHT, total, total)
    return as_integer(total)
