"""Judged labels among the first k."""

from tests.oracles.metrics import Case, top

MEASURES: frozenset[tuple[str, str | None, str]] = frozenset([("judged", None, "k")])


def rows(case: Case, k: int) -> list[float]:
    """Judged labels among the first k, over k or the length of a shorter list, row by row."""
    assert case.grades is not None
    first = [set(top(case, i, k)) for i in range(len(case.truth))]
    return [len(own & {*graded}) / max(1, len(own)) for own, graded in zip(first, case.grades, strict=True)]
