"""Presets named after programs, on rows without relevant or predicted labels: the values of those programs.

Those of napkinXC and BEIR were recorded in peers.json; Mulan (Java) and pyxclib (not in any registry) are
followed here, function by function. `test_expected` has values of all four on real data.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Report, evaluate, inverse_propensity

RECORDED = json.loads(Path(__file__).with_name("peers.json").read_text())
ROWS = RECORDED["rows"]
LABELS = range(ROWS["n_labels"])
TRUTH, SETS = ([{*row} for row in ROWS[name]] for name in ("truth", "sets"))
LISTS = [[*zip(ids, scores, strict=True)] for ids, scores in zip(ROWS["lists"], ROWS["scores"], strict=True)]
Q = inverse_propensity(label_counts=ROWS["counts"], n_instances=ROWS["n_instances"])


def ours(name: str, preset: Any) -> float:
    """Return our value, of sets where the measure is one of sets."""
    inputs: dict[str, Any] = {"y_score": LISTS} if "@" in name else {"y_pred": ROWS["sets"]}
    inputs |= {"inverse_propensity": Q} if name.startswith("ps") else {}
    options: dict[str, Any] = {"metrics": [name], "n_labels": len(LABELS), "conventions": preset}
    report: Report = evaluate(ROWS["truth"], **inputs, **options)
    return report[name]


@pytest.mark.parametrize(
    ("peer", "name", "value"),
    [(peer, *each) for peer, own in RECORDED["peers"].items() for each in own["values"].items()],
)
def test_recorded_values(peer: str, name: str, value: float) -> None:
    digits = 5 if peer == "beir" else 12  # BEIR rounds
    assert ours(name, peer) == pytest.approx(value, abs=0.51 * 10**-digits)


def mulan(name: str, tp: float, fp: float, fn: float, tn: float) -> float:
    """InformationRetrievalMeasures.java, and ExampleBasedAccuracy.java."""
    if name == "specificity":
        return 1.0 if tn + fp + fn == 0 else 0.0 if tn + fp == 0 else tn / (tn + fp)
    if tp + fp + fn == 0:
        return 1.0
    if name == "precision":
        return 0.0 if tp + fp == 0 else tp / (tp + fp)
    if name == "recall":
        return 0.0 if tp + fn == 0 else tp / (tp + fn)
    return 2 * tp / (2 * tp + fn + fp) if name == "f1" else tp / (tp + fp + fn)


def counts(cells: Iterator[tuple[bool, bool]]) -> list[int]:
    """Tp, fp, fn and tn of (relevant, predicted)."""
    kinds = [0 if y and h else 1 if h else 2 if y else 3 for y, h in cells]
    return [kinds.count(kind) for kind in range(4)]


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "jaccard"])
def test_mulan_by_example(name: str) -> None:
    each = [mulan(name, *counts((j in y, j in h) for j in LABELS)) for y, h in zip(TRUTH, SETS, strict=True)]
    assert ours(f"{name}.samples", "mulan") == pytest.approx(math.fsum(each) / len(each), abs=1e-15)
    assert ours(f"{name}.samples", "mulan") != pytest.approx(ours(f"{name}.samples", "default"))


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "specificity"])
def test_mulan_by_label(name: str) -> None:
    truth = [*TRUTH[:3], {*LABELS}]  # labels in no set, and with all rows and one row
    sets = [*SETS[:3], {*LABELS}]
    for y, h in ((truth, sets), (truth[3:], sets[3:]), (truth[3:], [{0, 1}]), (TRUTH[:3], SETS[:3])):
        cells = [counts((j in one, j in other) for one, other in zip(y, h, strict=True)) for j in LABELS]
        lists = [[*map(sorted, rows)] for rows in (y, h)]
        report = evaluate(
            lists[0], y_pred=lists[1], n_labels=len(LABELS), metrics=[f"{name}.macro"], conventions="mulan"
        )
        each = [mulan(name, *of_label) for of_label in cells]
        assert report[f"{name}.macro"] == pytest.approx(math.fsum(each) / len(each), abs=1e-15)


def mulan_of_rows(truth: Any, scores: Any) -> dict[str, list[float]]:
    """RankingLoss, AveragePrecision, Coverage, IsError and OneError.java, row by row; NaN is not counted."""
    rows: dict[str, list[float]] = {}
    for y, s in zip(truth.astype(bool), scores, strict=True):
        rank = np.argsort(np.argsort(-s)) + 1
        relevant, others = rank[y], rank[~y]
        n_reversed = int((relevant[:, None] > others).sum())
        n_pairs = relevant.size * others.size
        values = {
            "ranking_loss": n_reversed / n_pairs if n_pairs else 0.0,
            "lrap": np.mean([(relevant <= r).sum() / r for r in relevant]) if relevant.size else math.nan,
            "coverage": relevant.max() - 1.0 if relevant.size else 0.0,
            "is_error": float(n_reversed > 0),
            "error_set_size": float(n_reversed),
            "one_error": float(not y[rank == 1][0]),
        }
        for name, value in values.items():
            rows.setdefault(name, []).append(value)
    return rows


@pytest.mark.parametrize("kinds", [(0.5,), (0.0, 0.5), (0.5, 1.0), (0.0, 0.3, 1.0), (1.0,), (0.0,)])
@pytest.mark.parametrize("seed", range(3))
def test_mulan_rankings_of_empty_and_full_rows(kinds: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((12, 5)) < rng.choice(kinds, (12, 1))).astype(int)
    scores = rng.permuted(np.tile(np.arange(5.0), (12, 1)), axis=1)  # without ties
    for name, rows in mulan_of_rows(truth, scores).items():
        known = [value for value in rows if not math.isnan(value)]
        expected = math.fsum(known) / len(known) if known else math.nan
        report = evaluate(truth, scores, metrics=name, conventions="mulan")
        assert report[name] == pytest.approx(expected, abs=1e-15, nan_ok=True), name


def pyxclib(name: str, k: int) -> float:
    """xclib/evaluation/xc_metrics.py: _precision, _recall, _ndcg; empty slots are a label beyond the last."""
    hits, ideal = np.zeros((len(TRUTH), k)), np.zeros((len(TRUTH), k))
    for row, (y, ids) in enumerate(zip(TRUTH, ROWS["lists"], strict=True)):
        weights = [Q[j] if name.startswith("ps") else 1.0 for j in ids[:k]]
        hits[row, : len(weights)] = [w * (j in y) for w, j in zip(weights, ids, strict=False)]
        best = sorted((Q[j] for j in y), reverse=True)[:k]
        ideal[row, : len(best)] = best
    n_true = np.array([len(y) for y in TRUTH])
    discounts = 1 / np.log2(np.arange(2, len(LABELS) + 2))
    units = np.cumsum(discounts)

    def average(flags: Any) -> float:
        if name.endswith("ndcg"):
            norm = np.minimum(units[n_true - 1], units[k - 1])  # without labels: the last unit
            return float(np.mean((flags * discounts[:k]).sum(axis=1) / norm))
        return float(np.mean(flags.sum(axis=1) / (k if name.endswith("p") else np.maximum(n_true, 1))))

    return average(hits) / (average(ideal) if name.startswith("ps") else 1.0)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("name", ["p", "r", "ndcg", "psp", "psr", "psndcg"])
def test_pyxclib(name: str, k: int) -> None:
    assert ours(f"{name}@{k}", "pyxclib") == pytest.approx(pyxclib(name, k), abs=1e-15)


def test_meka() -> None:
    """Its Metrics.java gives 0.5333 for these sets, as it says itself; the losses are its formula by hand."""
    truth, predicted = [[1, 2], [3, 4, 5], [6], [7]], [[1, 2, 3, 9], [3, 4], [6, 12], [1]]
    sets = [np.isin(np.arange(15), row).astype(int) for rows in (truth, predicted) for row in rows]
    report = evaluate(np.array(sets[:4]), y_pred=np.array(sets[4:]), metrics="f1.samples", conventions="meka")
    assert report["f1.samples"] == pytest.approx(1.6 / 3)
    probabilities = [[0.7, 0.8, 0.9, 0.7], [0.6, 0.7], [0.8, 0.8], [0.7]]
    scores = [[*zip(*row, strict=True)] for row in zip(predicted, probabilities, strict=True)]
    losses = evaluate(
        truth, scores, metrics=["limited_log_loss(limit=15)", "limited_log_loss(limit=4)"], n_labels=15
    )
    for limit, value in zip((15, 4), losses.values(), strict=True):
        listed = [0.7, 0.8, 1 - 0.9, 1 - 0.7, 0.6, 0.7, 0.8, 1 - 0.8, 1 - 0.7]
        every = [*listed, 0.0, 0.0]  # 5 and 7 are relevant, and not listed
        assert value == pytest.approx(sum(min(-np.log(max(p, 1e-99)), np.log(limit)) for p in every) / 60)


def test_mulan() -> None:
    """Its LogLoss.java sums over labels, and its GMAP takes the root of the product of the labels' values."""
    truth, scores = np.array([[1, 0, 1], [0, 1, 1]]), np.array([[0.9, 0.2, 0.0], [0.7, 1.0, 0.4]])
    report = evaluate(truth, scores, metrics=["log_loss.samples", "ap.geometric", "specificity.samples@1"])
    kept = [0.9, 0.8, 1e-8, 0.3, 1 - 1e-8, 0.4]
    assert report["log_loss.samples"] == pytest.approx(-np.log(kept).sum() / 2, rel=1e-14)
    assert evaluate(truth[:, [2]], scores[:, [2]], metrics="ap.geometric")["ap.geometric"] == 1.0
    assert np.isnan(evaluate(truth[:, [2]] * 0, scores[:, [2]], metrics="ap.geometric")["ap.geometric"])
    assert report["ap.geometric"] == pytest.approx(np.sqrt(1.0 * 1.0))
    assert report["specificity.samples@1"] == 1.0
