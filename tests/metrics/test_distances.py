"""Distances give what their negatives give as scores."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import Evaluator, evaluate
from xmleval.thresholds import fit

RNG = np.random.default_rng(3)
T = (RNG.random((9, 6)) < 0.4).astype(int)
D = RNG.integers(0, 9, (9, 6)) / 4
Q = np.array([3.0, 1.0, 2.0, 5.0, 1.5, 9.0])
ORDER = np.argsort(D, axis=1, kind="stable")
LISTED = np.take_along_axis(D, ORDER, axis=1)
FORMS: dict[str, tuple[Any, Any]] = {
    "dense": (D, -D),
    "float32": (D.astype("f4"), -D.astype("f4")),
    "integers": ((4 * D).astype("i2"), (-4 * D).astype("i2")),
    "unsigned": ((4 * D).astype("u1"), -4 * D),
    "csr": (sp.csr_array(D), -sp.csr_array(D)),
    "list": ((ORDER, LISTED), (ORDER, -LISTED)),
    "shallow list": ((ORDER[:, :3], LISTED[:, :3]), (ORDER[:, :3], -LISTED[:, :3])),
    "pairs": (
        [list(zip(o, s, strict=True)) for o, s in zip(ORDER.tolist(), LISTED.tolist(), strict=True)],
        [list(zip(o, s, strict=True)) for o, s in zip(ORDER.tolist(), (-LISTED).tolist(), strict=True)],
    ),
}


def pair(form: str, metrics: Any = "all", **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reports on distances, and on their negatives, without what must differ."""
    far, near = FORMS[form]
    given = {"metrics": metrics, "n_labels": 6, "inverse_propensity": Q}
    truth = [np.flatnonzero(row).tolist() for row in T] if form == "pairs" else T
    unlisted, decision = more.pop("unlisted", None), more.pop("decision", "top2")
    found = evaluate(
        truth, far, higher_is_better=False, unlisted=unlisted, decision=decision, **given, **more
    ).to_dict()
    if unlisted is not None:
        more["unlisted"] = -unlisted
    if decision.startswith("threshold"):
        decision = f"threshold-{decision.removeprefix('threshold')}"
    expected = evaluate(truth, near, decision=decision, **given, **more).to_dict()
    for report in (found, expected):
        for name in ("higher_is_better", "conventions", "decision"):
            del report[name]
    return found, expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("more", [{}, {"unlisted": 1.5}, {"decision": "threshold1.25"}], ids=str)
def test_every_measure_takes_distances(form: str, more: dict[str, Any]) -> None:
    found, expected = pair(form, **more)
    negated = {name: -float(value) for name, value in found.pop("thresholds").items()}
    assert negated == {name: float(value) for name, value in expected.pop("thresholds").items()}
    assert found == expected


def test_thresholds_and_curves_are_of_distances() -> None:
    more: dict[str, Any] = {
        "metrics": ["peak_f1.micro", "auc.macro"],
        "per_label": True,
        "curve_points": 20,
    }
    far, near = evaluate(T, D, higher_is_better=False, **more), evaluate(T, -D, **more)
    assert far.thresholds == {name: -score for name, score in near.thresholds.items()}
    np.testing.assert_array_equal(far.per_label()["threshold"], -near.per_label()["threshold"])
    for curve in ("roc_curve", "pr_curve"):
        *values, thresholds = getattr(far, curve)()
        *expected, scores = getattr(near, curve)()
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(thresholds, -scores)
    assert "predict scores <= it" in str(far)
    best = evaluate(T, y_pred=(far.thresholds["peak_f1.micro"] >= D).astype(int), metrics=["f1.micro"])
    assert best["f1.micro"] == far["peak_f1.micro"]


def test_it_is_told_and_must_agree(tmp_path: Path) -> None:
    report = evaluate(T, D, metrics=["p@1"], higher_is_better=False, decision="threshold0.5")
    assert "higher_is_better=False" in report.signature()
    assert json.loads(report.to_json())["higher_is_better"] is False
    assert report.decision == "threshold0.5"
    ev = Evaluator(["p@1"], n_labels=6, higher_is_better=False)
    ev.update(T, D)
    ev.save(tmp_path / "state.npz")
    assert Evaluator.load(tmp_path / "state.npz").compute()["p@1"] == report["p@1"]
    other = Evaluator(["p@1"], n_labels=6)
    other.update(T, D)
    with pytest.raises(ValueError, match=r"^merge: .*higher_is_better"):
        other.merge(ev)
    with pytest.raises(ValueError, match=r"^higher_is_better: 'no' is neither True nor False$"):
        Evaluator(["p@1"], n_labels=6, higher_is_better="no")  # type: ignore[arg-type]


def test_refusals_are_in_the_scale_of_the_caller() -> None:
    refused: dict[str, Callable[[], Any]] = {
        "y_score: row 2: score nan": lambda: evaluate(
            T, np.where(np.arange(9)[:, None] == 2, np.nan, D), metrics=["p@1"], higher_is_better=False
        ),
        "unlisted=2 compares": lambda: evaluate(
            T, (ORDER, None), metrics=["p@1"], higher_is_better=False, unlisted=2
        ),
        "decision=threshold3 with unlisted=2 would predict": lambda: evaluate(
            T, D, metrics=["p@1"], higher_is_better=False, unlisted=2, decision="threshold3"
        ),
        "was fitted to scores of which higher ones are better": lambda: evaluate(
            T, D, metrics=["f1.macro"], higher_is_better=False, decision=fit(T, D, "f1.macro", rule="label")
        ),
    }
    for said, call in refused.items():
        with pytest.raises(ValueError, match=said):
            call()


def test_one_liners_take_distances() -> None:
    for name in xmleval.__all__:
        function = getattr(xmleval, name)
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        if "y_score" in parameters and "metrics" not in parameters:
            more = {"inverse_propensity": Q} if name.startswith("ps") else {}
            assert function(T, D, higher_is_better=False, **more) == function(T, -D, **more)


def test_the_command_line_takes_distances(folder: Path, run: Callable[..., str]) -> None:
    np.savez("list.npz", indices=LABELS, scores=1 - SCORES)
    words = "evaluate Y_test.npz list.npz --metrics p,lrap --lower-is-better"
    found = json.loads(run(f"{words} --format json"))
    assert found["values"] == evaluate(Y_TEST, (LABELS, SCORES), metrics=["p", "lrap"]).to_dict()["values"]
    assert "higher_is_better=False" in run(words)


@pytest.mark.parametrize("rule", ["constant", "cardinality"])
def test_thresholds_of_scores_are_none_of_distances(rule: str) -> None:
    fitted = fit(T, D, "f1.micro" if rule == "constant" else None, rule=rule)
    with pytest.raises(ValueError, match="was fitted to scores of which higher ones are better"):
        evaluate(T, D, metrics=["f1.macro"], higher_is_better=False, decision=fitted)


def test_no_threshold_of_a_curve_is_a_negative_zero() -> None:
    *_, thresholds = evaluate(
        T, D, metrics=["auc.micro"], higher_is_better=False, curve_points=99
    ).roc_curve()
    assert 0 in thresholds
    assert not np.signbit(thresholds[1:]).any()
