"""Three models of 400 rows and their comparison."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xmleval import Comparison, compare
from xmleval.results.differences import Difference

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
GROUPS: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}


def compared(models: Any = MODELS, rows: Any = slice(None), **options: Any) -> Comparison:
    of_rows = {name: scores[rows] for name, scores in models.items()}
    return compare(TRUTH[rows], of_rows, **{"metrics": MEASURES, **Q, **options})


def by_group(comparison: Comparison) -> dict[str, list[Difference]]:
    """Return the differences by the name of their group, or of its shares; of the whole by an empty one."""
    groups: dict[str, list[Difference]] = {}
    for difference in comparison.differences:
        name = f"share of {difference.group}" if difference.kind == "shares" else difference.group
        groups.setdefault(name, []).append(difference)
    return groups


def top(scores: Any, k: int) -> tuple[Any, Any]:
    """Return the first k labels of rows and their scores."""
    order = np.argsort(-scores, axis=1).astype(np.int32)[:, :k]
    return order, np.take_along_axis(scores, order, 1)


def errors_of(values_of: Callable[[Any], list[float]]) -> Any:
    """Return the standard errors of values of some rows, by those without each of six groups."""
    groups = np.where(CLUSTERS == 2, 1, CLUSTERS)  # two of the clusters are left out together
    values = np.array([values_of(groups != group) for group in np.unique(groups)])
    return np.sqrt(5 / 6 * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
