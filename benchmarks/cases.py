"""Timed cases: measures, their inputs, and the comparisons in which they are timed.

`benchmarks.run` times a case next to other libraries, on one thread and on all, with more and more
data, or with and without intervals; `benchmarks.versions` times the cases of the first two
comparisons with two versions.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads import Workload

CUTOFFS = (1, 3, 5)
AT_K = [f"{name}@{k}" for name in ("p", "ndcg", "r", "psp", "psndcg") for k in CUTOFFS]
SETS = ["f1.micro", "f1.macro", "f1.samples"]
RANKING = ["one_error", "coverage", "ranking_loss", "lrap", "auc.samples"]
MACRO = ["mcc.macro@5", "balanced_accuracy.macro@5", "gmean.macro@5", "specificity.macro@5"]
POINTS = ["recall_at_precision.micro(p=0.9)", "fpr_at_tpr.micro(tpr=0.95)"]
BRANCHES = 10  # children of a label in a generated hierarchy

Inputs = Callable[[Workload], dict[str, Any]]
Call = Callable[[], dict[str, float]]


class Prepared(NamedTuple):
    """Calls to time after one another, by title, and the size of their inputs."""

    steps: dict[str, Call]
    n_bytes: int = 0


def lists(workload: Workload) -> dict[str, Any]:
    """Top-k arrays of full depth."""
    return {"y_true": workload.truth, "y_score": (workload.labels, workload.scores)}


def lists_of_five(workload: Workload) -> dict[str, Any]:
    """Top-5 arrays, with propensities."""
    scores = workload.top(5)
    return {"y_true": workload.truth, "y_score": scores, "inverse_propensity": workload.propensity}


def deep_lists(workload: Workload) -> dict[str, Any]:
    """Top-k arrays of full depth, with propensities."""
    return lists(workload) | {"inverse_propensity": workload.propensity}


def matrix(workload: Workload) -> dict[str, Any]:
    """CSR scores, with propensities."""
    scores = workload.score_matrix()
    return {"y_true": workload.truth, "y_score": scores, "inverse_propensity": workload.propensity}


def sets(workload: Workload) -> dict[str, Any]:
    """Sparse 0/1 predictions, five per row."""
    return {"y_true": workload.truth, "y_pred": workload.sets()}


def dense(workload: Workload) -> dict[str, Any]:
    """A dense matrix of scores."""
    return {"y_true": workload.truth, "y_score": workload.scores}


def truth_alone(workload: Workload) -> dict[str, Any]:
    """Relevant labels without predictions."""
    return {"y_true": workload.truth}


def graded(workload: Workload) -> dict[str, Any]:
    """Lists, and a truth with grades from 1 to 4."""
    truth = workload.truth.copy()
    truth.data = 1 + np.arange(truth.nnz, dtype=np.float32) % 4
    return lists(workload) | {"y_true": truth, "conventions": "gains=exp"}


def nested(workload: Workload) -> dict[str, Any]:
    """Lists, and a hierarchy in which each label has ten children."""
    n = workload.truth.shape[1]
    child = np.arange(1, n)
    edges = sp.csr_array((np.ones(n - 1), (child, child // BRANCHES)), shape=(n, n))
    return lists(workload) | {"hierarchy": edges}


def weighted(inputs: Inputs) -> Inputs:
    """Return the same inputs with sample weights."""

    def with_weights(workload: Workload) -> dict[str, Any]:
        weights = np.random.default_rng(0).uniform(0.5, 2.0, workload.truth.shape[0])
        return inputs(workload) | {"sample_weight": weights}

    return with_weights


class Case(NamedTuple):
    """Measures computed together from one kind of input."""

    title: str
    metrics: list[str]  # if empty, the scores are sorted, a part on each thread
    inputs: Inputs
    depth: int = 5  # of the rankings, 0 for dense scores
    # workloads on which other libraries are timed, see `benchmarks.peers`
    libraries: tuple[str, ...] = ()
    threads: str = ""  # workload that is timed on one thread and on all
    growth: bool = False  # whether it is timed with more and more data
    intervals: bool = False  # whether it is timed with and without intervals
    is_update: bool = False  # whether an evaluator is updated without computing values


LARGE = ("W1", "W2", "W3", "W4")
FULL = ("W0b", "W0c", "W1d")
CASES: dict[str, Case] = {
    "P": Case("P@5 from top-5 arrays", ["p@5"], lists, 5, LARGE, "W4", intervals=True),
    "small P": Case("P@5 of a small call", ["p@5"], lists, 5, ("S1", "S600")),
    "update": Case("update for P@5, many labels", ["p@5"], lists, 5, ("S32",), is_update=True),
    "at_k_lists": Case(
        "P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from top-5 arrays",
        AT_K,
        lists_of_five,
        5,
        LARGE,
        "W4",
        intervals=True,
    ),
    "sets": Case(
        "F1 micro, macro, samples from sparse 0/1 predictions, 5 per row",
        SETS,
        sets,
        5,
        LARGE,
        "W4",
        growth=True,
        intervals=True,
    ),
    "LabelTotals and RowSums, sparse sets, instance weights": Case(
        "the same with instance weights", SETS, weighted(sets), threads="W4"
    ),
    "all of sets": Case("all of sets", ["sets"], sets, intervals=True),
    "LabelSets": Case("diversity of the labels", ["label_diversity"], truth_alone, threads="W4"),
    "macro F1 at 5": Case("macro F1 at 5", ["f1.macro@5"], lists, intervals=True),
    "other macro measures at 5": Case("other macro measures at 5", MACRO, lists, intervals=True),
    "what is predicted": Case("what is predicted", ["predicted"], lists, intervals=True),
    "RowRatios, top-5 arrays": Case("micro R-precision", ["rprec.micro"], lists, threads="W4"),
    "Brier score": Case("Brier score, log loss", ["brier@5", "log_loss@5"], lists, intervals=True),
    "Calibration, top-5 arrays": Case("ECE", ["ece@5"], lists, threads="W4", intervals=True),
    "PairScores, top-5 arrays": Case("ACE", ["ace@5"], lists, threads="W4", intervals=True),
    "TopScores, top-5 arrays": Case(
        "area under the risk-coverage curve", ["aurc@5"], lists, threads="W4"
    ),
    "selective classification": Case(
        "selective classification", ["risk(coverage=0.8)@1", "aurc@1"], lists, intervals=True
    ),
    "hierarchical F1": Case(
        "hierarchical F1", ["h_f1.micro@5", "h_f1.samples@5"], nested, intervals=True
    ),
    "graded nDCG": Case("graded nDCG", ["ndcg@5"], graded, intervals=True),
    "judged": Case("judged", ["judged@5"], graded, intervals=True),
    "P from 100": Case("P from 100", ["p@5"], lists, 100, intervals=True),
    "at_k of 100": Case(
        "P, nDCG, R, PSP, PSnDCG from top-100 arrays", AT_K, deep_lists, 100, growth=True
    ),
    "at_k_matrix": Case(
        "P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from CSR scores, 100 per row",
        AT_K,
        matrix,
        100,
        LARGE,
        "W4",
        growth=True,
    ),
    "RowSums, top-100 arrays": Case(
        "one-error, coverage, ranking loss, LRAP, row AUC from top-100 arrays",
        RANKING,
        lists,
        100,
        threads="W4",
        growth=True,
        intervals=True,
    ),
    "geometric mean AP": Case("geometric mean AP", ["ap.geometric"], lists, 100, intervals=True),
    "micro_auc": Case(
        "micro-AUC from sparse scores, 100 per row",
        ["auc.micro"],
        lists,
        100,
        ("W2", "W3", "W4"),
        "W4",
        growth=True,
        intervals=True,
    ),
    "ScoreRuns, micro-AP of top-100 arrays": Case(
        "micro-AP", ["ap.micro"], lists, 100, threads="W4", intervals=True
    ),
    "WeightedScores, micro-AUC of top-100 arrays, instance weights": Case(
        "micro-AUC with instance weights", ["auc.micro"], weighted(lists), 100, threads="W4"
    ),
    "np.sort": Case(
        "`np.sort` of top-100 scores, a part on each thread", [], lists, 100, threads="W4"
    ),
    "partial AUC": Case("partial AUC", ["auc.micro(max_fpr=0.1)"], lists, 100, intervals=True),
    "operating points": Case("operating points", POINTS, lists, 100, intervals=True),
    "macro-AUC": Case("macro-AUC", ["auc.macro"], lists, 100, intervals=True),
    "macro-AP": Case("macro-AP", ["ap.macro"], lists, 100, intervals=True),
    "ranking": Case(
        "one-error, coverage, ranking loss, LRAP, row AUC from dense scores",
        RANKING,
        dense,
        0,
        FULL,
        "W1d",
    ),
    "macro_auc": Case("macro-AUC from dense scores", ["auc.macro"], dense, 0, FULL, "W1d"),
    "LabelExtremes, full scores": Case("macro margins", ["margin.macro"], dense, 0, threads="W1d"),
}


def is_ours(library: str) -> bool:
    """Return whether a library runs in the project's interpreter."""
    return library.split()[0] in ("xmleval", "np.sort")


def prepare(name: str, library: str, workload: Workload) -> Prepared:
    """Prepare a case for xmleval or np.sort, whose name may end in a number of threads."""
    case = CASES[name]
    package, _, threads = library.partition(" threads=")
    n_threads = int(threads) if threads else None
    if package == "np.sort" or not case.metrics:
        return prepare_sorting(workload, n_threads or available_processors())
    return prepare_evaluation(case, workload, threads=n_threads)


def prepare_evaluation(case: Case, workload: Workload, **options: Any) -> Prepared:
    """Prepare one call that computes all measures of a case."""
    import xmleval  # missing in the interpreters of other libraries

    compile_kernels()
    arguments = case.inputs(workload)
    n_bytes = sum(map(count_bytes, arguments.values()))
    if case.is_update:
        update = prepare_update(case, workload, arguments, **options)
        return Prepared({"all": update}, n_bytes)

    def call() -> dict[str, float]:
        return dict(xmleval.evaluate(**arguments, metrics=case.metrics, **options))

    return Prepared({"all": call}, n_bytes)


def prepare_update(
    case: Case, workload: Workload, arguments: dict[str, Any], **options: Any
) -> Call:
    """Return a call that updates an evaluator with the same rows, so that the values stay equal."""
    import xmleval

    evaluator = xmleval.Evaluator(n_labels=workload.truth.shape[1], metrics=case.metrics, **options)
    evaluator.update(**arguments)
    values = dict(evaluator.compute())

    def call() -> dict[str, float]:
        evaluator.update(**arguments)
        return values

    return call


def compile_kernels() -> None:
    """Compile kernels at the first call, which some versions do only after much work."""
    with contextlib.suppress(ImportError):
        from xmleval.base.work import WORK

        WORK.is_small = False


def prepare_sorting(workload: Workload, threads: int) -> Prepared:
    """Prepare sorting the stored scores, a part per thread: a lower bound for methods that sort."""
    parts = np.array_split(workload.scores.ravel(), threads)
    pool = ThreadPoolExecutor(threads)

    def call() -> dict[str, float]:
        list(pool.map(np.sort, parts))
        return {}

    return Prepared({"all": call}, workload.scores.nbytes)


def available_processors() -> int:
    """Return the number of threads that an evaluation uses."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_bytes(value: Any) -> int:
    """Return the bytes of an array, of a pair of arrays, or of a sparse matrix."""
    parts: tuple[Any, ...]
    if sp.issparse(value):
        parts = (value.data, value.indices, value.indptr)
    elif isinstance(value, tuple):
        parts = value
    else:
        parts = (value,)
    return sum(int(getattr(part, "nbytes", 0)) for part in parts)
