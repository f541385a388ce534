"""The oracle of margins: all pairs of a relevant and an irrelevant cell of a row, or of a label."""

import math

from tests.oracles.metrics import NAN, Case, mean, measures, row_weights, unlisted_score

FAR = 2.0**80  # from which on sums of margins count numbers as infinite
MEASURES = measures(["margin", "margin_share"], ["samples", "macro"])
Cell = tuple[float, bool]  # score, relevant


def grid(case: Case) -> list[dict[int, Cell]]:
    """All cells that count by label, row by row."""
    assert case.listed is not None
    default = unlisted_score(case)
    rows = []
    for i, (relevant, listed) in enumerate(zip(case.truth, case.listed, strict=True)):
        scores: dict[int, float] = {}
        if default is not None:
            scores = dict.fromkeys(range(case.n_labels), default)
        scores |= {j: float(s) for j, s in listed if s is not None}
        rows.append({j: (scores[j], j in relevant) for j in case.counted(i)})
    return rows


def margin(name: str, cells: list[Cell]) -> float:
    """Minimum over pairs of f+ - f-, 0 if tied, or whether f+ > f- for all; nan without pairs."""
    relevant = [score for score, is_relevant in cells if is_relevant]
    irrelevant = [score for score, is_relevant in cells if not is_relevant]
    pairs = [(u, v) for u in relevant for v in irrelevant]
    if not pairs:
        return NAN
    if name == "margin_share":
        return float(all(u > v for u, v in pairs))
    return min(0.0 if u == v else u - v for u, v in pairs)


def rows(name: str, case: Case, average: str | None) -> list[float] | None:
    """Margins of the rows."""
    if average != "samples":
        return None
    return [margin(name, [*row.values()]) for row in grid(case)]


def labels(name: str, case: Case) -> list[float]:
    """Margins of the labels, over the rows of positive weight."""
    weighted = zip(grid(case), row_weights(case), strict=True)
    counted = [row for row, weight in weighted if weight > 0]
    columns = [[row[j] for row in counted if j in row] for j in range(case.n_labels)]
    return [margin(name, column) for column in columns]


def average_of(values: list[float], weights: list[float]) -> float:
    """The mean, also of infinite values; numbers from `FAR` on count as infinite."""
    finite = []
    infinite = set()
    for value, weight in zip(values, weights, strict=True):
        is_far = abs(value) >= FAR
        finite.append(0.0 if is_far else value)
        if is_far and weight > 0:
            infinite.add(math.copysign(math.inf, value))
    if len(infinite) == 2:
        return NAN
    if infinite:
        return infinite.pop()
    return mean(finite, weights)


def value(name: str, case: Case, average: str | None) -> float:
    """One measure of a case; nan where it is undefined."""
    by_row = rows(name, case, average)
    if by_row is not None:
        return average_of(by_row, row_weights(case))
    by_label = labels(name, case)
    return average_of(by_label, [1.0] * len(by_label))
