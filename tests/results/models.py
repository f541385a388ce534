"""Three models of 400 rows and their comparison."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xmleval import Comparison, compare
from xmleval.results.differences import Difference

TESTS = ["t", "randomisation", "paired_t", "wilcoxon"]
N = 400
L = 12
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((N, L)) < 0.25).astype(np.int8)
TRUTH[0] = 0
MODELS = {
    name: (TRUTH * signal + RNG.normal(size=(N, L))).astype(np.float32)
    for name, signal in [("good", 2.0), ("fair", 1.2), ("same", 1.2)]
}
TWO = {"good": MODELS["good"], "fair": MODELS["fair"]}
MEASURES = [
    "p@1",
    "ndcg@3",
    "ranking_loss",
    "psp@3",
    "f1.macro@3",
    "auc.micro",
    "peak_f1.micro",
    "ap.macro",
]
Q: dict[str, Any] = {"inverse_propensity": np.linspace(1, 9, L)}
TOPICS = ["rare" if label < 4 else "common" for label in range(L)]
LANGUAGES = np.where(np.arange(N) % 3, "en", "de")
CLUSTERS = np.arange(N) % 7
GROUPS: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}


def compared(models: Any = MODELS, rows: Any = slice(None), **options: Any) -> Comparison:
    """Return the comparison of models on some rows."""
    scores_of_rows = {name: scores[rows] for name, scores in models.items()}
    defaults: dict[str, Any] = {"metrics": MEASURES, **Q}
    return compare(TRUTH[rows], scores_of_rows, **defaults | options)


def by_group(comparison: Comparison) -> dict[str, list[Difference]]:
    """Return the differences by group, shares by "share of" a group; "" for all rows and labels."""
    groups: dict[str, list[Difference]] = {}
    for difference in comparison.differences:
        name = difference.group
        if difference.kind == "shares":
            name = f"share of {name}"
        groups.setdefault(name, []).append(difference)
    return groups


def top(scores: Any, k: int) -> tuple[Any, Any]:
    """Return the first k labels of rows and their scores."""
    order = np.argsort(-scores, axis=1).astype(np.int32)[:, :k]
    return order, np.take_along_axis(scores, order, 1)


def errors_of(values_of: Callable[[Any], list[float]]) -> Any:
    """Return the standard errors of values of some rows, by the jackknife over six groups."""
    groups = np.where(CLUSTERS == 2, 1, CLUSTERS)  # two clusters share a jackknife group
    values = np.array([values_of(groups != group) for group in np.unique(groups)])
    deviations = values - values.mean(axis=0)
    return np.sqrt(5 / 6 * (deviations**2).sum(axis=0))
