"""Discounts 1 / log2(1 + rank) and their sums, bit-identical on every processor.

Logarithms of NumPy and the C library differ in the last bit between processors. These kernels use
only +, -,
* and /, which IEEE 754 rounds identically everywhere, on pairs of float64 (high, low) with about
  twice the
precision.

With n = 2^e m, 1 <= m < 2, and c the leading `TABLE_BITS` + 1 bits of m:

    log2(n) = e + log2(c) + log2(m / c),    log2(m / c) = 2 / ln(2) * atanh((m - c) / (m + c))
"""

from __future__ import annotations

import math

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import multiply

TABLE_BITS = 7
N_LOGS = 1 << TABLE_BITS
LN2 = 0.6931471805599453
# Gauss-Legendre quadrature of 12 points: within rounding of the integral of a discount over a
# factor of 2
NODES = np.array(
    [
        0.1252334085114689,
        0.3678314989981802,
        0.5873179542866175,
        0.7699026741943047,
        0.9041172563704749,
        0.9815606342467192,
    ]
)
WEIGHTS = np.array(
    [
        0.2491470458134028,
        0.2334925365383548,
        0.2031674267230659,
        0.1600783285433462,
        0.1069393259953184,
        0.0471753363865118,
    ]
)


@kernel
def log2_of(number: float, logs: Floats) -> float:
    """Return log2 of a number of at least 1; a test shows correct rounding of integers below 2^17.

    logs : float64 (2, N_LOGS + 1), high and low parts of log2(1 + i / N_LOGS) for each i, and of 2
        / ln(2); high parts of logarithms are multiples of 2^-40, so that adding e to them is exact
    """
    mantissa, exponent = math.frexp(number)  # 1/2 <= mantissa < 1
    place = int(mantissa * (2 * N_LOGS)) - N_LOGS
    nearby = math.ldexp(float(N_LOGS + place), exponent - 1 - TABLE_BITS)  # 2^e c

    # s = (m - c) / (m + c), at most 2^-8; the remainder of the division gives the low part
    above = number - nearby
    total = number + nearby
    s = above / total
    product, error = multiply(s, total)
    s_low = ((above - product) - error) / total

    # 2 / ln(2) * (s + s^3 / 3 + s^5 / 5 + ...): float64 suffices for the small higher powers
    square = s * s
    series = s * square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9)))
    high, low = multiply(s, logs[0, N_LOGS])
    low = low + (s * logs[1, N_LOGS] + (s_low + series) * logs[0, N_LOGS])

    whole = float(exponent - 1) + logs[0, place]
    result = whole + high
    lost = high - (result - whole)  # exact, since whole >= high
    rounded: float = result + (lost + (low + logs[1, place]))
    return rounded


@kernel
def write_discounts(ranks: Ints, logs: Floats, out: Floats) -> None:
    """Write 1 / log2(1 + rank) of all ranks; int64 (n,), logs as in `log2_of`, float64 (n,)."""
    for i in range(ranks.size):
        out[i] = 1.0 / log2_of(1.0 + ranks[i], logs)


@kernel
def write_logs(numbers: Floats, logs: Floats, out: Floats) -> None:
    """Write log2 of numbers >= 1, infinite or NaN; float64 (n,), logs as in `log2_of`."""
    for i in range(numbers.size):
        out[i] = log2_of(numbers[i], logs) if numbers[i] < np.inf else numbers[i]


@kernel
def discount_of(rank: int, table: Floats, logs: Floats) -> float:
    """Return the discount of a rank; table : float64 (t,), of first ranks; see `log2_of`."""
    if rank <= table.size:
        discount: float = table[rank - 1]
        return discount
    return 1.0 / log2_of(1.0 + rank, logs)


@kernel
def integrate_discount(start: float, stop: float, logs: Floats) -> float:
    """Return the integral of 1 / log2(x), stop at most 2 start; logs as in `log2_of`."""
    middle = (start + stop) / 2.0
    half = (stop - start) / 2.0
    total = 0.0
    for i in range(NODES.size):
        step = half * NODES[i]
        total += WEIGHTS[i] * (
            1.0 / log2_of(middle - step, logs) + 1.0 / log2_of(middle + step, logs)
        )
    return half * total


@kernel
def slope_term(x: float, logs: Floats) -> float:
    """Return Euler-Maclaurin terms at x for sums of 1 / log2(x); the next one is in x^-3."""
    log = log2_of(x, logs)
    return 0.5 / log - 1.0 / (12.0 * LN2 * x * log * log)


@kernel
def add_far_discounts(ranks: Ints, first: int, logs: Floats, sums: Floats) -> None:
    """Add the discounts of ranks beyond ``first`` up to each rank, by the Euler-Maclaurin formula.

    ranks : int64 (n,), above ``first``; logs as in `log2_of`; sums : float64 (n,), added to
    """
    areas = np.zeros(64)  # from the first rank to each double of it
    start = 1.0 + first
    end = slope_term(start, logs)
    n_areas = 1
    doubled = start
    for i in range(ranks.size):
        x = 1.0 + ranks[i]
        while 2.0 * doubled <= x:
            areas[n_areas] = areas[n_areas - 1] + integrate_discount(doubled, 2.0 * doubled, logs)
            doubled *= 2.0
            n_areas += 1
        number = int(math.frexp(x / start)[1]) - 1
        area = areas[number] + integrate_discount(math.ldexp(start, number), x, logs)
        sums[i] += area + (slope_term(x, logs) - end)
