"""Exact sums as floats and over tables, and discounts against decimal logarithms of 50 digits."""

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
limbs = st.tuples(
    st.integers(-(1 << 40), 1 << 40),
    *(st.sampled_from([0, 1, ONE - 1]) | st.integers(0, ONE - 1),) * (LIMBS - 1),
)


@given(rows=st.lists(limbs, min_size=1, max_size=4))
def test_floats_are_those_of_the_sum(rows: list[tuple[int, ...]]) -> None:
    for value, row in zip(as_floats(np.array(rows, np.int64)).tolist(), rows, strict=True):
        expected = exact(row)
        assert abs(Fraction(value) - expected) <= Fraction(math.ulp(float(expected)))
        assert as_integer(np.array(row, np.int64)) == expected * (1 << BITS * (LIMBS - 1))


@given(
    values=st.lists(st.integers(-(1 << 53), 1 << 53).map(lambda n: n / (1 << 60)) | st.just(math.nan)),
    seed=seeds,
)
def test_sums_of_repeated_values_are_exact(values: list[float], seed: int) -> None:
    rng, array = np.random.default_rng(seed), np.array(values)
    times = rng.choice([1, 2, 1000, (1 << 26) - 1, 1 << 26, (1 << 40) + 1], array.size)
    pairs = [(Fraction(x), int(n)) for x, n in zip(values, times, strict=True) if not math.isnan(x)]
    assert Fraction(scaled_sum(array, times), SCALE) == sum((x * n for x, n in pairs), Fraction())
    assert scaled_sum(np.repeat(array, times % 50)) == scaled_sum(array, times % 50)
    assert scaled_sum(np.array([*values, np.inf])) == np.inf
    assert scaled_sum(np.array([1.0, -np.inf]), np.array([1, 3])) == -np.inf


edges = st.sampled_from([0.0, -0.0, 1.0, LARGE / 2, np.nextafter(LARGE, 0.0), 2.0**-108, 0.1])


@given(values=st.lists(edges | edges.map(float.__neg__) | st.integers(-1000, 1000).map(float), min_size=1))
def test_means_are_rounded_once(values: list[float]) -> None:
    assert exact_mean(np.array(values)) == float(sum(map(Fraction, values)) / len(values))


def discount(rank: int) -> float:
    """Round log2(1 + rank), then its reciprocal."""
    return 1.0 / float(CONTEXT.divide(CONTEXT.ln(Decimal(1 + rank)), LN2))


@given(ranks=st.lists(st.integers(1, 50).flatmap(lambda bits: st.integers(1, 2**bits))))
def test_discounts_far_down_the_list_are_correctly_rounded(ranks: list[int]) -> None:
    assert discounts_at(np.array(ranks, np.int64)).tolist() == [discount(rank) for rank in ranks]


def test_all_first_discounts_are_correctly_rounded() -> None:
    logs = [Decimal(0)] * ((1 << 16) + 2)
    for n in range(2, len(logs)):
        if not logs[n]:  # a prime: its powers and their multiples add up
            log, power = CONTEXT.divide(CONTEXT.ln(Decimal(n)), LN2), n
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
    area = Decimal("0.57721566490153286060651209008240243104215933593992") + CONTEXT.ln(log)
    power = Decimal(1)
    for n in range(1, 300):
        power = power * log / n
        area += power / n
    return LN2 * (area + Decimal("0.5") / log - 1 / (12 * x * log * log))


@pytest.mark.parametrize("rank", [0, 1, TABULATED - 1, TABULATED, TABULATED + 1, 10**5, 2**31, 2**40])
def test_sums_of_discounts_far_down_the_list(rank: int) -> None:
    first = math.fsum(discounts(min(rank, TABULATED)))
    expected = Decimal(first)
    if rank > TABULATED:
        expected += far_sum(rank + 1) - far_sum(TABULATED + 1)
    assert discount_sums(np.array([rank]))[0] == pytest.approx(float(expected), rel=2e-14)


def fraction_of(pair: Any) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


def test_split_sums_are_exact_at_their_limits() -> None:
    ptr, ids, ranks, slots = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, int), np.zeros(2, int)
    for q in (1.0, 1.5 - 2.0**-52, 2.0 - 2.0**-21, 2.0**30 - 2.0**-22, 2.0**30):
        most = [hit_tables.LARGEST_SUM - q - 1, 1.0 - 2.0**-21 - 2.0**-52]
        gains = np.array([[[0.0, 0.0], most]])
        ideals, before = gains[:, 1:].copy(), fraction_of(most)
        hit_tables.sum_exact_gains(ptr, ids, ranks, slots, np.array([q]), gains, ideals)
        assert fraction_of(gains[0, 1]) == fraction_of(ideals[0, 0]) == before + Fraction(q)
