"""What messages advise helps: refused values are taken once they are as the message says."""

from __future__ import annotations

import re
from collections import UserList
from collections.abc import Callable
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

    given: dict[str, Any]
    message: str
    advised: dict[str, Any]


def pandas() -> Any:
    return pytest.importorskip("pandas")


def ids(**of: Any) -> dict[str, Any]:
    return {"y_true": CLASSES[:, None].tolist(), "y_score": S, "n_labels": 3, **of}


def by_row_and_label() -> Any:
    index = pandas().MultiIndex.from_tuples([*zip("wxyz", "caba", strict=True)], names=["user", "item"])
    return pandas().Series(1, index=index)


def grouped() -> Any:
    return by_row_and_label().rename("n").reset_index().groupby("user")["item"]


def proba() -> list[Any]:
    return [np.column_stack([1 - column, column]) for column in S.T]


RUN = {key: dict(zip("abc", row, strict=True)) for key, row in zip("wxyz", S.tolist(), strict=True)}
NUMBERED = {
    key: dict(zip((10, 20, 30), row, strict=True)) for key, row in zip("wxyz", S.tolist(), strict=True)
}
HITS = [{"label": "c", "score": 0.9}, {"label": "b", "score": 0.9}] + [{"label": "x", "score": 0.1}] * 2
FIRST = [[[hit["label"], hit["score"]]] for hit in HITS]
LISTED = {"y_true": [[0, 2], [0], [1], [0]], "y_score": S}
OF_CLASSES = "of label ids, give {} with n_labels=, the number of labels"
CASES: dict[str, Callable[[], Case]] = {
    "classes": lambda: Case(
        {"y_true": CLASSES, "y_score": S}, OF_CLASSES.format("y_true[:, None].tolist()"), ids()
    ),
    "classes in a Series": lambda: Case(
        {"y_true": pandas().Series(CLASSES), "y_score": S, "n_labels": 3},
        OF_CLASSES.format("[[label] for label in y_true]"), ids(),
    ),
    "classes in a list": lambda: Case(
        {"y_true": CLASSES.tolist(), "y_score": S}, "where it is the only one, give [2]", ids()
    ),
    "a column of classes": lambda: Case(
        {"y_true": CLASSES[:, None], "y_score": S}, OF_CLASSES.format("y_true.tolist()"), ids()
    ),
    "a column of classes, as many as rows": lambda: Case(
        {"y_true": CLASSES[:, None], "y_score": np.c_[S, S[:, :1] / 2], "n_labels": 4},
        OF_CLASSES.format("y_true.tolist()"), ids(y_score=np.c_[S, S[:, :1] / 2], n_labels=4),
    ),
    "a frame of classes": lambda: Case(
        {"y_true": pandas().DataFrame({"y": CLASSES}), "y_score": S},
        OF_CLASSES.format("y_true.to_numpy().tolist()"), ids(),
    ),
    "ids with empty slots": lambda: Case(
        {"y_true": np.c_[CLASSES, np.full(4, -1)], "y_score": S},
        OF_CLASSES.format("[[i for i in row if i >= 0] for row in y_true.tolist()]"), ids(),
    ),
    "classes of one label": lambda: Case(
        {"y_true": Y[:, 0], "y_score": S[:, :1], "metrics": ["auc.micro"]},
        "of one label, give y_true[:, None]",
        {"y_true": Y[:, :1], "y_score": S[:, :1], "metrics": ["auc.micro"]},
    ),
    "integer ids without a number of labels": lambda: Case(
        {"y_true": {"w": [30], "x": [10], "y": [20], "z": [10]}, "y_score": NUMBERED},
        "does not tell what labels there are; give n_labels=, their number, or labels=, a list of all",
        {"y_true": {"w": [30], "x": [10], "y": [20], "z": [10]}, "y_score": NUMBERED, "labels": [10, 20, 30]},
    ),
    "integer ids that may be names": lambda: Case(
        {"y_true": {"w": [30], "x": [10], "y": [20], "z": [10]}, "y_score": NUMBERED},
        "or ids as text, '30' for 30, which are names",
        {
            "y_true": {"w": ["30"], "x": ["10"], "y": ["20"], "z": ["10"]},
            "y_score": {key: {str(label): s for label, s in row.items()} for key, row in NUMBERED.items()},
        },
    ),
    "digits for ids": lambda: Case(
        {"y_true": Y, "y_score": [{"0": a, "1": b, "2": c} for a, b, c in S]},
        "'0' is text: as an integer, it is an id",
        {"y_true": Y, "y_score": [{0: a, 1: b, 2: c} for a, b, c in S], "n_labels": 3},
    ),
    "a first row without a list": lambda: Case(
        {"y_true": [None, *TAGS[1:]], "y_score": [*RUN.values()]},
        "row 0: None is not a list of labels; give [] where there are none, or leave the row out",
        {"y_true": TAGS, "y_score": [*RUN.values()]},
    ),
    "text that prints lists": lambda: Case(
        {"y_true": [*map(str, TAGS)], "y_score": [*RUN.values()]}, "ast.literal_eval makes a list of it",
        {"y_true": TAGS, "y_score": [*RUN.values()]},
    ),
    "a series by row and label": lambda: Case(
        {"y_true": by_row_and_label(), "y_score": RUN},
        "from_df(y_true.reset_index(name='value'), instance='user', label='item', score='value')",
        {
            "y_true": from_df(
                by_row_and_label().reset_index(name="value"), instance="user", label="item", score="value"
            ),
            "y_score": RUN,
        },
    ),
    "groups of pandas": lambda: Case(
        {"y_true": grouped(), "y_score": RUN},
        "a SeriesGroupBy is no list; .agg(list) of its column of labels makes one",
        {"y_true": grouped().agg(list), "y_score": RUN},
    ),
    "records": lambda: Case(
        {"y_true": [{"tags": tags, "text": "t"} for tags in TAGS], "y_score": [*RUN.values()]},
        "of records with lists, give [record['tags'] for record in y_true]",
        {"y_true": TAGS, "y_score": [*RUN.values()]},
    ),
    "single hits": lambda: Case(
        {"y_true": [["c"], ["b"], ["b"], ["x"]], "y_score": HITS},
        "a single label with its score is given as [[hit] for hit in y_score]",
        {"y_true": [["c"], ["b"], ["b"], ["x"]], "y_score": FIRST},
    ),
    "rows in a tuple": lambda: Case(
        {"y_true": TAGS, "y_score": (["c"], ["b"], ["b"], ["a"])},
        "give rows, or arrays of predict_proba, in a list",
        {"y_true": TAGS, "y_score": [["c"], ["b"], ["b"], ["a"]]},
    ),
    "two rows in a tuple": lambda: Case(
        {"y_true": TAGS[:2], "y_score": (["c"], ["a"])}, "a list of each for every row; give rows in a list",
        {"y_true": TAGS, "y_score": [["c"], ["b"], ["b"], ["a"]]},
    ),
    "predict_proba in a tuple": lambda: Case(
        {"y_true": Y, "y_score": tuple(proba())}, "arrays of predict_proba, in a list",
        {"y_true": Y, "y_score": proba()},
    ),
    "predict_proba as one array": lambda: Case(
        {"y_true": Y, "y_score": np.array(proba())}, "class 1 are y_score[:, :, 1].T",
        {"y_true": Y, "y_score": np.array(proba())[:, :, 1].T},
    ),
    "sparse batches": lambda: Case(
        {"y_true": Y, "y_score": [sp.csr_array(S[:2]), sp.csr_array(S[2:])]},
        "scipy.sparse.vstack joins batches of rows", {"y_true": Y, "y_score": sp.vstack([sp.csr_array(S)])},
    ),
    "indices that differ": lambda: Case(
        {"y_true": pandas().Series(TAGS), "y_score": pandas().Series([*RUN.values()], index=[*"wxyz"])},
        "row 'w' is not one of y_true; where the order is the same, give both after reset_index(drop=True)",
        {"y_true": pandas().Series(TAGS), "y_score": pandas().Series([*RUN.values()])},
    ),
    "labels that are judged -1": lambda: Case(
        {"y_true": 2 * Y - 1, "y_score": S}, "give 0 where it means not relevant", {"y_true": Y, "y_score": S}
    ),
    "lists of ids of one label": lambda: Case(
        {"y_true": [[0], [1], [1], [0]], "y_score": S}, "where y_true lists label ids, give n_labels=", ids()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_advice_of_a_message_is_taken(name: str) -> None:
    case = CASES[name]()
    with pytest.raises(ValueError, match=re.escape(case.message)):
        evaluate(**{"metrics": ["p@1"], **case.given})
    report = evaluate(**{"metrics": ["p@1"], **case.advised})
    assert 0 < next(iter(report.values())) <= 1
    if {*case.advised} <= {"y_true", "y_score", "n_labels", "labels"} and case.advised[
        "y_score"
    ] is not FIRST:
        assert report["p@1"] == P_AT_1


@pytest.mark.parametrize("missing", ["None", "nan", "NA"])
@pytest.mark.parametrize("form", ["list", "tuple", "Series", "object array", "dict", "frame"])
def test_missing_rows_are_refused_by_every_function(form: str, missing: str) -> None:
    value = {"None": None, "nan": float("nan"), "NA": pandas().NA}[missing]
    makes: dict[str, Callable[[Any], Any]] = {
        "list": list, "tuple": tuple, "Series": pandas().Series, "object array": object_array,
        "dict": lambda rows: dict(zip("wxyz", rows, strict=True)),
        "frame": lambda rows: pandas().DataFrame({"labels": rows}),
    }  # fmt: skip
    rows = makes[form]([value, *TAGS[1:]])
    scores: Any = RUN if form == "dict" else [*RUN.values()]
    calls: list[Callable[[], Any]] = [
        lambda: evaluate(rows, scores, metrics=["p@1"]),
        lambda: Evaluator(["p@1"], labels=[*"abc"]).update(rows, scores),
        lambda: compare(rows, {"a": scores, "b": scores}, metrics=["p@1"]),
        lambda: fit(rows, scores, "f1.micro"),
        lambda: calibrate.fit(rows, scores),
        lambda: inverse_propensity(rows),
    ]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"^y_(true|train): row 0: .* is not a list of labels; give \[\]"
        ):
            call()


@pytest.mark.parametrize("truth", [Y, TAGS, {"q": {"a": 1}}, "truth.npz"], ids=str)
def test_compare_tells_that_models_come_after_the_truth(truth: Any) -> None:
    message = (
        r"^models: \w+ is not a dict of models; .*; they come after the truth: compare\(y_true, models\)$"
    )
    with pytest.raises(ValueError, match=message):
        compare({"a": S, "b": S}, truth)


@pytest.mark.parametrize(
    ("name", "of_truth"),
    [
        ("type 2", "Type 2"),
        (" Type 2 ", "Type 2"),
        ("TYPE-2", "type_2"),
        ("E\u0301te\u0301", "\u00c9t\u00e9"),
    ],
)
def test_unknown_names_that_differ_in_spelling_alone_are_noted(name: str, of_truth: str) -> None:
    expected = (
        f"1 unknown label differs from the truth's in spelling alone, such as {name!r} for {of_truth!r}; "
    )
    for truth, scores in (
        ([[of_truth], ["b"]], [[name], ["b"]]),
        ({"x": [of_truth], "y": ["b"]}, {"x": {name: 1.0}, "y": {"b": 1.0}}),
        ([[of_truth], ["b"]], pandas().DataFrame({name: [0.9, 0.1], "b": [0.1, 0.9]})),
    ):
        notes = evaluate(truth, scores, metrics=["p@1"]).notes
        assert [note for note in notes if expected in note] == [
            f"y_score: {expected}rename it where the same is meant"
        ]
    with pytest.raises(ValueError, match=re.escape(f"is not one of the 1 given ones, but {of_truth!r} is;")):
        evaluate([[name]], [[of_truth]], labels=[of_truth], metrics=["p@1"])
    assert not any("spelling" in note for note in evaluate([["a"]], [["b"]], metrics=["p@1"]).notes)


def test_notes_on_spelling_are_kept_in_states() -> None:
    evaluator = Evaluator(["p@1"], labels=["Type 2", "b"])
    evaluator.update([["Type 2"]], [["type 2"]])
    evaluator.update([["b"]], [["b"]])
    evaluator.save("state.npz")
    loaded = Evaluator.load("state.npz")
    for each in (evaluator, loaded):
        assert any("such as 'type 2' for 'Type 2'" in note for note in each.compute().notes)


def test_digits_next_to_listed_names_are_noted() -> None:
    scores = [{"0": 0.9, "1": 0.1}, {"1": 0.5}]
    note = "y_score: '0' is text, which is a name; integers are places in labels="
    assert note in evaluate(Y[:2], scores, labels=[*"abc"], metrics=["p@1"]).notes
    with pytest.raises(ValueError, match="it is text: as an integer, it is a place in the list"):
        evaluate(scores, S[:2], labels=[*"abc"], metrics=["p@1"], conventions="gains=linear")
    as_places = [{int(label): score for label, score in row.items()} for row in scores]
    assert evaluate(Y[:2], as_places, labels=[*"abc"], metrics=["p@1"])["p@1"] == 0


def test_other_sequences_are_lists() -> None:
    rows, scores = UserList(TAGS), UserList([*RUN.values()])
    assert evaluate(rows, scores, metrics=["p@1"])["p@1"] == P_AT_1
    assert evaluate(UserList(CLASSES[:, None].tolist()), S, n_labels=3, metrics=["p@1"])["p@1"] == P_AT_1
    assert inverse_propensity(rows).tolist() == inverse_propensity(TAGS).tolist()


def test_rows_of_files_in_another_order_are_joined_by_the_keyword_of_the_message() -> None:
    Path("t.csv").write_text("text,tags\ny,a\nx,b\n")
    Path("s.csv").write_text("text,predicted\nx,b\ny,a\n")
    with pytest.raises(ValueError, match=r"in another order; scan\(path, instance='text'\) joins the rows$"):
        evaluate("t.csv", "s.csv", metrics=["p@1"])
    assert evaluate(*(scan(name, instance="text") for name in ("t.csv", "s.csv")), metrics="p@1")["p@1"] == 1


@pytest.mark.parametrize("column", [list, tuple, object_array, lambda lists: pandas().Series(lists)])
def test_pair_of_columns_of_ids_is_read_by_every_function(column: Callable[[Any], Any]) -> None:
    """Of several lengths, in either order, next to arrays and files."""
    labels, scores = [[2, 0], [1], [1, 2, 0], [0]], [[0.75, 0.25], [0.5], [0.5, 0.25, 0.125], [1.0]]
    pairs = [[*zip(*row, strict=True)] for row in zip(labels, scores, strict=True)]
    pair = column(labels), column(scores)
    np.save("truth.npy", Y)
    expected = dict(evaluate(Y, pairs, n_labels=3, metrics=["p@1", "ndcg@3"]))
    for truth, value in ((Y, pair), (Y, pair[::-1]), ("truth.npy", pair)):
        assert dict(evaluate(truth, value, metrics=["p@1", "ndcg@3"])) == expected
    assert dict(compare(Y, {"a": pair, "b": pair}, metrics=["p@1", "ndcg@3"]).reports["a"]) == expected
    assert str(fit(Y, pair, "f1.micro")) == str(fit(Y, pairs, "f1.micro", n_labels=3))
    calibrator = calibrate.fit(Y, pair)
    applied = calibrator.apply(pairs)
    made = [[*column_made] for column_made in calibrator.apply(pair)]
    assert made == [labels, [[score for _, score in row] for row in applied]]
    fused = fuse([pair, pair])
    assert evaluate(Y, fused, metrics=["p@1"])["p@1"] == expected["p@1"]
