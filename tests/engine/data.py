"""Evaluators that tests count with."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from xmleval import Evaluator
from xmleval.states.state import State

RNG = np.random.default_rng(5)
N_ROWS = 60
TRUTH, SCORES = (RNG.random((N_ROWS, 9)) < 0.3).astype(int), RNG.random((N_ROWS, 9))
NAMES = [
    "p@1",
    "psp@3",
    "lrap",
    "f1.macro@3",
    "label_diversity",
    "margin.macro",
    "auc.micro",
    "auc.micro(bits=8)",
]
STATES = [
    "rank_profile", "row_sums", "label_totals", "score_runs", "key_counts", "label_extremes", "label_sets",
    "gaps", "seen",
]  # fmt: skip
INLINE, WORKERS = {"threads": 1}, {"threads": 2, "block_rows": 7}


def empty(**more: Any) -> Evaluator:
    return Evaluator(NAMES, n_labels=9, inverse_propensity=np.full(9, 2.0), **more)


def counting(**more: Any) -> Evaluator:
    evaluator = empty(**more)
    evaluator.update(TRUTH, SCORES)
    return evaluator


def states_of(evaluator: Evaluator) -> dict[str, State]:
    assert evaluator._counted.states is not None
    return evaluator._counted.states._states


def fail(*arguments: object) -> None:
    raise MemoryError


COPIES: dict[str, Callable[[Evaluator], Evaluator]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda evaluator: pickle.loads(pickle.dumps(evaluator)),
}
