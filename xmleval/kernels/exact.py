"""Exact sums of float64 numbers of any size: limbs over the whole range of their exponents.

A sum is one int64 array: limbs of 32 bits, the lowest first and in units of 2^-1074, then how many terms
were infinite, and how many negatively so. Limbs but the last lie in [0, 2^32): equal sums, equal limbs.
"""

from __future__ import annotations

import math

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.records import Floats, Ints

WIDTH = 32
N_LIMBS = 68  # 2098 bits of float64, and room for 2^64 terms
UP, DOWN = N_LIMBS, N_LIMBS + 1  # places of the numbers of infinite terms
SIZE = N_LIMBS + 2
LEAST = 1074  # the smallest float64 is 2^-1074
LOW = (1 << WIDTH) - 1
OFTEN = (1 << 20) - 1  # terms between carries


@kernel
def carry_exact(total: Ints) -> None:
    """Bring a sum that was added limb by limb back to canonical limbs, int64 (70,)."""
    for limb in range(N_LIMBS - 1):
        total[limb + 1] += total[limb] >> WIDTH
        total[limb] &= LOW


@kernel
def add_exact(values: Floats, weight: Floats, total: Ints) -> None:
    """Add weighted values, leaving out NaN and what weighs nothing.

    values : float64 (n,); weight : float64 (n,), or (0,) where all weigh one
    total : int64 (70,), added to
    """
    for i in range(values.size):
        if i & OFTEN == OFTEN:
            carry_exact(total)
        value = values[i]
        if weight.size:
            value = value * weight[i] if weight[i] > 0.0 else 0.0
        if np.isnan(value) or value == 0.0:
            continue
        if np.isinf(value):
            total[UP if value > 0.0 else DOWN] += 1
            continue
        mantissa, exponent = math.frexp(abs(value))
        whole = np.int64(math.ldexp(mantissa, 53))
        place = exponent - 53 + LEAST
        if place < 0:  # of a subnormal number, whose last bits are zeros
            whole >>= -place
            place = 0
        sign = 1 if value > 0.0 else -1
        limb, shift = place >> 5, place & (WIDTH - 1)
        low, high = (whole & LOW) << shift, (whole >> WIDTH) << shift
        total[limb] += sign * (low & LOW)
        total[limb + 1] += sign * ((low >> WIDTH) + (high & LOW))
        total[limb + 2] += sign * (high >> WIDTH)
    carry_exact(total)
