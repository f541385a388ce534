"""Judged labels among the first k."""

from tests.oracles.metrics import Case, measures, top

MEASURES = measures(["judged"], cutoffs=["k"])


def rows(case: Case, k: int) -> list[float]:
    """Judged labels among the first k, over k or the length of a shorter list, row by row."""
    assert case.grades is not None
    shares = []
    for i, judged in enumerate(case.grades):
        first = set(top(case, i, k))
        n_judged = len(first & judged.keys())
        shares.append(n_judged / max(1, len(first)))
    return shares
