"""Measures of trec_eval and gdeval: bpref, interpolated precision and ERR."""

import math

from tests.oracles.metrics import NAN, Case, convention, measures, top

WHOLE = ("bpref", "iprec", "map_11pt")
NAMES = (*WHOLE, "err")
MEASURES = measures(WHOLE) | measures(["err"], cutoffs=["k"])


def rows(name: str, case: Case, k: int | None, **params: float) -> list[float]:
    """Values row by row."""
    ids = range(len(case.truth))
    if name == "err":
        return [err_row(case, i, k or 0, params["max_grade"]) for i in ids]
    return [whole_row(name, case, i, **params) for i in ids]


def whole_row(name: str, case: Case, i: int, recall: float = 0.0) -> float:
    """Measures of all labels that can be credited; 0/0 without relevant labels."""
    if not case.truth[i]:
        return {"zero": 0.0, "one": 1.0, "skip": NAN}[str(convention(case, "empty"))]
    ranked = top(case, i, case.n_labels)
    if name == "bpref":
        return bpref_row(case, i, ranked)
    if name == "iprec":
        return interpolated(case, i, ranked, recall)
    return math.fsum(interpolated(case, i, ranked, level / 10) for level in range(11)) / 11


def bpref_row(case: Case, i: int, ranked: list[int]) -> float:
    """1 / R sum over ranked relevant labels of 1 - min(judged irrelevant above, R) / min(R, N)."""
    assert case.grades is not None
    relevant = case.truth[i]
    irrelevant = case.grades[i].keys() - relevant
    size = len(relevant)
    terms = []
    for place, j in enumerate(ranked):
        if j in relevant:
            above = len(irrelevant & set(ranked[:place]))
            share = min(above, size) / min(size, len(irrelevant)) if above else 0.0
            terms.append(1 - share)
    return math.fsum(terms) / size


def interpolated(case: Case, i: int, ranked: list[int], recall: float) -> float:
    """Largest precision at any rank with at least floor(recall R + 0.9) hits."""
    needed = math.floor(recall * len(case.truth[i]) + 0.9)
    best = 0.0
    hits = 0
    for rank, j in enumerate(ranked, 1):
        hits += j in case.truth[i]
        if hits >= needed:
            best = max(best, hits / rank)
    return best


def err_row(case: Case, i: int, k: int, max_grade: float) -> float:
    """Sum over ranks of R_rank / rank prod above (1 - R), R = (2^grade - 1) / 2^max_grade."""
    assert case.grades is not None
    grades = {j: grade for j, grade in case.grades[i].items() if grade > 0}
    if not grades and convention(case, "empty") == "skip":
        return NAN
    terms = []
    left = 1.0
    for rank, j in enumerate(top(case, i, k), 1):
        share = (2 ** grades.get(j, 0.0) - 1) / 2**max_grade
        terms.append(left * share / rank)
        left *= 1 - share
    return math.fsum(terms)
