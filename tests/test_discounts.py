"""Discounts against decimal logarithms of 50 digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmleval.discounts import TABULATED, discount_sums, discounts, discounts_at

CONTEXT = Context(prec=50)
LN2 = CONTEXT.ln(Decimal(2))


def discount(rank: int) -> float:
    """Round log2(1 + rank), then its reciprocal."""
    return 1.0 / float(CONTEXT.divide(CONTEXT.ln(Decimal(1 + rank)), LN2))


def test_the_first_discounts_are_correctly_rounded() -> None:
    logs = [Decimal(0)] * ((1 << 16) + 2)
    for n in range(2, len(logs)):
        if not logs[n]:  # a prime: its powers and their multiples add up
            log = CONTEXT.divide(CONTEXT.ln(Decimal(n)), LN2)
            power = n
            while power < len(logs):
                for multiple in range(power, len(logs), power):
                    logs[multiple] = CONTEXT.add(logs[multiple], log)
                power *= n
    assert discounts(1 << 16).tolist() == [1.0 / float(log) for log in logs[2:]]


@given(ranks=st.lists(st.integers(1, 50).flatmap(lambda bits: st.integers(1, 2**bits))))
def test_discounts_far_down_the_list(ranks: list[int]) -> None:
    found = discounts_at(np.array(ranks, np.int64))
    assert found.tolist() == [discount(rank) for rank in ranks]


def test_shapes() -> None:
    assert discounts(0).tolist() == []
    assert discounts(3).tolist() == [1.0, discount(2), 0.5]
    grid = np.arange(1, 7).reshape(2, 3)
    assert discounts_at(grid).tolist() == discounts(6).reshape(2, 3).tolist()
    assert discounts_at(np.empty((2, 0), np.int64)).shape == (2, 0)


def far_sum(x: int) -> Decimal:
    """Return the integral of ln(2) / ln(x), with the Euler-Maclaurin terms of a sum."""
    log = CONTEXT.ln(Decimal(x))
    area = Decimal("0.57721566490153286060651209008240243104215933593992") + CONTEXT.ln(log)
    power = Decimal(1)
    for n in range(1, 300):
        power = power * log / n
        area += power / n
    return LN2 * (area + Decimal("0.5") / log - 1 / (12 * x * log * log))


@pytest.mark.parametrize("rank", [TABULATED + 1, 10**5, 2 * TABULATED + 1, 10**6 + 7, 2**31, 10**12, 2**40])
def test_sums_of_discounts_far_down_the_list(rank: int) -> None:
    own, first = float(discount_sums(np.array([rank]))[0]), discounts(TABULATED)
    want = Decimal(math.fsum(first)) + far_sum(rank + 1) - far_sum(TABULATED + 1)
    assert own == pytest.approx(float(want), rel=2e-14)  # the first are summed one by one


def test_discounts_far_down_the_list_need_no_table() -> None:
    deepest = 4 * TABULATED
    each = (1.0 / np.log2(np.arange(2, deepest + 2))).tolist()
    ranks = np.array([0, 1, TABULATED - 1, TABULATED, TABULATED + 1, 2 * TABULATED, deepest])
    want = [math.fsum(each[:rank]) for rank in ranks]
    np.testing.assert_allclose(discount_sums(ranks), want, rtol=1e-13)
