"""Judged labels among the first k."""

from __future__ import annotations

from tests.oracles.metrics import Case, mean, row_weights, top

MEASURES: frozenset[tuple[str, str | None, str]] = frozenset([("judged", None, "k")])


def rows(case: Case, k: int) -> list[float]:
    """Judged labels among the first k / k, row by row."""
    assert case.grades is not None
    return [len(set(top(case, i, k)) & set(graded)) / k for i, graded in enumerate(case.grades)]


def value(case: Case, k: int) -> float:
    """The mean over rows."""
    return mean(rows(case, k), row_weights(case))
