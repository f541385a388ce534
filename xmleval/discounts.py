"""Discounts 1 / log2(1 + rank) of discounted cumulative gains, and their sums."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from xmleval.records import Floats, Ints

TABULATED = 1 << 16  # discounts summed one by one


@cache
def tabulated_discounts() -> Floats:
    """Return the sums of the first discounts, of none to TABULATED of them."""
    discounts = 1.0 / np.log2(np.arange(2, TABULATED + 2, dtype=np.float64))
    sums = np.concatenate(([0.0], np.cumsum(discounts)))
    sums.flags.writeable = False
    return sums


def discount_sums(ranks: Ints) -> Floats:
    """Return the sum of the first discounts for each number of ranks.

    Far down the list it is the integral of ln 2 / ln x, with the Euler-Maclaurin correction of the trapezoid
    rule, so that memory does not follow the ranks.
    """
    sums = tabulated_discounts()[np.minimum(ranks, TABULATED)]
    far = np.flatnonzero(ranks > TABULATED)
    if far.size:
        from scipy.special import expi  # costs start-up time that few need

        x = np.append(ranks[far], TABULATED) + 1.0
        log = np.log(x)
        area = math.log(2) * (expi(log) + 0.5 / log - 1.0 / (12.0 * x * log**2))
        sums[far] += area[:-1] - area[-1]
    return sums
