"""Three models of 400 rows and their comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval import compare
from xmleval.input.clusters import folds_of_clusters
from xmleval.report.compared import Compared

TESTS = ["t", "randomisation", "paired_t", "wilcoxon"]
N, L = 400, 12
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((N, L)) < 0.25).astype(np.int8)
TRUTH[0] = 0
MODELS = {
    name: (TRUTH * signal + RNG.normal(size=(N, L))).astype(np.float32)
    for name, signal in (("good", 2.0), ("fair", 1.2), ("same", 1.2))
}
TWO = {name: MODELS[name] for name in ("good", "fair")}
MEASURES = ["p@1", "ndcg@3", "ranking_loss", "psp@3", "f1.macro@3", "auc.micro", "peak_f1.micro", "ap.macro"]
Q: dict[str, Any] = {"inverse_propensity": np.linspace(1, 9, L)}
TOPICS = ["rare" if label < 4 else "common" for label in range(L)]
LANGUAGES = np.where(np.arange(N) % 3, "en", "de")
CLUSTERS = np.arange(N) % 7
FOLDS = folds_of_clusters(CLUSTERS, N)  # which rows are left out together
GROUPS: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}


def compared(models: Any = MODELS, **options: Any) -> Compared:
    return compare(models, TRUTH, **{"metrics": MEASURES, **Q, **options})


def top(scores: Any, k: int) -> tuple[Any, Any]:
    """Return the first k labels of rows and their scores."""
    order = np.argsort(-scores, axis=1).astype(np.int32)[:, :k]
    return order, np.take_along_axis(scores, order, 1)


def jackknife_error(replicates: Any) -> float:
    """Return the standard error from the values without each fold."""
    n = len(replicates)
    return float(np.sqrt((n - 1) / n * np.sum((replicates - np.mean(replicates)) ** 2)))
