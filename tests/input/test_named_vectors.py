"""Weights, propensities, groups and rules follow the names or numbers of rows and labels."""

import itertools
from collections import UserDict
from collections.abc import Callable
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.input.test_named_objects import FULL, NAMES, QRELS, ROWS, TAGS, matrix
from xmleval import Evaluator, Report, calibrate, compare, evaluate, fuse, inverse_propensity
from xmleval.thresholds import fit

Y = matrix(QRELS)
S = matrix(FULL).toarray()
Y.eliminate_zeros()
DENSE = Y.toarray()
SCORED = [*FULL.values()]
# another order, pink, and no blue
TRAIN = [
    ["pink"],
    ["grey", "red"],
    ["red"],
    ["green", "red"],
    ["grey"],
]
COUNTS = [3, 1, 0, 2]
Q = inverse_propensity(label_counts=COUNTS, n_instances=5)
WEIGHTS = np.array([1.0, 2.0, 0.0, 4.0])
GROUPS = [*"xyyz"]
TURNED = [2, 0, 3, 1]
UNWEIGHTED = ["p@1", "ndcg@3", "lrap"]
MEASURES = ["psp@2", *UNWEIGHTED]
BY_POSITION = "labels were read by position, as {} has no names of labels"
INDEX = "its index has the numbers of the rows in another order, but"
OPTIONS: dict[str, Any] = {
    "inverse_propensity": Q,
    "sample_weight": WEIGHTS,
    "label_groups": GROUPS,
}
EXPECTED = evaluate(Y, S, metrics=MEASURES, **OPTIONS)
BY_NUMBER = evaluate(Y, S, metrics=UNWEIGHTED)


def pandas() -> Any:
    return pytest.importorskip("pandas")


def assert_same(report: Report, expected: Report = EXPECTED) -> None:
    assert dict(report) == dict(expected)
    assert repr(report.groups) == repr(expected.groups)  # some values are NaN


LAST_FIRST = NAMES[::-1]
BY_LABEL: dict[str, Callable[[Any], Any]] = {
    "dict": lambda values: dict(zip(LAST_FIRST, values, strict=True)),
    "mapping": lambda values: UserDict(zip(LAST_FIRST, values, strict=True)),
    "Series": lambda values: pandas().Series(values, LAST_FIRST),
    "frame with an index": lambda values: pandas().DataFrame({"value": values}, LAST_FIRST),
    "frame of two columns": lambda values: pandas().DataFrame(
        {"label": LAST_FIRST, "value": values}
    ),
    "frame of one row": lambda values: pandas().DataFrame([values], columns=LAST_FIRST),
}


@pytest.mark.parametrize("form", BY_LABEL)
def test_values_of_labels_are_matched_by_name(form: str) -> None:
    make = BY_LABEL[form]
    named = {
        "inverse_propensity": make([*Q][::-1]),
        "label_groups": make(GROUPS[::-1]),
    }
    report = evaluate(TAGS, SCORED, metrics=MEASURES, **OPTIONS | named)
    assert_same(report)

    evaluator = Evaluator(MEASURES, labels=NAMES, **named)
    evaluator.update(TAGS, SCORED, sample_weight=WEIGHTS)
    assert_same(evaluator.compute())


def test_values_of_rows_are_matched_by_key() -> None:
    by_key = dict(zip(ROWS[::-1], WEIGHTS[::-1], strict=True))
    truths: list[Any] = [
        QRELS,
        pandas().Series(TAGS, index=ROWS),
        pandas().DataFrame(DENSE, ROWS, NAMES),
    ]
    all_weights = (by_key, UserDict(by_key), pandas().Series(by_key))
    for y_true, weights in itertools.product(truths, all_weights):
        options = OPTIONS | {"sample_weight": weights}
        report = evaluate(y_true, FULL, labels=NAMES, metrics=MEASURES, **options)
        assert_same(report)


def test_mapping_is_taken_wherever_a_dict_is() -> None:
    conventions = {"unlisted": 0.0}
    options: dict[str, Any] = {"metrics": UNWEIGHTED}
    expected = evaluate(DENSE, S, conventions=conventions, **options)
    report = evaluate(DENSE, S, conventions=MappingProxyType(conventions), **options)
    assert_same(report, expected)

    pair = UserDict(indices=np.argsort(-S), scores=-np.sort(-S))
    report = evaluate(DENSE, pair, **options)
    assert_same(report, BY_NUMBER)

    truth = UserDict(QRELS)
    scores = UserDict(FULL)
    models: Any = MappingProxyType({"a": scores, "b": FULL})
    for report in compare(truth, models, metrics=["p@1"]).reports.values():
        assert report["p@1"] in (EXPECTED["p@1"], BY_NUMBER["p@1"])

    rule = fit(truth, scores, "f1.micro")
    assert str(rule) == str(fit(QRELS, FULL, "f1.micro"))
    calibrator = calibrate.fit(QRELS, FULL)
    assert str(calibrate.fit(truth, scores)) == str(calibrator)
    assert calibrator.apply(scores) == calibrator.apply(FULL)
    assert fuse([scores, FULL]) == fuse([FULL, FULL])
    propensities = inverse_propensity(truth)
    assert propensities.tolist() == inverse_propensity(QRELS).tolist()

    by_label = dict(zip(NAMES, GROUPS, strict=True))
    report = evaluate(TAGS, SCORED, metrics=["p@1"], label_groups=UserDict(by_label))
    expected = evaluate(TAGS, SCORED, metrics=["p@1"], label_groups=by_label)
    assert repr(report.groups) == repr(expected.groups)

    by_key: dict[str, Any] = dict(zip(ROWS, GROUPS, strict=True))
    for name in ("row_groups", "clusters"):
        options = {"metrics": ["p@1"], "confidence": 0.9, name: by_key}
        expected = evaluate(QRELS, FULL, **options)
        options[name] = UserDict(by_key)
        report = evaluate(QRELS, FULL, **options)
        assert report.to_dict() == expected.to_dict()


def test_propensities_know_the_names_of_labels() -> None:
    propensities: Any = inverse_propensity(TRAIN)
    assert propensities.label_names == ["pink", "grey", "red", "green"]
    selected = propensities.for_labels(NAMES)
    assert selected.tolist() == Q.tolist()
    assert selected.label_names == NAMES

    listed = inverse_propensity(TRAIN, labels=[*NAMES, "pink"])
    counted = inverse_propensity(label_counts=COUNTS, n_instances=5, labels=NAMES)
    options = OPTIONS | {"label_groups": dict(zip(NAMES, GROUPS, strict=True))}
    for named in (propensities, listed, counted):
        options["inverse_propensity"] = named
        report = evaluate(TAGS, SCORED, metrics=MEASURES, **options)
        assert_same(report)
        assert report.signature() == EXPECTED.signature()

    turned = propensities[::-1]
    assert turned.label_names is None
    assert propensities.copy().label_names is None
    message = "^inverse propensities of labels without names cannot be matched"
    with pytest.raises(ValueError, match=message):
        turned.for_labels(NAMES)


def test_names_without_names_in_the_truth_are_noted() -> None:
    make = BY_LABEL["Series"]
    named: dict[str, Any] = {
        "inverse_propensity": make(Q),
        "label_groups": make(GROUPS),
    }
    note = BY_POSITION.format("y_true")
    evaluator = Evaluator(["psp@1"], n_labels=4, **named)
    evaluator.update(Y, S)
    report_of_arrays = evaluate(Y, S, metrics=["psp@1"], **named)
    for report in (report_of_arrays, evaluator.compute()):
        assert report.notes == [f"{argument}: {note}" for argument in named]

    # an index that names nothing
    for propensities in (
        pandas().Series(Q),
        pandas().DataFrame({"value": Q}),
    ):
        options = OPTIONS | {"inverse_propensity": propensities}
        report = evaluate(Y, S, metrics=MEASURES, **options)
        assert report.notes == []
        assert_same(report)


def test_refusal_names_argument_and_label() -> None:
    """The first argument of a case is refused."""
    cases: list[tuple[str, dict[str, Any]]] = [
        (
            "has no names, but labels are numbered as y_true names them; give labels=",
            {"inverse_propensity": np.array(Q)},
        ),
        (
            "no value for 'green', which y_true has",
            {"inverse_propensity": {"red": 2.0}},
        ),
        (
            "has names of labels, but y_true has none; give labels=",
            {
                "inverse_propensity": inverse_propensity(TRAIN),
                "y_true": Y,
                "y_score": S,
            },
        ),
        (
            "a frame of 2 rows and 4 columns has no value for each label",
            {"inverse_propensity": pandas().DataFrame(np.ones((2, 4)))},
        ),
        (
            "two values for 'a'",
            {"inverse_propensity": pandas().DataFrame({"label": [*"abca"], "q": Q})},
        ),
        (
            "no value for 'q2', which y_true has",
            {
                "sample_weight": {"q1": 2.0},
                "y_true": QRELS,
                "y_score": FULL,
            },
        ),
        (
            "has names, but y_true has none",
            {"sample_weight": {"q1": 2.0}},
        ),
        (
            "row 0: 'red' is text, not a list of labels",
            {"y_train": ["red", "blue"]},
        ),
    ]
    rows: dict[str, Any] = {"y_true": TAGS, "y_score": SCORED}
    for message, arguments in cases:
        refused, *_ = arguments
        metric = "p@1" if refused == "sample_weight" else "psp@1"
        with pytest.raises(ValueError, match=f"^{refused}: {message}"):
            evaluate(**rows | arguments, metrics=[metric])


def as_polars(frame: Any) -> Any:
    columns = {str(number): frame[number] for number in frame}
    return pytest.importorskip("polars").DataFrame(columns)


NUMBERED: dict[str, Callable[[Any], Any]] = {
    "integers": lambda frame: frame,
    "texts": lambda frame: frame.rename(columns=str),
    "sparse": lambda frame: frame.astype(pandas().SparseDtype(float, 0)),
    "polars": as_polars,
}


@pytest.mark.parametrize("form", NUMBERED)
def test_numbered_columns_are_brought_in_order(form: str) -> None:
    make = NUMBERED[form]
    truth = make(pandas().DataFrame(DENSE)[TURNED])
    frame = pandas().DataFrame(S)
    scores = make(frame)
    ranking = (np.argsort(-S), -np.sort(-S))
    note = "columns were sorted by their numbers"
    for y_true, y_score, notes in (
        (Y, scores, []),
        (DENSE, make(frame[TURNED]), [f"y_score: {note}"]),
        (truth, S, [f"y_true: {note}"]),
        (truth, S.tolist(), [f"y_true: {note}"]),
        (truth, ranking, [f"y_true: {note}"]),
        (truth, scores, []),  # both are frames
    ):
        report = evaluate(y_true, y_score, metrics=UNWEIGHTED)
        assert_same(report, BY_NUMBER)
        assert report.notes == notes
    report = evaluate(Y, y_pred=truth, metrics="f1.micro")
    assert report["f1.micro"] == 1


def test_other_names_are_read_by_position_if_one_side_has_none() -> None:
    pd = pandas()
    index = [4, 3, 2, 1]  # some rows of a larger frame
    for columns in ([*"dbca"], [4, 3, 2, 1]):
        scores = pd.DataFrame(S, index, columns)
        report = evaluate(Y, scores, metrics=UNWEIGHTED)
        assert_same(report, BY_NUMBER)
        assert report.notes == [f"y_score: {BY_POSITION.format('y_true')}"]

    labels = [*"dbca"]
    truth = pd.DataFrame(DENSE, columns=labels)
    note = f"y_score: {BY_POSITION.format('it')}"
    report = evaluate(truth, S, metrics=UNWEIGHTED)
    assert report.notes == [note]
    report = evaluate(truth, S, labels=labels, metrics=UNWEIGHTED)
    assert report.notes == []
    with pytest.warns(UserWarning, match=f"^{note}$"):
        fit(truth, S, "f1.macro", rule="label")


@pytest.mark.parametrize("arguments", [{"y_score": S}, {"y_pred": Y}, {"y_score": S.tolist()}])
def test_index_in_another_order_is_refused_if_one_side_has_none(
    arguments: dict[str, Any],
) -> None:
    (argument,) = arguments
    metric = "f1.micro@1" if argument == "y_score" else "f1.micro"
    options = {"metrics": [metric], **arguments}
    truth = pandas().DataFrame(DENSE).iloc[TURNED]
    lists = [[str(label) for label in row.nonzero()[0]] for row in DENSE]
    series = pandas().Series(lists)[TURNED]
    message = f"^y_true: {INDEX} {argument} has no index; call sort_index"
    for y_true, labels in ((truth, None), (series, [*"0123"])):
        with pytest.raises(ValueError, match=message):
            evaluate(y_true, labels=labels, **options)

    some_rows = truth.set_axis([7, 2, 5, 3])  # of a larger frame
    report = evaluate(some_rows, **options)
    assert_same(report, evaluate(DENSE[TURNED], **options))
    message = f"^y_score: {INDEX} y_true has no index"
    with pytest.raises(ValueError, match=message):
        evaluate(Y, pandas().DataFrame(S).iloc[::-1], metrics="p@1")


def test_numbered_weights_follow_the_rule_of_rows() -> None:
    pd = pandas()
    series = pd.Series(WEIGHTS)
    options: dict[str, Any] = {"metrics": UNWEIGHTED}
    expected = evaluate(Y, S, sample_weight=WEIGHTS, **options)
    by_key = dict(zip(TURNED, WEIGHTS[TURNED].tolist(), strict=True))
    truth = pd.DataFrame(DENSE).iloc[TURNED]
    scores = pd.DataFrame(S)
    named = pd.DataFrame(DENSE, None, NAMES)
    for y_true, y_score, weights in (
        (Y, S, series),
        (Y, S, series.set_axis([9, 4, 1, 7])),
        (Y, S, by_key),
        (truth, scores, series),
        (named, S, series[TURNED]),
    ):
        report = evaluate(y_true, y_score, sample_weight=weights, **options)
        assert_same(report, expected)

    message = f"^y_true: {INDEX} sample_weight has no index"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, scores, sample_weight=WEIGHTS, **options)

    index = [7, 2, 5, 3]  # some rows of a larger frame
    rows = truth.set_axis(index), scores.set_axis(index)
    message = r"no value for 7, .* give sample_weight.to_numpy\(\)$"
    with pytest.raises(ValueError, match=message):
        evaluate(*rows, sample_weight=series, **options)

    evaluator = Evaluator(n_labels=4, **options)
    message = f"^sample_weight: {INDEX} y_true has no index"
    with pytest.raises(ValueError, match=message):
        evaluator.update(Y, S, sample_weight=series[TURNED])


def test_numbered_propensities_follow_the_rule_of_columns() -> None:
    pd = pandas()
    train = np.tri(5, 4)
    train_frame = pd.DataFrame(train)
    true_frame = pd.DataFrame(DENSE)
    scores = S[:, ::-1]
    propensities = inverse_propensity(train)
    series = pd.Series(propensities)

    def values(truth: Any, **options: Any) -> dict[str, float]:
        return dict(evaluate(truth, scores, metrics=["psp@2"], **options))

    expected = values(Y, inverse_propensity=propensities)
    assert values(Y, inverse_propensity=propensities[TURNED]) != expected
    for truth in (Y, true_frame, true_frame[TURNED]):
        for vector in (propensities, series, series[TURNED]):
            assert values(truth, inverse_propensity=vector) == expected
        for y_train in (train, train_frame, train_frame[TURNED]):
            assert values(truth, y_train=y_train) == expected


@pytest.mark.parametrize("weight", [2.0**-30, 2.0**20])
def test_weights_within_the_limits_are_taken(weight: float) -> None:
    report = evaluate(np.eye(2), np.eye(2)[::-1], metrics="p@1", sample_weight=[weight, 0])
    assert report["p@1"] == 0.0
    beyond = weight * (2.0 if weight > 1 else 0.5)
    with pytest.raises(ValueError, match=r"^sample_weight: row 0: weight .* within 2\^-30..2\^20"):
        evaluate(np.eye(2), np.eye(2), metrics="p@1", sample_weight=[beyond, 0])


def test_propensity_at_the_limit_is_taken() -> None:
    for most, is_taken in ((2.0**30, True), (np.nextafter(2.0**30, np.inf), False)):
        expected = pytest.raises(ValueError, match=r"^inverse_propensity: label 1: .* at most 2")
        with nullcontext() if is_taken else expected:
            report = evaluate(np.eye(2), np.eye(2), metrics="psp@1", inverse_propensity=[1, most])
            assert report["psp@1"] == 1.0


@pytest.mark.parametrize(
    ("cluster", "is_taken"),
    [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)],
)
def test_clusters_are_integers_of_64_bits_or_their_digits(cluster: int, is_taken: bool) -> None:
    rows = range(60)
    truth = np.eye(3)[np.arange(60) % 3]
    scores = np.random.default_rng(0).random((60, 3))
    options: dict[str, Any] = {"metrics": "p@1", "confidence": 0.9}
    clusters = [cluster if row % 2 else row for row in rows]
    names: list[Any] = [f"{cluster}" if row % 4 == 1 else clusters[row] for row in rows]
    message = f"^clusters: row 1: {cluster} is neither a string nor an integer of 64 bits$"
    expected = pytest.raises(ValueError, match=message)
    with nullcontext() if is_taken else expected:
        report = evaluate(truth, scores, **options, clusters=clusters)
        named = evaluate(truth, scores, **options, clusters=names)
        assert report.to_json() == named.to_json()
