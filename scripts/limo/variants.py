"""LIMO with both margins or one, as published and in variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from scripts.limo.evaluation import Scores
from scripts.limo.learner import fit_limo
from xmleval.base.arrays import Floats

# shares of lam1, lam2
LEARNERS = {
    "LIMO": (1.0, 1.0),
    "LIMO-label": (1.0, 0.0),
    "LIMO-inst": (0.0, 1.0),
}
MANY_EPOCHS = 100
FOLDS = 3
# changed settings, to find the causes of failures
HELD_OUT = "held-out thresholds"
VARIANTS = ("100 epochs", "last iterate", "uniform sampling", "intercept", "both halves", HELD_OUT)


class Split(NamedTuple):
    """Features and labels of training and test instances, CSR, and a random seed."""

    x_train: Any
    y_train: Any
    x_test: Any
    y_test: Any
    seed: int


def limo_scores(split: Split, lam1: float, lam2: float, variant: str = "") -> Scores:
    """Return the scores of LIMO or of a variant."""
    x_train = split.x_train
    x_test = split.x_test
    settings: dict[str, Any] = {"lam1": lam1, "lam2": lam2, "seed": split.seed}
    if variant == "100 epochs":
        settings["epochs"] = MANY_EPOCHS
    if variant == "uniform sampling":
        settings["sampling"] = "uniform"
    if variant == "both halves":
        settings["idle"] = True
    if variant == "intercept":
        x_train = with_ones(x_train)
        x_test = with_ones(x_test)
    weights = fit_limo(x_train, split.y_train, **settings)
    w = weights.average
    if variant == "last iterate":
        w = weights.last
    if variant == HELD_OUT:
        train = hold_out(split, lambda x, y, other: other @ fit_limo(x, y, **settings).average)
        return Scores(train, x_test @ w)
    return Scores(x_train @ w, x_test @ w)


def hold_out(split: Split, learn: Callable[[Any, Any, Any], Floats]) -> Floats:
    """Return scores (m, l) of training instances by cross-validation.

    ``learn`` takes training features, training labels and other features, and returns scores of
    the latter.
    """
    scores = np.empty(split.y_train.shape)
    fold = np.random.default_rng(split.seed).permutation(len(scores)) % FOLDS
    for part in range(FOLDS):
        train = np.flatnonzero(fold != part)
        test = np.flatnonzero(fold == part)
        scores[test] = learn(split.x_train[train], split.y_train[train], split.x_train[test])
    return scores


def with_ones(x: Any) -> Any:
    """Return features with a constant column of ones."""
    return scipy.sparse.csr_array(scipy.sparse.hstack([x, np.ones((x.shape[0], 1))]))
