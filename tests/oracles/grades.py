"""Discounts of ranks, and gains of grades of relevance: 2^grade - 1 or the grade, none of grades up to 0."""

from __future__ import annotations

import math
from collections.abc import Iterable


def gain(rule: object, grade: float) -> float:
    """1 for a relevant label ("binary"), its grade ("linear") or 2^grade - 1 ("exp")."""
    assert rule in ("binary", "linear", "exp")
    if grade <= 0:
        return 0.0
    return {"binary": 1.0, "linear": grade, "exp": math.pow(2.0, grade) - 1.0}[str(rule)]


def discount(rank: int) -> float:
    """1 / log2(1 + rank)."""
    return 1.0 / math.log2(1 + rank)


def unit_ideal(n: int) -> float:
    """Sum of the discounts of ranks 1..n."""
    return math.fsum(discount(r) for r in range(1, n + 1))


def ideal_dcg(gains: Iterable[float], k: int | None) -> float:
    """Sum of gain / log2(1 + rank) in the best order of the gains."""
    best = sorted(gains, reverse=True)[:k]
    return math.fsum(one * discount(rank) for rank, one in enumerate(best, 1))
