"""Confidence intervals of a model on bibtex beside those of the bootstrap.

The bootstrap is written in plain NumPy: it draws rows with replacement, and computes every measure of each
sample from how often each row was drawn. XMLEVAL_DATA names the folder that holds bibtex.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xmleval import evaluate, inverse_propensity

MEASURES = ["p@5", "psp@5", "ndcg@5", "f1.micro", "f1.macro", "f1.macro@5", "auc.micro", "auc.macro", "lrap"]
AT_ONCE = 500  # samples
Array = NDArray[Any]
Counts = NDArray[np.float64]  # (s, m), how often each row is in each sample
Statistic = Callable[[Counts], Counts]  # the value of each sample


class Predictions(NamedTuple):
    """Truth, scores and sets, all dense (m, l), and inverse propensities."""

    truth: Array
    scores: Array
    sets: Array
    q: Array


def read_bibtex(folder: Path) -> Predictions:
    """Read the logistic regressions of bibtex."""
    truth, sets = (sparse.load_npz(folder / name).toarray() for name in ("Y_test.npz", "pred_lr_t0.5.npz"))
    q = inverse_propensity(sparse.load_npz(folder / "Y_train.npz"))
    return Predictions(truth != 0, np.load(folder / "dense_lr.npz")["scores"], sets != 0, np.asarray(q))


def statistics_of(given: Predictions) -> dict[str, Statistic]:
    """Return functions that compute each measure of samples of the rows."""
    truth, scores = given.truth, given.scores
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(truth, order[:, :5], axis=1)
    in_five = np.zeros_like(truth)
    np.put_along_axis(in_five, order[:, :5], True, axis=1)
    discounts = 1 / np.log2(np.arange(2, 7))
    n_relevant = truth.sum(axis=1)
    ideal = np.cumsum(discounts)[np.clip(n_relevant, 1, 5) - 1]
    worth = np.sort(np.where(truth, given.q, 0.0), axis=1)[:, -5:].sum(axis=1)
    return {
        "p@5": mean_of(hits.mean(axis=1)),
        "psp@5": ratio_of((hits * given.q[order[:, :5]]).sum(axis=1), worth),
        "ndcg@5": mean_of(hits @ discounts / ideal),
        "f1.micro": f1_of(truth, given.sets, macro=False),
        "f1.macro": f1_of(truth, given.sets, macro=True),
        "f1.macro@5": f1_of(truth, in_five, macro=True),
        "auc.micro": micro_auc_of(truth, scores),
        "auc.macro": macro_auc_of(truth, scores),
        "lrap": mean_of(lrap_rows(truth, scores)),
    }


def mean_of(values: Array) -> Statistic:
    """Mean over rows; rows that are NaN are left out."""
    return ratio_of(np.nan_to_num(values), ~np.isnan(values))


def ratio_of(numerator: Array, denominator: Array) -> Statistic:
    """Ratio of sums over rows."""
    return lambda counts: (counts @ numerator) / (counts @ denominator)


def f1_of(truth: Array, sets: Array, macro: bool) -> Statistic:
    """F1 of all cells, or its mean over labels, 0 for one that is neither relevant nor predicted."""
    both, either = (truth & sets).astype(float), truth.astype(float) + sets

    def statistic(counts: Counts) -> Counts:
        hit, total = counts @ both, counts @ either
        if not macro:
            return np.asarray(2 * hit.sum(axis=1) / total.sum(axis=1))
        return np.asarray((2 * hit / np.maximum(total, 1)).mean(axis=1))

    return statistic


def micro_auc_of(truth: Array, scores: Array) -> Statistic:
    """Area under the ROC curve of all cells; tied pairs count half."""
    auc = auc_of(truth.ravel(), scores.ravel(), np.repeat(np.arange(len(truth)), truth.shape[1]))
    return lambda counts: np.array([auc(drawn) for drawn in counts])


def macro_auc_of(truth: Array, scores: Array) -> Statistic:
    """Mean of the areas of the labels that have relevant and irrelevant rows in the sample."""
    rows = np.arange(len(truth))
    of_labels = [auc_of(own, score, rows) for own, score in zip(truth.T, scores.T, strict=True)]
    return lambda counts: np.array([np.nanmean([auc(drawn) for auc in of_labels]) for drawn in counts])


def auc_of(relevant: Array, scores: Array, rows: Array) -> Callable[[Array], float]:
    """Area under the ROC curve of entries whose rows are drawn so often; NaN if it is undefined."""
    order = np.argsort(scores, kind="stable")
    rows, relevant = rows[order], relevant[order].astype(float)
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))  # of equal scores
    if not starts.size or starts[0]:
        starts = np.concatenate(([0], starts))

    def statistic(drawn: Array) -> float:
        weights = drawn[rows]
        positive = np.add.reduceat(weights * relevant, starts)
        negative = np.add.reduceat(weights, starts) - positive
        pairs = positive.sum() * negative.sum()
        above = positive @ (np.cumsum(negative) - negative / 2)
        return float(above / pairs) if pairs else np.nan

    return statistic


def lrap_rows(truth: Array, scores: Array) -> Array:
    """Label ranking average precision of each row, NaN without a pair of relevant and irrelevant labels."""
    values = np.full(len(truth), np.nan)
    for row, (relevant, own) in enumerate(zip(truth, scores, strict=True)):
        if relevant.any() and not relevant.all():
            at_least = own >= own[relevant][:, None]
            values[row] = np.mean((at_least & relevant).sum(axis=1) / at_least.sum(axis=1))
    return values


def compare_intervals(given: Predictions, n_samples: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return the value and both intervals of each measure; the values must agree."""
    report = evaluate(
        given.truth, given.scores, y_pred=given.sets, metrics=MEASURES, inverse_propensity=given.q,
        confidence=0.95,
    )  # fmt: skip
    random, n_rows = np.random.default_rng(seed), len(given.truth)
    statistics = statistics_of(given)
    samples: dict[str, list[Counts]] = {name: [] for name in MEASURES}
    for first in range(0, n_samples, AT_ONCE):
        n_drawn = min(AT_ONCE, n_samples - first)
        counts = random.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=n_drawn).astype(float)
        for name, statistic in statistics.items():
            samples[name].append(statistic(counts))
    records = []
    for name in MEASURES:
        (value,) = statistics[name](np.ones((1, n_rows)))
        assert abs(value - report[name]) < 1e-9, (name, value, report[name])
        drawn = np.concatenate(samples[name])
        records.append(
            {"measure": name, "value": report[name], "samples": n_samples}
            | {"jackknife": [*report.confidence[name]]}
            | {"bootstrap": np.quantile(drawn, [0.025, 0.975]).tolist()}
            | {"error": report.standard_errors[name], "deviation": float(drawn.std(ddof=1))}
        )
    return records


def data_folder() -> Path:
    """Return the folder of bibtex."""
    if "XMLEVAL_DATA" not in os.environ:
        sys.exit("set XMLEVAL_DATA to the folder that holds bibtex")
    return Path(os.environ["XMLEVAL_DATA"], "bibtex")
