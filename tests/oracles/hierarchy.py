"""Hierarchical precision, recall and F1 from their definition: sets with all ancestors, in plain Python."""

import math
from collections.abc import Iterable
from typing import Any

from tests.oracles.metrics import Case, mean, predictions, row_weights, set_formula, zero_division

FORMULAS = {"h_precision": "precision", "h_recall": "recall", "h_f1": "f1"}
MEASURES = frozenset((n, a, at) for n in FORMULAS for a in ("samples", "micro") for at in ("", "k"))


def with_ancestors(labels: set[Any], edges: Iterable[tuple[Any, Any]]) -> set[Any]:
    """The labels, their parents, the parents of these, and so on."""
    found = set(labels)
    while more := {parent for child, parent in edges if child in found} - found:
        found |= more
    return found


def rows(name: str, case: Case, average: str | None, cutoff: int | str | None) -> list[float] | None:
    """The value of each row; None for a ratio of sums."""
    if average == "micro":
        return None
    k = int(cutoff) if cutoff else None
    found = []
    for y, h in zip(case.truth, predictions(case, k), strict=True):
        counts = _counts(with_ancestors(y, case.edges), with_ancestors(h, case.edges), 1.0)
        found.append(set_formula(FORMULAS[name], counts, zero_division(case), 1.0))
    return found


def value(name: str, case: Case, average: str | None, cutoff: int | str | None) -> float:
    """The mean of rows, or the formula of the sums over rows."""
    found = rows(name, case, average, cutoff)
    if found is not None:
        return mean(found, row_weights(case))
    k = int(cutoff) if cutoff else None
    several = zip(case.truth, predictions(case, k), row_weights(case), strict=True)
    sets = [(with_ancestors(y, case.edges), with_ancestors(h, case.edges), w) for y, h, w in several]
    tp, fp, fn, tn = (math.fsum(part) for part in zip(*(_counts(*one) for one in sets), strict=True))
    return set_formula(FORMULAS[name], (tp, fp, fn, tn), zero_division(case), 1.0)


def _counts(y: set[int], h: set[int], w: float) -> tuple[float, float, float, float]:
    return w * len(y & h), w * len(h - y), w * len(y - h), w
