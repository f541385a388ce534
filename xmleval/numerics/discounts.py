"""Discounts 1 / log2(1 + rank) and their sums; see `xmleval.kernels.discounting`."""

from __future__ import annotations

from decimal import Context, Decimal
from functools import cache, lru_cache

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.discounting import N_LOGS, add_far_discounts, write_discounts, write_logs

TABULATED = 1 << 16  # discounts summed one by one
LEAST_BITS = 7  # of the length of a table, which is a power of 2
TABLE_UNITS = 2.0**40  # high parts of logarithms are multiples of 1 / TABLE_UNITS


def discounts(n: int) -> Floats:
    """Return 1 / log2(1 + rank) for the ranks 1..n, float64 (n,)."""
    if n <= TABULATED:
        return first_discounts(n)[:n]
    return discounts_at(np.arange(1, n + 1))


def discounts_at(ranks: Ints) -> Floats:
    """Return 1 / log2(1 + rank) for each rank from 1 to 2^52, float64, in the shape of ``ranks``.

    The logarithm is rounded once, its reciprocal once more.
    """
    out = np.empty(ranks.shape)
    write_discounts(ranks.reshape(-1), tabulated_logs(), out.reshape(-1))
    return out


def logs_of(numbers: Floats) -> Floats:
    """Return log2 of numbers of at least 1, float64 (n,)."""
    out = np.empty(numbers.shape)
    write_logs(numbers, tabulated_logs(), out)
    return out


@cache
def tabulated_logs() -> Floats:
    """Return the logarithms that `kernels.discounting.log2_of` reads, from `decimal`."""
    context = Context(prec=40)
    ln2 = context.ln(Decimal(2))
    ratios = [context.divide(Decimal(N_LOGS + i), Decimal(N_LOGS)) for i in range(N_LOGS)]
    numbers = [context.divide(context.ln(ratio), ln2) for ratio in ratios]
    highs = [round(float(log) * TABLE_UNITS) / TABLE_UNITS for log in numbers]
    # the last column has 2 / ln(2), in two parts like the logarithms
    numbers.append(context.divide(Decimal(2), ln2))
    highs.append(float(numbers[-1]))
    lows = []
    for number, high in zip(numbers, highs, strict=True):
        lows.append(float(context.subtract(number, Decimal(high))))
    return _make_constant(np.array([highs, lows]))


@lru_cache
def first_discounts(n: int) -> Floats:
    """Return at least the discounts of the ranks 1..n, but no more than the first `TABULATED`."""
    return _table(_bits_for(n))


def _bits_for(n: int) -> int:
    """Return the logarithm of the length of a table with the first n discounts."""
    return max(LEAST_BITS, (min(n, TABULATED) - 1).bit_length())


@cache
def _table(bits: int) -> Floats:
    """Return the first 2^bits discounts."""
    return _make_constant(discounts_at(np.arange(1, (1 << bits) + 1)))


@lru_cache
def _first_sums(n: int) -> Floats:
    """Return the sums of the first 0..n discounts, and perhaps more, up to `TABULATED`."""
    return _table_of_sums(_bits_for(n))


@cache
def _table_of_sums(bits: int) -> Floats:
    """Return the sums of the first 0..2^bits discounts."""
    return _make_constant(np.concatenate(([0.0], np.cumsum(_table(bits)))))


def _make_constant(array: Floats) -> Floats:
    """Make an array read-only, as all callers share it."""
    array.flags.writeable = False
    return array


def discount_sums(ranks: Ints, most: int | None = None) -> Floats:
    """Return the sum of the first discounts for each number of ranks; ``most`` is their maximum."""
    if most is None:
        most = int(ranks.max(initial=1))
    sums = _first_sums(most)[np.minimum(ranks, TABULATED)]
    far = ranks > TABULATED
    if far.any():
        sums_of_far = sums[far]
        add_far_discounts(ranks[far], TABULATED, tabulated_logs(), sums_of_far)
        sums[far] = sums_of_far
    return sums
