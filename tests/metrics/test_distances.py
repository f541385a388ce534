"""Distances, but for values, which tests/relations.py compares with those of negated scores."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xmleval
from tests.damage import values_of
from xmleval import Evaluator, evaluate
from xmleval.thresholds import fit

RNG = np.random.default_rng(3)
TRUTH = (RNG.random((9, 6)) < 0.4).astype(int)
DISTANCES = RNG.integers(0, 9, (9, 6)) / 4


def test_report_of_distances_predicts_labels_at_smaller_ones() -> None:
    metrics = ["peak_f1.micro", "auc.micro"]
    report = evaluate(TRUTH, DISTANCES, metrics=metrics, higher_is_better=False, curve_points=99)
    assert "predict scores <= it" in str(report)
    assert "higher_is_better=False" in report.signature()
    assert report.to_dict()["higher_is_better"] is False
    sets = (report.thresholds["peak_f1.micro"] >= DISTANCES).astype(int)
    assert evaluate(TRUTH, y_pred=sets, metrics=["f1.micro"])["f1.micro"] == report["peak_f1.micro"]
    *_, thresholds = report.roc_curve()
    assert 0 in thresholds
    assert not np.signbit(thresholds[1:]).any()  # no threshold is a negative zero


def f1_of(predicted: Any) -> float:
    hits = np.sum(TRUTH * predicted)
    return float(2 * hits / (TRUTH.sum() + predicted.sum()))


@pytest.fixture
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_in_tmp_path")
@pytest.mark.parametrize("threshold", ["2", "0.5", "0", "-0.75", "-inf"])
@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_threshold_of_distances_predicts_labels_at_smaller_ones(
    threshold: str, shift: float
) -> None:
    distances = DISTANCES + shift
    expected = f1_of(distances < float(threshold))
    lists = np.argsort(distances, axis=1), np.sort(distances, axis=1)
    options: dict[str, Any] = {"decision": f"threshold{threshold}", "higher_is_better": False}
    metrics = ["f1.micro"]
    for form in (distances, np.float32(distances), lists):
        assert evaluate(TRUTH, form, metrics=metrics, **options)["f1.micro"] == expected
    evaluator = xmleval.Evaluator(metrics, n_labels=6, **options)
    evaluator.save("empty")
    evaluator = xmleval.Evaluator.load("empty")
    evaluator.update(TRUTH[:4], distances[:4])
    evaluator.save("half")
    evaluator = xmleval.Evaluator.load("half")
    evaluator.update(TRUTH[4:], distances[4:])
    assert evaluator.compute()["f1.micro"] == expected
    np.save("y.npy", TRUTH)
    np.save("s.npy", distances)
    assert evaluate("y.npy", "s.npy", metrics=metrics, **options)["f1.micro"] == expected
    words = f"y.npy s.npy --lower-is-better --decision threshold{threshold}"
    assert values_of(metrics, words) == {"f1.micro": expected}
    report = evaluate(TRUTH, distances, metrics=metrics, **options)
    assert f"decision=threshold{threshold}" in report.signature()


def test_threshold_of_distances_predicts_no_unlisted_label() -> None:
    lists = []
    for row in DISTANCES:
        near = np.flatnonzero(row < 1)
        lists.append([(label, row[label]) for label in near])
    for unlisted in ("below", 1.0, 5.0):
        report = evaluate(
            TRUTH,
            lists,
            metrics=["f1.micro"],
            decision="threshold0.75",
            higher_is_better=False,
            conventions={"unlisted": unlisted},
            n_labels=6,
        )
        assert report["f1.micro"] == f1_of(DISTANCES < 0.75)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"conventions": "unlisted=2", "decision": "threshold3"},
            'decision=threshold3 with conventions="unlisted=2" would predict',
        ),
        ({"higher_is_better": "no"}, "^higher_is_better: 'no' is neither True nor False$"),
        (
            {"metrics": "sets", "decision": fit(TRUTH, DISTANCES, "f1.macro", rule="label")},
            "was fitted to scores whose higher values are better",
        ),
    ],
)
def test_distances_are_refused_in_the_scale_of_the_caller(
    arguments: dict[str, Any], message: str
) -> None:
    arguments = {"higher_is_better": False} | arguments
    with pytest.raises(ValueError, match=message):
        evaluate(TRUTH, DISTANCES, **arguments)


def test_functions_of_one_measure_take_distances() -> None:
    for name in xmleval.__all__:
        function = getattr(xmleval, name)
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        if "y_score" not in parameters or "metrics" in parameters:
            continue
        options: dict[str, Any] = {}
        if name.startswith("ps"):
            options["inverse_propensity"] = [3, 1, 2, 5, 1.5, 9]
        expected = function(TRUTH, -DISTANCES, **options)
        assert function(TRUTH, DISTANCES, higher_is_better=False, **options) == expected


def test_thresholds_of_labels_predict_those_at_smaller_distances(tmp_path: Path) -> None:
    thresholds = np.linspace(0.1, 0.9, DISTANCES.shape[1])
    options: dict[str, Any] = {"metrics": "f1.macro", "higher_is_better": False}
    report = evaluate(TRUTH, DISTANCES, decision=thresholds, **options)
    expected = evaluate(TRUTH, y_pred=(thresholds > DISTANCES).astype(int), metrics="f1.macro")
    assert dict(report) == dict(expected)
    evaluator = Evaluator(**options, decision=thresholds)
    evaluator.update(TRUTH[:4], DISTANCES[:4])
    evaluator.save(tmp_path / "state")
    evaluator = Evaluator.load(tmp_path / "state")
    evaluator.update(TRUTH[4:], DISTANCES[4:])
    assert dict(evaluator.compute()) == dict(expected)
