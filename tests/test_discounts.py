"""Discounts against decimal logarithms of 50 digits."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xmleval.discounts import RANKS_AT_ONCE, discounts, discounts_at

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
    for n in (1, RANKS_AT_ONCE - 1, RANKS_AT_ONCE, RANKS_AT_ONCE + 1):
        assert discounts(n).tolist() == discounts(2 * RANKS_AT_ONCE)[:n].tolist()
    grid = np.arange(1, 7).reshape(2, 3)
    assert discounts_at(grid).tolist() == discounts(6).reshape(2, 3).tolist()
    assert discounts_at(np.empty((2, 0), np.int64)).shape == (2, 0)
