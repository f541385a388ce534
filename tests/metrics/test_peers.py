"""Presets named after programs give their values, also on rows without labels.

Values of napkinXC and BEIR are recorded in peers.json; functions of Mulan (Java) and pyxclib (not
in any registry) are rewritten here. `test_expected` has values of all four on real data.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Report, evaluate, inverse_propensity

RECORDED = json.loads(Path(__file__).with_name("peers.json").read_text())
ROWS = RECORDED["rows"]
LABELS = range(ROWS["n_labels"])
TRUTH = [{*row} for row in ROWS["truth"]]
SETS = [{*row} for row in ROWS["sets"]]
LISTS = []
for ids, scores in zip(ROWS["lists"], ROWS["scores"], strict=True):
    LISTS.append([*zip(ids, scores, strict=True)])
Q = inverse_propensity(label_counts=ROWS["counts"], n_instances=ROWS["n_instances"])


def ours(name: str, preset: Any) -> float:
    """Return the value of this package, for lists or sets."""
    options: dict[str, Any] = {"metrics": [name], "n_labels": len(LABELS), "conventions": preset}
    if "@" in name:
        options["y_score"] = LISTS
    else:
        options["y_pred"] = ROWS["sets"]
    if name.startswith("ps"):
        options["inverse_propensity"] = Q
    report: Report = evaluate(ROWS["truth"], **options)
    return report[name]


VALUES = [
    (peer, name, value)
    for peer, recorded in RECORDED["peers"].items()
    for name, value in recorded["values"].items()
]


@pytest.mark.parametrize(("peer", "name", "value"), VALUES)
def test_presets_give_recorded_values(peer: str, name: str, value: float) -> None:
    digits = 5 if peer == "beir" else 12  # BEIR rounds
    assert ours(name, peer) == pytest.approx(value, abs=0.51 * 10**-digits)


def mulan(name: str, tp: float, fp: float, fn: float, tn: float) -> float:
    """InformationRetrievalMeasures.java, and ExampleBasedAccuracy.java."""
    if name == "specificity":
        if tn + fp + fn == 0:
            return 1.0
        return quotient(tn, tn + fp)
    if tp + fp + fn == 0:
        return 1.0
    if name == "precision":
        return quotient(tp, tp + fp)
    if name == "recall":
        return quotient(tp, tp + fn)
    if name == "f1":
        return 2 * tp / (2 * tp + fn + fp)
    return tp / (tp + fp + fn)


def quotient(above: float, below: float) -> float:
    return above / below if below else 0.0


def mulan_mean(name: str, groups: Iterable[Iterable[tuple[bool, bool]]]) -> float:
    """Return the mean of a measure over groups of (relevant, predicted) cells."""
    values = []
    for cells in groups:
        kinds = [*cells]
        tp = kinds.count((True, True))
        fp = kinds.count((False, True))
        fn = kinds.count((True, False))
        tn = kinds.count((False, False))
        values.append(mulan(name, tp, fp, fn, tn))
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "jaccard"])
def test_mulan_preset_gives_means_over_rows(name: str) -> None:
    rows = zip(TRUTH, SETS, strict=True)
    expected = mulan_mean(name, ([(j in y, j in h) for j in LABELS] for y, h in rows))
    assert ours(f"{name}.samples", "mulan") == pytest.approx(expected, abs=1e-15)
    assert ours(f"{name}.samples", "mulan") != pytest.approx(ours(f"{name}.samples", "default"))


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "specificity"])
def test_mulan_preset_gives_means_over_labels(name: str) -> None:
    truth = [*TRUTH[:3], {*LABELS}]  # labels in no set, and with all rows and one row
    sets = [*SETS[:3], {*LABELS}]
    cases = [
        (truth, sets),
        (truth[3:], sets[3:]),
        (truth[3:], [{0, 1}]),
        (TRUTH[:3], SETS[:3]),
    ]
    for relevant, predicted in cases:
        rows = [*zip(relevant, predicted, strict=True)]
        expected = mulan_mean(name, ([(j in y, j in h) for y, h in rows] for j in LABELS))
        report = evaluate(
            [*map(sorted, relevant)],
            y_pred=[*map(sorted, predicted)],
            n_labels=len(LABELS),
            metrics=[f"{name}.macro"],
            conventions="mulan",
        )
        assert report[f"{name}.macro"] == pytest.approx(expected, abs=1e-15)


def mulan_of_rows(truth: Any, scores: Any) -> dict[str, list[float]]:
    """Values of RankingLoss.java and others, row by row; rows with NaN are not counted."""
    rows: dict[str, list[float]] = {}
    for y, s in zip(truth.astype(bool), scores, strict=True):
        rank = np.argsort(np.argsort(-s)) + 1
        relevant = rank[y]
        irrelevant = rank[~y]
        n_reversed = int((relevant[:, None] > irrelevant).sum())
        n_pairs = relevant.size * irrelevant.size
        values = {
            "ranking_loss": n_reversed / n_pairs if n_pairs else 0.0,
            "lrap": math.nan,
            "coverage": 0.0,
            "is_error": float(n_reversed > 0),
            "error_set_size": float(n_reversed),
            "one_error": float(not y[rank == 1][0]),
        }
        if relevant.size:
            values["lrap"] = np.mean([(relevant <= r).sum() / r for r in relevant])
            values["coverage"] = relevant.max() - 1.0
        for name, value in values.items():
            rows.setdefault(name, []).append(value)
    return rows


def mean_of_defined(values: list[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


@pytest.mark.parametrize("kinds", [(0.5,), (0.0, 0.5), (0.5, 1.0), (0.0, 0.3, 1.0), (1.0,), (0.0,)])
@pytest.mark.parametrize("seed", range(3))
def test_mulan_preset_ranks_empty_and_full_rows(kinds: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((12, 5)) < rng.choice(kinds, (12, 1))).astype(int)
    scores = rng.permuted(np.tile(np.arange(5.0), (12, 1)), axis=1)  # without ties
    for name, values in mulan_of_rows(truth, scores).items():
        expected = mean_of_defined(values)
        report = evaluate(truth, scores, metrics=name, conventions="mulan")
        assert report[name] == pytest.approx(expected, abs=1e-15, nan_ok=True), name


def pyxclib(name: str, k: int) -> float:
    """_precision, _recall and _ndcg of xclib/evaluation/xc_metrics.py.

    Empty slots are a label beyond the last.
    """
    has_propensities = name.startswith("ps")
    hits = np.zeros((len(TRUTH), k))
    ideal = np.zeros((len(TRUTH), k))
    for row, (y, ids) in enumerate(zip(TRUTH, ROWS["lists"], strict=True)):
        for place, j in enumerate(ids[:k]):
            gain = Q[j] if has_propensities else 1.0
            hits[row, place] = gain * (j in y)
        largest = sorted((Q[j] for j in y), reverse=True)[:k]
        ideal[row, : len(largest)] = largest
    if has_propensities:
        return pyxclib_mean(name, hits) / pyxclib_mean(name, ideal)
    return pyxclib_mean(name, hits)


def pyxclib_mean(name: str, gains: Any) -> float:
    """Return the mean over rows of the gains at k, discounted and divided as a measure does."""
    k = gains.shape[1]
    n_true = np.array([len(y) for y in TRUTH])
    if name.endswith("ndcg"):
        discounts = 1 / np.log2(np.arange(2, len(LABELS) + 2))
        units = np.cumsum(discounts)
        norm = np.minimum(units[n_true - 1], units[k - 1])  # without labels: the last unit
        return float(np.mean((gains * discounts[:k]).sum(axis=1) / norm))
    if name.endswith("p"):
        return float(np.mean(gains.sum(axis=1) / k))
    return float(np.mean(gains.sum(axis=1) / np.maximum(n_true, 1)))


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("name", ["p", "r", "ndcg", "psp", "psr", "psndcg"])
def test_pyxclib_preset_gives_values_of_pyxclib(name: str, k: int) -> None:
    assert ours(f"{name}@{k}", "pyxclib") == pytest.approx(pyxclib(name, k), abs=1e-15)


def test_meka_preset_and_losses_follow_its_source() -> None:
    """Metrics.java documents 0.5333 for these sets; the losses are its formula by hand."""
    truth = [[1, 2], [3, 4, 5], [6], [7]]
    predicted = [[1, 2, 3, 9], [3, 4], [6, 12], [1]]
    y_true, y_pred = (
        np.array([np.isin(np.arange(15), row) for row in rows], int) for rows in (truth, predicted)
    )
    report = evaluate(y_true, y_pred=y_pred, metrics="f1.samples", conventions="meka")
    assert report["f1.samples"] == pytest.approx(1.6 / 3)

    probabilities = [[0.7, 0.8, 0.9, 0.7], [0.6, 0.7], [0.8, 0.8], [0.7]]
    scores = [[*zip(*row, strict=True)] for row in zip(predicted, probabilities, strict=True)]
    metrics = ["limited_log_loss(limit=15)", "limited_log_loss(limit=4)"]
    report = evaluate(truth, scores, metrics=metrics, n_labels=15)
    listed = [0.7, 0.8, 1 - 0.9, 1 - 0.7, 0.6, 0.7, 0.8, 1 - 0.8, 1 - 0.7]
    unlisted = [0.0, 0.0]  # 5 and 7 are relevant
    for limit, value in zip((15, 4), report.values(), strict=True):
        losses = [min(-np.log(max(p, 1e-99)), np.log(limit)) for p in listed + unlisted]
        assert value == pytest.approx(sum(losses) / 60)


def test_mulan_measures_follow_its_source() -> None:
    """LogLoss.java sums over labels; GMAP is the root of the product of the values of labels."""
    truth = np.array([[1, 0, 1], [0, 1, 1]])
    scores = np.array([[0.9, 0.2, 0.0], [0.7, 1.0, 0.4]])
    metrics = ["log_loss.samples", "ap.geometric", "specificity.samples@1"]
    report = evaluate(truth, scores, metrics=metrics)
    clipped = [0.9, 0.8, 1e-8, 0.3, 1 - 1e-8, 0.4]
    assert report["log_loss.samples"] == pytest.approx(-np.log(clipped).sum() / 2, rel=1e-14)
    assert report["ap.geometric"] == pytest.approx(np.sqrt(1.0 * 1.0))
    assert report["specificity.samples@1"] == 1.0
    last = truth[:, [2]]
    assert evaluate(last, scores[:, [2]], metrics="ap.geometric")["ap.geometric"] == 1.0
    no_relevant = evaluate(last * 0, scores[:, [2]], metrics="ap.geometric")
    assert np.isnan(no_relevant["ap.geometric"])
