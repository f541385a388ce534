"""Made models that every kind of figure can show."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import xmleval
from xmleval import Compared

N_LABELS = 20
METRICS = [*(f"{name}@{k}" for name in ("p", "ndcg") for k in (1, 2, 3, 4, 5)), "f1.macro@5", "lrap"]


def made_scores(n_models: int, n_rows: int = 200) -> tuple[Any, dict[str, Any]]:
    """Return truth, and scores within [0, 1] of models that become worse."""
    rng = np.random.default_rng(7)
    truth = rng.random((n_rows, N_LABELS)) < np.linspace(0.02, 0.4, N_LABELS)
    noise = rng.normal(size=(n_models, *truth.shape)) * (1 + 0.4 * np.arange(n_models))[:, None, None]
    return truth, {f"model_{n}": 1 / (1 + np.exp(-own)) for n, own in enumerate(3 * truth - 1.5 + noise)}


@cache
def compared(n_models: int = 3) -> Compared:
    """Return models compared, with all that figures show."""
    truth, models = made_scores(n_models)
    groups = xmleval.label_groups(truth, edges=[0, 15, 40])
    kept: dict[str, Any] = {"label_groups": groups, "curve_points": 100, "per_label": True}
    return xmleval.compare(models, truth, metrics=METRICS, **kept)
