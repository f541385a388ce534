"""The oracle of margins: every pair of a relevant and an irrelevant cell of a row, or of a label."""

import math

from tests.oracles.metrics import NAN, Case, convention, mean, row_weights

FAR = 2.0**80  # from which on sums of margins count numbers as infinite
MEASURES = frozenset(
    (name, average, "") for name in ("margin", "margin_share") for average in ("samples", "macro")
)


def complete(case: Case) -> bool:
    """Whether every cell has a score."""
    assert case.listed is not None
    return convention(case, "unlisted") != "below" or all(
        len({j for j, _ in row}) == case.n_labels for row in case.listed
    )


def grid(case: Case) -> list[list[float]]:
    """Scores of all cells."""
    assert case.listed is not None
    fill = convention(case, "unlisted")
    rows = []
    for listed in case.listed:
        scores = {j: float(s) for j, s in listed if s is not None}
        rows.append([scores[j] if j in scores else float(str(fill)) for j in range(case.n_labels)])
    return rows


def margin(name: str, cells: list[tuple[float, bool]]) -> float:
    """Min over pairs of f+ - f-, tied ones 0; whether all are in the right order; nan without pairs."""
    good, bad = [s for s, y in cells if y], [s for s, y in cells if not y]
    pairs = [(u, v) for u in good for v in bad]
    if not pairs:
        return NAN
    if name == "margin_share":
        return float(all(u > v for u, v in pairs))
    return min(0.0 if u == v else u - v for u, v in pairs)


def rows(name: str, case: Case, average: str | None) -> list[float] | None:
    """Margins of the rows."""
    if average != "samples":
        return None
    return [
        margin(name, [(s, j in y) for j, s in enumerate(row)])
        for y, row in zip(case.truth, grid(case), strict=True)
    ]


def labels(name: str, case: Case) -> list[float]:
    """Margins of the labels, over the rows that weigh something."""
    counted = [(y, row) for y, row, w in zip(case.truth, grid(case), row_weights(case), strict=True) if w > 0]
    return [margin(name, [(row[j], j in y) for y, row in counted]) for j in range(case.n_labels)]


def average_of(values: list[float], weights: list[float]) -> float:
    """The mean, of infinite values as well; numbers beyond what sums hold count as infinite."""
    values = [math.copysign(math.inf, v) if abs(v) >= FAR else v for v in values]
    kept = {v for v, w in zip(values, weights, strict=True) if w > 0 and math.isinf(v)}
    if kept:
        return NAN if len(kept) == 2 else kept.pop()
    return mean([v if math.isfinite(v) else NAN if v != v else 0.0 for v in values], weights)


def value(name: str, case: Case, average: str | None) -> float:
    """One measure of a case; nan where it is undefined."""
    by_row = rows(name, case, average)
    if by_row is not None:
        return average_of(by_row, row_weights(case))
    by_label = labels(name, case)
    return average_of(by_label, [1.0] * len(by_label))
