"""Weights, propensities, groups and rules follow the names or numbers of rows and labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.input.test_named_objects import FULL, NAMES, QRELS, ROWS, matrix
from xmleval import Evaluator, Report, evaluate, inverse_propensity
from xmleval.thresholds import Rule, fit

Y, S = matrix(QRELS), matrix(FULL).toarray()
Y.eliminate_zeros()
DENSE = Y.toarray()
TAGS = [[name for name, value in row.items() if value] for row in QRELS.values()]
SCORED = [*FULL.values()]
TRAIN = [["pink"], ["grey", "red"], ["red"], ["green", "red"], ["grey"]]  # another order, pink, and no blue
COUNTS = [3, 1, 0, 2]
Q = inverse_propensity(label_counts=COUNTS, n_instances=5)
WEIGHTS = np.array([1.0, 2.0, 0.0, 4.0])
GROUPS = [*"xyyz"]
TURNED = [2, 0, 3, 1]
MEASURES = ["psp@2", "p@1", "ndcg@3", "lrap"]
BY_POSITION = "labels were read by position, as {} has no names of them"
INDEX = "its index has the numbers of the rows in another order, and"
OPTIONS: dict[str, Any] = {"inverse_propensity": Q, "sample_weight": WEIGHTS, "label_groups": GROUPS}
EXPECTED = evaluate(Y, S, metrics=MEASURES, **OPTIONS)


def pandas() -> Any:
    return pytest.importorskip("pandas")


def assert_same(report: Report, expected: Report = EXPECTED) -> None:
    assert dict(report) == dict(expected)
    assert [(name, repr(dict(group))) for name, group in report.groups.items()] == [
        (name, repr(dict(group))) for name, group in expected.groups.items()
    ]  # of which some are NaN


BY_LABEL: dict[str, Callable[[Any], Any]] = {
    "dict": lambda values: dict(zip(NAMES[::-1], values, strict=True)),
    "Series": lambda values: pandas().Series(values, index=NAMES[::-1]),
    "frame with an index": lambda values: pandas().DataFrame({"value": values}, index=NAMES[::-1]),
    "frame of two columns": lambda values: pandas().DataFrame({"label": NAMES[::-1], "value": values}),
    "frame of one row": lambda values: pandas().DataFrame([values], columns=NAMES[::-1]),
}
BY_ROW: dict[str, Callable[[Any], Any]] = {
    "dict": lambda values: dict(zip(ROWS[::-1], values, strict=True)),
    "Series": lambda values: pandas().Series(values, index=ROWS[::-1]),
}


@pytest.mark.parametrize("form", BY_LABEL)
def test_values_of_labels_are_matched_by_name(form: str) -> None:
    named = {name: BY_LABEL[form](OPTIONS[name][::-1]) for name in ("inverse_propensity", "label_groups")}
    named["inverse_propensity"] = BY_LABEL[form]([*Q[::-1]])
    options = OPTIONS | named
    assert_same(evaluate(TAGS, SCORED, metrics=MEASURES, **options))
    evaluator = Evaluator(MEASURES, labels=NAMES, **named)
    evaluator.update(TAGS, SCORED, sample_weight=WEIGHTS)
    assert_same(evaluator.compute())


@pytest.mark.parametrize("form", BY_ROW)
def test_values_of_rows_are_matched_by_key(form: str) -> None:
    options = OPTIONS | {"sample_weight": BY_ROW[form](WEIGHTS[::-1])}
    truths: list[Any] = [QRELS, pandas().Series(TAGS, index=ROWS), pandas().DataFrame(DENSE, ROWS, NAMES)]
    for y_true in truths:
        assert_same(evaluate(y_true, FULL, labels=NAMES, metrics=MEASURES, **options))


def test_propensities_know_the_names_of_labels() -> None:
    q: Any = inverse_propensity(TRAIN)
    assert q.label_names == ["pink", "grey", "red", "green"]
    assert q.for_labels(NAMES).tolist() == Q.tolist()
    assert q.for_labels(NAMES).label_names == NAMES
    listed = inverse_propensity(TRAIN, labels=[*NAMES, "pink"])
    assert listed.label_names == [*NAMES, "pink"]
    counted = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    for named in (q, listed, counted):
        report = evaluate(
            TAGS,
            SCORED,
            metrics=MEASURES,
            **OPTIONS | {"inverse_propensity": named, "label_groups": dict(zip(NAMES, GROUPS, strict=True))},
        )
        assert_same(report)
        assert report.signature() == EXPECTED.signature()
    assert_same(evaluate(TAGS, SCORED, labels=NAMES, metrics=MEASURES, **OPTIONS))
    assert q[::-1].label_names is None
    assert q.copy().label_names is None
    with pytest.raises(ValueError, match=r"^inverse propensities of labels without names cannot be matched"):
        q[::-1].for_labels(NAMES)


def test_names_that_the_truth_does_not_have_are_noted() -> None:
    named: dict[str, Any] = {
        name: BY_LABEL["Series"](OPTIONS[name]) for name in ("inverse_propensity", "label_groups")
    }
    expected = [f"{name}: {BY_POSITION.format('y_true')}" for name in named]
    assert evaluate(Y, S, metrics=["psp@1"], **named).notes == expected
    evaluator = Evaluator(["psp@1"], n_labels=4, **named)
    for rows in (slice(0, 2), slice(2, 4)):
        evaluator.update(Y[rows], S[rows])
    assert evaluator.compute().notes == expected
    listed = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    assert evaluate(Y, S, metrics=["psp@1"], inverse_propensity=listed).notes == expected[:1]
    for counts in (
        pandas().Series(np.array(Q)),
        pandas().DataFrame({"value": Q}),
    ):  # an index that names nothing
        report = evaluate(Y, S, metrics=MEASURES, **OPTIONS | {"inverse_propensity": counts})
        assert report.notes == []
        assert_same(report)


def test_rules_are_matched_by_name(tmp_path: Path) -> None:
    rule, by_number = fit(TAGS, SCORED, "f1.macro", rule="label"), fit(Y, S, "f1.macro", rule="label")
    assert rule.label_names == tuple(NAMES)
    assert rule.decision.numbers.tolist() == by_number.decision.numbers.tolist()
    metrics = ["f1.macro", "f1.micro"]
    expected = evaluate(Y, S, metrics=metrics, decision=by_number)
    assert_same(evaluate(TAGS, SCORED, metrics=metrics, decision=rule), expected)
    backwards: dict[str, Any] = {"labels": NAMES[::-1], "metrics": metrics, "decision": rule}
    assert_same(evaluate(Y[:, ::-1], S[:, ::-1], **backwards), expected)
    evaluator = Evaluator(**backwards)
    evaluator.update(TAGS, SCORED)
    assert_same(evaluator.compute(), expected)
    rule.save(tmp_path / "rule.npz")
    assert (Rule.load(tmp_path / "rule.npz").apply(SCORED) != by_number.apply(S)).nnz == 0
    with pytest.raises(ValueError, match=r"was fitted without label names"):
        evaluate(TAGS, SCORED, metrics=metrics, decision=by_number)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("has no names, and labels are numbered as y_true names them; give labels=",
     {"inverse_propensity": np.array(Q)}),
    ("no value for 'green', which y_true has", {"inverse_propensity": {"red": 2.0}}),
    ("knows labels by name, and y_true has none; give labels=",
     {"inverse_propensity": inverse_propensity(TRAIN), "y_true": Y}),
    ("no value for 'q2', which y_true has", {"sample_weight": {"q1": 2.0}, "y_true": QRELS, "y_score": FULL}),
    ("has names, and y_true has none", {"sample_weight": {"q1": 2.0}}),
    ("row 0: 'red' is text, not a list of labels", {"y_train": ["red", "blue"]}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "arguments"), REFUSED)
def test_refusal_names_argument_and_label(message: str, arguments: dict[str, Any]) -> None:
    y_score = S if "y_true" in arguments else SCORED
    with pytest.raises(ValueError, match=f"^{next(iter(arguments))}: {message}"):
        evaluate(
            **{
                "y_true": TAGS,
                "y_score": y_score,
                "metrics": ["psp@1"] if "sample_weight" not in arguments else ["p@1"],
                **arguments,
            }
        )


def test_frames_without_a_value_for_each_label_are_refused() -> None:
    for message, frame in (
        ("a frame of 2 rows and 4 columns has no value for each label", pandas().DataFrame(np.ones((2, 4)))),
        ("two values for 'a'", pandas().DataFrame({"label": [*"abca"], "q": Q})),
    ):
        with pytest.raises(ValueError, match=f"^inverse_propensity: {message}"):
            evaluate(Y, S, metrics=["psp"], inverse_propensity=frame)
    with pytest.raises(ValueError, match=r"^y_train: row 0: label 'pink' is not one of the 4 given"):
        inverse_propensity(TRAIN, labels=NAMES)


NUMBERED: dict[str, Callable[[Any], Any]] = {
    "integers": lambda frame: frame,
    "texts": lambda frame: frame.rename(columns=str),
    "sparse": lambda frame: frame.astype(pandas().SparseDtype(float, 0)),
    "polars": lambda frame: pytest.importorskip("polars").DataFrame(
        {str(name): frame[name] for name in frame}
    ),
}


def noted(report: Report, expected: Report) -> set[str]:
    assert_same(report, expected)
    return {*report.notes} - {*expected.notes}


@pytest.mark.parametrize("form", NUMBERED)
def test_numbered_columns_are_brought_in_order(form: str) -> None:
    make, pd = NUMBERED[form], pandas()
    truth, scores = pd.DataFrame(DENSE), pd.DataFrame(S)
    expected = evaluate(Y, S, metrics=MEASURES[1:])
    told = "columns were brought in the order of their numbers"
    for y_true, y_score, note in (
        (Y, make(scores), set()), (DENSE, make(scores[TURNED]), {f"y_score: {told}"}),
        (make(truth), S, set()), (make(truth[TURNED]), S, {f"y_true: {told}"}),
        (make(truth[TURNED]), S.tolist(), {f"y_true: {told}"}),
        (make(truth[TURNED]), (np.argsort(-S), -np.sort(-S)), {f"y_true: {told}"}),
        (make(truth[TURNED]), make(scores), set()),  # both are frames
    ):  # fmt: skip
        assert noted(evaluate(y_true, y_score, metrics=MEASURES[1:]), expected) == note
    if form in ("integers", "sparse"):
        evaluator = Evaluator(MEASURES[1:], n_labels=4)
        evaluator.update(make(truth[TURNED]), S)
        assert noted(evaluator.compute(), expected) == {f"y_true: {told}"}
    assert evaluate(Y, y_pred=make(truth[TURNED]), metrics="f1.micro")["f1.micro"] == 1


def test_other_names_are_read_by_position_next_to_what_has_none() -> None:
    pd, expected = pandas(), evaluate(Y, S, metrics=MEASURES[1:])
    index = np.arange(4)[::-1] + 1  # of a part of the rows of a larger frame
    for columns in ([*"dbca"], [4, 3, 2, 1]):
        report = evaluate(Y, pd.DataFrame(S, index, columns), metrics=MEASURES[1:])
        assert noted(report, expected) == {f"y_score: {BY_POSITION.format('y_true')}"}
    assert (
        noted(evaluate(Y, pytest.importorskip("polars").DataFrame(S), metrics=MEASURES[1:]), expected)
        == set()
    )
    with pytest.raises(ValueError, match="y_score"):
        evaluate(Y, pd.DataFrame(S)[[1, 0]], metrics=MEASURES[1:])
    named, told = pd.DataFrame(DENSE, columns=[*"dbca"]), BY_POSITION.format("it")
    assert noted(evaluate(named, S, metrics=MEASURES[1:]), expected) == {f"y_score: {told}"}
    assert evaluate(named, S, labels=[*"dbca"], metrics=MEASURES[1:]).notes == expected.notes
    listed = {place: row.nonzero()[0].tolist() for place, row in enumerate(DENSE)}
    by_key = evaluate(named, y_pred=listed, metrics=["f1.micro"])
    assert (by_key["f1.micro"], by_key.notes) == (1, [f"y_pred: {told}"])
    with pytest.warns(UserWarning, match=f"^y_score: {told}$"):
        fit(named, S, "f1.macro", rule="label")


@pytest.mark.parametrize("arguments", [{"y_score": S}, {"y_pred": Y}, {"y_score": S.tolist()}])
def test_an_index_in_another_order_is_refused_next_to_what_has_none(arguments: dict[str, Any]) -> None:
    (other,) = arguments
    metrics = ["f1.micro@1" if other == "y_score" else "f1.micro"]
    truth = pandas().DataFrame(DENSE).iloc[TURNED]
    named = pandas().Series([[str(label) for label in row.nonzero()[0]] for row in DENSE])[TURNED]
    for y_true, labels in ((truth, None), (named, [*"0123"])):
        with pytest.raises(ValueError, match=f"^y_true: {INDEX} {other} has no index; sort_index"):
            evaluate(y_true, **arguments, labels=labels, metrics=metrics)
    later = truth.set_axis([7, 2, 5, 3])  # of a part of the rows of a larger frame
    assert_same(
        evaluate(later, **arguments, metrics=metrics), evaluate(DENSE[TURNED], **arguments, metrics=metrics)
    )
    if other == "y_score":
        with pytest.raises(ValueError, match=f"^y_score: {INDEX} y_true has no index"):
            evaluate(Y, pandas().DataFrame(S).iloc[::-1], metrics=metrics)


def test_numbered_weights_follow_the_rule_of_rows() -> None:
    pd, series = pandas(), pandas().Series(WEIGHTS)
    options: dict[str, Any] = {"metrics": MEASURES[1:]}
    expected = evaluate(Y, S, sample_weight=WEIGHTS, **options)
    by_key = dict(zip(TURNED, WEIGHTS[TURNED].tolist(), strict=True))
    for weights in (series, series.set_axis([9, 4, 1, 7]), series.set_axis([*"wxyz"]), by_key):
        assert_same(evaluate(Y, S, sample_weight=weights, **options), expected)
    truth, scores = pd.DataFrame(DENSE).iloc[TURNED], pd.DataFrame(S)
    assert_same(evaluate(truth, scores, sample_weight=series, **options), expected)
    named = pd.DataFrame(DENSE, columns=NAMES)
    assert_same(evaluate(named, S, sample_weight=series[TURNED], **options), expected)
    with pytest.raises(ValueError, match=f"^y_true: {INDEX} sample_weight has no index"):
        evaluate(truth, scores, sample_weight=WEIGHTS, **options)
    part = truth.set_axis([7, 2, 5, 3]), scores.set_axis([7, 2, 5, 3])
    with pytest.raises(ValueError, match=r"no value for 7, .* give sample_weight.to_numpy\(\)$"):
        evaluate(*part, sample_weight=series, **options)
    with pytest.raises(ValueError, match=f"^sample_weight: {INDEX} y_true has no index"):
        Evaluator(n_labels=4, **options).update(Y, S, sample_weight=series[TURNED])


def test_numbered_propensities_follow_the_rule_of_columns() -> None:
    pd, train, wrong = pandas(), np.tri(5, 4), S[:, ::-1]
    q = inverse_propensity(train)
    expected = dict(evaluate(Y, wrong, metrics=["psp@2"], inverse_propensity=q))
    assert expected != dict(evaluate(Y, wrong, metrics=["psp@2"], inverse_propensity=q[TURNED]))
    for truth in (Y, pd.DataFrame(DENSE), pd.DataFrame(DENSE)[TURNED]):
        for inverse in (q, pd.Series(q), pd.Series(q)[TURNED]):
            assert dict(evaluate(truth, wrong, metrics=["psp@2"], inverse_propensity=inverse)) == expected
        for y_train in (train, pd.DataFrame(train), pd.DataFrame(train)[TURNED]):
            assert dict(evaluate(truth, wrong, metrics=["psp@2"], y_train=y_train)) == expected
