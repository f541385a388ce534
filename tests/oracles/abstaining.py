"""The oracle of abstaining: every row, with all rows whose largest score is not lower."""

import math
from fractions import Fraction

from tests.oracles.metrics import NAN, Case, convention, row_weights, rows

MEASURES = frozenset([("aurc", None, "k"), ("risk", None, "k")])


def largest(case: Case, i: int) -> float:
    """Largest score of a row, that of its unlisted labels included; -inf without any."""
    fill = convention(case, "unlisted")
    assert case.listed is not None
    scores = [s for _, s in case.listed[i] if s is not None]
    if fill != "below" and len(scores) < case.n_labels:
        scores.append(float(str(fill)))
    return max(scores, default=-math.inf)


def value(case: Case, k: int, coverage: float | None = None) -> float:
    """Risk at a coverage, or the mean over rows of the risk at their own score."""
    precisions = rows("p", case, None, k)
    assert precisions is not None
    kept = [
        (largest(case, i), 1 - Fraction(p).limit_denominator(k), Fraction(weight))
        for i, (p, weight) in enumerate(zip(precisions, row_weights(case), strict=True))
        if not math.isnan(p) and weight
    ]
    whole = sum(weight for *_, weight in kept)
    if not whole:
        return NAN

    def accepted(threshold: float) -> tuple[Fraction, Fraction]:
        some = [(loss, weight) for score, loss, weight in kept if score >= threshold]
        total = sum((weight for _, weight in some), Fraction(0))
        return total, sum((loss * weight for loss, weight in some), Fraction(0)) / total

    if coverage is None:
        return float(sum(weight * accepted(score)[1] for score, _, weight in kept) / whole)
    for score in sorted({score for score, *_ in kept}, reverse=True):
        total, risk = accepted(score)
        if float(total) / float(whole) >= coverage:
            return float(risk)
    raise AssertionError("all rows reach every coverage")
