"""Exact sums against fractions, and discounts against decimal logarithms of 50 digits."""

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import exact, seeds
from xmleval.kernels import hit_tables
from xmleval.kernels.fixed import BITS, LIMBS, ONE
from xmleval.numerics.discounts import TABULATED, discount_sums, discounts, discounts_at
from xmleval.numerics.exact import LARGE, SCALE, as_floats, as_integer, exact_mean, scaled_sum

CONTEXT = Context(prec=50)
LN2 = CONTEXT.ln(Decimal(2))
EULER_GAMMA = Decimal("0.57721566490153286060651209008240243104215933593992")
limbs = st.tuples(
    st.integers(-(1 << 40), 1 << 40),
    *(st.sampled_from([0, 1, ONE - 1]) | st.integers(0, ONE - 1),) * (LIMBS - 1),
)


@given(rows=st.lists(limbs, min_size=1, max_size=4))
def test_as_floats_rounds_exact_sums(rows: list[tuple[int, ...]]) -> None:
    values = as_floats(np.array(rows, np.int64)).tolist()
    for value, row in zip(values, rows, strict=True):
        expected = exact(row)
        assert abs(Fraction(value) - expected) <= Fraction(math.ulp(float(expected)))
        assert as_integer(np.array(row, np.int64)) == expected * (1 << BITS * (LIMBS - 1))


small = st.integers(-(1 << 53), 1 << 53).map(lambda n: n / (1 << 60))


@given(values=st.lists(small | st.just(math.nan)), seed=seeds)
def test_scaled_sum_of_repeated_values_is_exact(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = np.array(values)
    times = rng.choice([1, 2, 1000, (1 << 26) - 1, 1 << 26, (1 << 40) + 1], array.size)
    expected = Fraction()
    for value, n in zip(values, times.tolist(), strict=True):
        if not math.isnan(value):
            expected += Fraction(value) * n
    assert Fraction(scaled_sum(array, times), SCALE) == expected
    assert scaled_sum(np.repeat(array, times % 50)) == scaled_sum(array, times % 50)
    assert scaled_sum(np.array([*values, np.inf])) == np.inf
    assert scaled_sum(np.array([1.0, -np.inf]), np.array([1, 3])) == -np.inf


edges = st.sampled_from([0.0, -0.0, 1.0, LARGE / 2, np.nextafter(LARGE, 0.0), 2.0**-108, 0.1])


floats = edges | edges.map(float.__neg__) | st.integers(-1000, 1000).map(float)


@given(values=st.lists(floats, min_size=1))
def test_exact_mean_is_rounded_once(values: list[float]) -> None:
    expected = sum(map(Fraction, values)) / len(values)
    assert exact_mean(np.array(values)) == float(expected)


def discount(rank: int) -> float:
    """Round log2(1 + rank), then its reciprocal."""
    return 1.0 / float(CONTEXT.divide(CONTEXT.ln(Decimal(1 + rank)), LN2))


all_ranks = st.integers(1, 50).flatmap(lambda bits: st.integers(1, 2**bits))


@given(ranks=st.lists(all_ranks))
def test_discounts_at_all_ranks_are_correctly_rounded(ranks: list[int]) -> None:
    expected = [discount(rank) for rank in ranks]
    assert discounts_at(np.array(ranks, np.int64)).tolist() == expected


def test_discounts_of_first_ranks_are_correctly_rounded() -> None:
    logs = [Decimal(0)] * ((1 << 16) + 2)
    for n in range(2, len(logs)):
        if not logs[n]:  # n is prime; its logarithm is added once for each power that divides
            log = CONTEXT.divide(CONTEXT.ln(Decimal(n)), LN2)
            power = n
            while power < len(logs):
                for multiple in range(power, len(logs), power):
                    logs[multiple] = CONTEXT.add(logs[multiple], log)
                power *= n
    assert discounts(1 << 16).tolist() == [1.0 / float(log) for log in logs[2:]]
    grid = np.arange(1, 7).reshape(2, 3)
    assert discounts_at(grid).tolist() == discounts(6).reshape(2, 3).tolist()
    assert discounts_at(np.empty((2, 0), np.int64)).shape == (2, 0)
    assert discounts(0).tolist() == []


def far_sum(x: int) -> Decimal:
    """Return the integral of ln(2) / ln(x), with the Euler-Maclaurin terms of a sum."""
    log = CONTEXT.ln(Decimal(x))
    area = EULER_GAMMA + CONTEXT.ln(log)
    power = Decimal(1)
    for n in range(1, 300):
        power = power * log / n
        area += power / n
    return LN2 * (area + Decimal("0.5") / log - 1 / (12 * x * log * log))


@pytest.mark.parametrize(
    "rank", [0, 1, TABULATED - 1, TABULATED, TABULATED + 1, 10**5, 2**31, 2**40]
)
def test_discount_sums_are_right_far_down_the_list(rank: int) -> None:
    first = math.fsum(discounts(min(rank, TABULATED)))
    expected = Decimal(first)
    if rank > TABULATED:
        expected += far_sum(rank + 1) - far_sum(TABULATED + 1)
    assert discount_sums(np.array([rank]))[0] == pytest.approx(float(expected), rel=2e-14)


def test_discount_sums_of_long_and_short_lists_are_those_of_each_alone() -> None:
    ranks = np.array([3, TABULATED + 4464, 0, TABULATED, 2**31])
    alone = [discount_sums(ranks[place : place + 1])[0] for place in range(ranks.size)]
    np.testing.assert_array_equal(discount_sums(ranks), alone)


def fraction_of(pair: Any) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


def test_sum_exact_gains_is_exact_at_its_limits() -> None:
    ptr = np.array([0, 1])
    ids = np.zeros(1, np.int32)
    ranks = np.ones(1, int)
    slots = np.zeros(2, int)
    for q in (1.0, 1.5 - 2.0**-52, 2.0 - 2.0**-21, 2.0**30 - 2.0**-22, 2.0**30):
        largest = [hit_tables.LARGEST_SUM - q - 1, 1.0 - 2.0**-21 - 2.0**-52]
        gains = np.array([[[0.0, 0.0], largest]])
        ideals = gains[:, 1:].copy()
        expected = fraction_of(largest) + Fraction(q)
        hit_tables.sum_exact_gains(ptr, ids, ranks, slots, np.array([q]), gains, ideals)
        assert fraction_of(gains[0, 1]) == expected
        assert fraction_of(ideals[0, 0]) == expected
