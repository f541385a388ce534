"""Small arrays that several tests share."""

import copy
import os
from dataclasses import replace
from typing import Any

import numpy as np

from xmleval import Evaluator
from xmleval.evaluation.spans import OWN, Spans

# four instances of five labels: truth, training labels, and lists of three labels with scores
Y_TEST = np.array(
    [
        [1, 0, 1, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 1, 1],
        [0, 0, 1, 0, 0],
    ],
    np.float32,
)
Y_TRAIN = np.array(
    [
        [1, 0, 0, 0, 1],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 0, 1, 1, 0],
    ],
    np.float32,
)
LABELS = np.array(
    [
        [0, 3, 2],
        [2, 1, -1],
        [4, 3, 0],
        [0, 1, 2],
    ],
    np.int32,
)
SCORES = np.array(
    [
        [0.9, 0.5, 0.4],
        [0.8, 0.7, np.nan],
        [0.7, 0.2, 0.1],
        [0.6, 0.3, 0.2],
    ],
    np.float32,
)

# a worked example of the literature: truth, predicted sets, scores
V1_TRUTH = np.array([[1, 0, 1, 0, 0], [1, 0, 1, 0, 1]])
V1_SETS = np.array([[0, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
V1_SCORES = np.array([[0.3, 0.4, 0.5, 0.1, 0.15], [0.4, 0.5, 0.7, 0.2, 0.6]])

# three instances of four labels: truth, scores, predicted sets, inverse propensities
T = np.array(
    [
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
    ]
)
S = np.array(
    [
        [0.9, 0.5, 0.2, 0.1],
        [0.4, 0.2, 0.1, 0.3],
        [0.5, 0.1, 0.6, 0.2],
    ]
)
H = np.array(
    [
        [1, 0, 0, 1],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
    ]
)
Q = np.array([3.0, 1.0, 2.0, 5.0])
M, N = T.shape


def counting(metrics: Any = "all", **options: Any) -> Evaluator:
    """Return an evaluator of the examples that keeps rows."""
    settings: dict[str, Any] = {"n_labels": N, "inverse_propensity": Q, "per_row": True, **options}
    return Evaluator(metrics, block_rows=2, threads=2, **settings)


def as_other_rows(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator with the states of another one, as if of other rows."""
    copied = copy.copy(evaluator)
    counted = evaluator._counted
    spans: Spans = {f"{OWN}{os.urandom(8).hex()}": ((0, counted.n_rows),)}
    copied._counted = replace(counted, spans=spans, place=("", 0))
    return copied
