"""Fused scores from their definitions, one row at a time, in plain Python."""

import math
from collections.abc import Callable, Sequence

Listed = list[tuple[int, float]]  # the labels of a row with their scores, best first


def fused_row(rule: str, rows: Sequence[Listed], weights: Sequence[float], longest: int) -> dict[int, float]:
    """Return the fused score of each label that any model lists in a row."""
    labels = sorted({label for row in rows for label, _ in row})
    n = len(rows)
    found = {}
    for label in labels:
        parts = []
        for number, (row, weight) in enumerate(zip(rows, weights, strict=True)):
            rank = next((place for place, (own, _) in enumerate(row, 1) if own == label), None)
            part = PARTS[rule](rank, row, len(labels), longest, (n - number) / (n + 1))
            parts.append(weight * part)
        total = max(parts) if rule == "round_robin" else math.fsum(parts)
        found[label] = total if rule in ("rrf", "sum", "borda") else total / math.fsum(weights)
    return found


def best_first(scores: dict[int, float], k: int | None) -> list[int]:
    """Return labels by score, of equal ones the smaller first."""
    return sorted(scores, key=lambda label: (-scores[label], label))[:k]


def _of_score(transform: Callable[[float, Listed], float]) -> Callable[..., float]:
    def part(rank: int | None, row: Listed, *_: float) -> float:
        return 0.0 if rank is None else transform(row[rank - 1][1], row)

    return part


def _borda(rank: int | None, row: Listed, n_listed: int, *_: float) -> float:
    left = [*range(1, n_listed - len(row) + 1)]  # points that the model has not given
    return n_listed - rank + 1 if rank is not None else sum(left) / len(left)


PARTS: dict[str, Callable[..., float]] = {
    "rrf": lambda rank, *_: 0.0 if rank is None else 1 / (60 + rank),
    "mean": _of_score(lambda score, row: score),
    "sum": _of_score(lambda score, row: score),
    "sigmoid": _of_score(lambda score, row: 1 / (1 + math.exp(-score))),
    "softmax": _of_score(lambda score, row: math.exp(score) / math.fsum(math.exp(s) for _, s in row)),
    "rank": lambda rank, row, n, longest, first: 0.0 if rank is None else longest - rank + 1,
    "borda": _borda,
    "round_robin": lambda rank, row, n, longest, first: 0.0 if rank is None else longest - rank + 1 + first,
}
