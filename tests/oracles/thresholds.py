"""Exhaustive search for decision rules: all thresholds that differ in effect, all sets."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.oracles.metrics import Case, unlisted_score

Sets = list[set[int]]


def floor(case: Case) -> float:
    """The lowest threshold; one below it would predict every unlisted label."""
    unlisted = unlisted_score(case)
    return -math.inf if unlisted is None else unlisted


def scores_of(case: Case) -> list[dict[int, float]]:
    """Listed scores, row by row."""
    assert case.listed is not None
    return [{j: float(s) for j, s in row if s is not None} for row in case.listed]


def candidates(case: Case, scores: Sequence[float]) -> list[float]:
    """All thresholds that differ in effect, highest first."""
    lowest = floor(case)
    thresholds = {math.inf, lowest, *(s for s in scores if s >= lowest)}
    return sorted(thresholds, reverse=True)


def above(scores: dict[int, float], threshold: float) -> set[int]:
    """The set that a threshold predicts."""
    return {j for j, s in scores.items() if s > threshold}


def f1(y: set[Any], h: set[Any]) -> Fraction:
    """2 |h & Y| / (|h| + |Y|), 0 for 0/0."""
    return Fraction(2 * len(y & h), max(len(y) + len(h), 1))


def columns(sets: Sets, n_labels: int) -> Sets:
    """The rows of every label."""
    return [{i for i, row in enumerate(sets) if j in row} for j in range(n_labels)]


def cells(sets: Sets) -> set[tuple[int, int]]:
    """All (row, label) pairs of sets."""
    return {(i, j) for i, row in enumerate(sets) for j in row}


def goodness(measure: str | None, truth: Sets, sets: Sets, n_labels: int) -> Fraction:
    """A number that is larger for better sets: the measure, or its negative for a loss.

    None compares the label cardinality of the sets with that of the truth.
    """
    if measure is None:
        return Fraction(-abs(sum(map(len, sets)) - sum(map(len, truth))))
    if measure == "hamming_loss":
        return Fraction(-sum(len(y ^ h) for y, h in zip(truth, sets, strict=True)))
    if measure == "f1.micro":
        return f1(cells(truth), cells(sets))
    if measure == "f1.macro":
        truth = columns(truth, n_labels)
        sets = columns(sets, n_labels)
    return sum((f1(y, h) for y, h in zip(truth, sets, strict=True)), Fraction())


def best_option(case: Case, measure: str | None, options: Sequence[Sets]) -> Sets:
    """The best sets of a case by a measure, the first of equals."""
    return max(options, key=lambda sets: goodness(measure, case.truth, sets, case.n_labels))


def constant(case: Case, measure: str | None) -> Sets:
    """The sets of the best threshold."""
    rows = scores_of(case)
    thresholds = candidates(case, [s for row in rows for s in row.values()])
    options = [[above(row, threshold) for row in rows] for threshold in thresholds]
    return best_option(case, measure, options)


def rank(case: Case, measure: str, ranked: list[list[int]]) -> Sets:
    """The sets of the best number of labels, the same in every row."""
    options = [[set(row[:k]) for row in ranked] for k in range(1, case.n_labels + 1)]
    return best_option(case, measure, options)


def by_weight(
    case: Case, k: int, ranked: list[list[int]], weights: Sequence[float], offsets: Sequence[float]
) -> Sets:
    """The k labels of every row with the highest weight x score + offset.

    Of equal ones, the first ranked are chosen.
    """
    sets = []
    for labels, scores in zip(ranked, scores_of(case), strict=True):
        weighted = {j: weights[j] * scores[j] + offsets[j] for j in labels}
        best_first = sorted(labels, key=weighted.__getitem__, reverse=True)  # stable
        sets.append(set(best_first[:k]))
    return sets


def expected(
    name: str, rows: Sequence[dict[int, float]], sets: Sets, n_true: Sequence[int]
) -> Fraction:
    """The expected sum over labels of F1, precision or recall.

    Rows are probabilities of labels; every label has one relevant row more than ``n_true``.
    """
    total = Fraction()
    for j, q in enumerate(n_true):
        predicted = [row for row, h in zip(rows, sets, strict=True) if j in h]
        n = len(predicted)
        tp = sum((Fraction(row[j]) for row in predicted), Fraction())
        if name == "f1":
            total += 2 * tp / (n + q + 1)
        elif name == "recall":
            total += tp / (q + 1)
        else:
            total += tp / max(n, 1)
    return total


def ascent(name: str, k: int, rows: Sequence[dict[int, float]], n_true: Sequence[int]) -> Sets:
    """Rows in turn take the best of all sets of k labels, until none changes."""
    sets: Sets = [set() for _ in rows]
    while True:
        before = list(sets)
        for i, row in enumerate(rows):
            choices = itertools.combinations(row, min(k, len(row)))
            options = [[*sets[:i], set(labels), *sets[i + 1 :]] for labels in choices]
            sets = max(options, key=lambda option: expected(name, rows, option, n_true))
        if sets == before:
            return sets


def one_group(
    case: Case, measure: str, y: set[int], scores: dict[int, float]
) -> tuple[set[int], float]:
    """The best set of a single row, or a single label, and its F1."""
    by = "hamming_loss" if measure == "hamming_loss" else "f1.samples"
    options = [above(scores, threshold) for threshold in candidates(case, [*scores.values()])]
    best = max(options, key=lambda h: goodness(by, [y], [h], case.n_labels))
    return best, float(f1(y, best))


def label(case: Case, measure: str, fbr: float = 0.0) -> Sets:
    """The sets of the best threshold of every label; none where its F1 is below fbr."""
    sets: Sets = [set() for _ in case.truth]
    for j, y in enumerate(columns(case.truth, case.n_labels)):
        scores = {i: row[j] for i, row in enumerate(scores_of(case)) if j in row}
        best, value = one_group(case, measure, y, scores)
        if value >= fbr:
            for i in best:
                sets[i].add(j)
    return sets


def rows(case: Case, measure: str) -> Sets:
    """The best set of every row."""
    sets = []
    for y, scores in zip(case.truth, scores_of(case), strict=True):
        best, _ = one_group(case, measure, y, scores)
        sets.append(best)
    return sets
