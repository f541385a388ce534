"""The oracle of abstaining: a row and all rows whose largest score is not lower."""

import math
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.metrics import NAN, Case, measures, row_weights, rows, unlisted_score

MEASURES = measures(["aurc", "risk"], cutoffs=["k"])


class Row(NamedTuple):
    """A row that counts: its largest score, its loss and its weight."""

    score: float
    loss: Fraction
    weight: Fraction


def largest(case: Case, i: int) -> float:
    """Largest score of a row, that of its unlisted labels included; -inf without any."""
    unlisted = unlisted_score(case)
    assert case.listed is not None
    scores = [s for _, s in case.listed[i] if s is not None]
    if unlisted is not None and len(scores) < case.n_labels:
        scores.append(unlisted)
    return max(scores, default=-math.inf)


def counted_rows(case: Case, k: int) -> list[Row]:
    """The rows of positive weight whose precision at k is defined; the loss is 1 - precision."""
    precisions = rows("p", case, None, k)
    assert precisions is not None
    counted = []
    for i, (p, weight) in enumerate(zip(precisions, row_weights(case), strict=True)):
        if weight and not math.isnan(p):
            loss = 1 - Fraction(p).limit_denominator(k)
            counted.append(Row(largest(case, i), loss, Fraction(weight)))
    return counted


def total_weight(rows: list[Row]) -> Fraction:
    return sum((row.weight for row in rows), Fraction(0))


def mean_loss(rows: list[Row]) -> Fraction:
    losses = sum((row.loss * row.weight for row in rows), Fraction(0))
    return losses / total_weight(rows)


def value(case: Case, k: int, coverage: float | None = None) -> float:
    """Risk at a coverage, or the mean over rows of the risk at their own score."""
    counted = counted_rows(case, k)
    whole = total_weight(counted)
    if not whole:
        return NAN

    def accepted(threshold: float) -> list[Row]:
        return [row for row in counted if row.score >= threshold]

    if coverage is None:
        risks = [row.weight * mean_loss(accepted(row.score)) for row in counted]
        return float(sum(risks) / whole)
    for threshold in sorted({row.score for row in counted}, reverse=True):
        if float(total_weight(accepted(threshold))) / float(whole) >= coverage:
            return float(mean_loss(accepted(threshold)))
    raise AssertionError("all rows reach every coverage")
