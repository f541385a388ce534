"""Values of labels without one fold of the rows each, from sorted scores, are those of the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.states.test_folds import N_ROWS, made, row_folds, same
from xmleval import evaluate
from xmleval.input.clusters import folds_of_clusters
from xmleval.kernels.fold_sweeps import BELOW_LABEL, MARK_BITS, MOST_LABELS, RELEVANT, sweep_fold_labels


def test_the_number_behind_the_last_label_of_a_range_fits() -> None:
    assert np.int64(MOST_LABELS) << BELOW_LABEL > 0 > np.int64(MOST_LABELS + 1) << BELOW_LABEL


def test_labels_whose_relevant_entries_are_not_listed() -> None:
    truth = np.array([[1, 0], [0, 0], [0, 1], [0, 0], [1, 0]])
    scores = sp.csr_array(([0.9, 0.8, 0.7], ([1, 2, 2], [0, 0, 1])), shape=(5, 2))
    clusters, metrics = np.arange(5), ["auc.macro", "ap.macro", "ap.weighted", "auc.micro"]
    folds = folds_of_clusters(clusters, 5)
    found = evaluate(truth, scores, confidence=0.9, clusters=clusters, metrics=metrics)
    for number, fold in enumerate(np.unique(folds)):
        others = evaluate(truth[folds != fold], scores[folds != fold], metrics=metrics)
        assert all(same(found.results.replicates[name][number], others[name]) for name in others)


@pytest.mark.parametrize("ap_empty", ["skip", "zero"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_replicates_of_labels_of_one_class(weighted: bool, dtype: Any, ap_empty: str) -> None:
    truth, scores = made(8, dtype, dense=True)
    truth, folds = truth.toarray(), row_folds()
    truth[:, 1], truth[:, 2], truth[:, 3] = 1, 0, folds == folds[0]  # everywhere, nowhere, in one fold
    weight = np.random.default_rng(2).integers(1, 4, N_ROWS) / 2 if weighted else None
    averages = ("micro", "macro", "weighted", "geometric")
    options: Any = {"metrics": [f"ap.{a}" for a in averages], "conventions": {"ap_empty": ap_empty}}
    found = evaluate(truth, scores, sample_weight=weight, confidence=0.9, **options)
    for number, fold in enumerate(np.unique(folds)):
        left = folds != fold
        own = None if weight is None else weight[left]
        others = evaluate(truth[left], scores[left], sample_weight=own, **options)
        for name, values in found.results.replicates.items():
            assert same(values[number], others[name]), name


@pytest.mark.parametrize("unlisted", [None, -1.0, 0.5, 0.75, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_with_few_and_with_many_scores(dtype: type, unlisted: float | None) -> None:
    """Labels have from none to 150 scores of each kind."""
    rng, n_rows = np.random.default_rng(4), 300
    clusters, metrics = rng.integers(0, 9, n_rows), ["auc.macro", "auc.weighted", "ap.macro"]
    listed, relevant = (rng.random((n_rows, 8)) < np.array(shares) for shares in (
        [1, 1, 1, 0.4, 0.4, 0.1, 0, 1], [0.5, 0.05, 1, 0.5, 0.02, 0.3, 0.2, 0]))  # fmt: skip
    rows, labels = np.nonzero(listed)
    values: Any = (rng.integers(1, 9, rows.size) / 8).astype(
        dtype
    )  # many are equal, and some to that of unlisted
    for value in (np.inf, -np.inf, -0.0):
        values[rng.random(rows.size) < 0.02] = value
    scores = sp.csr_array((values, (rows, labels)), shape=listed.shape)
    options: dict[str, Any] = {"metrics": metrics, "conventions": {"unlisted": unlisted or "below"}}
    folds = folds_of_clusters(clusters, n_rows)
    found = evaluate(relevant.astype(int), scores, confidence=0.9, clusters=clusters, **options)
    for number, fold in enumerate(np.unique(folds)):
        left = folds != fold
        others = evaluate(relevant[left].astype(int), scores[left], **options)
        assert all(same(found.results.replicates[name][number], others[name]) for name in metrics)


def test_labels_with_many_relevant_scores() -> None:
    rng, n_rows = np.random.default_rng(5), 33_767
    truth = (rng.random((n_rows, 2)) < [0.7, 0.01]).astype(int)
    scores = rng.random((n_rows, 2)).astype(np.float32) + truth / 9
    clusters, metrics = rng.integers(0, 3, n_rows), ["auc.macro", "ap.macro"]
    folds = folds_of_clusters(clusters, n_rows)
    found = evaluate(truth, scores, confidence=0.9, clusters=clusters, metrics=metrics)
    for number, fold in enumerate(np.unique(folds)):
        others = evaluate(truth[folds != fold], scores[folds != fold], metrics=metrics)
        assert all(found.results.replicates[name][number] == others[name] for name in metrics)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unlisted", [0.1, 1e300])
def test_labels_of_no_listed_entry(unlisted: float) -> None:
    """No score says that unlisted ones are of a type in which theirs is another number than in float32."""
    truth = (np.random.default_rng(17).random((40, 3)) < 0.4).astype(int)
    clusters, metrics = np.arange(40) % 4, ["auc.macro", "ap.macro"]
    options: dict[str, Any] = {"metrics": metrics, "conventions": {"unlisted": unlisted}}
    scores = sp.csr_array(truth.shape, dtype=np.float64)
    found = evaluate(truth, scores, confidence=0.9, clusters=clusters, **options)
    folds = folds_of_clusters(clusters, 40)
    for number, fold in enumerate(np.unique(folds)):
        others = evaluate(truth[folds != fold], scores[folds != fold], **options)
        assert all(found.results.replicates[name][number] == others[name] for name in metrics)


@pytest.mark.parametrize("shift", [0, 36])
def test_numbers_of_pairs_beyond_64_bits(shift: int) -> None:
    """A relevant entry is listed above the unlisted ones, and an irrelevant one below."""
    n_true, n_rows = [5 << shift, 3 << shift, 0], [9 << shift, 4 << shift, 0]
    label, relevant, irrelevant = 7 << BELOW_LABEL, (9 << MARK_BITS) + RELEVANT, (2 << MARK_BITS) + 1
    keys = np.array([label + irrelevant, label + relevant])
    pairs, precision = np.empty((3, 1, 2)), np.empty((3, 1, 1))
    rows = np.array(n_true)[:, None], np.array(n_rows)
    sweep_fold_labels(np.array([7]), keys, *rows, 5, False, pairs, precision)
    for fold in range(3):
        good, high, low = sum(n_true) - n_true[fold], int(fold != 0), int(fold != 1)
        bad = sum(n_rows) - n_rows[fold] - good
        right, tied = high * bad + (good - high) * low, (good - high) * (bad - low)
        assert pairs[fold, 0].tolist() == [float(right), float(tied)]
        assert precision[fold, 0, 0] == pytest.approx(high + (good - high) * (good / (good + bad - low)))
