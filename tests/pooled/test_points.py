"""Operating points and partial areas, against scikit-learn and torchmetrics on all cells."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from xmleval.kernels.folds import N_FOLDS, find_folds

ASKED = ("recall_at_precision.{}(p=0.6)", "precision_at_recall.{}(r=0.8)", "fpr_at_tpr.{}(tpr=0.9)",
         "auc.{}(max_fpr=0.2)")  # fmt: skip
AVERAGES = ("micro", "macro", "weighted")
NAMES = [name.format(average) for average in AVERAGES for name in ASKED]
N_ROWS, N_LABELS = 90, 6


def made(seed: int, listed: float = 0.6) -> tuple[Any, Any, Any]:
    """Truth, scores with ties and with unlisted labels, and the same scores of all cells."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
    truth[0], truth[1] = 1, 0  # every label has both classes
    dense = np.round(rng.random(truth.shape) + 0.4 * truth, 1).astype(np.float32)
    dense *= rng.random(truth.shape) < listed
    return truth, sp.csr_array(dense), dense


def of_peer(truth: Any, scores: Any, weight: Any) -> list[float]:
    sk = pytest.importorskip("sklearn.metrics")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, _ = sk.precision_recall_curve(truth, scores, sample_weight=weight)
        fpr, tpr, _ = sk.roc_curve(truth, scores, sample_weight=weight)
        area = sk.roc_auc_score(truth, scores, max_fpr=0.2, sample_weight=weight)
    return [recall[precision >= 0.6].max(), precision[recall >= 0.8].max(), fpr[tpr >= 0.9].min(), area]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_those_of_scikit_learn(seed: int, weighted: bool) -> None:
    truth, scores, dense = made(seed)
    weight = np.random.default_rng(seed).integers(0, 4, N_ROWS) if weighted else None
    own = np.ones(N_ROWS) if weight is None else weight
    report = xmleval.evaluate(truth, scores, metrics=NAMES, sample_weight=weight, unlisted=0.0)
    of_labels = np.array([of_peer(truth[:, j], dense[:, j], weight) for j in range(N_LABELS)])
    micro = of_peer(truth.ravel(), dense.ravel(), np.repeat(own, N_LABELS))
    wanted = [*micro, *of_labels.mean(axis=0), *np.average(of_labels, axis=0, weights=own @ truth)]
    assert [*report.values()] == pytest.approx(wanted, abs=1e-12)
    if weight is None:
        some = xmleval.evaluate(truth, scores, metrics=NAMES, threads=2, block_rows=7, unlisted=0.0)
        assert [*some.values()] == [*report.values()]


def test_thresholds_are_those_at_which_they_are_reached() -> None:
    truth, scores, dense = made(7)
    report = xmleval.evaluate(truth, scores, metrics=NAMES, per_label=True, unlisted=0.0)
    columns = report.per_label()

    def check(own_truth: Any, own: Any, threshold: float, name: str, value: float) -> None:
        tp, fp = ((own >= threshold) & (own_truth == kind) for kind in (1, 0))
        rates = {"recall": tp.sum() / own_truth.sum(), "precision": tp.sum() / (tp.sum() + fp.sum())}
        rates["fpr"] = fp.sum() / (own_truth == 0).sum()
        assert rates[name.partition("_at_")[0]] == pytest.approx(value, abs=1e-12)

    for name in ASKED[:3]:
        micro, column = name.format("micro"), name.replace(".{}", "")
        check(truth, dense, report.thresholds[micro], name, report[micro])
        for j in range(N_LABELS):
            threshold = columns[f"threshold_of_{column}"][j]
            check(truth[:, j], dense[:, j], threshold, name, columns[column][j])
    far = xmleval.evaluate(
        truth, -dense, metrics=NAMES, per_label=True, higher_is_better=False, unlisted=0.0
    )  # distances
    assert [*far.values()] == [*report.values()]
    assert far.thresholds == {name: -score for name, score in report.thresholds.items()}
    name = "threshold_of_fpr_at_tpr(tpr=0.9)"
    np.testing.assert_array_equal(far.per_label()[name], -columns[name])


@pytest.mark.slow  # to import
def test_they_are_those_of_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    functional: Any = pytest.importorskip("torchmetrics.functional.classification")
    truth, _, dense = made(9, listed=1.0)
    dense /= 2
    report = xmleval.evaluate(truth, dense, metrics=NAMES)
    cells = torch.tensor(dense.ravel()), torch.tensor(truth.ravel())
    for name, found in (
        (ASKED[0], functional.binary_recall_at_fixed_precision(*cells, min_precision=0.6)),
        (ASKED[1], functional.binary_precision_at_fixed_recall(*cells, min_recall=0.8)),
    ):
        value, threshold = map(float, found)
        assert report[name.format("micro")] == pytest.approx(value, abs=1e-6)
        assert report.thresholds[name.format("micro")] == pytest.approx(threshold, abs=1e-6)


def test_ties_with_a_million_unlisted_cells_are_one_group() -> None:
    truth = sp.csr_array(([1, 1], ([0, 1], [5, 6])), shape=(2, 1_000_000))
    scores = sp.csr_array((np.array([0.5, 0.4], np.float32), ([0, 1], [5, 7])), shape=truth.shape)
    names = [
        "recall_at_precision.micro(p=0.9)",
        "precision_at_recall.micro(r=0.9)",
        "fpr_at_tpr.micro(tpr=1)",
    ]
    report = xmleval.evaluate(truth, scores, metrics=[*names, "auc.micro(max_fpr=1)", "auc.micro"])
    assert [*report.values()][:3] == [0.5, 1e-6, 1.0]
    assert report["auc.micro(max_fpr=1)"] == pytest.approx(report["auc.micro"], abs=1e-12)
    assert report.thresholds[names[2]] == -np.inf


@pytest.mark.parametrize("weighted", [False, True])
def test_partial_areas_have_intervals_and_maxima_have_none(weighted: bool) -> None:
    truth, scores, _ = made(3)
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS) if weighted else None
    report = xmleval.evaluate(truth, scores, metrics=NAMES, sample_weight=weight, confidence=0.95)
    assert {*report.confidence} == {name for name in NAMES if name.startswith("auc")}
    folds = np.empty(N_ROWS, np.uint8)
    find_folds(np.arange(N_ROWS), folds)
    assert folds.max() < N_FOLDS
    filled = [fold for fold in np.unique(folds) if weight is None or weight[folds == fold].any()]
    for at in (0, 11):
        left = folds != filled[at]
        own = None if weight is None else weight[left]
        rest = xmleval.evaluate(truth[left], scores[left], metrics=NAMES, sample_weight=own)
        for name in report.confidence:
            assert report.results.replicates[name][at] == rest[name]


def test_they_are_kept_in_saved_states_and_merged(tmp_path: Any) -> None:
    truth, scores, _ = made(5)
    whole = xmleval.evaluate(truth, scores, metrics=NAMES)
    parts = []
    for start in (60, 0, 30):
        part = xmleval.Evaluator(NAMES, n_labels=N_LABELS)
        part.update(truth[start : start + 30], scores[start : start + 30])
        part.save(tmp_path / "state.npz")
        parts.append(xmleval.Evaluator.load(tmp_path / "state.npz"))
    assert [*parts[0].merge(parts[1]).merge(parts[2]).compute().values()] == [*whole.values()]
    grouped = xmleval.evaluate(truth, scores, metrics=NAMES, label_groups=[*"aabbbb"])
    alone = xmleval.evaluate(truth[:, :2], scores[:, :2], metrics=NAMES)
    assert dict(grouped.groups["a"]) == dict(alone)
