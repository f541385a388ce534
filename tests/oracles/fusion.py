"""Fused scores from their definitions, one row at a time, in plain Python."""

import math
from collections.abc import Sequence

Listed = list[tuple[int, float]]  # the labels of a row with their scores, best first


def fused_row(
    rule: str, rows: Sequence[Listed], weights: Sequence[float], longest: int
) -> dict[int, float]:
    """Return the fused score of all labels that any model lists in a row."""
    labels = sorted({label for row in rows for label, _ in row})
    fused = {}
    for label in labels:
        credits = [credit(rule, label, row, longest) for row in rows]
        total = math.fsum(w * c for w, c in zip(weights, credits, strict=True))
        fused[label] = total if rule == "rrf" else total / math.fsum(weights)
    return fused


def credit(rule: str, label: int, row: Listed, longest: int) -> float:
    """Return what one model adds to the fused score of a label; 0 where it does not list it."""
    for rank, (listed, score) in enumerate(row, 1):
        if listed == label:
            return {"rrf": 1 / (60 + rank), "mean": score, "rank": longest - rank + 1}[rule]
    return 0.0


def best_first(scores: dict[int, float], k: int | None) -> list[int]:
    """Return labels by score; ties are broken by the smaller label id."""
    return sorted(scores, key=lambda label: (-scores[label], label))[:k]
