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
        if rule in ("mean", "rank"):
            total /= math.fsum(weights)
        if rule == "mnz":
            listing = [label in dict(row) for row in rows]
            total = math.fsum(credits) * math.fsum(
                w * i for w, i in zip(weights, listing, strict=True)
            )
        fused[label] = total
    return fused


def normalized(norm: str | None, row: Listed) -> Listed:
    """Return the labels of a row with their scores on the scale of a norm."""
    if norm is None or not row:
        return row
    scores = [score for _, score in row]
    if norm == "rank":
        return [(label, 1 - place / len(row)) for place, (label, _) in enumerate(row)]
    if norm == "min-max":
        spread = max(max(scores) - min(scores), 1e-9)
        return [(label, (score - min(scores)) / spread) for label, score in row]
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(label, (score - mean) / max(deviation, 1e-9)) for label, score in row]


def credit(rule: str, label: int, row: Listed, longest: int) -> float:
    """Return what one model adds to the fused score of a label; 0 where it does not list it."""
    for rank, (listed, score) in enumerate(row, 1):
        if listed == label:
            return {"rrf": 1 / (60 + rank), "rank": longest - rank + 1}.get(rule, score)
    return 0.0


def best_first(scores: dict[int, float], k: int | None) -> list[int]:
    """Return labels by score; ties are broken by the smaller label id."""
    return sorted(scores, key=lambda label: (-scores[label], label))[:k]
