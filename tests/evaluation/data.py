"""Evaluators that tests count with, and how they are copied."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from xmleval import Evaluator

RNG = np.random.default_rng(5)
N_ROWS = 60
TRUTH = (RNG.random((N_ROWS, 9)) < 0.3).astype(int)
SCORES = RNG.random((N_ROWS, 9))
METRICS = [
    "p@1",
    "psp@3",
    "lrap",
    "f1.macro@3",
    "label_diversity",
    "margin.macro",
    "auc.micro",
]
STATES = [
    "rank_profile",
    "row_sums",
    "label_totals",
    "score_runs",
    "label_extremes",
    "label_sets",
    "data_hints",
]
RESOURCES: dict[str, dict[str, Any]] = {
    "inline": {"threads": 1},
    "workers": {"threads": 2, "block_rows": 7},
    "spilling": {"threads": 1, "memory": 1},
}
COPIES: dict[str, Callable[[Evaluator], Evaluator]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda evaluator: pickle.loads(pickle.dumps(evaluator)),
}


def empty(**options: Any) -> Evaluator:
    return Evaluator(METRICS, n_labels=9, inverse_propensity=np.full(9, 2.0), **options)


def counting(rows: slice = slice(None), **options: Any) -> Evaluator:
    evaluator = empty(**options)
    evaluator.update(TRUTH[rows], SCORES[rows])
    return evaluator


def bytes_of(evaluator: Evaluator) -> str:
    return evaluator.compute().to_json()
