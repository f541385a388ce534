"""The first k labels of every row, found where the scores are, so that no more of them travels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmleval.engine.settings import SCORED, Settings


def depth_of(metrics: str | Iterable[str] | None, n_labels: int, options: dict[str, Any]) -> int | None:
    """Return how many labels of a row the measures read; None for all, or if those left out have a score."""
    settings = Settings.checked(metrics, n_labels, **options)
    plan = settings.plan(frozenset({"y_score", SCORED}))
    return None if plan.unlisted is not None else plan.depth


def leading(scores: Any, depth: int | None) -> Any:
    """Return labels and scores of the first ``depth`` labels of a tensor (m, l); for None, the tensor."""
    if depth is None:
        return scores
    values, labels = scores.topk(depth, dim=1)
    return labels, values
