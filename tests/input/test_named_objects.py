"""Labels and rows with names, in every form, give what the same data by number give."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import NAMED, ROLES, Form, Rows
from xmleval import Evaluator, evaluate, inverse_propensity
from xmleval.io import Named

SETS = ["subset_accuracy", "hamming_loss", "f1.macro", "f1.samples", "f1.micro"]


def rows_of(*texts: str) -> Rows:
    """Return rows q1, q2 .. from texts of names and values in turn."""
    rows: Rows = {}
    for number, text in enumerate(texts, 1):
        words = text.split()
        values = map(float, words[1::2])
        rows[f"q{number}"] = dict(zip(words[::2], values, strict=True))
    return rows


NAMES = ["red", "green", "blue", "grey"]
ROWS = ["q1", "q2", "q3", "q4"]
QRELS = rows_of(
    "red 1 green 1 blue 0 grey 0",
    "red 0 green 0 blue 1 grey 0",
    "red 0 green 0 blue 0 grey 0",
    "red 1 green 1 blue 0 grey 1",
)
RUN = rows_of("green .75 blue .5", "red .75 blue .5 grey .25", "red .5", "grey 1")
FULL = rows_of(
    "grey 2 red 1 green .5 blue .25",
    "red 3 blue 2 grey 1 green -1",
    "red 4 grey 3 green 2 blue 1",
    "blue 9 grey 3 red 2 green .25",
)
PRED = rows_of(
    "blue 0 grey 0 green 1 red 0",
    "red 1 green 0 blue 0 grey 1",
    "red 1 green 0 blue 1 grey 0",
    "red 0 green 0 blue 0 grey 1",
)
DATA = {"y_true": QRELS, "y_pred": PRED}
RANKED = ["p@1", "p@3", "ndcg@3", "lrap", "ranking_loss", "auc.micro"]
MEASURES = RANKED + SETS
TAGS = [[name for name, value in row.items() if value] for row in QRELS.values()]
CASES = [(name, role) for name, form in NAMED.items() for role in form.roles]


def number(name: str) -> int:
    return NAMES.index(name)


cases = pytest.mark.parametrize(("name", "role"), CASES)


def matrix(rows: Rows, names: list[str] = NAMES, keys: list[str] = ROWS) -> Any:
    """Return the matrix of rows by key and labels by name, with zeros stored."""
    values = []
    row_ids = []
    label_ids = []
    for row_id, key in enumerate(keys):
        for name, value in rows.get(key, {}).items():
            values.append(value)
            row_ids.append(row_id)
            label_ids.append(names.index(name))
    return sp.csr_array((values, (row_ids, label_ids)), shape=(len(keys), len(names)))


Y = matrix(QRELS)
S = matrix(RUN)
SCORED = [*RUN.values()]


def take(rows: Rows, keys: list[str]) -> Rows:
    return {key: rows[key] for key in keys if key in rows}


def rotate(rows: Rows) -> Rows:
    """Return the rows with the first one last."""
    first, *others = rows
    return take(rows, [*others, first])


def make_arguments(form: Form, role: str, data: dict[str, Rows], keyed: bool) -> dict[str, Any]:
    """Return arguments: one in a form, the others as dicts if rows have keys, as lists if not.

    If rows have keys, predictions have another order of rows.
    """
    arguments: dict[str, Any] = {}
    for argument, rows in data.items():
        if keyed and argument != "y_true":
            rows = rotate(rows)
        if argument == role:
            arguments[argument] = form.make(rows, argument)
        elif keyed:
            arguments[argument] = rows
        else:
            arguments[argument] = [*rows.values()]
    return arguments


def problems(form: Form, role: str, data: dict[str, Rows]) -> Iterator[dict[str, Any]]:
    """Yield arguments with keys of rows, without them, or both, as the form allows."""
    if form.keyed is not False:
        yield make_arguments(form, role, data, keyed=True)
    if not form.keyed:
        yield make_arguments(form, role, data, keyed=False)


def scores_for(name: str) -> Rows:
    return FULL if NAMED[name].wide else RUN


@cases
def test_names_give_what_numbers_give(name: str, role: str) -> None:
    form = NAMED[name]
    scores = scores_for(name)
    data = DATA | {"y_score": scores}
    expected = evaluate(Y, matrix(scores), y_pred=matrix(PRED), metrics=MEASURES)
    for arguments in problems(form, role, data):
        before = repr(arguments)
        report = evaluate(**arguments, metrics=MEASURES, per_label=True)
        assert dict(report) == dict(expected)
        assert report.notes == []
        assert repr(arguments) == before
        assert report.label_names is not None
        support = report.per_label()["support"].tolist()
        assert dict(zip(report.label_names, support, strict=True)) == {
            "red": 2,
            "green": 2,
            "blue": 1,
            "grey": 1,
        }
        y_true = arguments["y_true"]
        propensities: Any = inverse_propensity(y_true, labels=NAMES)
        assert propensities.tolist() == inverse_propensity(Y).tolist()
        is_keyed_form = role == "y_true" and form.keyed is not False
        has_keys = isinstance(y_true, dict) or is_keyed_form
        assert report.row_names == (ROWS if has_keys else None)

    evaluator = Evaluator(MEASURES, labels=NAMES[::-1])
    for keys in (ROWS[:1], ROWS[1:]):
        batch = {argument: take(rows, keys) for argument, rows in data.items()}
        evaluator.update(**next(problems(form, role, batch)))
    report = evaluator.compute()
    assert dict(report) == dict(expected)
    assert report.label_names == NAMES[::-1]


WITH_GRADES = [name for name, form in NAMED.items() if form.by_name and form.roles == ROLES]
WITH_INDEX = [name for name, form in NAMED.items() if form.keyed is None and "y_pred" in form.roles]


@pytest.mark.parametrize("name", WITH_GRADES)
def test_grades_may_have_every_form_with_values(name: str) -> None:
    graded = rows_of(
        "red 3 green 1 blue 0 grey 0",
        "red 0 green 0 blue 1 grey -1",
        "red 0 green 0 blue 0 grey 0",
        "red 1 green 2 blue 0 grey 1",
    )
    note = 'y_true: grades above 1 count as 1, unless conventions="gains=..." is given'
    data = {"y_true": graded, "y_score": RUN}
    metrics = ["ndcg@3", "p@1"]
    with_gains = evaluate(
        matrix(graded), S, metrics=metrics, conventions="gains=exp,relevant_from=1"
    )
    without_gains = evaluate(Y, S, metrics=metrics)
    for arguments in problems(NAMED[name], "y_true", data):
        report = evaluate(**arguments, metrics=metrics, conventions="gains=exp,relevant_from=1")
        assert dict(report) == dict(with_gains)
        assert report.notes == []
        if not NAMED[name].wide:
            report = evaluate(**arguments, metrics=metrics)
            assert dict(report) == dict(without_gains)
            assert report.notes == [note]


@pytest.mark.parametrize("name", WITH_INDEX)
def test_rows_are_brought_in_the_order_of_an_index(name: str) -> None:
    y_true = NAMED[name].make(QRELS, "y_true")
    y_pred = NAMED[name].make(rotate(PRED), "y_pred")
    report = evaluate(y_true, y_pred=y_pred, metrics=SETS)
    expected = evaluate(Y, y_pred=matrix(PRED), metrics=SETS)
    assert dict(report) == dict(expected)
    assert report.notes == ["y_pred: rows were reordered by the index of y_true"]


@pytest.mark.parametrize("name", ["pandas wide", "polars wide"])
def test_labels_of_the_truth_may_have_no_column(name: str) -> None:
    scores: Rows = {}
    for key, row in FULL.items():
        scores[key] = {label: score for label, score in row.items() if label != "grey"}
    y_score = NAMED[name].make(scores, "y_score")
    metrics = ["p@1", "lrap"]
    report = evaluate([*QRELS.values()], y_score, metrics=metrics)
    expected = evaluate(Y, matrix(scores), metrics=metrics)
    assert dict(report) == dict(expected)
    assert report.notes == [
        "y_score: 1 label of the truth has no column; it counts as not predicted"
    ]


@pytest.mark.parametrize("kind", [int, str, np.int64])
def test_keys_that_number_the_rows_match_rows_without_names(kind: Any) -> None:
    keys = [kind(row) for row in range(4)]
    truth = dict(zip(keys, QRELS.values(), strict=True))
    scores = dict(zip(keys, RUN.values(), strict=True))
    reversed_scores = dict(reversed(scores.items()))
    expected = evaluate(QRELS, RUN, metrics=["p@1"])
    for y_true, y_score, labels in (
        (truth, SCORED, None),
        (TAGS, scores, None),
        (TAGS, reversed_scores, None),
        (matrix(QRELS), reversed_scores, NAMES),
    ):
        report = evaluate(y_true, y_score, labels=labels, metrics=["p@1"])
        assert dict(report) == dict(expected)

    report = evaluate(TAGS, SCORED, exclude=[(kind(0), "green")], metrics=["p@1"])
    assert report.notes[0] == "exclude: 1 of 1 pair has a relevant or predicted label"

    message = r"have keys, but those of y_\w+ have none; give keys to both"
    for y_true, y_score in (
        (reversed_scores, SCORED),
        (TAGS, {kind(7): {"red": 1.0}}),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(y_true, y_score, metrics=["p@1"], conventions="gains=linear")


@pytest.mark.parametrize("make", ["lists", "wide"])
def test_default_index_is_matched_with_another_index(make: str) -> None:
    """Rows are matched if both are frames of pandas; if one is a list, they are in order."""
    pd = pytest.importorskip("pandas")
    lists = [*RUN.values()]
    truth = pd.DataFrame({"labels": TAGS})
    scores = pd.DataFrame({"labels": [[*row] for row in lists]})
    if make == "wide":
        lists = [*FULL.values()]
        truth = pd.DataFrame([*QRELS.values()])[NAMES]
        scores = pd.DataFrame(lists)[NAMES]
    expected = evaluate(truth, scores, metrics=["p@1"])
    expected_in_order = evaluate(TAGS, lists, metrics=["p@1"])
    message = r"is not in y_true; .* reset_index\(drop=True\) on both$"
    for index in (ROWS, [5, 6, 7, 8]):
        for y_true, y_score in (
            (truth.set_axis(index), scores),
            (truth, scores.set_axis(index)),
        ):
            with pytest.raises(ValueError, match=message):
                evaluate(y_true, y_score, metrics=["p@1"])
            y_true = y_true.reset_index(drop=True)
            y_score = y_score.reset_index(drop=True)
            report = evaluate(y_true, y_score, metrics=["p@1"])
            assert dict(report) == dict(expected)
        report = evaluate(truth.set_axis(index), lists, metrics=["p@1"])
        assert dict(report) == dict(expected_in_order)


def test_rankings_of_names_need_no_scores() -> None:
    names = np.array([[*row] for row in FULL.values()])
    metrics = ["p@1", "ndcg@3", "lrap"]
    expected = evaluate(Y, matrix(FULL), metrics=metrics)
    for ranking in (names, (names, None)):
        report = evaluate(TAGS, ranking, metrics=metrics)
        assert dict(report) == dict(expected)
        with pytest.raises(ValueError, match=r"auc\.micro needs scores in y_score="):
            evaluate(TAGS, ranking, metrics=["auc.micro"])


def test_labels_name_the_columns_of_arrays() -> None:
    order = [3, 2, 0, 1]
    names = [NAMES[label] for label in order]
    y_score = matrix(FULL)[:, order]
    expected = evaluate(Y, matrix(FULL), metrics=RANKED)
    for scores in (y_score, y_score.toarray()):
        report = evaluate(TAGS, scores, labels=np.array(names), metrics=RANKED)
        assert dict(report) == dict(expected)

    evaluator = Evaluator(RANKED, labels=names)
    evaluator.update(TAGS, y_score)
    shard = Evaluator(RANKED, labels=NAMES)
    shard.update(TAGS, [*FULL.values()])
    merged = copy.deepcopy(evaluator)
    merged.merge(shard)  # by name
    assert dict(merged.compute()) == pytest.approx(dict(expected))

    evaluator.save("state.npz")
    loaded = Evaluator.load("state.npz")
    loaded.update([], [])
    report = loaded.compute()
    assert report.label_names == names
    assert dict(report) == dict(expected)

    evaluator = Evaluator(["p@1"], n_labels=4)
    message = r"^y_true: labels have names; an evaluator needs labels="
    with pytest.raises(ValueError, match=message):
        evaluator.update(TAGS, SCORED)


def test_empty_lists_are_taken_as_names_and_as_numbers() -> None:
    empty: list[list[str]] = [[], [], [], []]
    expected = evaluate(Y, y_pred=sp.csr_array((4, 4)), metrics=SETS)
    report = evaluate(TAGS, y_pred=empty, metrics=SETS)
    assert dict(report) == dict(expected)
    report = evaluate(TAGS, empty, metrics=["p@1"])
    assert report["p@1"] == 0
    for y_score, labels in (
        (SCORED, NAMES),
        (empty, NAMES),
        (S, None),
    ):
        report = evaluate(empty, y_score, labels=labels, metrics=["p@1"])
        assert report["p@1"] == 0
        assert report.n_labels == 4


def test_long_frames_may_have_transposed_shapes() -> None:
    pd = pytest.importorskip("pandas")
    truth = pd.DataFrame({"instance": range(3), "label": range(3)})
    scores = pd.DataFrame(
        {
            "instance": [0, 1],
            "label": [0, 1],
            "score": [0.5, 0.5],
        }
    )
    report = evaluate(truth, scores, n_labels=3, metrics=["p@1"])
    assert report["p@1"] == 2 / 3


def test_labels_of_one_name_are_one_label() -> None:
    y_true = {"q1": ["a"], "q2": ["b"]}
    scores = sp.csr_array([[0.5, 0], [0, 0.4]])
    unknown = Named(scores, ["q1", "q2"], ["x", "x"])
    report = evaluate(y_true, unknown, metrics=["p@1"])
    assert report["p@1"] == 0

    scores = sp.csr_array([[0.5, 0.3, 0.1]])
    in_one_row = Named(scores, ["q1"], ["a", "x", "x"])
    with pytest.raises(ValueError, match="label 'x' occurs twice"):
        evaluate(y_true, in_one_row, metrics=["p@1"])

    pa = pytest.importorskip("pyarrow")
    names = pa.array(["a", "a", "b"])
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), names)
    truth = pa.table({"instance": [0, 1, 2], "label": labels})
    rankings = {0: ["a"], 1: ["a"], 2: ["b"]}
    report = evaluate(truth, rankings, metrics=["p@1"])
    assert report["p@1"] == 1


@pytest.mark.parametrize("labels", [np.array([3, 1]), np.array(["b", "a"]), range(2)])
def test_names_of_labels_are_texts_and_integers_of_python(labels: Any) -> None:
    report = evaluate(np.eye(2), np.eye(2), metrics="p@1", labels=labels)
    assert report.label_names is not None
    assert {*map(type, report.label_names)} <= {int, str}
    assert report.label_names == [*labels]


@pytest.mark.parametrize("n_rows", [2, 3])
def test_index_with_another_row_is_refused_with_what_may_be_meant(n_rows: int) -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame(np.eye(2), index=[5, 6])
    scores = pandas.DataFrame(np.eye(n_rows, 2), index=range(6, 6 + n_rows))
    hint = "remove it, or add it to y_true"
    if n_rows == 2:
        hint = "if both have the same order, call reset_index(drop=True) on both"
    message = f"y_score: row 7 is not in y_true; {hint}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(truth, scores, metrics="p@1")


def test_rows_of_a_pair_are_called_by_the_index_of_either_member() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.Series([["a"], ["b"]], index=["q", "r"])
    labels = [["b"], ["a"]]
    scores = [[0.5], [0.25]]
    index = ["r", "q"]
    for pair in (
        (pandas.Series(labels, index), scores),
        (labels, pandas.Series(scores, index)),
        (pandas.Series(labels, index), pandas.Series(scores, index)),
    ):
        assert evaluate(truth, pair, metrics="p@1")["p@1"] == 1.0


@pytest.mark.parametrize("fill_value", [0, 1])
def test_sparse_columns_may_be_filled_with_any_value(fill_value: int) -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1]})
    columns = {
        name: pandas.arrays.SparseArray(truth[name], fill_value=fill_value) for name in truth
    }
    scores = [{"a": 0.5}, {"b": 0.5}, {"a": 0.5, "b": 0.25}]
    report = evaluate(pandas.DataFrame(columns), scores, metrics=["p@1", "f1.macro@2"])
    expected = evaluate(truth, scores, metrics=["p@1", "f1.macro@2"])
    assert report.to_json() == expected.to_json()
