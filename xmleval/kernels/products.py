"""Exact products of float64 numbers, and exact sums of products of integers (counts of pairs).

A sum is an int64 array of two limbs, high first: high * 2^62 + low, 0 <= low < 2^62.
"""

from __future__ import annotations

from typing import TypeVar

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import Whole, kernel

LIMB_BITS = 62
LOW = (1 << LIMB_BITS) - 1
HALF = LIMB_BITS // 2
LOW_HALF = (1 << HALF) - 1
SCALE = 2.0**LIMB_BITS
SPLITTER = 2.0**27 + 1.0
Number = TypeVar("Number", float, Floats)


def split(value: Number) -> tuple[Number, Number]:
    """Return two float64 numbers of at most 27 bits whose sum is the value; or arrays of them."""
    high = value * SPLITTER - (value * SPLITTER - value)
    return high, value - high


split_number = kernel(split)


@kernel
def multiply(a: float, b: float) -> tuple[float, float]:
    """Return the exact product of two float64 numbers as (high, low), after Dekker (1971)."""
    a_high, a_low = split_number(a)
    b_high, b_low = split_number(b)
    high = a * b
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def add_product(limbs: Ints, a: Whole, b: Whole) -> None:
    """Add a * b, both from 0 to 2^62 - 1, to a sum, int64 (2,)."""
    a_high = a >> HALF
    a_low = a & LOW_HALF
    b_high = b >> HALF
    b_low = b & LOW_HALF
    low = limbs[1] + a_low * b_low
    middle = a_high * b_low + a_low * b_high
    carried = low >> LIMB_BITS
    low = (low & LOW) + ((middle & LOW_HALF) << HALF)
    limbs[1] = low & LOW
    limbs[0] += a_high * b_high + (middle >> HALF) + carried + (low >> LIMB_BITS)


@kernel
def sum_products(first: Ints, second: Ints, limbs: Ints) -> None:
    """Add products of numbers in 0..2^62 - 1 to a sum; int64 (n,), int64 (n,), int64 (2,)."""
    for p in range(first.size):
        add_product(limbs, first[p], second[p])


@kernel
def product_sum(limbs: Ints) -> float:
    """Return a sum, int64 (2,), or a difference of two, rounded once; at least 0."""
    high = limbs[0] + (limbs[1] >> LIMB_BITS)
    low = limbs[1] & LOW
    rounded: float = high * SCALE + float(low)
    if high <= 0:
        return rounded
    shift = 0  # bits of the low limb beyond the leading 62
    while high <= LOW >> 1:
        high = 2 * high + ((low >> (LIMB_BITS - 1)) & 1)
        low = (2 * low) & LOW
        shift += 1
    sticky = 1 if low else 0  # enough to round as the whole number does
    return float(high | sticky) * (SCALE / float(1 << shift))
