"""Names in memory give what the same data by number give."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, evaluate

NAMES = ["red", "green", "blue", "grey"]  # in the order in which the truth names them
TAGS = [["red", "green"], ["blue"], [], ["green", "grey", "red"]]
RANKED = [["green", "blue"], ["red", "blue", "grey"], ["red"], ["grey"]]
SCORES = [[0.9, 0.5], [0.75, 0.5, 0.25], [0.5], [1.0]]
ROWS = ["q1", "q2", "q3", "q4"]
SETS = ["f1.macro", "f1.micro", "subset_accuracy"]
MEASURES = ["p", "ndcg", "lrap", "ranking_loss", "auc.micro"]
ORDER = [2, 0, 3, 1]


def number(name: str) -> int:
    return NAMES.index(name)


Y = sp.csr_array([[int(name in row) for name in NAMES] for row in TAGS])
H = sp.csr_array([[int(name in row) for name in NAMES] for row in RANKED])
S = sp.csr_array(
    [
        [dict(zip(r, s, strict=True)).get(name, 0.0) for name in NAMES]
        for r, s in zip(RANKED, SCORES, strict=True)
    ]
)
SCORED = [dict(zip(r, s, strict=True)) for r, s in zip(RANKED, SCORES, strict=True)]
QRELS = {row: dict.fromkeys(tags, 1) for row, tags in zip(ROWS, TAGS, strict=True)}
RUN = dict(zip(ROWS, SCORED, strict=True))


def values(*rows: Any, **more: Any) -> dict[str, float]:
    return dict(evaluate(*rows, **{"metrics": MEASURES, **more}))


def told(report: Any) -> list[str]:
    """The notes on what was matched."""
    return [note for note in report.notes if note.startswith(("y_score:", "y_pred:"))]


def shuffled(rows: dict[str, Any]) -> dict[str, Any]:
    return {ROWS[place]: rows[ROWS[place]] for place in ORDER}


TRUTHS: dict[str, Callable[[], Any]] = {
    "lists": lambda: TAGS,
    "tuples": lambda: [tuple(row) for row in TAGS],
    "arrays": lambda: [np.array(row, "U5") for row in TAGS],
    "array of lists": lambda: np.array([*TAGS, None], object)[:-1],
    "judgements": lambda: [dict.fromkeys(row, 1) | {"blue": int("blue" in row)} for row in TAGS],
}
PREDICTIONS: dict[str, Callable[[], Any]] = {
    "dicts": lambda: SCORED,
    "pairs": lambda: [[*row.items()] for row in SCORED],
    "hits": lambda: [[{"corpus_id": name, "score": s} for name, s in row.items()] for row in SCORED],
    "pipeline": lambda: [[{"label": name, "score": s} for name, s in row.items()] for row in SCORED],
    "array of dicts": lambda: np.array([*SCORED, None], object)[:-1],
}
BY_KEY: dict[str, Callable[[], tuple[Any, Any]]] = {
    "qrels and run": lambda: (QRELS, RUN),
    "shuffled": lambda: (QRELS, shuffled(RUN)),
    "graded": lambda: (
        {k: {**dict.fromkeys(NAMES, 0), **dict.fromkeys(v, 2)} for k, v in QRELS.items()},
        RUN,
    ),
    "lists by key": lambda: (dict(zip(ROWS, TAGS, strict=True)), shuffled(RUN)),
    "pairs by key": lambda: (QRELS, {k: [*v.items()] for k, v in RUN.items()}),
    "hits by key": lambda: (
        QRELS,
        {k: [{"corpus_id": n, "score": s} for n, s in v.items()] for k, v in RUN.items()},
    ),
}


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("scores", PREDICTIONS)
def test_lists_of_names_give_what_numbers_give(kind: str, scores: str) -> None:
    more: dict[str, Any] = (
        {"labels": NAMES} if kind == "judgements" else {}
    )  # which name labels in another order
    assert values(TRUTHS[kind](), PREDICTIONS[scores](), **more) == values(Y, S)


@pytest.mark.parametrize("kind", BY_KEY)
def test_rows_are_matched_by_key(kind: str) -> None:
    truth, scores = BY_KEY[kind]()
    more: dict[str, Any] = {"labels": NAMES} if kind == "graded" else {}
    report = evaluate(truth, scores, metrics=MEASURES, per_row=True, per_label=True, **more)
    assert dict(report) == values(Y, S)
    assert told(report) == []
    assert report.row_names == ROWS
    assert report.label_names == NAMES
    assert report.per_row()["name"].tolist() == ROWS
    assert report.per_label()["name"].tolist() == NAMES
    assert report.per_label()["support"].tolist() == Y.sum(axis=0).tolist()


def test_a_ranking_of_names_needs_no_scores() -> None:
    bare = [[number(name) for name in row] for row in RANKED]
    expected = values(Y, bare, n_labels=4, metrics=["p", "ndcg", "lrap"])
    assert values(TAGS, RANKED, metrics=["p", "ndcg", "lrap"]) == expected
    assert (
        values(
            dict(zip(ROWS, TAGS, strict=True)),
            dict(zip(ROWS, RANKED, strict=True)),
            metrics=["p", "ndcg", "lrap"],
        )
        == expected
    )
    with pytest.raises(ValueError, match=r"auc\.micro needs scores in y_score="):
        evaluate(TAGS, RANKED, metrics=["auc.micro"])
    with pytest.raises(ValueError, match=r"^y_score: row 0: a set has no order"):
        evaluate(TAGS, [set(row) for row in RANKED], metrics=["p@1"])


def test_predicted_sets_of_names() -> None:
    expected = values(Y, y_pred=H, metrics=SETS)
    for pred in (RANKED, [set(row) for row in RANKED], [dict.fromkeys(row, 1) for row in RANKED]):
        assert values(TAGS, y_pred=pred, metrics=SETS) == expected
    assert values(QRELS, y_pred=shuffled(dict(zip(ROWS, RANKED, strict=True))), metrics=SETS) == expected


def test_arrays_of_names_are_top_k_lists() -> None:
    names, scores = np.array([["green", "blue"]] * 4), np.array([[0.5, 0.25]] * 4)
    ids = np.array([[1, 2]] * 4)
    assert values(TAGS, (names, scores)) == values(Y, (ids, scores))
    assert values(TAGS, (names, None), metrics=["p"]) == values(Y, (ids, None), metrics=["p"])
    assert values(TAGS, (names.tolist(), scores.tolist())) == values(Y, (ids, scores))


def test_labels_number_the_columns_of_arrays() -> None:
    order = ["grey", "blue", "green", "red"]
    columns = [number(name) for name in order]
    dense = S.toarray() + np.arange(4) / 100  # without ties, which the order of labels would break
    assert values(TAGS, dense[:, columns], labels=order) == values(Y, dense)
    assert values(TAGS, S[:, columns], labels=np.array(order)) == values(Y, S)
    assert values(
        TAGS,
        [[{"corpus_id": order.index(n), "score": s} for n, s in row.items()] for row in SCORED],
        labels=order,
    ) == values(Y, S)
    report = evaluate(Y.toarray().tolist(), y_pred=H, labels=NAMES, metrics=SETS, per_label=True)
    assert report.per_label()["name"].tolist() == NAMES


def test_unknown_labels_and_rows_are_counted() -> None:
    run = {"q1": {"green": 0.9, "pink": 0.8}, "q2": {"black": 0.7}, "other": {"red": 1.0}}
    report = evaluate(QRELS, run, metrics=["p@1", "lrap"])
    assert report.n_labels == 6
    assert report.label_names == [*NAMES, "pink", "black"]
    assert told(report) == [
        "y_score: 2 predicted labels never occur in the truth; they count as wrong",
        "y_score: 2 rows of the truth have no prediction; they count as empty",
        "y_score: 1 row is not in the truth; it is ignored",
    ]
    wide = sp.csr_array(([0.9, 0.8, 0.7], [1, 4, 5], [0, 2, 3, 3, 3]), shape=(4, 6))
    truth = sp.csr_array((Y.data, Y.indices, Y.indptr), shape=(4, 6))
    assert dict(report) == values(truth, wide, metrics=["p@1", "lrap"])


def test_ids_take_the_number_of_labels_from_a_matrix() -> None:
    truth = [[number(name) for name in row] for row in TAGS]
    dense = S.toarray()
    assert values(truth, dense) == values(Y, dense)
    assert values(truth, S) == values(Y, S)
    assert values(Y, y_pred=[[number(name) for name in row] for row in RANKED], metrics=SETS) == values(
        Y, y_pred=H, metrics=SETS
    )
    pairs = [[(number(name), s) for name, s in row.items()] for row in SCORED]
    assert values(Y, pairs) == values(Y, S)
    assert values(Y, [{number(name): s for name, s in row.items()} for row in SCORED]) == values(Y, S)
    hits = [[{"corpus_id": number(name), "score": s} for name, s in row.items()] for row in SCORED]
    assert values(Y, hits) == values(truth, hits, n_labels=4) == values(Y, S)
    assert values([[2], [0], [1], [3]], dense) == values(np.eye(4)[[2, 0, 1, 3]], dense)


def test_an_evaluator_takes_names() -> None:
    ev = Evaluator(MEASURES, labels=NAMES, per_label=True)
    ev.update(TAGS[:2], SCORED[:2])
    ev.update({"a": TAGS[2], "b": TAGS[3]}, {"b": SCORED[3], "a": SCORED[2]})
    assert dict(ev.compute()) == values(Y, S)
    assert ev.compute().per_label()["name"].tolist() == NAMES
    assert ev.compute().notes == evaluate(TAGS, SCORED, metrics=MEASURES).notes


def test_states_know_their_labels(tmp_path: Path) -> None:
    ev, other = Evaluator(MEASURES, labels=NAMES), Evaluator(MEASURES, labels=NAMES[::-1])
    ev.update(TAGS, SCORED)
    other.update(TAGS, SCORED)
    with pytest.raises(ValueError, match=r"^merge: labels differs: red here, grey there$"):
        ev.merge(other)
    ev.save(tmp_path / "state.npz")
    loaded = Evaluator.load(tmp_path / "state.npz")
    loaded.update(TAGS, SCORED)
    assert loaded.compute().label_names == NAMES
    assert dict(loaded.compute()) == values(sp.vstack([Y, Y]).tocsr(), sp.vstack([S, S]).tocsr())


DENSE = S.toarray()
PAIRED = [[*row.items()] for row in SCORED]


def bad(text: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """What the message begins with after the name of the first argument, and what is given."""
    return f"{next(iter(given))}: {text}", given


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "one text": bad("row 0: 'a,b' is text, not a list of labels; split it at ','", y_true=["a,b"]),
    "one label": bad("row 0: 'red' is text, not a list of labels; one label is a list, too", y_true=["red"]),
    "text in lists": bad("row 1: 'blue' is text", y_true=[["red"], "blue", [], []]),
    "none": bad("row 1: None is not a list of labels", y_true=[["red"], None, [], []]),
    "mixed labels": bad("row 1: label 3 is not text, as 'red' is", y_true=[["red"], [3], [], []]),
    "none as a label": bad("row 1: label None is not text", y_true=[["red"], [None], [], []]),
    "twice": bad("row 1: label 'red' occurs twice", y_true=[["blue"], ["red", "red"], [], []]),
    "matrix of scores": bad("y_true has names of labels and this has none; give labels=, the", y_score=DENSE),
    "matrix of truth": ("y_score: names its labels, which y_true has by number; give labels=", {"y_true": Y}),
    "ids": bad("has integer ids of labels, which y_true names; give labels=", y_score=[{0: 0.5}] * 4),
    "ids alone": bad(
        "labels that are integers need n_labels=, their number, or labels=",
        y_true={"q1": [0, 2]}, y_score={"q1": {0: 0.5}},
    ),
    "keys of truth": ("y_score: rows of y_true have names and those of y_score have none", {"y_true": QRELS}),
    "keys of scores": bad("rows of y_score have names and those of y_true have none", y_score=RUN),
    "other rows": bad(
        "no row is one of y_true, as 'd1' is not; expected names like 'q1'",
        y_score={"d1": {"red": 1.0}}, y_true=QRELS,
    ),
    "unknown label": bad(
        "row 1: label 'pink' is not one of the 4 given ones; labels= must name 2 labels more",
        y_true=[[], ["pink"], ["black"], ["pink"]], labels=NAMES,
    ),
    "scores as truth": bad(
        "row 0: value 0.9 is no judgement, an integer; scores go to y_score; are the truth and the scores",
        y_true=SCORED,
    ),
    "pairs as sets": bad("row 0: value 0.9 is no judgement, an integer", y_pred=PAIRED, y_score=None),
    "no score": bad("row 0: {'corpus_id': 1} has no 'score'", y_score=[[{"corpus_id": 1}]] * 4),
    "text for a score": bad("row 1: score 'high' is not a number", y_score=[{}, {"red": "high"}, {}, {}]),
    "some scores": bad("row 1: some labels have a score", y_score=[[("red", 1.0)], ["blue"], [], []]),
    "nan": bad("row 1: score nan is not a number", y_score=[{"red": 1}, {"red": np.nan}, {}, {}]),
    "large": bad(f"row 1: score {2**53 + 1} is not a number", y_score=[{"a": 0.5}, {"a": 2**53 + 1}, {}, {}]),
    "labels twice": bad("'red' occurs twice, the second time in place 2", labels=["red", "blue", "red"]),
    "labels as text": bad("'red' is not a list of names", labels="red"),
    "fewer labels": bad("3 does not match the 4 names of labels", n_labels=3, labels=NAMES),
    "more labels than said": bad("3 is less than the 4 labels with names", n_labels=3),
    "fewer rows": bad("3 rows do not match the 4 of y_true", y_score=SCORED[:3]),
    "id out of range": bad("row 0: label id 9 is not in 0..3", y_score=[{9: 0.5}] * 4, labels=NAMES),
    "transposed": bad(
        "shape (3, 2) is the transpose of (2, 3); rows are instances: give y_score.T",
        y_score=np.ones((3, 2)), y_true=np.eye(2, 3),
    ),
    "transposed truth": bad(
        "shape (3, 2) is the transpose of (2, 3); rows are instances: give y_true.T",
        y_true=np.eye(3, 2), y_score=np.ones((2, 3)), n_labels=3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_wrong_and_what_to_give(case: str) -> None:
    message, given = REFUSED[case]
    metrics = ["f1.micro"] if "y_pred" in given else ["p@1"]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(**{"y_true": TAGS, "y_score": SCORED, "metrics": metrics, **given})


def test_an_evaluator_refuses_names_without_labels() -> None:
    with pytest.raises(ValueError, match=r"^y_true: labels have names; an evaluator needs labels="):
        Evaluator(["p@1"], n_labels=4).update(TAGS, SCORED)
    with pytest.raises(ValueError, match=r"^n_labels: give the number of labels, or labels="):
        Evaluator(["p@1"]).update(TAGS, SCORED)


def test_objects_of_the_caller_stay_as_they_were() -> None:
    qrels, run = {k: dict(v) for k, v in QRELS.items()}, {k: dict(v) for k, v in RUN.items()}
    evaluate(qrels, run, metrics=["p@1"])
    assert (qrels, run) == (QRELS, RUN)


def test_lists_without_a_label_have_names_as_much_as_numbers() -> None:
    nothing: list[list[str]] = [[], [], [], []]
    assert dict(evaluate(TAGS, y_pred=nothing, metrics=SETS)) == dict(
        evaluate(Y, y_pred=sp.csr_array(Y.shape), metrics=SETS)
    )
    assert evaluate(TAGS, nothing, metrics=["p@1"])["p@1"] == 0
    report = evaluate(nothing, RANKED, metrics=["p@1"])
    assert report["p@1"] == 0
    assert report.n_labels == len(NAMES)
    assert evaluate(nothing, nothing, labels=NAMES, metrics=["p@1"]).n_labels == len(NAMES)
    assert evaluate(nothing, Y, metrics=["p@1"]).n_labels == len(NAMES)
    with pytest.raises(ValueError, match=r"^y_true: names no label; give labels="):
        evaluate({}, {"q1": {"red": 1.0}})


def test_rows_that_do_not_count_name_no_labels() -> None:
    run = {"q1": {"red": 1.0}}
    expected = evaluate({"q1": ["red"]}, run, metrics=["f1.macro@1"])
    for labels in (None, ["red"]):
        report = evaluate(
            {"q1": ["red"]}, {**run, "q2": {"blue": 1.0}}, labels=labels, metrics=["f1.macro@1"]
        )
        assert dict(report) == dict(expected) == {"f1.macro@1": 1.0}
        assert report.n_labels == 1
        assert report.notes[0] == "y_score: 1 row is not in the truth; it is ignored"


def test_labels_are_a_list_that_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^labels: 5 is not a list of names$"):
        evaluate(Y, Y, labels=5)
    evaluator = Evaluator(["p@1"], labels=list(np.array([7, 3, 5, 1])))
    evaluator.update(Y, Y)
    evaluator.save(tmp_path / "state.npz")
    assert Evaluator.load(tmp_path / "state.npz").settings["labels"] == [7, 3, 5, 1]


TABLE = np.array([["red", "green"], ["blue", ""], ["", ""], ["grey", "red"]])  # empty ones are no labels
LISTED = [["red", "green"], ["blue"], [], ["grey", "red"]]


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.astype(object),
        np.array([[name or None for name in row] for row in TABLE.tolist()]),
        np.array([[name or np.nan for name in row] for row in TABLE.tolist()], object),
    ],
)
def test_an_array_of_names_is_a_list_of_its_rows(table: Any) -> None:
    before = table.copy()
    metrics = ["p@1", "r@2", "ndcg@2"]
    assert values(table, SCORED, metrics=metrics) == values(LISTED, SCORED, metrics=metrics)
    assert values(TAGS, table, metrics=metrics) == values(TAGS, LISTED, metrics=metrics)
    assert values(TAGS, y_pred=table, metrics=SETS) == values(TAGS, y_pred=LISTED, metrics=SETS)
    assert values(table, table, labels=NAMES, metrics=["p@1"]) == {"p@1": 0.75}
    assert (table == before).all() or table.dtype == object


ONCE: dict[str, Callable[[], Any]] = {
    "a generator": lambda: (row for row in TAGS),
    "a list_iterator": lambda: iter(TAGS),
    "a map": lambda: map(list, TAGS),
    "a dict_values": lambda: QRELS.values(),
    "a set": lambda: {"red", "blue"},
}


@pytest.mark.parametrize("kind", ONCE)
@pytest.mark.parametrize("argument", ["y_true", "y_score", "y_pred", "candidates", "labels", "sample_weight"])
def test_what_is_no_list_is_refused_before_it_is_read(argument: str, kind: str) -> None:
    value = ONCE[kind]()
    given = {"y_true": TAGS, "y_score": SCORED, "metrics": ["p@1"], argument: value}
    with pytest.raises(ValueError, match=rf"^{argument}: {kind} is no list; list\(\.\.\.\) makes one of it$"):
        evaluate(**given)
    if hasattr(value, "__next__"):
        assert len(list(value)) == len(TAGS)


def test_rows_that_can_be_read_only_once_and_files_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^y_true: row 1: a generator is no list; list\(\.\.\.\)"):
        evaluate([["a"], (name for name in "ab")], [["a"], ["b"]], metrics=["p@1"])
    for value in ("Y.npz", Path("Y.npz"), b"Y.npz"):
        with pytest.raises(ValueError, match=r"^y_score: a \w+ is no data; xmleval\.io reads files$"):
            evaluate(TAGS, value, metrics=["p@1"])
    pd: Any = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(2), columns=["readline", "__next__"])  # names of labels
    assert evaluate(frame, frame, metrics=["f1.macro@1"])["f1.macro@1"] == 1


@pytest.mark.parametrize("dtype", [str, object])
def test_numbers_as_text_are_told_from_names(dtype: Any) -> None:
    told = "does not hold real numbers; .astype(float) makes numbers of it"
    with pytest.raises(ValueError, match=rf"^y_true: dtype \S+ {re.escape(told)}$"):
        evaluate(np.eye(3).astype(dtype), np.eye(3), metrics=["p@1"])
    with pytest.raises(ValueError, match=rf"^y_score: dtype \S+ {re.escape(told)}$"):
        evaluate(np.eye(3), np.eye(3).astype(dtype), metrics=["p@1"])


def test_a_first_batch_may_list_nothing() -> None:
    whole = evaluate(
        {"q": {"a": 1}, "r": {"b": 1}}, {"q": {}, "r": {"b": 0.5}}, metrics="all", labels=["a", "b"]
    )
    evaluator = Evaluator("all", labels=["a", "b"])
    evaluator.update({"q": {"a": 1}}, {"q": {}})
    evaluator.update({"r": {"b": 1}}, {"r": {"b": 0.5}})
    found = evaluator.compute()
    assert {**found}.keys() == {**whole}.keys()
    np.testing.assert_array_equal([*found.values()], [*whole.values()])
