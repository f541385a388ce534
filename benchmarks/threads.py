"""Speed-up by threads: each state on one thread and on all, in interleaved runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks import ours
from benchmarks.ours import available_processors
from benchmarks.workloads import Workload, generate

MAX_ROUNDS = 25
BUDGET = 8.0  # seconds per case, after at least two rounds


class Case(NamedTuple):
    """Measures that read one state, their arguments, and the workload and its depth.

    Without measures, scores are sorted: the speed-up of threads that share nothing.
    """

    metrics: list[str]
    given: Callable[[Workload], dict[str, Any]]
    workload: str
    depth: int


def truth_alone(workload: Workload) -> dict[str, Any]:
    """Relevant labels without predictions."""
    return {"y_true": workload.truth}


def weighted_sets(workload: Workload) -> dict[str, Any]:
    """Sparse predicted sets and sample weights."""
    return _weighted(ours.predicted_sets(workload))


def weighted_scores(workload: Workload) -> dict[str, Any]:
    """Stored scores and sample weights."""
    return _weighted(ours.stored_scores(workload))


def _weighted(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, given["y_true"].shape[0])}


CASES = {
    "RankProfile, top-5 arrays": Case(ours.AT_K, ours.lists_of_five, "W4", 5),
    "LabelTotals and RowSums, sparse sets": Case(ours.SETS, ours.predicted_sets, "W4", 5),
    "LabelTotals and RowSums, sparse sets, instance weights": Case(ours.SETS, weighted_sets, "W4", 5),
    "LabelSets": Case(["label_diversity"], truth_alone, "W4", 5),
    "RowRatios, top-5 arrays": Case(["rprec.micro"], ours.stored_scores, "W4", 5),
    "Calibration, top-5 arrays": Case(["ece@5"], ours.stored_scores, "W4", 5),
    "PairScores, top-5 arrays": Case(["ace@5"], ours.stored_scores, "W4", 5),
    "TopScores, top-5 arrays": Case(["aurc@5"], ours.stored_scores, "W4", 5),
    "RankProfile, CSR scores": Case(ours.AT_K, ours.matrix_of_scores, "W4", 100),
    "RowSums, top-100 arrays": Case(ours.RANKING, ours.stored_scores, "W4", 100),
    "ScoreRuns, micro-AUC of top-100 arrays": Case(["auc.micro"], ours.stored_scores, "W4", 100),
    "ScoreRuns, micro-AP of top-100 arrays": Case(["ap.micro"], ours.stored_scores, "W4", 100),
    "WeightedScores, micro-AUC of top-100 arrays, instance weights": Case(
        ["auc.micro"], weighted_scores, "W4", 100
    ),
    "`np.sort` of top-100 scores, a part on each thread": Case([], ours.stored_scores, "W4", 100),
    "RowSums, full scores": Case(ours.RANKING, ours.dense_scores, "W1d", 0),
    "ScoreRuns, macro-AUC of full scores": Case(["auc.macro"], ours.dense_scores, "W1d", 0),
    "LabelExtremes, full scores": Case(["margin.macro"], ours.dense_scores, "W1d", 0),
}


def measure_threads(scale: float) -> dict[str, Any]:
    """Return median seconds of each case by number of threads.

    Raises
    ------
    AssertionError
        If values are not bit-identical.
    """
    cases = []
    known: tuple[str, int] | None = None
    for title, case in CASES.items():
        if known != (case.workload, case.depth):
            known, workload = (case.workload, case.depth), generate(case.workload, case.depth, scale)
        calls = calls_of(case, workload)
        values = [[value.hex() for value in call().values()] for call in calls.values()]  # compiles
        assert all(found == values[0] for found in values), f"{title}: {values}"
        seconds = in_rounds(calls)
        cases.append({"case": title, "workload": case.workload, "seconds": seconds})
    return {"cases": cases}


def calls_of(case: Case, workload: Workload) -> dict[int, ours.Call]:
    """Return the same call by number of threads."""
    counts = (1, available_processors())
    if not case.metrics:
        return {threads: ours.sorted_keys(workload, threads).steps["all"] for threads in counts}
    arguments = case.given(workload)
    return {
        threads: ours.evaluated(workload, lambda _: arguments, case.metrics, threads).steps["all"]
        for threads in counts
    }


def in_rounds(calls: dict[int, Callable[[], Any]]) -> dict[str, float]:
    """Time the calls in interleaved rounds and return the medians."""
    spent: dict[int, list[float]] = {threads: [] for threads in calls}
    until = time.perf_counter() + BUDGET
    for number in range(MAX_ROUNDS):
        for threads, call in calls.items():
            start = time.perf_counter()
            call()
            spent[threads].append(time.perf_counter() - start)
        if number and time.perf_counter() > until:
            break
    return {str(threads): statistics.median(each) for threads, each in spent.items()}
