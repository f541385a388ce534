"""Propensities, weights and rules follow the names of labels and rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.input.test_named_objects import NAMES, QRELS, ROWS, RUN, SCORED, TAGS, S, Y, values
from xmleval import Evaluator, compare, evaluate, inverse_propensity, propensity
from xmleval.thresholds import Rule, fit

TRAIN = [["pink"], ["grey", "red"], ["red"], ["green", "red"], ["grey"]]  # another order, pink, and no blue
COUNTS = [3, 1, 0, 2]
Q = inverse_propensity(label_counts=COUNTS, n_instances=5)
WEIGHTS = np.array([1.0, 2.0, 0.0, 4.0])
TURNED = [3, 1, 0, 2]


def test_propensities_are_matched_by_name() -> None:
    q = inverse_propensity(TRAIN)
    assert q.label_names == ["pink", "grey", "red", "green"]
    assert q.for_labels(NAMES).tolist() == Q.tolist()
    assert q.for_labels(NAMES).label_names == NAMES
    expected = evaluate(Y, S, metrics=["psp"], inverse_propensity=Q)
    report = evaluate(TAGS, SCORED, metrics=["psp"], inverse_propensity=q)
    assert dict(report) == dict(expected)
    assert report.signature() == expected.signature()
    listed = inverse_propensity(TRAIN, labels=[*NAMES, "pink"])
    assert listed.label_names == [*NAMES, "pink"]
    assert values(TAGS, SCORED, metrics=["psp"], inverse_propensity=listed) == dict(expected)
    counted = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    assert values(TAGS, SCORED, metrics=["psp"], inverse_propensity=counted) == dict(expected)
    by_value = dict(zip(NAMES[::-1], Q[::-1].tolist(), strict=True))
    assert values(TAGS, SCORED, metrics=["psp"], inverse_propensity=by_value) == dict(expected)
    ev = Evaluator(["psp"], labels=NAMES, inverse_propensity=q)
    ev.update(TAGS, SCORED)
    assert dict(ev.compute()) == dict(expected)
    assert values(TAGS, SCORED, labels=NAMES, metrics=["psp"], inverse_propensity=Q) == dict(expected)


def test_models_that_are_compared_share_propensities(monkeypatch: pytest.MonkeyPatch) -> None:
    want = evaluate(TAGS, SCORED, metrics=["psp@1"], y_train=TRAIN)["psp@1"]
    count, counted = propensity.count_labels_of, list[Any]()

    def counting(rows: Any) -> Any:
        counted.append(rows)
        return count(rows)

    monkeypatch.setattr(propensity, "count_labels_of", counting)
    found = compare({"a": SCORED, "b": SCORED}, TAGS, metrics=["psp@1"], y_train=TRAIN)
    assert (len(counted), found.reports["a"]["psp@1"]) == (1, want)


def test_a_part_of_propensities_has_no_names() -> None:
    q: Any = inverse_propensity(TRAIN)
    assert q[::-1].label_names is None
    assert q.copy().label_names is None
    with pytest.raises(ValueError, match=r"^inverse propensities of labels without names cannot be matched"):
        q[::-1].for_labels(NAMES)


def test_weights_and_propensities_of_pandas_follow_the_index() -> None:
    pd: Any = pytest.importorskip("pandas")
    truth = pd.DataFrame(Y.toarray(), index=ROWS, columns=NAMES)
    weights, q = pd.Series(WEIGHTS, index=ROWS)[::-1], pd.Series(np.array(Q), index=NAMES)[::-1]
    expected = values(Y, S, metrics=["psp", "p"], inverse_propensity=Q, sample_weight=WEIGHTS)
    for y_true in (truth, QRELS, pd.Series(TAGS, index=ROWS)):
        found = values(y_true, RUN, metrics=["psp", "p"], inverse_propensity=q, sample_weight=weights)
        assert found == expected
    by_key = dict(zip(ROWS[::-1], WEIGHTS[::-1].tolist(), strict=True))
    assert values(QRELS, RUN, metrics=["p"], sample_weight=by_key) == values(
        Y, S, metrics=["p"], sample_weight=WEIGHTS
    )
    plain = pd.Series(WEIGHTS)
    assert values(truth, RUN, metrics=["p"], sample_weight=plain) == values(
        Y, S, metrics=["p"], sample_weight=WEIGHTS
    )
    shuffled = pd.DataFrame(Y.toarray(), columns=NAMES)
    assert values(shuffled, S, metrics=["p"], sample_weight=pd.Series(WEIGHTS)[TURNED]) == values(
        Y, S, metrics=["p"], sample_weight=WEIGHTS
    )


def test_frames_of_propensities_and_groups_are_matched_by_name() -> None:
    pd: Any = pytest.importorskip("pandas")
    names, q, groups = NAMES[::-1], Q[::-1].tolist(), ["x", "y", "y", "z"]
    frames: list[Callable[[Any], Any]] = [
        lambda values: pd.DataFrame({"value": values}, index=names),
        lambda values: pd.DataFrame({"label": names, "value": values}),
        lambda values: pd.DataFrame([values], columns=names),
    ]
    for make in frames:
        weights = {"inverse_propensity": make(q), "label_groups": make(groups)}
        report = evaluate(TAGS, SCORED, metrics=["psp"], **weights)
        assert dict(report) == dict(evaluate(Y, S, metrics=["psp"], inverse_propensity=Q))
        assert report.groups["x"].n_labels == report.groups["z"].n_labels == 1
        by_number = evaluate(Y, S, metrics=["psp"], label_groups=groups[::-1], inverse_propensity=Q)
        assert dict(report.groups["x"]) == dict(by_number.groups["x"])
    plain = pd.DataFrame({"value": Q})  # an index that names nothing
    assert values(Y, S, metrics=["psp"], inverse_propensity=plain) == dict(report)


def test_names_that_the_truth_does_not_have_are_noted() -> None:
    pd: Any = pytest.importorskip("pandas")
    told = "labels were read by position, as y_true has no names of them"
    named: dict[str, Any] = {
        "inverse_propensity": pd.Series(Q, index=NAMES),
        "label_groups": pd.Series([*"xyyz"], index=NAMES),
    }
    expected = [f"{name}: {told}" for name in named]
    assert evaluate(Y, S, metrics=["psp@1"], **named).notes[:2] == expected
    evaluator = Evaluator(["psp@1"], n_labels=4, **named)
    for rows in (slice(0, 2), slice(2, 4)):
        evaluator.update(Y[rows], S[rows])
    assert evaluator.compute().notes[:2] == expected
    listed = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    notes = evaluate(Y, S, metrics=["psp@1"], inverse_propensity=listed).notes
    assert notes == [f"inverse_propensity: {told}"]
    assert evaluate(Y, S, metrics=["psp@1"], inverse_propensity=pd.Series(np.array(Q))).notes == []


def test_rules_are_matched_by_name(tmp_path: Path) -> None:
    order = [3, 2, 1, 0]
    rule = fit(TAGS, SCORED, "f1.macro", rule="label")
    by_number = fit(Y, S, "f1.macro", rule="label")
    assert rule.label_names == tuple(NAMES)
    assert rule.decision.numbers.tolist() == by_number.decision.numbers.tolist()
    metrics = ["f1.macro", "f1.micro"]
    expected = values(Y, S, metrics=metrics, decision=by_number)
    assert values(TAGS, SCORED, metrics=metrics, decision=rule) == expected
    assert values(Y[:, order], S[:, order], labels=NAMES[::-1], metrics=metrics, decision=rule) == expected
    ev = Evaluator(metrics, labels=NAMES[::-1], decision=rule)
    ev.update(TAGS, SCORED)
    assert dict(ev.compute()) == expected
    rule.save(tmp_path / "rule.npz")
    applied = Rule.load(tmp_path / "rule.npz").apply(SCORED)
    assert (applied != by_number.apply(S)).nnz == 0
    with pytest.raises(ValueError, match=r"was fitted without label names"):
        evaluate(TAGS, SCORED, metrics=metrics, decision=by_number)


def _frame(columns: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


REFUSED: dict[str, Callable[[], Any]] = {
    r"inverse_propensity: has no names, and labels are numbered as y_true names them; give labels=": lambda: (
        evaluate(TAGS, SCORED, metrics=["psp"], inverse_propensity=np.array(Q))
    ),
    r"inverse_propensity: knows labels by name, and y_true has none; give labels=": lambda: evaluate(
        Y, S, metrics=["psp"], inverse_propensity=inverse_propensity(TRAIN)
    ),
    r"inverse_propensity: a frame of 2 rows and 4 columns has no value for each label": lambda: evaluate(
        Y, S, metrics=["psp"], inverse_propensity=_frame(np.ones((2, 4)))
    ),
    r"inverse_propensity: two values for 'a'": lambda: evaluate(
        Y, S, metrics=["psp"], inverse_propensity=_frame({"label": [*"abca"], "q": Q})
    ),
    r"inverse_propensity: no value for 'green', which y_true has": lambda: evaluate(
        TAGS, SCORED, metrics=["psp"], inverse_propensity={"red": 2.0}
    ),
    r"sample_weight: no value for 'q2', which y_true has": lambda: evaluate(
        QRELS, RUN, metrics=["p"], sample_weight={"q1": 2.0}
    ),
    r"sample_weight: has names, and y_true has none": lambda: evaluate(
        Y, S, metrics=["p"], sample_weight={"q1": 2.0}
    ),
    r"y_train: row 0: 'red' is text, not a list of labels": lambda: inverse_propensity(["red", "blue"]),
    r"y_train: row 0: label 'pink' is not one of the 4 given": lambda: inverse_propensity(
        TRAIN, labels=NAMES
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        REFUSED[message]()
