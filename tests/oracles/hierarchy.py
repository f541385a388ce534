"""Hierarchical precision, recall and F1 from their definition, in plain Python.

Relevant and predicted sets are those with all ancestors of their labels.
"""

import math
from collections.abc import Iterable
from typing import Any

from tests.oracles.metrics import (
    Case,
    Counts,
    mean,
    measures,
    predictions,
    row_weights,
    set_formula,
    zero_division,
)

FORMULAS = {"h_precision": "precision", "h_recall": "recall", "h_f1": "f1"}
MEASURES = measures(FORMULAS, ["samples", "micro"], ["", "k"])


def with_ancestors(labels: set[Any], edges: Iterable[tuple[Any, Any]]) -> set[Any]:
    """The labels, their parents, the parents' parents, and so on."""
    closed = set(labels)
    while True:
        parents = {parent for child, parent in edges if child in closed}
        if parents <= closed:
            return closed
        closed |= parents


def counts_of_rows(case: Case, cutoff: int | str | None) -> list[Counts]:
    """tp, fp and fn row by row, with all ancestors; no formula reads tn."""
    k = int(cutoff) if cutoff else None
    counts: list[Counts] = []
    for relevant, predicted in zip(case.truth, predictions(case, k), strict=True):
        y = with_ancestors(relevant, case.edges)
        h = with_ancestors(predicted, case.edges)
        counts.append((len(y & h), len(h - y), len(y - h), 0))
    return counts


def rows(
    name: str, case: Case, average: str | None, cutoff: int | str | None
) -> list[float] | None:
    """The values of the rows; None for a ratio of sums."""
    if average == "micro":
        return None
    zero = zero_division(case)
    values = []
    for i, row in enumerate(counts_of_rows(case, cutoff)):
        value = set_formula(FORMULAS[name], row, zero, 1.0)
        values.append(value if case.counted(i) else math.nan)
    return values


def value(name: str, case: Case, average: str | None, cutoff: int | str | None) -> float:
    """The mean of rows, or the formula of the sums over rows."""
    weights = row_weights(case)
    values = rows(name, case, average, cutoff)
    if values is not None:
        return mean(values, weights)
    weighted = list(zip(weights, counts_of_rows(case, cutoff), strict=True))
    tp = math.fsum(w * tp for w, (tp, _, _, _) in weighted)
    fp = math.fsum(w * fp for w, (_, fp, _, _) in weighted)
    fn = math.fsum(w * fn for w, (_, _, fn, _) in weighted)
    return set_formula(FORMULAS[name], (tp, fp, fn, 0.0), zero_division(case), 1.0)
