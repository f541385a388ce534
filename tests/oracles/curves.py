"""The oracle of measures of pooled scores: every cell of every row, compared with every other one."""

import math
import sys
from collections.abc import Iterable
from fractions import Fraction

from tests.oracles.metrics import NAN, TIE_WEIGHT, Case, convention, mean, row_weights

AVERAGES = ("micro", "macro", "weighted")
POINTS = ("recall_at_precision", "precision_at_recall", "fpr_at_tpr")
MEASURES = frozenset(
    [(name, average, "") for name in ("auc", "ap", *POINTS) for average in AVERAGES]
    + [("ap", "geometric", ""), ("peak_f1", "micro", ""), ("peak_f1", "macro", "")]
)
Cell = tuple[float, bool, bool, Fraction]  # score, relevant, listed, weight of its row


def cells_of(case: Case) -> list[list[Cell]]:
    """Cells of every label, one for each row that counts; unlisted ones at their score, or below all."""
    fill = convention(case, "unlisted")
    assert case.listed is not None
    below = -math.inf if fill == "below" else float(str(fill))
    columns: list[list[Cell]] = [[] for _ in range(case.n_labels)]
    for relevant, listed, weight in zip(case.truth, case.listed, row_weights(case), strict=True):
        if weight == 0:
            continue
        scores = {j: s for j, s in listed if s is not None}
        for j, column in enumerate(columns):
            # a stored score in a matrix that is the number its absence stands for counts as absent
            says_nothing = case.kind == "matrix" and fill != "below" and scores.get(j) == below
            known = j in scores and not says_nothing
            score = scores.get(j, below)
            if known and below == -math.inf:  # a listed score of -inf ranks above unlisted labels
                score = max(score, -sys.float_info.max)
            column.append((score, j in relevant, known, Fraction(weight)))
    return columns


def auc(cells: list[Cell], ties: str) -> float:
    """Weight of pairs f+ > f- plus credit for those f+ = f-, over that of all; a pair weighs the product."""
    good, bad = [c for c in cells if c[1]], [c for c in cells if not c[1]]
    credit = Fraction(TIE_WEIGHT[ties])
    total = sum(c[3] for c in good) * sum(c[3] for c in bad)
    earned = sum(w * x * (credit if s == t else s > t) for s, _, _, w in good for t, _, _, x in bad)
    return float(earned / total) if total else NAN


def cuts(cells: list[Cell]) -> list[tuple[Fraction, Fraction]]:
    """Weights of (relevant cells, all cells) at or above each score that occurs, best first."""
    levels = sorted({c[0] for c in cells}, reverse=True)
    above = [[c for c in cells if c[0] >= t] for t in levels]
    return [(weight_of(c for c in some if c[1]), weight_of(some)) for some in above]


def weight_of(cells: Iterable[Cell]) -> Fraction:
    """Total weight of cells."""
    return sum((weight for *_, weight in cells), Fraction(0))


def ap(cells: list[Cell], otherwise: float) -> float:
    """Sum over thresholds of (R_n - R_{n-1}) P_n; without relevant cells there is none."""
    relevant = weight_of(c for c in cells if c[1])
    if not relevant:
        return otherwise
    total, before = Fraction(0), Fraction(0)
    for hits, size in cuts(cells):
        total += (hits - before) / relevant * hits / size
        before = hits
    return float(total)


def peak_f1(cells: list[Cell]) -> float:
    """Max over thresholds of 2 tp / (predicted + relevant)."""
    relevant = weight_of(c for c in cells if c[1])
    return float(max((2 * hits / (size + relevant) for hits, size in cuts(cells)), default=0))


def at_point(name: str, cells: list[Cell], number: float) -> float:
    """Best of one rate over thresholds that reach ``number`` of the other; quotients are those of float64."""
    relevant = weight_of(c for c in cells if c[1])
    irrelevant = weight_of(cells) - relevant
    if not relevant or (name == "fpr_at_tpr" and not irrelevant):
        return NAN
    found = []
    for hits, size in cuts(cells):
        precision, recall = float(hits) / float(size), float(hits) / float(relevant)
        if name == "recall_at_precision" and precision >= number:
            found.append(recall)
        if name == "precision_at_recall" and recall >= number:
            found.append(precision)
        if name == "fpr_at_tpr" and recall >= number:
            found.append(-float(size - hits) / float(irrelevant))
    best = max(found, default=0.0)
    return -best if name == "fpr_at_tpr" else best


def partial_auc(cells: list[Cell], most: float) -> float:
    """Trapezoids under the ROC curve up to a false positive rate, with McClish's standardisation."""
    relevant = weight_of(c for c in cells if c[1])
    irrelevant = weight_of(cells) - relevant
    if not relevant or not irrelevant:
        return NAN
    area, x, y, end = Fraction(0), Fraction(0), Fraction(0), Fraction(most)
    for hits, size in cuts(cells):
        u, v = (size - hits) / irrelevant, hits / relevant
        if u > end:  # the point where the curve crosses the end
            u, v = end, y + (v - y) * (end - x) / (u - x)
        area += (u - x) * (y + v) / 2
        x, y = u, v
        if x == end:
            break
    least = end**2 / 2
    return float((1 + (area - least) / (end - least)) / 2)


def value(name: str, case: Case, average: str | None, **number: float) -> float:
    """One measure of a case; nan where it is undefined."""

    def of(cells: list[Cell]) -> float:
        if number:
            (x,) = number.values()
            return partial_auc(cells, x) if name == "auc" else at_point(name, cells, x)
        if name == "auc":
            return auc(cells, str(convention(case, "auc_ties")))
        if name == "ap":
            zero = convention(case, "ap_empty") == "zero" and average != "geometric"
            return ap(cells, 0.0 if zero else NAN)
        return peak_f1(cells)

    columns = cells_of(case)
    if average == "micro":
        return of([cell for column in columns for cell in column])
    if name in ("ap", "peak_f1") and convention(case, "labels") != "all":
        columns = [column for column in columns if any(c[1] for c in column)]
    if average == "geometric":  # root of the product of n values
        values = [own for column in columns if (own := of(column)) == own]
        return math.prod(values) ** (1 / len(values)) if values else NAN
    support = [
        float(weight_of(c for c in column if c[1])) if average == "weighted" else 1.0 for column in columns
    ]
    support = support if any(support) else [1.0] * len(columns)  # as in scikit-learn
    return mean([of(column) for column in columns], support)
