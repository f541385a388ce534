"""Exhaustive search for decision rules: every threshold that differs in effect, every set written out."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.oracles.metrics import Case, convention

Sets = list[set[int]]


def floor(case: Case) -> float:
    """Thresholds below this would predict every unlisted label."""
    fill = convention(case, "unlisted")
    return -math.inf if fill == "below" else float(str(fill))


def scores_of(case: Case) -> list[dict[int, float]]:
    """Listed scores of each row."""
    assert case.listed is not None
    return [{j: float(s) for j, s in row if s is not None} for row in case.listed]


def candidates(case: Case, scores: Sequence[float]) -> list[float]:
    """All thresholds that differ in effect, highest first."""
    return sorted({math.inf, floor(case), *(s for s in scores if s >= floor(case))}, reverse=True)


def f1(y: set[int], h: set[int]) -> Fraction:
    """2 |h & Y| / (|h| + |Y|), 0 for 0/0."""
    return Fraction(2 * len(y & h), max(len(y) + len(h), 1))


def columns(sets: Sets, n_labels: int) -> Sets:
    """Rows of each label."""
    return [{i for i, row in enumerate(sets) if j in row} for j in range(n_labels)]


def goodness(measure: str | None, truth: Sets, sets: Sets, n_labels: int) -> Fraction:
    """Larger is better: the measure, its negative where less is better, or closeness to label cardinality."""
    if measure is None:
        return Fraction(-abs(sum(map(len, sets)) - sum(map(len, truth))))
    if measure == "hamming_loss":
        return Fraction(-sum(len(y ^ h) for y, h in zip(truth, sets, strict=True)))
    if measure == "f1.micro":
        cells = [{(i, j) for i, row in enumerate(rows) for j in row} for rows in (truth, sets)]
        return Fraction(2 * len(cells[0] & cells[1]), max(len(cells[0]) + len(cells[1]), 1))
    if measure == "f1.macro":
        truth, sets = columns(truth, n_labels), columns(sets, n_labels)
    return sum((f1(y, h) for y, h in zip(truth, sets, strict=True)), Fraction())


def first_best(options: Sequence[Sets], good: Callable[[Sets], Fraction]) -> Sets:
    """The best option, the first of equals."""
    return max(options, key=good)  # max takes the first


def constant(case: Case, measure: str | None) -> Sets:
    """The sets of the best threshold."""
    rows = scores_of(case)
    every = candidates(case, [s for row in rows for s in row.values()])
    options = [[{j for j, s in row.items() if s > t} for row in rows] for t in every]
    return first_best(options, lambda sets: goodness(measure, case.truth, sets, case.n_labels))


def rank(case: Case, measure: str, ranked: list[list[int]]) -> Sets:
    """The sets of the best number of labels of every row."""
    options = [[set(row[:r]) for row in ranked] for r in range(1, case.n_labels + 1)]
    return first_best(options, lambda sets: goodness(measure, case.truth, sets, case.n_labels))


def by_weight(
    case: Case, k: int, ranked: list[list[int]], weights: Sequence[float], offsets: Sequence[float]
) -> Sets:
    """The k labels of each row with the highest weight x score + offset, the first ranked among equals."""
    rows = zip(ranked, scores_of(case), strict=True)
    return [
        set(sorted(row, key=lambda j: -(weights[j] * scores[j] + offsets[j]))[:k]) for row, scores in rows
    ]


def expected(name: str, rows: Sequence[dict[int, float]], sets: Sets, n_true: Sequence[int]) -> Fraction:
    """The expected sum over labels of F1, precision or recall, where one row more than known is relevant."""
    total = Fraction()
    for j, q in enumerate(n_true):
        tp = sum((Fraction(row[j]) for row, h in zip(rows, sets, strict=True) if j in h), Fraction())
        n = sum(j in h for h in sets)
        whole = {"f1": n + q + 1, "precision": n, "recall": q + 1}[name]
        total += (2 if name == "f1" else 1) * tp / max(whole, 1)
    return total


def ascent(name: str, k: int, rows: Sequence[dict[int, float]], n_true: Sequence[int]) -> Sets:
    """Rows in turn take the best of all sets of k labels, until none changes."""
    sets: Sets = [set() for _ in rows]
    while True:
        before = list(sets)
        for i, row in enumerate(rows):
            options = [set(h) for h in itertools.combinations(row, min(k, len(row)))]
            sets[i] = max(options, key=lambda h: expected(name, rows, [*sets[:i], h, *sets[i + 1 :]], n_true))
        if sets == before:
            return sets


def one_group(case: Case, measure: str, y: set[int], scores: dict[int, float]) -> tuple[set[int], float]:
    """The best set of a row, or a label, by itself, and its F1."""
    every = candidates(case, list(scores.values()))
    options = [[{j for j, s in scores.items() if s > t}] for t in every]
    by = "hamming_loss" if measure == "hamming_loss" else "f1.samples"
    best = first_best(options, lambda sets: goodness(by, [y], sets, case.n_labels))[0]
    return best, float(f1(y, best))


def label(case: Case, measure: str, fbr: float = 0.0) -> Sets:
    """The sets of the best threshold of each label, none where its F1 is below fbr."""
    found: Sets = [set() for _ in case.truth]
    for j, y in enumerate(columns(case.truth, case.n_labels)):
        scores = {i: row[j] for i, row in enumerate(scores_of(case)) if j in row}
        best, value = one_group(case, measure, y, scores)
        for i in best if value >= fbr else ():
            found[i].add(j)
    return found


def rows(case: Case, measure: str) -> Sets:
    """The best set of each row."""
    pairs = zip(case.truth, scores_of(case), strict=True)
    return [one_group(case, measure, y, scores)[0] for y, scores in pairs]
