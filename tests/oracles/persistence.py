"""Rank-biased precision (Moffat & Zobel 2008) and its residual."""

import math

from tests.oracles.metrics import NAN, Case, Cutoff, convention, empty_row, measures, top

NAMES = ("rbp", "rbp_residual")
MEASURES = measures(NAMES, cutoffs=["k", "all"])


def rows(name: str, case: Case, cutoff: Cutoff, p: float) -> list[float]:
    """Values row by row."""
    n_ranks = None
    if cutoff != "all":
        n_ranks = int(str(cutoff))
    row_value = residual_row if name == "rbp_residual" else rbp_row
    return [row_value(case, i, n_ranks, p) for i in range(len(case.truth))]


def first(case: Case, i: int, n_ranks: int | None) -> list[int]:
    """The first labels of row i that can be credited."""
    return top(case, i, case.n_labels if n_ranks is None else n_ranks)


def rbp_row(case: Case, i: int, n_ranks: int | None, p: float) -> float:
    """(1 - p) sum over hits of p^(rank - 1)."""
    if not case.truth[i]:
        return empty_row("rbp", case)
    ranked = first(case, i, n_ranks)
    return (1 - p) * math.fsum(p**place for place, j in enumerate(ranked) if j in case.truth[i])


def residual_row(case: Case, i: int, n_ranks: int | None, p: float) -> float:
    """p^d + (1 - p) sum over unjudged ranks up to the last one, d, of p^(rank - 1).

    Without grades, all labels are judged.
    """
    if not case.truth[i] and convention(case, "empty") == "skip":
        return NAN
    ranked = first(case, i, n_ranks)
    unjudged: list[int] = []
    if case.grades is not None:
        unjudged = [place for place, j in enumerate(ranked) if j not in case.grades[i]]
    return p ** len(ranked) + (1 - p) * math.fsum(p**place for place in unjudged)
