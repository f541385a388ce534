"""Fused scores from their definitions, one row at a time, in plain Python."""

import math
from collections.abc import Callable, Sequence

Listed = list[tuple[int, float]]  # the labels of a row with their scores, best first


def fused_row(rule: str, rows: Sequence[Listed], weights: Sequence[float], longest: int) -> dict[int, float]:
    """Return the fused score of each label that any model lists in a row."""
    labels = sorted({label for row in rows for label, _ in row})
    found = {}
    for label in labels:
        parts = []
        for row, weight in zip(rows, weights, strict=True):
            rank = next((place for place, (own, _) in enumerate(row, 1) if own == label), None)
            parts.append(weight * PARTS[rule](rank, row, len(labels), longest))
        total = math.fsum(parts)
        found[label] = total if rule == "rrf" else total / math.fsum(weights)
    return found


def best_first(scores: dict[int, float], k: int | None) -> list[int]:
    """Return labels by score, of equal ones the smaller first."""
    return sorted(scores, key=lambda label: (-scores[label], label))[:k]


def _score(rank: int | None, row: Listed, *_: float) -> float:
    return 0.0 if rank is None else row[rank - 1][1]


PARTS: dict[str, Callable[..., float]] = {
    "rrf": lambda rank, *_: 0.0 if rank is None else 1 / (60 + rank),
    "mean": _score,
    "rank": lambda rank, row, n, longest: 0.0 if rank is None else longest - rank + 1,
}
