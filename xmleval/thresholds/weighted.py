"""Weights of labels with which the best k labels of each row give a large macro average."""

from __future__ import annotations

import warnings

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, Scores
from xmleval.base.conventions import Conventions
from xmleval.kernels.choosing import F1, PRECISION, RECALL, choose_rows, mark_best, set_gains
from xmleval.metrics.metric import Setting
from xmleval.metrics.spec import parse_spec
from xmleval.thresholds.entries import Pool
from xmleval.view.decision import refuse_improbable
from xmleval.view.facts import Counts

AIMS = {"f1.macro": F1, "precision.macro": PRECISION, "recall.macro": RECALL}
MOST_PASSES = 100


def best_weights(pool: Pool, measure: str, k: int) -> Floats:
    """Return the weights of labels, then their offsets, by block coordinate ascent over rows.

    Scores are probabilities: rows in turn take the k labels that raise the expected measure most, all other
    rows unchanged, until none changes. What one more row would raise it by is then linear in its score.
    """
    ranking, aim, n_labels = pool.ranking, AIMS[measure], pool.n_true.size
    assert ranking.scores is not None
    scores = ranking.scores.astype(np.float64)
    refuse_improbable(ranking, 0)
    best, inside = np.empty(min(k, n_labels), np.int64), np.zeros(scores.size, np.bool_)
    sizes, hits = np.zeros(n_labels, np.int64), np.zeros(n_labels)
    gains = np.zeros((2, n_labels))  # weights and offsets
    set_gains(aim, sizes, hits, pool.n_true, gains)
    for _ in range(MOST_PASSES):
        if not choose_rows(
            ranking.ptr, ranking.labels, scores, aim, best, inside, sizes, hits, pool.n_true, gains
        ):
            break
    alike = np.repeat([[1.0], [0.0]], n_labels, axis=1)
    # the rule applies the gains to every row alike
    value, plain = (measured(pool, measure, chosen(pool, scores, each, best)) for each in (gains, alike))
    if value < plain:
        seen = f"{measure}@{k} is {value:.4g} by weighted scores and {plain:.4g} by the scores themselves"
        warnings.warn(f"{seen}: are the scores calibrated probabilities?", stacklevel=5)
    return gains.ravel()


def chosen(pool: Pool, scores: Scores, gains: Floats, best: Ints) -> Bools:
    """Return which entries are the best of their rows, see `kernels.choosing.mark_best`."""
    inside = np.empty(scores.size, np.bool_)
    mark_best(pool.ranking.ptr, pool.ranking.labels, scores, gains, best, inside)
    return inside


def measured(pool: Pool, measure: str, inside: Bools) -> float:
    """Return the macro average of predicted entries on the data."""
    n_labels, labels = pool.n_true.size, pool.ranking.labels
    hits = np.bincount(labels[inside & pool.relevant], minlength=n_labels).astype(np.float64)
    sizes = np.bincount(labels[inside], minlength=n_labels)
    counts = Counts(hits, sizes - hits, pool.n_true - hits, np.zeros(n_labels))
    return float(
        np.mean(parse_spec(measure).metric.value(counts, Setting(None, {}, Conventions(), n_labels)))
    )
