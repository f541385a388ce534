"""The families of measures in xmleval: public calls with input checks and defaults."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workloads import Workload

CUTOFFS = (1, 3, 5)
AT_K = [f"{name}@{k}" for name in ("p", "ndcg", "r", "psp", "psndcg") for k in CUTOFFS]
SETS = ["f1.micro", "f1.macro", "f1.samples"]
RANKING = ["one_error", "coverage", "ranking_loss", "lrap", "auc.samples"]

Call = Callable[[], dict[str, float]]


class Prepared(NamedTuple):
    """Calls to time one after another, by title, and the size of their inputs."""

    steps: dict[str, Call]
    n_bytes: int = 0


def lists_of_five(workload: Workload) -> dict[str, Any]:
    """Top-5 arrays, with propensities."""
    return _given(workload, y_score=workload.top(5), inverse_propensity=workload.propensity)


def matrix_of_scores(workload: Workload) -> dict[str, Any]:
    """CSR scores, with propensities."""
    return _given(workload, y_score=workload.score_matrix(), inverse_propensity=workload.propensity)


def predicted_sets(workload: Workload) -> dict[str, Any]:
    """Sparse 0/1 predictions, five per row."""
    return _given(workload, y_pred=workload.sets())


def stored_scores(workload: Workload) -> dict[str, Any]:
    """Top-k arrays of full depth."""
    return _given(workload, y_score=(workload.labels, workload.scores))


def dense_scores(workload: Workload) -> dict[str, Any]:
    """A dense matrix of scores."""
    return _given(workload, y_score=workload.scores)


def _given(workload: Workload, **more: Any) -> dict[str, Any]:
    return {"y_true": workload.truth, **more}


def evaluated(
    workload: Workload, given: Callable[[Workload], dict[str, Any]], metrics: list[str], threads: int | None
) -> Prepared:
    """Compute all measures of a family in one call."""
    import xmleval  # missing in the interpreters of other libraries

    arguments = given(workload)

    def call() -> dict[str, float]:
        report = xmleval.evaluate(**arguments, metrics=metrics, threads=threads)
        return {name: float(report[name]) for name in metrics}

    return Prepared({"all": call}, sum(map(n_bytes, arguments.values())))


def sorted_keys(workload: Workload, threads: int | None) -> Prepared:
    """Sort the stored scores, a part per thread: a lower bound for methods that sort."""
    threads = threads or available_processors()  # as in an evaluation
    parts = np.array_split(workload.scores.ravel(), threads)
    pool = ThreadPoolExecutor(threads)

    def call() -> dict[str, float]:
        list(pool.map(np.sort, parts))
        return {}

    return Prepared({"all": call}, workload.scores.nbytes)


def available_processors() -> int:
    """Return how many threads an evaluation takes."""
    from xmleval.base import threads  # here, because earlier versions do not have it

    return threads.available_processors()


def n_bytes(given: Any) -> int:
    """Return the bytes of an array, of a pair of arrays, or of a sparse matrix."""
    parts = given if isinstance(given, tuple) else (given,)
    if not hasattr(given, "nbytes") and not isinstance(given, tuple):
        parts = (given.data, given.indices, given.indptr)
    return sum(int(part.nbytes) for part in parts)
