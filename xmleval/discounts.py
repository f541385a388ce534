"""Discounts 1 / log2(1 + rank), bit-identical on every processor.

Logarithms of NumPy and the C library differ in the last bit between processors. This module uses only +, -, *
and /, which IEEE 754 rounds identically everywhere, on pairs of float64 (high, low) with about twice the
precision. Its table of logarithms comes from `decimal`.

With n = 2^e m, 1 <= m < 2, and c the leading `TABLE_BITS` + 1 bits of m:

    log2(n) = e + log2(c) + log2(m / c),    log2(m / c) = 2 / ln(2) * atanh((m - c) / (m + c))
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import cache

import numpy as np

from xmleval.records import Floats, Ints

TABULATED = 1 << 16  # discounts summed one by one
FRACTION_BITS, EXPONENT_BIAS = 52, 1023  # of a float64
TABLE_BITS = 7
TABLE_UNITS = 2.0**40  # the table's high parts are multiples of 1 / TABLE_UNITS: adding e to them is exact
SPLITTER = 2.0**27 + 1.0  # splits the 53 bits of a float64 in halves
RANKS_AT_ONCE = 1 << 12  # keeps intermediate arrays in the level-2 cache


def discounts(n: int) -> Floats:
    """Return 1 / log2(1 + rank) for the ranks 1..n, float64 (n,)."""
    return discounts_at(np.arange(1, n + 1))


def discounts_at(ranks: Ints) -> Floats:
    """Return 1 / log2(1 + rank) for each rank, float64, in the shape of ``ranks``.

    The logarithm is rounded once, its reciprocal once more.

    Parameters
    ----------
    ranks : int64 array
        Ranks from 1 to 2^52.
    """
    flat = ranks.ravel()
    out = np.empty(flat.size)
    for start in range(0, flat.size, RANKS_AT_ONCE):
        out[start : start + RANKS_AT_ONCE] = 1.0 / _log2(
            1.0 + flat[start : start + RANKS_AT_ONCE].astype(np.float64)
        )
    return out.reshape(ranks.shape)


def _log2(numbers: Floats) -> Floats:
    """Return log2 of integers 2..2^53, given as float64; a test shows correct rounding below 2^17."""
    scale, table_high, table_low = _constants()
    bits = numbers.view(np.int64)
    exponent = (bits >> FRACTION_BITS) - EXPONENT_BIAS
    place = (bits >> (FRACTION_BITS - TABLE_BITS)) & ((1 << TABLE_BITS) - 1)
    nearby = (bits & -(1 << (FRACTION_BITS - TABLE_BITS))).view(np.float64)  # 2^e c

    # s = (m - c) / (m + c), at most 2^-8; the remainder of the division gives the low part
    above, total = numbers - nearby, numbers + nearby
    s = above / total
    product, rest = _multiply(s, total)
    s_low = ((above - product) - rest) / total

    # 2 / ln(2) * (s + s^3 / 3 + s^5 / 5 + ...): float64 suffices for the small higher powers
    square = s * s
    series = s * square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9)))
    high, low = _multiply(s, scale[0])
    low = low + (s * scale[1] + (s_low + series) * scale[0])

    whole = exponent + table_high[place]
    result = whole + high
    lost = high - (result - whole)  # exact, since whole >= high
    out: Floats = result + (lost + (low + table_low[place]))
    return out


def _multiply(a: Floats, b: Floats | float) -> tuple[Floats, Floats]:
    """Return the exact product of float64 numbers as (high, low), after Dekker (1971)."""
    a_high = a * SPLITTER - (a * SPLITTER - a)
    b_high = b * SPLITTER - (b * SPLITTER - b)
    a_low, b_low = a - a_high, b - b_high
    high = a * b
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@cache
def _constants() -> tuple[tuple[float, float], Floats, Floats]:
    """Return 2 / ln(2), and log2(1 + i / 2^TABLE_BITS) for each i, as pairs (high, low)."""
    context = Context(prec=40)
    ln2 = context.ln(Decimal(2))
    size = 1 << TABLE_BITS
    ratios = [context.divide(Decimal(size + i), Decimal(size)) for i in range(size)]
    logs = [context.divide(context.ln(ratio), ln2) for ratio in ratios]
    highs = [round(float(log) * TABLE_UNITS) / TABLE_UNITS for log in logs]
    lows = [float(context.subtract(log, Decimal(high))) for log, high in zip(logs, highs, strict=True)]
    scale = context.divide(Decimal(2), ln2)
    scale_low = float(context.subtract(scale, Decimal(float(scale))))
    return (float(scale), scale_low), np.array(highs), np.array(lows)


@cache
def tabulated_discounts() -> Floats:
    """Return the cumulative sums of the first 0..TABULATED discounts."""
    sums = np.concatenate(([0.0], np.cumsum(discounts(TABULATED))))
    sums.flags.writeable = False
    return sums


def discount_sums(ranks: Ints) -> Floats:
    """Return the sum of the first discounts for each number of ranks.

    Beyond the table it is the integral of ln 2 / ln x with the Euler-Maclaurin correction.
    """
    sums = tabulated_discounts()[np.minimum(ranks, TABULATED)]
    far = np.flatnonzero(ranks > TABULATED)
    if far.size:
        from scipy.special import expi  # slow import, rarely needed

        x = np.append(ranks[far], TABULATED) + 1.0
        log = np.log(x)
        area = math.log(2) * (expi(log) + 0.5 / log - 1.0 / (12.0 * x * log**2))
        sums[far] += area[:-1] - area[-1]
    return sums
