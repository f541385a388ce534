"""Refused values are taken once they are changed as the message advises."""

from __future__ import annotations

import re
from collections import UserList
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import object_array
from xmleval import Evaluator, calibrate, compare, evaluate, from_df, fuse, inverse_propensity, scan
from xmleval.thresholds import fit

CLASSES = np.array([2, 0, 1, 0])
Y = np.eye(3, dtype=int)[CLASSES]
S = np.array([[0.1, 0.2, 0.7], [0.1, 0.8, 0.1], [0.3, 0.4, 0.2], [0.5, 0.3, 0.2]])
TAGS = [["c"], ["a"], ["b"], ["a"]]
P_AT_1 = 0.75


@dataclass
class Case:
    """Arguments that are refused, a part of the message, and the arguments that it advises."""

    refused: dict[str, Any]
    message: str
    advised: dict[str, Any]


def pandas() -> Any:
    return pytest.importorskip("pandas")


def ids(**arguments: Any) -> dict[str, Any]:
    """Return arguments with a list of one label id for each row."""
    return {"y_true": CLASSES[:, None].tolist(), "y_score": S, "n_labels": 3, **arguments}


def by_row_and_label() -> Any:
    pairs = [*zip("wxyz", "caba", strict=True)]
    index = pandas().MultiIndex.from_tuples(pairs, names=["user", "item"])
    return pandas().Series(1, index=index)


def from_series() -> Any:
    frame = by_row_and_label().reset_index(name="value")
    return from_df(frame, instance="user", label="item", score="value")


def grouped() -> Any:
    return by_row_and_label().rename("n").reset_index().groupby("user")["item"]


def proba() -> list[Any]:
    return [np.column_stack([1 - column, column]) for column in S.T]


def run_with(labels: Iterable[Any]) -> dict[str, dict[Any, float]]:
    """Return the scores by row and label, for the labels of the three columns."""
    labels = [*labels]
    rows = [dict(zip(labels, row, strict=True)) for row in S.tolist()]
    return dict(zip("wxyz", rows, strict=True))


RUN = run_with("abc")
LISTS = [*RUN.values()]
NUMBERED = run_with([10, 20, 30])
NUMBERED_TRUTH = {"w": [30], "x": [10], "y": [20], "z": [10]}
TEXT_TRUTH = {"w": ["30"], "x": ["10"], "y": ["20"], "z": ["10"]}
HITS = [
    {"label": "c", "score": 0.9},
    {"label": "b", "score": 0.9},
    {"label": "x", "score": 0.1},
    {"label": "x", "score": 0.1},
]
HIT_TAGS = [["c"], ["b"], ["b"], ["x"]]
HIT_LISTS = [[[hit["label"], hit["score"]]] for hit in HITS]
FOUR_SCORES = np.c_[S, S[:, :1] / 2]
OF_CLASSES = "for label ids, give {} with n_labels=, the number of labels"
CASES: dict[str, Callable[[], Case]] = {
    "classes": lambda: Case(
        {"y_true": CLASSES, "y_score": S},
        OF_CLASSES.format("y_true[:, None].tolist()"),
        ids(),
    ),
    "classes in a Series": lambda: Case(
        {"y_true": pandas().Series(CLASSES), "y_score": S, "n_labels": 3},
        OF_CLASSES.format("[[label] for label in y_true]"),
        ids(),
    ),
    "classes in a list": lambda: Case(
        {"y_true": CLASSES.tolist(), "y_score": S},
        "if it is the only label, give [2]",
        ids(),
    ),
    "a column of classes": lambda: Case(
        {"y_true": CLASSES[:, None], "y_score": S},
        OF_CLASSES.format("y_true.tolist()"),
        ids(),
    ),
    "a column of classes, as many as rows": lambda: Case(
        {"y_true": CLASSES[:, None], "y_score": FOUR_SCORES, "n_labels": 4},
        OF_CLASSES.format("y_true.tolist()"),
        ids(y_score=FOUR_SCORES, n_labels=4),
    ),
    "a frame of classes": lambda: Case(
        {"y_true": pandas().DataFrame({"y": CLASSES}), "y_score": S},
        OF_CLASSES.format("y_true.to_numpy().tolist()"),
        ids(),
    ),
    "ids with empty slots": lambda: Case(
        {"y_true": np.c_[CLASSES, np.full(4, -1)], "y_score": S},
        OF_CLASSES.format("[[i for i in row if i >= 0] for row in y_true.tolist()]"),
        ids(),
    ),
    "classes of one label": lambda: Case(
        {"y_true": Y[:, 0], "y_score": S[:, :1], "metrics": ["auc.micro"]},
        "for one label, give y_true[:, None]",
        {"y_true": Y[:, :1], "y_score": S[:, :1], "metrics": ["auc.micro"]},
    ),
    "lists of integer ids without a number of labels": lambda: Case(
        {"y_true": [*NUMBERED_TRUTH.values()], "y_score": [*NUMBERED.values()]},
        "the labels are not known; give n_labels=, their number, or labels=, a list of all",
        {"y_true": NUMBERED_TRUTH, "y_score": NUMBERED, "labels": [10, 20, 30]},
    ),
    "lists of integer ids that may be names": lambda: Case(
        {"y_true": [*NUMBERED_TRUTH.values()], "y_score": [*NUMBERED.values()]},
        "or give ids as text, '10' for 10, to read them as names",
        {"y_true": TEXT_TRUTH, "y_score": run_with(["10", "20", "30"])},
    ),
    "digits for ids": lambda: Case(
        {"y_true": Y, "y_score": [dict(zip("012", row, strict=True)) for row in S]},
        "'0' is text: if it is an id, give an integer",
        {"y_true": Y, "y_score": [dict(enumerate(row)) for row in S], "n_labels": 3},
    ),
    "a first row without a list": lambda: Case(
        {"y_true": [None, *TAGS[1:]], "y_score": LISTS},
        "row 0: None is not a list of labels; give [] if there are none, or leave the row out",
        {"y_true": TAGS, "y_score": LISTS},
    ),
    "text that prints lists": lambda: Case(
        {"y_true": [*map(str, TAGS)], "y_score": LISTS},
        "convert it with ast.literal_eval",
        {"y_true": TAGS, "y_score": LISTS},
    ),
    "a series by row and label": lambda: Case(
        {"y_true": by_row_and_label(), "y_score": RUN},
        "from_df(y_true.reset_index(name='value'), instance='user', label='item', score='value')",
        {"y_true": from_series(), "y_score": RUN},
    ),
    "groups of pandas": lambda: Case(
        {"y_true": grouped(), "y_score": RUN},
        "a SeriesGroupBy is not a list; call .agg(list) on its column of labels",
        {"y_true": grouped().agg(list), "y_score": RUN},
    ),
    "records": lambda: Case(
        {"y_true": [{"tags": tags, "text": "t"} for tags in TAGS], "y_score": LISTS},
        "for records with lists, give [record['tags'] for record in y_true]",
        {"y_true": TAGS, "y_score": LISTS},
    ),
    "single hits": lambda: Case(
        {"y_true": HIT_TAGS, "y_score": HITS},
        "for a single label with its score, give [[hit] for hit in y_score]",
        {"y_true": HIT_TAGS, "y_score": HIT_LISTS},
    ),
    "rows in a tuple": lambda: Case(
        {"y_true": TAGS, "y_score": (["c"], ["b"], ["b"], ["a"])},
        "give rows, or arrays of predict_proba, in a list",
        {"y_true": TAGS, "y_score": [["c"], ["b"], ["b"], ["a"]]},
    ),
    "two rows in a tuple": lambda: Case(
        {"y_true": TAGS[:2], "y_score": (["c"], ["a"])},
        "a list of each for every row; give rows in a list",
        {"y_true": TAGS, "y_score": [["c"], ["b"], ["b"], ["a"]]},
    ),
    "predict_proba in a tuple": lambda: Case(
        {"y_true": Y, "y_score": tuple(proba())},
        "arrays of predict_proba, in a list",
        {"y_true": Y, "y_score": proba()},
    ),
    "predict_proba as one array": lambda: Case(
        {"y_true": Y, "y_score": np.array(proba())},
        "give y_score[:, :, 1].T, the scores of class 1",
        {"y_true": Y, "y_score": np.array(proba())[:, :, 1].T},
    ),
    "sparse batches": lambda: Case(
        {"y_true": Y, "y_score": [sp.csr_array(S[:2]), sp.csr_array(S[2:])]},
        "scipy.sparse.vstack joins batches of rows",
        {"y_true": Y, "y_score": sp.vstack([sp.csr_array(S)])},
    ),
    "indices that differ": lambda: Case(
        {
            "y_true": pandas().Series(TAGS),
            "y_score": pandas().Series(LISTS, index=[*"wxyz"]),
        },
        "row 'w' is not in y_true; "
        "if both have the same order, call reset_index(drop=True) on both",
        {"y_true": pandas().Series(TAGS), "y_score": pandas().Series(LISTS)},
    ),
    "labels that are judged -1": lambda: Case(
        {"y_true": 2 * Y - 1, "y_score": S},
        "give 0 if it means not relevant",
        {"y_true": Y, "y_score": S},
    ),
    "lists of ids of one label": lambda: Case(
        {"y_true": [[0], [1], [1], [0]], "y_score": S},
        "if y_true lists label ids, give n_labels=",
        ids(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_advice_of_a_message_is_taken(name: str) -> None:
    case = CASES[name]()
    options: dict[str, Any] = {"metrics": ["p@1"]}
    with pytest.raises(ValueError, match=re.escape(case.message)):
        evaluate(**options | case.refused)
    report = evaluate(**options | case.advised)
    (value,) = report.values()
    assert 0 < value <= 1
    is_usual_problem = case.advised["y_score"] is not HIT_LISTS
    if "p@1" in report and is_usual_problem:
        assert value == P_AT_1


@pytest.mark.parametrize("missing", ["None", "nan", "NA"])
@pytest.mark.parametrize("form", ["list", "tuple", "Series", "object array", "dict", "frame"])
def test_missing_rows_are_refused_by_every_function(form: str, missing: str) -> None:
    value = {"None": None, "nan": float("nan"), "NA": pandas().NA}[missing]
    forms: dict[str, Callable[[Any], Any]] = {
        "list": list,
        "tuple": tuple,
        "Series": pandas().Series,
        "object array": object_array,
        "dict": lambda rows: dict(zip("wxyz", rows, strict=True)),
        "frame": lambda rows: pandas().DataFrame({"labels": rows}),
    }
    rows = forms[form]([value, *TAGS[1:]])
    scores: Any = RUN if form == "dict" else LISTS
    calls: list[Callable[[], Any]] = [
        lambda: evaluate(rows, scores, metrics=["p@1"]),
        lambda: Evaluator(["p@1"], labels=[*"abc"]).update(rows, scores),
        lambda: compare(rows, {"a": scores, "b": scores}, metrics=["p@1"]),
        lambda: fit(rows, scores, "f1.micro"),
        lambda: calibrate.fit(rows, scores),
        lambda: inverse_propensity(rows),
    ]
    message = r"^y_(true|train): row 0: .* is not a list of labels; give \[\]"
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("truth", [Y, TAGS, {"q": {"a": 1}}, "truth.npz"], ids=str)
def test_compare_refuses_models_before_the_truth(truth: Any) -> None:
    message = (
        r"^models: \w+ is not a dict of models; .*; "
        r"they come after the truth: compare\(y_true, models\)$"
    )
    with pytest.raises(ValueError, match=message):
        compare({"a": S, "b": S}, truth)


@pytest.mark.parametrize(
    ("name", "true_name"),
    [
        ("type 2", "Type 2"),
        (" Type 2 ", "Type 2"),
        ("TYPE-2", "type_2"),
        ("E\u0301te\u0301", "\u00c9t\u00e9"),
    ],
)
def test_unknown_names_that_differ_in_spelling_alone_are_noted(name: str, true_name: str) -> None:
    note = (
        "1 unknown label differs only in spelling from labels of the truth, "
        f"such as {name!r} for {true_name!r}; "
    )
    truth = [[true_name], ["b"]]
    true_dict = {"x": [true_name], "y": ["b"]}
    lists = [[name], ["b"]]
    dicts = {"x": {name: 1.0}, "y": {"b": 1.0}}
    frame = pandas().DataFrame({name: [0.9, 0.1], "b": [0.1, 0.9]})
    for y_true, y_score in (
        (truth, lists),
        (true_dict, dicts),
        (truth, frame),
    ):
        report = evaluate(y_true, y_score, metrics=["p@1"])
        notes = [each for each in report.notes if note in each]
        assert notes == [f"y_score: {note}rename it if it means the same"]

    message = re.escape(f"is not one of the 1 listed labels, but {true_name!r} is;")
    with pytest.raises(ValueError, match=message):
        evaluate([[name]], [[true_name]], labels=[true_name], metrics=["p@1"])
    report = evaluate([["a"]], [["b"]], metrics=["p@1"])
    assert not any("spelling" in note for note in report.notes)


def test_notes_on_spelling_are_saved_in_states() -> None:
    evaluator = Evaluator(["p@1"], labels=["Type 2", "b"])
    evaluator.update([["Type 2"]], [["type 2"]])
    evaluator.update([["b"]], [["b"]])
    evaluator.save("state.npz")
    loaded = Evaluator.load("state.npz")
    for state in (evaluator, loaded):
        notes = state.compute().notes
        assert any("such as 'type 2' for 'Type 2'" in note for note in notes)


def test_digits_next_to_listed_names_are_noted() -> None:
    scores = [{"0": 0.9, "1": 0.1}, {"1": 0.5}]
    options: dict[str, Any] = {"labels": [*"abc"], "metrics": ["p@1"]}
    report = evaluate(Y[:2], scores, **options)
    note = "y_score: '0' is text, which is a name; integers are places in labels="
    assert note in report.notes
    message = "it is text: as an integer, it would be a place in the list"
    with pytest.raises(ValueError, match=message):
        evaluate(scores, S[:2], conventions="gains=linear", **options)
    by_place = [{0: 0.9, 1: 0.1}, {1: 0.5}]
    report = evaluate(Y[:2], by_place, **options)
    assert report["p@1"] == 0


def test_other_sequences_are_lists() -> None:
    rows = UserList(TAGS)
    report = evaluate(rows, UserList(LISTS), metrics=["p@1"])
    assert report["p@1"] == P_AT_1
    numbered_rows = UserList(CLASSES[:, None].tolist())
    report = evaluate(numbered_rows, S, n_labels=3, metrics=["p@1"])
    assert report["p@1"] == P_AT_1
    propensities = inverse_propensity(rows)
    assert propensities.tolist() == inverse_propensity(TAGS).tolist()


def test_scan_joins_rows_in_another_order_by_the_keyword_of_the_message() -> None:
    Path("t.csv").write_text("text,tags\ny,a\nx,b\n")
    Path("s.csv").write_text("text,predicted\nx,b\ny,a\n")
    message = r"as column 'text' shows; match rows by it with scan\(path, instance='text'\)$"
    with pytest.raises(ValueError, match=message):
        evaluate("t.csv", "s.csv", metrics=["p@1"])
    truth = scan("t.csv", instance="text")
    scores = scan("s.csv", instance="text")
    assert evaluate(truth, scores, metrics="p@1")["p@1"] == 1


def test_options_of_messages_read_a_file_with_a_line_for_each_label() -> None:
    Path("t.csv").write_text("doc,tags\nx,a\ny,b;c\n")
    lists = pandas().DataFrame(
        {"doc": [*"yxxy"], "tag": [*"cabb"], "probability": [0.4, 0.9, 0.2, 0.3]}
    )
    lists.to_csv("s.csv", index=False)
    by_position = scan("t.csv", separator=";")
    with pytest.raises(ValueError, match=r"names the rows, give scan\(path, instance=\.\.\.\)$"):
        evaluate(by_position, scan("s.csv", label="tag"), metrics="p@1")
    truth = scan("t.csv", separator=";", instance="doc")
    with pytest.raises(ValueError, match=r"'tag' may have .*, or give scan\(path, label='tag'\);"):
        evaluate(truth, scan("s.csv", instance="doc"), metrics="p@1")
    frame = from_df(lists, instance="doc", score="probability")
    with pytest.raises(
        ValueError, match=r"'tag' may have .*, or give .*from_df\(df, label='tag'\);"
    ):
        evaluate(truth, frame, metrics="p@1")
    scores = scan("s.csv", label="tag", instance="doc")
    assert evaluate(truth, scores, metrics="p@1")["p@1"] == 1


@pytest.mark.parametrize(
    "column", [list, tuple, object_array, lambda lists: pandas().Series(lists)]
)
def test_pair_of_columns_of_ids_is_read_by_every_function(column: Callable[[Any], Any]) -> None:
    """The columns have lists of several lengths, in either order, next to arrays and files."""
    labels = [[2, 0], [1], [1, 2, 0], [0]]
    scores = [[0.75, 0.25], [0.5], [0.5, 0.25, 0.125], [1.0]]
    pairs = [
        [(2, 0.75), (0, 0.25)],
        [(1, 0.5)],
        [(1, 0.5), (2, 0.25), (0, 0.125)],
        [(0, 1.0)],
    ]
    columns = column(labels), column(scores)
    np.save("truth.npy", Y)
    metrics = ["p@1", "ndcg@3"]
    expected = evaluate(Y, pairs, n_labels=3, metrics=metrics)
    for y_true, y_score in (
        (Y, columns),
        (Y, columns[::-1]),
        ("truth.npy", columns),
    ):
        report = evaluate(y_true, y_score, metrics=metrics)
        assert dict(report) == dict(expected)
    comparison = compare(Y, {"a": columns, "b": columns}, metrics=metrics)
    assert dict(comparison.reports["a"]) == dict(expected)

    rule = fit(Y, columns, "f1.micro")
    assert str(rule) == str(fit(Y, pairs, "f1.micro", n_labels=3))

    calibrator = calibrate.fit(Y, columns)
    calibrated_pairs = calibrator.apply(pairs)
    calibrated_scores = [[score for _, score in row] for row in calibrated_pairs]
    calibrated_columns = [[*each] for each in calibrator.apply(columns)]
    assert calibrated_columns == [labels, calibrated_scores]

    report = evaluate(Y, fuse([columns, columns]), metrics=["p@1"])
    assert report["p@1"] == expected["p@1"]
