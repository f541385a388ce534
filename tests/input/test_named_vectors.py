"""Weights, propensities, groups and rules follow the names or numbers of rows and labels."""

import itertools
from collections import UserDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.input.test_named_objects import FULL, NAMES, QRELS, ROWS, TAGS, matrix
from xmleval import Evaluator, Report, calibrate, compare, evaluate, fuse, inverse_propensity
from xmleval.thresholds import fit

Y, S = matrix(QRELS), matrix(FULL).toarray()
Y.eliminate_zeros()
DENSE = Y.toarray()
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
BY_NUMBER = evaluate(Y, S, metrics=MEASURES[1:])


def pandas() -> Any:
    return pytest.importorskip("pandas")


def assert_same(report: Report, expected: Report = EXPECTED) -> None:
    assert dict(report) == dict(expected)
    assert repr(report.groups) == repr(expected.groups)  # of which some values are NaN


BY_LABEL: dict[str, Callable[[Any], Any]] = {
    "dict": lambda values: dict(zip(NAMES[::-1], values, strict=True)),
    "mapping": lambda values: UserDict(zip(NAMES[::-1], values, strict=True)),
    "Series": lambda values: pandas().Series(values, index=NAMES[::-1]),
    "frame with an index": lambda values: pandas().DataFrame({"value": values}, index=NAMES[::-1]),
    "frame of two columns": lambda values: pandas().DataFrame({"label": NAMES[::-1], "value": values}),
    "frame of one row": lambda values: pandas().DataFrame([values], columns=NAMES[::-1]),
}


@pytest.mark.parametrize("form", BY_LABEL)
def test_values_of_labels_are_matched_by_name(form: str) -> None:
    named = {name: BY_LABEL[form]([*OPTIONS[name]][::-1]) for name in ("inverse_propensity", "label_groups")}
    assert_same(evaluate(TAGS, SCORED, metrics=MEASURES, **OPTIONS | named))
    evaluator = Evaluator(MEASURES, labels=NAMES, **named)
    evaluator.update(TAGS, SCORED, sample_weight=WEIGHTS)
    assert_same(evaluator.compute())


def test_values_of_rows_are_matched_by_key() -> None:
    by_key = dict(zip(ROWS[::-1], WEIGHTS[::-1], strict=True))
    truths: list[Any] = [QRELS, pandas().Series(TAGS, index=ROWS), pandas().DataFrame(DENSE, ROWS, NAMES)]
    for y_true, weights in itertools.product(truths, (by_key, UserDict(by_key), pandas().Series(by_key))):
        options = OPTIONS | {"sample_weight": weights}
        assert_same(evaluate(y_true, FULL, labels=NAMES, metrics=MEASURES, **options))


def test_mapping_is_taken_wherever_a_dict_is() -> None:
    fields = MappingProxyType({"unlisted": 0.0})
    expected = evaluate(DENSE, S, metrics=MEASURES[1:], conventions={"unlisted": 0.0})
    assert_same(evaluate(DENSE, S, metrics=MEASURES[1:], conventions=fields), expected)
    pair = UserDict(indices=np.argsort(-S), scores=-np.sort(-S))
    assert_same(evaluate(DENSE, pair, metrics=MEASURES[1:]), BY_NUMBER)
    models: Any = MappingProxyType({"a": UserDict(FULL), "b": FULL})
    for report in compare(UserDict(QRELS), models, metrics=["p@1"]).reports.values():
        assert report["p@1"] == EXPECTED["p@1"] or report["p@1"] == BY_NUMBER["p@1"]
    truth, scores = UserDict(QRELS), UserDict(FULL)
    assert str(fit(truth, scores, "f1.micro")) == str(fit(QRELS, FULL, "f1.micro"))
    fitted = calibrate.fit(QRELS, FULL)
    assert str(calibrate.fit(truth, scores)) == str(fitted)
    assert fitted.apply(scores) == fitted.apply(FULL)
    assert fuse([scores, FULL]) == fuse([FULL, FULL])
    assert inverse_propensity(truth).tolist() == inverse_propensity(QRELS).tolist()
    groups = UserDict(zip(NAMES, GROUPS, strict=True))
    assert repr(evaluate(TAGS, SCORED, metrics=["p@1"], label_groups=groups).groups) == repr(
        evaluate(TAGS, SCORED, metrics=["p@1"], label_groups=dict(groups)).groups
    )
    by_key: dict[str, Any] = dict(zip(ROWS, GROUPS, strict=True))
    for name in ("row_groups", "clusters"):
        options: list[dict[str, Any]] = [{name: by_key}, {name: UserDict(by_key)}]
        reports = [evaluate(QRELS, FULL, metrics=["p@1"], confidence=0.9, **option) for option in options]
        assert reports[0].to_dict() == reports[1].to_dict()


def test_propensities_know_the_names_of_labels() -> None:
    q: Any = inverse_propensity(TRAIN)
    assert q.label_names == ["pink", "grey", "red", "green"]
    assert (q.for_labels(NAMES).tolist(), q.for_labels(NAMES).label_names) == (Q.tolist(), NAMES)
    listed = inverse_propensity(TRAIN, labels=[*NAMES, "pink"])
    counted = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    options = OPTIONS | {"label_groups": dict(zip(NAMES, GROUPS, strict=True))}
    for named in (q, listed, counted):
        report = evaluate(TAGS, SCORED, metrics=MEASURES, **options | {"inverse_propensity": named})
        assert_same(report)
        assert report.signature() == EXPECTED.signature()
    assert q[::-1].label_names is q.copy().label_names is None
    with pytest.raises(ValueError, match=r"^inverse propensities of labels without names cannot be matched"):
        q[::-1].for_labels(NAMES)


def test_names_that_the_truth_does_not_have_are_noted() -> None:
    names = ("inverse_propensity", "label_groups")
    named: dict[str, Any] = {name: BY_LABEL["Series"](OPTIONS[name]) for name in names}
    evaluator = Evaluator(["psp@1"], n_labels=4, **named)
    evaluator.update(Y, S)
    for report in (evaluate(Y, S, metrics=["psp@1"], **named), evaluator.compute()):
        assert report.notes == [f"{name}: {BY_POSITION.format('y_true')}" for name in names]
    for counts in (pandas().Series(Q), pandas().DataFrame({"value": Q})):  # an index that names nothing
        report = evaluate(Y, S, metrics=MEASURES, **OPTIONS | {"inverse_propensity": counts})
        assert report.notes == []
        assert_same(report)


def test_refusal_names_argument_and_label() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("has no names, and labels are numbered as y_true names them; give labels=",
         {"inverse_propensity": np.array(Q)}),
        ("no value for 'green', which y_true has", {"inverse_propensity": {"red": 2.0}}),
        ("knows labels by name, and y_true has none; give labels=",
         {"inverse_propensity": inverse_propensity(TRAIN), "y_true": Y, "y_score": S}),
        ("a frame of 2 rows and 4 columns has no value for each label",
         {"inverse_propensity": pandas().DataFrame(np.ones((2, 4)))}),
        ("two values for 'a'", {"inverse_propensity": pandas().DataFrame({"label": [*"abca"], "q": Q})}),
        ("no value for 'q2', which y_true has",
         {"sample_weight": {"q1": 2.0}, "y_true": QRELS, "y_score": FULL}),
        ("has names, and y_true has none", {"sample_weight": {"q1": 2.0}}),
        ("row 0: 'red' is text, not a list of labels", {"y_train": ["red", "blue"]}),
    ]  # fmt: skip
    base: dict[str, Any] = {"y_true": TAGS, "y_score": SCORED}
    for message, arguments in cases:
        metrics = ["p@1"] if "sample_weight" in arguments else ["psp@1"]
        with pytest.raises(ValueError, match=f"^{next(iter(arguments))}: {message}"):
            evaluate(**base | arguments, metrics=metrics)


NUMBERED: dict[str, Callable[[Any], Any]] = {
    "integers": lambda frame: frame,
    "texts": lambda frame: frame.rename(columns=str),
    "sparse": lambda frame: frame.astype(pandas().SparseDtype(float, 0)),
    "polars": lambda frame: pytest.importorskip("polars").DataFrame({str(j): frame[j] for j in frame}),
}


@pytest.mark.parametrize("form", NUMBERED)
def test_numbered_columns_are_brought_in_order(form: str) -> None:
    make, pd = NUMBERED[form], pandas()
    truth, scores = pd.DataFrame(DENSE), pd.DataFrame(S)
    note = "columns were brought in the order of their numbers"
    for y_true, y_score, argument in (
        (Y, make(scores), None), (DENSE, make(scores[TURNED]), "y_score"),
        (make(truth[TURNED]), S, "y_true"), (make(truth[TURNED]), S.tolist(), "y_true"),
        (make(truth[TURNED]), (np.argsort(-S), -np.sort(-S)), "y_true"),
        (make(truth[TURNED]), make(scores), None)  # both are frames
    ):  # fmt: skip
        report = evaluate(y_true, y_score, metrics=MEASURES[1:])
        assert_same(report, BY_NUMBER)
        assert report.notes == ([f"{argument}: {note}"] if argument else [])
    assert evaluate(Y, y_pred=make(truth[TURNED]), metrics="f1.micro")["f1.micro"] == 1


def test_other_names_are_read_by_position_next_to_what_has_none() -> None:
    pd, index = pandas(), np.arange(4)[::-1] + 1  # of a part of the rows of a larger frame
    for columns in ([*"dbca"], [4, 3, 2, 1]):
        report = evaluate(Y, pd.DataFrame(S, index, columns), metrics=MEASURES[1:])
        assert_same(report, BY_NUMBER)
        assert report.notes == [f"y_score: {BY_POSITION.format('y_true')}"]
    named, note = pd.DataFrame(DENSE, columns=[*"dbca"]), BY_POSITION.format("it")
    assert evaluate(named, S, metrics=MEASURES[1:]).notes == [f"y_score: {note}"]
    assert evaluate(named, S, labels=[*"dbca"], metrics=MEASURES[1:]).notes == []
    with pytest.warns(UserWarning, match=f"^y_score: {note}$"):
        fit(named, S, "f1.macro", rule="label")


@pytest.mark.parametrize("arguments", [{"y_score": S}, {"y_pred": Y}, {"y_score": S.tolist()}])
def test_an_index_in_another_order_is_refused_next_to_what_has_none(arguments: dict[str, Any]) -> None:
    (other,) = arguments
    options = {"metrics": ["f1.micro@1" if other == "y_score" else "f1.micro"], **arguments}
    truth = pandas().DataFrame(DENSE).iloc[TURNED]
    named = pandas().Series([[str(label) for label in row.nonzero()[0]] for row in DENSE])[TURNED]
    for y_true, labels in ((truth, None), (named, [*"0123"])):
        with pytest.raises(ValueError, match=f"^y_true: {INDEX} {other} has no index; sort_index"):
            evaluate(y_true, labels=labels, **options)
    later = truth.set_axis([7, 2, 5, 3])  # of a part of the rows of a larger frame
    assert_same(evaluate(later, **options), evaluate(DENSE[TURNED], **options))
    with pytest.raises(ValueError, match=f"^y_score: {INDEX} y_true has no index"):
        evaluate(Y, pandas().DataFrame(S).iloc[::-1], metrics="p@1")


def test_numbered_weights_follow_the_rule_of_rows() -> None:
    pd, series = pandas(), pandas().Series(WEIGHTS)
    options: dict[str, Any] = {"metrics": MEASURES[1:]}
    expected = evaluate(Y, S, sample_weight=WEIGHTS, **options)
    by_key = dict(zip(TURNED, WEIGHTS[TURNED].tolist(), strict=True))
    truth, scores, named = pd.DataFrame(DENSE).iloc[TURNED], pd.DataFrame(S), pd.DataFrame(DENSE, None, NAMES)
    for y_true, y_score, weights in (
        (Y, S, series), (Y, S, series.set_axis([9, 4, 1, 7])), (Y, S, by_key), (truth, scores, series),
        (named, S, series[TURNED])
    ):  # fmt: skip
        assert_same(evaluate(y_true, y_score, sample_weight=weights, **options), expected)
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
