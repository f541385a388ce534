"""Exact sums of float64 numbers of any size: limbs over the whole range of their exponents.

A sum is an int64 array of limbs of 32 bits, lowest first, in units of 2^-1074; then the numbers of terms that
were inf and -inf. All limbs but the last lie in [0, 2^32), so that equal sums have equal limbs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel

WIDTH = 32
N_LIMBS = 68  # 2098 bits of float64, and room for 2^64 terms
UP, DOWN = N_LIMBS, N_LIMBS + 1  # places of the counts of inf and -inf
SIZE = N_LIMBS + 2
LEAST = 1074  # the smallest float64 is 2^-1074
LOW = (1 << WIDTH) - 1
OFTEN = (1 << 20) - 1  # terms between carries
SMALL = 1 << 42  # so many terms below this fit in 62 bits


@kernel
def carry_exact(total: Ints) -> None:
    """Carry between the limbs of a sum, int64 (70,), until they are canonical."""
    for limb in range(N_LIMBS - 1):
        total[limb + 1] += total[limb] >> WIDTH
        total[limb] &= LOW


@kernel
def add_bits(total: Ints, bits: Any, place: int, sign: int) -> None:
    """Add sign * bits * 2^place units to a sum, int64 (70,), without a carry; bits below 2^62, place >= 0."""
    limb, shift = place >> 5, place & (WIDTH - 1)
    low, high = (bits & LOW) << shift, (bits >> WIDTH) << shift
    total[limb] += sign * (low & LOW)
    total[limb + 1] += sign * ((low >> WIDTH) + (high & LOW))
    total[limb + 2] += sign * (high >> WIDTH)


@kernel
def add_exact(values: Floats, weight: Floats, total: Ints) -> None:
    """Add weighted values, skipping NaN and values of weight 0.

    values : float64 (n,); weight : float64 (n,), or (0,) for equal weights
    total : int64 (70,), added to
    """
    integers = np.int64(0)  # sum of the terms that are small integers, the most frequent ones
    for i in range(values.size):
        if i & OFTEN == OFTEN:
            add_bits(total, abs(integers), LEAST, 1 if integers > 0 else -1)
            integers = np.int64(0)
            carry_exact(total)
        value = values[i]
        if weight.size:
            value = value * weight[i] if weight[i] > 0.0 else 0.0
        if abs(value) < SMALL:
            rounded = np.int64(value)
            if rounded == value:
                integers += rounded
                continue
        if np.isnan(value):
            continue
        if np.isinf(value):
            total[UP if value > 0.0 else DOWN] += 1
            continue
        mantissa, exponent = math.frexp(abs(value))
        whole = np.int64(math.ldexp(mantissa, 53))
        place = exponent - 53 + LEAST
        if place < 0:  # subnormal: the last bits are zeros
            whole >>= -place
            place = 0
        add_bits(total, whole, place, 1 if value > 0.0 else -1)
    add_bits(total, abs(integers), LEAST, 1 if integers > 0 else -1)
    carry_exact(total)
