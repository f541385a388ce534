"""The oracle of measures of pooled scores: every cell of every row is compared with all others."""

import math
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.metrics import (
    NAN,
    TIE_WEIGHT,
    Case,
    convention,
    mean,
    measures,
    row_weights,
    unlisted_score,
)

POINTS = ("recall_at_precision", "precision_at_recall", "fpr_at_tpr")
MEASURES = (
    measures(["auc", "ap", *POINTS], ["micro", "macro", "weighted"])
    | measures(["ap"], ["geometric"])
    | measures(["peak_f1"], ["micro", "macro"])
)


class Cell(NamedTuple):
    """A label of a row."""

    score: float
    relevant: bool
    listed: bool
    weight: Fraction  # of its row


def cells_of(case: Case) -> list[list[Cell]]:
    """Cells of every label in the rows of positive weight; unlisted ones get a score, too."""
    default = unlisted_score(case)
    assert case.listed is not None
    columns: list[list[Cell]] = [[] for _ in range(case.n_labels)]
    rows = zip(case.truth, case.listed, row_weights(case), strict=True)
    for i, (relevant, listed, weight) in enumerate(rows):
        if weight == 0:
            continue
        scores = {j: s for j, s in listed if s is not None}
        for j in case.counted(i):
            is_listed = j in scores
            if default is not None:
                score = scores.get(j, default)
                if case.kind == "matrix" and score == default:
                    is_listed = False  # a matrix may store the score of unlisted labels
            elif is_listed:  # a listed score of -inf ranks above unlisted labels
                score = max(scores[j], -sys.float_info.max)
            else:
                score = -math.inf
            columns[j].append(Cell(score, j in relevant, is_listed, Fraction(weight)))
    return columns


def weight_of(cells: Iterable[Cell]) -> Fraction:
    """Total weight of cells."""
    return sum((cell.weight for cell in cells), Fraction(0))


def relevant_of(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.relevant]


def auc(cells: list[Cell], ties: str) -> float:
    """Weight of pairs f+ > f-, plus credit for those f+ = f-, over that of all pairs.

    The weight of a pair is the product of the weights of its cells.
    """
    relevant = relevant_of(cells)
    irrelevant = [cell for cell in cells if not cell.relevant]
    total = weight_of(relevant) * weight_of(irrelevant)
    if not total:
        return NAN
    credit = Fraction(TIE_WEIGHT[ties])
    earned = Fraction(0)
    for u in relevant:
        for v in irrelevant:
            if u.score > v.score:
                earned += u.weight * v.weight
            elif u.score == v.score:
                earned += u.weight * v.weight * credit
    return float(earned / total)


def cuts(cells: list[Cell]) -> list[tuple[Fraction, Fraction]]:
    """Weights of (relevant cells, all cells) at or above each score that occurs, best first."""
    weights = []
    for threshold in sorted({cell.score for cell in cells}, reverse=True):
        predicted = [cell for cell in cells if cell.score >= threshold]
        weights.append((weight_of(relevant_of(predicted)), weight_of(predicted)))
    return weights


def ap(cells: list[Cell], otherwise: float) -> float:
    """Sum over thresholds of (R_n - R_{n-1}) P_n; `otherwise` without relevant cells."""
    relevant = weight_of(relevant_of(cells))
    if not relevant:
        return otherwise
    total = Fraction(0)
    before = Fraction(0)
    for hits, size in cuts(cells):
        total += (hits - before) / relevant * hits / size
        before = hits
    return float(total)


def interpolated_ap(cells: list[Cell], otherwise: float) -> float:
    """Sum over thresholds of (R_n - R_{n-1}) max P_m over m >= n; `otherwise` as in `ap`."""
    relevant = weight_of(relevant_of(cells))
    if not relevant:
        return otherwise
    points = [(Fraction(0), Fraction(0))]
    points += [(hits / relevant, hits / size) for hits, size in cuts(cells)]
    total = Fraction(0)
    for n in range(1, len(points)):
        recall = points[n][0] - points[n - 1][0]
        total += recall * max(precision for _, precision in points[n:])
    return float(total)


def peak_f1(cells: list[Cell]) -> float:
    """Maximum over thresholds of 2 tp / (predicted + relevant)."""
    relevant = weight_of(relevant_of(cells))
    values = [2 * hits / (size + relevant) for hits, size in cuts(cells)]
    return float(max(values, default=0))


def at_point(name: str, cells: list[Cell], number: float) -> float:
    """Best value of one rate over the thresholds at which the other reaches ``number``.

    Rates are quotients of float64.
    """
    relevant = weight_of(relevant_of(cells))
    irrelevant = weight_of(cells) - relevant
    if not relevant or (name == "fpr_at_tpr" and not irrelevant):
        return NAN
    values = []
    for hits, size in cuts(cells):
        precision = float(hits) / float(size)
        recall = float(hits) / float(relevant)
        if name == "recall_at_precision" and precision >= number:
            values.append(recall)
        if name == "precision_at_recall" and recall >= number:
            values.append(precision)
        if name == "fpr_at_tpr" and recall >= number:
            values.append(float(size - hits) / float(irrelevant))
    if name == "fpr_at_tpr":
        return min(values, default=0.0)
    return max(values, default=0.0)


def partial_auc(cells: list[Cell], max_fpr: float) -> float:
    """Trapezoids under the ROC curve up to a false positive rate, standardised as by McClish."""
    relevant = weight_of(relevant_of(cells))
    irrelevant = weight_of(cells) - relevant
    if not relevant or not irrelevant:
        return NAN
    area = Fraction(0)
    x = Fraction(0)
    y = Fraction(0)
    end = Fraction(max_fpr)
    for hits, size in cuts(cells):
        next_x = (size - hits) / irrelevant
        next_y = hits / relevant
        if next_x > end:  # the point where the curve crosses the end
            next_y = y + (next_y - y) * (end - x) / (next_x - x)
            next_x = end
        area += (next_x - x) * (y + next_y) / 2
        x = next_x
        y = next_y
        if x == end:
            break
    least = end**2 / 2
    return float((1 + (area - least) / (end - least)) / 2)


def value_of_cells(
    name: str, case: Case, average: str | None, cells: list[Cell], number: float | None
) -> float:
    """One measure of some cells of a case; nan where it is undefined."""
    if name in POINTS:
        assert number is not None
        return at_point(name, cells, number)
    if name == "auc":
        if number is not None:
            return partial_auc(cells, number)
        return auc(cells, str(convention(case, "auc_ties")))
    if name == "ap":
        is_zero = convention(case, "ap_empty") == "zero" and average != "geometric"
        otherwise = 0.0 if is_zero else NAN
        return ap(cells, otherwise) if number is None else interpolated_ap(cells, otherwise)
    return peak_f1(cells)


def value(name: str, case: Case, average: str | None, **params: float) -> float:
    """One measure of a case; nan where it is undefined."""
    number = next(iter(params.values()), None)
    columns = cells_of(case)
    if average == "micro":
        cells = [cell for column in columns for cell in column]
        return value_of_cells(name, case, average, cells, number)
    if name in ("ap", "peak_f1") and convention(case, "labels") != "all":
        columns = [column for column in columns if relevant_of(column)]
    values = [value_of_cells(name, case, average, column, number) for column in columns]
    if average == "geometric":
        return geometric_mean(values)
    equal = [1.0] * len(columns)
    support = [float(weight_of(relevant_of(column))) for column in columns]
    if average == "weighted" and any(support):  # as in scikit-learn
        return mean(values, support)
    return mean(values, equal)


def geometric_mean(values: list[float]) -> float:
    """Root of the product of the n values that are not nan; nan without any."""
    defined = [v for v in values if not math.isnan(v)]
    if not defined:
        return NAN
    return math.prod(defined) ** (1 / len(defined))
