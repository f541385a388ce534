"""Weights of labels, so that the best k labels of every row give a large macro average."""

from __future__ import annotations

import warnings

import numpy as np

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.conventions import Conventions
from xmleval.kernels.choosing import F1, PRECISION, RECALL, choose_rows, mark_best, set_gains
from xmleval.metrics.spec import parse_spec
from xmleval.thresholds.entries import Pool
from xmleval.view.decision import refuse_improbable
from xmleval.view.facts import Counts
from xmleval.view.setting import Setting

AIMS = {"f1.macro": F1, "precision.macro": PRECISION, "recall.macro": RECALL}
MOST_PASSES = 100


def best_weights(pool: Pool, measure: str, k: int) -> Floats:
    """Return the weights of labels, then their offsets, by block coordinate ascent over rows.

    Scores are probabilities: rows in turn take the k labels that raise the expected measure most,
    all other rows unchanged, until none changes. The gain of one more row is then linear in its
    score.
    """
    ranking = pool.ranking
    aim = AIMS[measure]
    n_labels = pool.n_true.size
    assert ranking.scores is not None
    scores = ranking.scores.astype(np.float64)
    refuse_improbable(ranking, 0)
    best = np.empty(min(k, n_labels), np.int64)
    is_predicted = np.zeros(scores.size, np.bool_)
    sizes = np.zeros(n_labels, np.int64)
    hits = np.zeros(n_labels)
    gains = np.zeros((2, n_labels))  # weights and offsets
    set_gains(aim, sizes, hits, pool.n_true, gains)
    for _ in range(MOST_PASSES):
        has_changed = choose_rows(
            ranking.ptr,
            ranking.labels,
            scores,
            aim,
            best,
            is_predicted,
            sizes,
            hits,
            pool.n_true,
            gains,
        )
        if not has_changed:
            break
    # the rule applies the gains to every row alike
    weighted_value = measure_best(pool, measure, scores, gains, best)
    equal_gains = np.repeat([[1.0], [0.0]], n_labels, axis=1)
    plain_value = measure_best(pool, measure, scores, equal_gains, best)
    if weighted_value < plain_value:
        warnings.warn(
            f"{measure}@{k} is {weighted_value:.4g} by weighted scores and {plain_value:.4g} "
            "by the scores themselves: are the scores calibrated probabilities?",
            stacklevel=6,
        )
    return gains.ravel()


def measure_best(pool: Pool, measure: str, scores: Scores, gains: Floats, best: Ints) -> float:
    """Return the macro average on the data, if the best labels by gain of every row are predicted.

    best : (k,), for `kernels.choosing.mark_best` to write to
    """
    ptr = pool.ranking.ptr
    labels = pool.ranking.labels
    is_predicted = np.empty(scores.size, np.bool_)
    mark_best(ptr, labels, scores, gains, best, is_predicted)
    n_labels = pool.n_true.size
    hit_labels = labels[is_predicted & pool.relevant]
    hits = np.bincount(hit_labels, minlength=n_labels).astype(np.float64)
    sizes = np.bincount(labels[is_predicted], minlength=n_labels)
    counts = Counts(hits, sizes - hits, pool.n_true - hits, np.zeros(n_labels))
    setting = Setting(None, {}, Conventions(), n_labels)
    return float(np.mean(parse_spec(measure).metric.value(counts, setting)))
