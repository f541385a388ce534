"""Labels and rows with names, in every form, give what the same data by number give."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import NAMED, ROLES, Form, Rows
from xmleval import Evaluator, evaluate, inverse_propensity
from xmleval.io import Named

SETS = ["subset_accuracy", "hamming_loss", "f1.macro", "f1.samples", "f1.micro"]


def rows_of(*rows: str) -> Rows:
    """Return the values of labels in each row, which are called q1, q2 .."""
    words = map(str.split, rows)
    return {
        f"q{i}": dict(zip(row[::2], map(float, row[1::2]), strict=True)) for i, row in enumerate(words, 1)
    }


NAMES, ROWS = ["red", "green", "blue", "grey"], ["q1", "q2", "q3", "q4"]
QRELS = rows_of(
    "red 1 green 1 blue 0 grey 0", "red 0 green 0 blue 1 grey 0", "red 0 green 0 blue 0 grey 0",
    "red 1 green 1 blue 0 grey 1",
)  # fmt: skip
RUN = rows_of("green .75 blue .5", "red .75 blue .5 grey .25", "red .5", "grey 1")
FULL = rows_of(
    "grey 2 red 1 green .5 blue .25", "red 3 blue 2 grey 1 green -1", "red 4 grey 3 green 2 blue 1",
    "blue 9 grey 3 red 2 green .25",
)  # fmt: skip
PRED = rows_of(
    "blue 0 grey 0 green 1 red 0", "red 1 green 0 blue 0 grey 1", "red 1 green 0 blue 1 grey 0",
    "red 0 green 0 blue 0 grey 1",
)  # fmt: skip
DATA = {"y_true": QRELS, "y_pred": PRED}
MEASURES = ["p@1", "p@3", "ndcg@3", "lrap", "ranking_loss", "auc.micro", *SETS]
TAGS = [[name for name, value in row.items() if value] for row in QRELS.values()]
CASES = [(name, role) for name, form in NAMED.items() for role in form.roles]


def number(name: str) -> int:
    return NAMES.index(name)


cases = pytest.mark.parametrize(("name", "role"), CASES)


def matrix(rows: Rows, names: list[str] = NAMES, keys: list[str] = ROWS) -> Any:
    entries = [
        (value, i, names.index(name))
        for i, key in enumerate(keys)
        for name, value in rows.get(key, {}).items()
    ]
    values, of_row, labels = zip(*entries, strict=True)
    return sp.csr_array((values, (of_row, labels)), shape=(len(keys), len(names)))


Y, S, SCORED = matrix(QRELS), matrix(RUN), [*RUN.values()]


def take(rows: Rows, keys: list[str]) -> Rows:
    return {key: rows[key] for key in keys if key in rows}


def problems(form: Form, role: str, data: dict[str, Rows]) -> Iterator[dict[str, Any]]:
    """Yield all arguments, of which one has a form and the others are dicts or lists, as goes with it.

    Where rows have keys, those of predictions are in another order.
    """
    for keyed in (True, False) if form.keyed is None else (form.keyed,):
        arguments: dict[str, Any] = {}
        for argument, rows in data.items():
            turned = keyed and argument != "y_true"
            rows = take(rows, [*rows][1:] + [*rows][:1]) if turned else rows
            plain = rows if keyed else [*rows.values()]
            arguments[argument] = form.make(rows, argument) if argument == role else plain
        yield arguments


def scores_for(name: str) -> Rows:
    return FULL if NAMED[name].wide else RUN


@pytest.mark.slow
@cases
def test_names_give_what_numbers_give(name: str, role: str) -> None:
    form, scores = NAMED[name], scores_for(name)
    expected = evaluate(Y, matrix(scores), y_pred=matrix(PRED), metrics=MEASURES)
    for arguments in problems(form, role, DATA | {"y_score": scores}):
        before = repr(arguments)
        report = evaluate(**arguments, metrics=MEASURES, per_label=True)
        assert dict(report) == dict(expected)
        assert report.notes == []
        assert repr(arguments) == before
        assert report.label_names is not None
        support = dict(zip(report.label_names, report.per_label()["support"].tolist(), strict=True))
        assert support == {"red": 2, "green": 2, "blue": 1, "grey": 1}
        q: Any = inverse_propensity(arguments["y_true"], labels=NAMES)
        assert q.tolist() == inverse_propensity(Y).tolist()
        has_keys = isinstance(arguments["y_true"], dict) or (role == "y_true" and form.keyed is not False)
        assert report.row_names == (ROWS if has_keys else None)
    evaluator = Evaluator(MEASURES, labels=NAMES[::-1])
    for keys in (ROWS[:1], ROWS[1:]):
        data = {role: take(rows, keys) for role, rows in (DATA | {"y_score": scores}).items()}
        evaluator.update(**next(problems(form, role, data)))
    assert dict(evaluator.compute()) == dict(expected)
    assert evaluator.compute().label_names == NAMES[::-1]


@pytest.mark.parametrize("name", [n for n, form in NAMED.items() if form.by_name and form.roles == ROLES])
def test_grades_may_have_every_form_with_values(name: str) -> None:
    graded = rows_of(
        "red 3 green 1 blue 0 grey 0", "red 0 green 0 blue 1 grey -1", "red 0 green 0 blue 0 grey 0",
        "red 1 green 2 blue 0 grey 1",
    )  # fmt: skip
    note = 'y_true: grades above 1 count as 1, unless conventions="gains=..." is given'
    truths: list[tuple[dict[str, Any], Any]] = [({"conventions": "gains=exp"}, matrix(graded)), ({}, Y)]
    for arguments in problems(NAMED[name], "y_true", {"y_true": graded, "y_score": RUN}):
        for options, truth in truths:
            if not options and NAMED[name].wide:
                continue
            report = evaluate(**arguments, metrics=["ndcg@3", "p@1"], **options)
            assert dict(report) == dict(evaluate(truth, S, metrics=[*report], **options))
            assert report.notes == ([] if options else [note])


@pytest.mark.parametrize(
    "name", [n for n, form in NAMED.items() if form.keyed is None and "y_pred" in form.roles]
)
def test_rows_are_brought_in_the_order_of_an_index(name: str) -> None:
    y_true = NAMED[name].make(QRELS, "y_true")
    y_pred = NAMED[name].make(take(PRED, ROWS[1:] + ROWS[:1]), "y_pred")
    report = evaluate(y_true, y_pred=y_pred, metrics=SETS)
    assert dict(report) == dict(evaluate(Y, y_pred=matrix(PRED), metrics=SETS))
    assert report.notes == ["y_pred: rows were brought in the order of y_true's index"]


@pytest.mark.parametrize("name", ["pandas wide", "polars wide"])
def test_labels_of_the_truth_may_have_no_column(name: str) -> None:
    scores = {key: {label: s for label, s in row.items() if label != "grey"} for key, row in FULL.items()}
    report = evaluate([*QRELS.values()], NAMED[name].make(scores, "y_score"), metrics=["p@1", "lrap"])
    assert dict(report) == dict(evaluate(Y, matrix(scores), metrics=["p@1", "lrap"]))
    assert report.notes == ["y_score: 1 label of the truth has no column; it counts as not predicted"]


@pytest.mark.parametrize("kind", [int, str, np.int64])
def test_keys_that_number_the_rows_match_rows_without_names(kind: Any) -> None:
    truth, scores = ({kind(row): [*rows.values()][row] for row in range(4)} for rows in (QRELS, RUN))
    expected = dict(evaluate(QRELS, RUN, metrics=["p@1"]))
    turned = dict(reversed(scores.items()))
    for y_true, y_score in ((truth, SCORED), (TAGS, scores), (TAGS, turned), (matrix(QRELS), turned)):
        labels = None if y_true is truth or y_true is TAGS else NAMES
        assert dict(evaluate(y_true, y_score, labels=labels, metrics=["p@1"])) == expected
    excluded = evaluate(TAGS, SCORED, exclude=[(kind(0), "green")], metrics=["p@1"])
    assert excluded.notes[0] == "exclude: 1 of 1 pair is excluded"
    for y_true, y_score in ((turned, SCORED), (TAGS, {kind(7): {"red": 1.0}})):
        with pytest.raises(ValueError, match=r"have names and those of y_\w+ have none; give ids to both"):
            evaluate(y_true, y_score, metrics=["p@1"], conventions="gains=linear")


@pytest.mark.parametrize("make", ["lists", "wide"])
def test_default_index_is_an_index_beside_another(make: str) -> None:
    """Where both are frames of pandas; where one has none, rows are in order."""
    pd = pytest.importorskip("pandas")
    sides = [pd.DataFrame({"labels": TAGS}), pd.DataFrame({"labels": [[*row] for row in RUN.values()]})]
    if make == "wide":
        sides = [pd.DataFrame([*rows.values()])[NAMES] for rows in (QRELS, FULL)]
    truth, scores = sides
    expected = dict(evaluate(truth, scores, metrics=["p@1"]))
    for other in (ROWS, [5, 6, 7, 8]):
        for y_true, y_score in ((truth.set_axis(other), scores), (truth, scores.set_axis(other))):
            with pytest.raises(ValueError, match=r"is not one of y_true; .* after reset_index\(drop=True\)$"):
                evaluate(y_true, y_score, metrics=["p@1"])
            reset = y_true.reset_index(drop=True), y_score.reset_index(drop=True)
            assert dict(evaluate(*reset, metrics=["p@1"])) == expected
        lists = [*RUN.values()] if make == "lists" else [*FULL.values()]
        in_order = dict(evaluate(truth.set_axis(other), lists, metrics=["p@1"]))
        assert in_order == dict(evaluate(TAGS, lists, metrics=["p@1"]))


def test_rankings_of_names_need_no_scores() -> None:
    names, metrics = np.array([[*row] for row in FULL.values()]), ["p@1", "ndcg@3", "lrap"]
    expected = dict(evaluate(Y, matrix(FULL), metrics=metrics))
    for ranking in (names, (names, None)):
        assert dict(evaluate(TAGS, ranking, metrics=metrics)) == expected
        with pytest.raises(ValueError, match=r"auc\.micro needs scores in y_score="):
            evaluate(TAGS, ranking, metrics=["auc.micro"])


def test_labels_name_the_columns_of_arrays() -> None:
    order = [3, 2, 0, 1]
    names, y_score = [NAMES[label] for label in order], matrix(FULL)[:, order]
    expected, metrics = dict(evaluate(Y, matrix(FULL), metrics=MEASURES[:6])), MEASURES[:6]
    for scores in (y_score, y_score.toarray()):
        assert dict(evaluate(TAGS, scores, labels=np.array(names), metrics=metrics)) == expected
    evaluator, other = (Evaluator(metrics, labels=labels) for labels in (names, NAMES))
    evaluator.update(TAGS, y_score)
    other.update(TAGS, [*FULL.values()])
    with pytest.raises(ValueError, match=r"^merge: labels differs: grey here, red there$"):
        evaluator.merge(other)
    evaluator.save("state.npz")
    loaded = Evaluator.load("state.npz")
    loaded.update([], [])
    assert (loaded.compute().label_names, dict(loaded.compute())) == (names, expected)
    with pytest.raises(ValueError, match=r"^y_true: labels have names; an evaluator needs labels="):
        Evaluator(["p@1"], n_labels=4).update(TAGS, SCORED)


def test_lists_without_a_label_have_names_as_much_as_numbers() -> None:
    nothing: list[list[str]] = [[], [], [], []]
    expected = evaluate(Y, y_pred=sp.csr_array((4, 4)), metrics=SETS)
    assert dict(evaluate(TAGS, y_pred=nothing, metrics=SETS)) == dict(expected)
    assert evaluate(TAGS, nothing, metrics=["p@1"])["p@1"] == 0
    for y_score, labels in ((SCORED, NAMES), (nothing, NAMES), (S, None)):
        report = evaluate(nothing, y_score, labels=labels, metrics=["p@1"])
        assert (report["p@1"], report.n_labels) == (0, 4)


def test_long_frames_have_other_shapes_than_matrices() -> None:
    pd = pytest.importorskip("pandas")
    truth = pd.DataFrame({"instance": range(3), "label": range(3)})  # three rows, two columns
    scores = pd.DataFrame({"instance": [0, 1], "label": [0, 1], "score": [0.5, 0.5]})  # the transpose
    assert evaluate(truth, scores, n_labels=3, metrics=["p@1"])["p@1"] == 2 / 3


def test_labels_of_one_name_are_one_label() -> None:
    y_true, scores = {"q1": ["a"], "q2": ["b"]}, sp.csr_array([[0.5, 0], [0, 0.4]])
    unknown = Named(scores, ["q1", "q2"], ["x", "x"])
    assert evaluate(y_true, unknown, metrics=["p@1"])["p@1"] == 0
    twice = Named(sp.csr_array([[0.5, 0.3, 0.1]]), ["q1"], ["a", "x", "x"])
    with pytest.raises(ValueError, match="label 'x' occurs twice"):
        evaluate(y_true, twice, metrics=["p@1"])
    pa = pytest.importorskip("pyarrow")
    of_row = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"]))
    truth = pa.table({"instance": [0, 1, 2], "label": of_row})
    assert evaluate(truth, {0: ["a"], 1: ["a"], 2: ["b"]}, metrics=["p@1"])["p@1"] == 1
