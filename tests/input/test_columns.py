"""Columns have the same meaning in every form of a table: row, label, judgement or score."""

import json
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer
from tests.input.forms import FRAMES, Table, write_table
from xmleval import Evaluator, evaluate, from_df

LIBRARIES = [*FRAMES]
FILES = ["csv", "tsv", "jsonl", "parquet"]
JUDGEMENTS = [
    "relevance",
    "rel",
    "grade",
    "relevant",
    "judgement",
    "judgment",
    "label_value",
    "Relevance",
]
KEYS = [
    "instance",
    "row",
    "id",
    "ID",
    "row_id",
    "doc_id",
    "document_id",
    "docid",
    "query_id",
    "qid",
    "query-id",
]
NAMES = [
    ("query_id", "doc_id", "relevance"),
    ("query-id", "corpus-id", "score"),
    ("qid", "docno", "label"),
    ("q_id", "document_id", "grade"),
    ("doc_id", "label", "relevance"),
    ("id", "label", "rel"),
]
NDCG_AT_2 = (1 / log2(3) + 1) / 2  # row 1 has its only relevant label at rank 2
VALUES = pytest.approx([0.5, NDCG_AT_2], abs=1e-12)
LONG: Table = {"instance": ["1", "1", "2"], "label": ["a", "z", "b"]}
LONG_SCORES: Table = {
    "instance": ["1", "1", "2"],
    "label": ["z", "a", "b"],
    "score": [0.9, 0.2, 0.5],
}
LIST_SCORES: Table = {"labels": [["z", "a"], ["b"]], "scores": [[0.9, 0.2], [0.5]]}
TRUE_LISTS: Any = [["a", "b"], ["c"], ["d"]]
IN_ORDER: Table = {"labels": [["a"], ["c"], ["d"]], "scores": [[0.9], [0.2], [0.7]]}
TURNED: Table = {"labels": [["d"], ["a"], ["c"]], "scores": [[0.7], [0.9], [0.2]]}
Answer = tuple[list[float], list[str]]


def evaluate_tables(
    form: str, truth: Table, scores: Table, metrics: str = "p@1,ndcg@2", **options: Any
) -> Answer:
    """Return values and notes of tables in memory or in files, or raise a refusal."""
    if form in FRAMES:
        make = FRAMES[form]
        report = evaluate(make(truth), make(scores), metrics=metrics.split(","), **options)
        return [*report.values()], report.notes
    return evaluate_files(form, truth, scores, {"metrics": metrics, **options})


def evaluate_files(form: str, truth: Table, scores: Table, options: dict[str, str]) -> Answer:
    write_table(Path(f"t.{form}"), truth)
    write_table(Path(f"s.{form}"), scores)
    command = ["evaluate", f"t.{form}", f"s.{form}", "--format", "json"]
    for name, value in options.items():
        command += [f"--{name}", value]
    code, out, err = answer(command)
    if code == 2:
        raise ValueError(err)
    report = json.loads(out)
    return [*report["values"].values()], report["notes"]


def values_of_tables(form: str, truth: Table, scores: Table, **options: Any) -> list[float]:
    values, _ = evaluate_tables(form, truth, scores, **options)
    return values


def is_named(column: str, notes: list[str]) -> bool:
    return any(repr(column) in note for note in notes)


forms = pytest.mark.parametrize("form", [*LIBRARIES, *FILES])
libraries = pytest.mark.parametrize("form", LIBRARIES)
with_gains = pytest.mark.parametrize("options", [{}, {"conventions": "gains=linear"}], ids=str)


@pytest.mark.slow
@forms
@with_gains
def test_labels_judged_zero_are_not_relevant(form: str, options: dict[str, Any]) -> None:
    judged: list[Table] = [{name: [3, 0, 1]} for name in JUDGEMENTS]
    judged += [
        {"relevance": [1.0, -1.0, 1.0]},
        {"relevance": [True, False, True]},
        {"relevance": [3, 0, 1], "score": [0.1, 0.9, 0.5]},
    ]
    for columns in judged:
        assert values_of_tables(form, LONG | columns, LONG_SCORES, **options) == VALUES
    for name in ("relevance", "grades"):
        lists: Table = {
            "labels": [["a", "z"], ["b"]],
            name: [[3, 0], [1]],
        }
        assert values_of_tables(form, lists, LIST_SCORES, **options) == VALUES


@forms
def test_columns_of_instances_labels_and_judgements_have_several_names(form: str) -> None:
    for instance, label, judgement in NAMES:
        truth: Table = {
            instance: ["7", "7", "5"],
            label: ["a", "z", "b"],
            judgement: [1, 0, 2],
        }
        scores: Table = {
            instance: ["5", "7", "7"],
            label: ["b", "z", "a"],
            "score": [0.5, 0.9, 0.2],
        }
        assert values_of_tables(form, truth, scores, conventions="gains=linear") == VALUES
        if judgement != "score":  # without gains, a file with scores may be one of predictions
            assert values_of_tables(form, truth, scores) == VALUES


@forms
@with_gains
def test_column_named_by_the_caller_judges_labels(form: str, options: dict[str, Any]) -> None:
    truth = LONG | {"rating": [3, 0, 1]}
    if form in FRAMES:
        make = FRAMES[form]
        frame = from_df(make(truth), score="rating")
        report = evaluate(frame, make(LONG_SCORES), metrics=["p@1", "ndcg@2"], **options)
        assert [*report.values()] == VALUES
    elif form != "parquet":
        named = {"score-field": "rating", **options}
        ratings = {name.replace("score", "rating"): column for name, column in LONG_SCORES.items()}
        for scores in (LONG_SCORES, ratings):
            assert values_of_tables(form, truth, scores, **named) == VALUES
        # with judgements in another column, the named column contains scores
        truth = LONG | {"relevance": [1, 0, 1], "rating": [0.5, 0.25, 0.125]}
        values = values_of_tables(form, truth, ratings, **named)
        assert values[0] == 0.5


@with_gains
def test_labels_in_parquet_may_be_ids(options: dict[str, Any]) -> None:
    truth: Table = {
        "instance": [0, 0, 1],
        "label": [0, 1, 2],
        "relevance": [3, 0, 1],
    }
    scores: Table = {
        "instance": [0, 0, 1],
        "label": [1, 0, 2],
        "score": [0.9, 0.2, 0.5],
    }
    assert values_of_tables("parquet", truth, scores, **options) == VALUES

    scores = {"labels": [[1, 0], [2]], "scores": [[0.9, 0.2], [0.5]]}
    truth = {"labels": [[0, 1], [2]], "grade": [[3, 0], [1]]}
    assert values_of_tables("parquet", truth, scores) == VALUES

    truth = {"id": [1, 0], "labels": [[2], [0]]}
    scores = {"id": [0, 1], **scores}
    assert values_of_tables("parquet", truth, scores, **options) == VALUES


IDS = ["x1", "x2", "x3"]
OTHER_IDS = ["x1", "x2", "x4"]
TURNED_IDS = ["x3", "x1", "x2"]
UNCLEAR_KEYS = ("index", "file_name", "Unnamed: 0")
REFUSED: list[tuple[str, Table, Table]] = []
for name in ("rating", "weight", "value"):
    message = f"{name!r} may contain judgements"
    REFUSED.append((message, LONG | {name: [3, 0, 1]}, LONG_SCORES))
REFUSED.append(
    (
        "'relevance' and 'grade' may both be meant",
        LONG | {"relevance": [1, 0, 1], "grade": [0, 1, 1]},
        LONG_SCORES,
    )
)
for name in UNCLEAR_KEYS:
    message = f"as column {name!r} shows"
    REFUSED.append((message, {name: IDS, "labels": TRUE_LISTS}, {name: TURNED_IDS, **TURNED}))

IGNORED: Table = {
    "iteration": [0, 0, 0],
    "text": ["x", "y", "z"],
    "row_id": [5, 6, 7],
}
TAKEN: list[tuple[Table, Table]] = [(LONG | IGNORED, LONG_SCORES)]
for name in UNCLEAR_KEYS:
    for ids in (IDS, OTHER_IDS):
        TAKEN.append(({name: IDS, "labels": TRUE_LISTS}, {name: ids, **IN_ORDER}))


@forms
def test_columns_that_may_be_keys_or_judgements_are_refused(form: str) -> None:
    for message, truth, scores in REFUSED:
        with pytest.raises(ValueError, match=message):
            evaluate_tables(form, truth, scores)
    for truth, scores in TAKEN:
        assert values_of_tables(form, truth, scores, metrics="p@1") == [1.0]


@pytest.mark.slow
@forms
def test_lists_are_joined_by_columns_of_ids(form: str) -> None:
    all_ids: list[tuple[list[Any], list[Any]]] = [(IDS, TURNED_IDS), ([7, 5, 9], [9, 7, 5])]
    for key in KEYS:
        for ids, turned_ids in all_ids:
            truth = {key: ids, "labels": TRUE_LISTS}
            scores = {key: turned_ids, **TURNED}
            values, notes = evaluate_tables(form, truth, scores, "p@1")
            assert values == [1.0]
            assert key in ("instance", "row") or is_named(key, notes)
            if form in FRAMES:
                evaluator = Evaluator("p@1", labels=[*"abcd"])
                evaluator.update(FRAMES[form](truth), FRAMES[form](scores))
                assert evaluator.compute()["p@1"] == 1


@forms
def test_ids_of_one_side_are_noted_or_refused(form: str) -> None:
    ids = {"id": [1, 2, 3]}
    unkeyed = {"text": [*"xyz"], "labels": TRUE_LISTS}
    for truth, scores in (
        (unkeyed | ids, IN_ORDER),
        (unkeyed, IN_ORDER | ids),
    ):
        if form in FILES:
            with pytest.raises(ValueError, match="keys"):
                evaluate_tables(form, truth, scores, metrics="p@1")
        else:
            values, notes = evaluate_tables(form, truth, scores, metrics="p@1")
            assert values == [1.0]
            assert is_named("id", notes)


TAGS = [["toxic"], ["insult"], ["threat"], ["toxic", "insult"]]
WIDE: Table = {
    "toxic": [0.9, 0.1, 0.1, 0.8],
    "insult": [0.2, 0.9, 0.1, 0.7],
    "threat": [0.1, 0.1, 0.9, 0.1],
}
WIDE_TRUTH: Table = {label: [int(label in row) for row in TAGS] for label in WIDE}


@libraries
@pytest.mark.parametrize("kind", ["frame", "frame with ids", "lists", "dicts", "array"])
def test_columns_that_are_no_labels_are_named_in_notes(form: str, kind: str) -> None:
    make = FRAMES[form]
    ids = [104, 103, 102, 101]
    truth: Any = {
        "frame": make(WIDE_TRUTH),
        "frame with ids": make({"id": ids, **WIDE_TRUTH}),
        "lists": TAGS,
        "dicts": [dict.fromkeys(row, 1) for row in TAGS],
        "array": np.array([*WIDE_TRUTH.values()]).T,
    }[kind]
    in_order: list[Table] = [{"id": ids, **WIDE}]
    if kind == "frame with ids":
        in_order.append({name: column[::-1] for name, column in in_order[0].items()})
    in_order.append({"Unnamed: 0": ids, **WIDE})
    for table in in_order:
        report = evaluate(truth, make(table), metrics="p@1")
        assert report["p@1"] == 1
        first_column, *_ = table
        assert is_named(first_column, report.notes)

    if kind != "array":
        scores = make({"length": [30.0, 12.0, 7.0, 99.0], **WIDE})
        report = evaluate(truth, scores, metrics="p@1")
        assert is_named("length", report.notes)
        report = evaluate(truth, scores, metrics="p@1", labels=[*WIDE])
        assert report["p@1"] == 1


def as_pair(scores: Any) -> tuple[Any, Any]:
    labels = np.argsort(-scores, axis=1)
    return labels, np.take_along_axis(scores, labels, 1)


def long_table(values: Any, name: str) -> Table:
    rows, labels = np.indices(values.shape)
    names = {
        "instance": [f"q{row}" for row in rows.flat],
        "label": ["abc"[label] for label in labels.flat],
    }
    return names | {name: values.ravel().tolist()}


def wide_frame(values: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(values, columns=[*"abc"])


class Makers(NamedTuple):
    """Functions that make a truth and scores from arrays."""

    truth: Callable[[Any], Any]
    scores: Callable[[Any], Any]


MATRICES = {
    "dense": Makers(np.array, np.array),
    "sparse": Makers(csr_array, csr_array),
    "wide": Makers(wide_frame, wide_frame),
    "pair": Makers(np.array, as_pair),
}
LINEAR: dict[str, Any] = {"metrics": "ndcg@3", "conventions": "gains=linear"}


def look_swapped(notes: list[str]) -> bool:
    return any("swapped?" in note for note in notes)


@pytest.mark.parametrize("form", [*MATRICES, *LIBRARIES, *FILES])
def test_grades_and_scores_that_look_swapped_are_noted(form: str) -> None:
    two_rows = [[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]
    one_row = [[0.5, 0.0, 1.0]]
    for grades, predicted, is_noted in (
        ([[0.5, -1.25, 2.0], [0.25, 1.5, 0.75]], two_rows, True),
        ([[15.0, 14, 2], [30, 8, 9]], two_rows, True),
        ([[-11.0, 1.0, 2.0]], [[10.0, 1.0, 2.0]], True),
        (one_row, [[0.0, 0.0, 0.0]], False),
        (one_row, one_row, False),
        (one_row, [[1.0, -1.0, 2.0]], False),
        (one_row, [[11.0, 1.0, 2.0]], False),
        ([[10.0, -2.0, 1.0]], [[2.0, 1.0, 0.0]], False),
    ):
        true_array = np.array(grades)
        array = np.array(predicted)
        if form in MATRICES:
            truth = MATRICES[form].truth(true_array)
            scores = MATRICES[form].scores(array)
            evaluator = Evaluator("ndcg@3", labels=[*"abc"], conventions="gains=linear")
            evaluator.update(truth, scores)
            assert look_swapped(evaluator.compute().notes) == is_noted
            notes = evaluate(truth, scores, **LINEAR).notes
        else:
            true_table = long_table(true_array, "relevance")
            table = long_table(array, "score")
            _, notes = evaluate_tables(form, true_table, table, **LINEAR)
        assert look_swapped(notes) == is_noted


def test_swapped_grades_and_scores_are_looked_for_in_the_first_values() -> None:
    for row, is_noted in (
        (0, True),
        (10_000, True),
        (69_999, False),
    ):
        truth = np.ones((70_000, 2))
        scores = np.ones((70_000, 2))
        truth[row] = 0.5
        report = evaluate(truth, scores, metrics="ndcg@1", conventions="gains=linear")
        assert look_swapped(report.notes) == is_noted
