"""Columns mean the same in every form of a table: what joins rows, which label, and how it is judged."""

import json
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer
from tests.input.forms import FRAMES, Table, write_table
from xmleval import Evaluator, evaluate, from_df

LIBRARIES = [*FRAMES]
FILES = ["csv", "tsv", "jsonl", "parquet"]
JUDGEMENTS = ["relevance", "rel", "grade", "relevant", "judgement", "judgment", "label_value", "Relevance"]
KEYS = [
    "instance", "row", "id", "ID", "row_id", "doc_id", "document_id", "docid", "query_id", "qid", "query-id",
]  # fmt: skip
NAMES = [
    ("query_id", "doc_id", "relevance"), ("query-id", "corpus-id", "score"), ("qid", "docno", "label"),
    ("q_id", "document_id", "grade"), ("doc_id", "label", "relevance"), ("id", "label", "rel"),
]  # fmt: skip
NDCG_AT_2 = (1 / log2(3) + 1) / 2  # row 1 has its only relevant label at rank 2
VALUES = pytest.approx([0.5, NDCG_AT_2], abs=1e-12)
LONG: Table = {"instance": ["1", "1", "2"], "label": ["a", "z", "b"]}
LONG_SCORES: Table = {"instance": ["1", "1", "2"], "label": ["z", "a", "b"], "score": [0.9, 0.2, 0.5]}
LIST_SCORES: Table = {"labels": [["z", "a"], ["b"]], "scores": [[0.9, 0.2], [0.5]]}
TRUE_LISTS: Any = [["a", "b"], ["c"], ["d"]]
IN_ORDER: Table = {"labels": [["a"], ["c"], ["d"]], "scores": [[0.9], [0.2], [0.7]]}
TURNED: Table = {"labels": [["d"], ["a"], ["c"]], "scores": [[0.7], [0.9], [0.2]]}
Answer = tuple[list[float], list[str]]


def evaluate_tables(
    form: str, truth: Table, scores: Table, metrics: str = "p@1,ndcg@2", **options: Any
) -> Answer:
    """Return values and notes of tables in memory or through the command line, or raise what refuses them."""
    if form in FRAMES:
        make = FRAMES[form]
        report = evaluate(make(truth), make(scores), metrics=metrics.split(","), **options)
        return [*report.values()], report.notes
    write_table(Path(f"t.{form}"), truth)
    write_table(Path(f"s.{form}"), scores)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = ["evaluate", f"t.{form}", f"s.{form}", "--metrics", metrics, "--format", "json", *words]
    code, out, err = answer(command)
    if code == 2:
        raise ValueError(err)
    report = json.loads(out)
    return [*report["values"].values()], report["notes"]


forms = pytest.mark.parametrize("form", [*LIBRARIES, *FILES])
libraries = pytest.mark.parametrize("form", LIBRARIES)
with_gains = pytest.mark.parametrize("options", [{}, {"conventions": "gains=linear"}], ids=str)


@pytest.mark.slow
@forms
@with_gains
def test_labels_judged_zero_are_not_relevant(form: str, options: dict[str, Any]) -> None:
    for name in JUDGEMENTS:
        assert evaluate_tables(form, LONG | {name: [3, 0, 1]}, LONG_SCORES, **options)[0] == VALUES
    for judged in ([1.0, -1.0, 1.0], [True, False, True]):
        assert evaluate_tables(form, LONG | {"relevance": judged}, LONG_SCORES, **options)[0] == VALUES
    both = LONG | {"relevance": [3, 0, 1], "score": [0.1, 0.9, 0.5]}
    assert evaluate_tables(form, both, LONG_SCORES, **options)[0] == VALUES
    for name in ("relevance", "grades"):
        lists: Table = {"labels": [["a", "z"], ["b"]], name: [[3, 0], [1]]}
        assert evaluate_tables(form, lists, LIST_SCORES, **options)[0] == VALUES


@forms
def test_names_of_instances_and_labels(form: str) -> None:
    for instance, label, judgement in NAMES:
        truth: Table = {instance: ["7", "7", "5"], label: ["a", "z", "b"], judgement: [1, 0, 2]}
        scores: Table = {instance: ["5", "7", "7"], label: ["b", "z", "a"], "score": [0.5, 0.9, 0.2]}
        assert evaluate_tables(form, truth, scores, conventions="gains=linear")[0] == VALUES
        if judgement != "score":  # which files may hold for predictions given as a truth
            assert evaluate_tables(form, truth, scores)[0] == VALUES


@forms
@with_gains
def test_column_named_by_the_caller_judges_labels(form: str, options: dict[str, Any]) -> None:
    judged = LONG | {"rating": [3, 0, 1]}
    if form in FRAMES:
        make = FRAMES[form]
        truth = from_df(make(judged), score="rating")
        report = evaluate(truth, make(LONG_SCORES), metrics=["p@1", "ndcg@2"], **options)
        assert [*report.values()] == VALUES
    elif form != "parquet":
        scores = {name.replace("score", "rating"): column for name, column in LONG_SCORES.items()}
        for table in (LONG_SCORES, scores):
            named = {"score-field": "rating", **options}
            assert evaluate_tables(form, judged, table, **named)[0] == VALUES
        judged = LONG | {"relevance": [1, 0, 1], "rating": [0.5, 0.25, 0.125]}  # which are scores
        assert evaluate_tables(form, judged, scores, **named)[0][0] == 0.5


@with_gains
def test_numbered_labels_in_parquet(options: dict[str, Any]) -> None:
    long: Table = {"instance": [0, 0, 1], "label": [0, 1, 2], "relevance": [3, 0, 1]}
    scores: Table = {"instance": [0, 0, 1], "label": [1, 0, 2], "score": [0.9, 0.2, 0.5]}
    assert evaluate_tables("parquet", long, scores, **options)[0] == VALUES
    lists: Table = {"labels": [[1, 0], [2]], "scores": [[0.9, 0.2], [0.5]]}
    assert evaluate_tables("parquet", {"labels": [[0, 1], [2]], "grade": [[3, 0], [1]]}, lists)[0] == VALUES
    truth: Table = {"id": [1, 0], "labels": [[2], [0]]}
    assert evaluate_tables("parquet", truth, {"id": [0, 1], **lists}, **options)[0] == VALUES


REFUSED: list[tuple[str, Table, Table]] = [
    *((f"{name!r} may hold judgements", LONG | {name: [3, 0, 1]}, LONG_SCORES)
      for name in ("rating", "weight", "value")),
    ("'relevance' and 'grade' may both be meant",
     LONG | {"relevance": [1, 0, 1], "grade": [0, 1, 1]}, LONG_SCORES),
    *((f"{name!r} has the values", {name: ["x1", "x2", "x3"], "labels": TRUE_LISTS},
       {name: ["x3", "x1", "x2"], **TURNED}) for name in ("index", "file_name", "Unnamed: 0")),
]  # fmt: skip
TAKEN: list[tuple[Table, Table]] = [
    (LONG | {"iteration": [0, 0, 0], "text": ["x", "y", "z"], "row_id": [5, 6, 7]}, LONG_SCORES),
    *(({name: ["x1", "x2", "x3"], "labels": TRUE_LISTS}, {name: same, **IN_ORDER})
      for name in ("index", "file_name", "Unnamed: 0")
      for same in (["x1", "x2", "x3"], ["x1", "x2", "x4"])),
]  # fmt: skip


@forms
def test_columns_that_may_mean_something_are_refused(form: str) -> None:
    for message, truth, scores in REFUSED:
        with pytest.raises(ValueError, match=message):
            evaluate_tables(form, truth, scores)
    for truth, scores in TAKEN:
        assert evaluate_tables(form, truth, scores, "p@1")[0] == [1.0]


@pytest.mark.slow
@forms
def test_lists_are_joined_by_columns_of_ids(form: str) -> None:
    for key in KEYS:
        for ids, turned in ((["x1", "x2", "x3"], ["x3", "x1", "x2"]), ([7, 5, 9], [9, 7, 5])):
            truth, scores = {key: ids, "labels": TRUE_LISTS}, {key: turned, **TURNED}
            values, notes = evaluate_tables(form, truth, scores, "p@1")
            assert values == [1.0]
            assert key in ("instance", "row") or any(repr(key) in note for note in notes)
            if form in FRAMES:
                evaluator = Evaluator("p@1", labels=[*"abcd"])
                evaluator.update(FRAMES[form](truth), FRAMES[form](scores))
                assert evaluator.compute()["p@1"] == 1


@forms
def test_ids_of_one_side_are_noted_or_refused(form: str) -> None:
    ids, truth = {"id": [1, 2, 3]}, {"text": [*"xyz"], "labels": TRUE_LISTS}
    for tables in ((truth | ids, IN_ORDER), (truth, IN_ORDER | ids)):
        if form in FILES:
            with pytest.raises(ValueError, match="ids"):
                evaluate_tables(form, *tables, metrics="p@1")
        else:
            values, notes = evaluate_tables(form, *tables, metrics="p@1")
            assert (values, any("'id'" in note for note in notes)) == ([1.0], True)


TAGS = [["toxic"], ["insult"], ["threat"], ["toxic", "insult"]]
WIDE: Table = {"toxic": [0.9, 0.1, 0.1, 0.8], "insult": [0.2, 0.9, 0.1, 0.7], "threat": [0.1, 0.1, 0.9, 0.1]}
WIDE_TRUTH: Table = {label: [int(label in row) for row in TAGS] for label in WIDE}


@libraries
@pytest.mark.parametrize("kind", ["frame", "frame with ids", "lists", "dicts", "array"])
def test_columns_that_are_no_labels_are_named(form: str, kind: str) -> None:
    make = FRAMES[form]
    truth: Any = {
        "frame": make(WIDE_TRUTH), "frame with ids": make({"id": [104, 103, 102, 101], **WIDE_TRUTH}),
        "lists": TAGS, "dicts": [dict.fromkeys(row, 1) for row in TAGS],
        "array": np.array([*WIDE_TRUTH.values()]).T,
    }[kind]  # fmt: skip
    for name in ("id", "Unnamed: 0"):
        columns: Table = {name: [104, 103, 102, 101], **WIDE}
        for step in (1, -1) if (name, kind) == ("id", "frame with ids") else (1,):
            scores = make({key: column[::step] for key, column in columns.items()})
            report = evaluate(truth, scores, metrics="p@1")
            assert report["p@1"] == 1
            assert any(repr(name) in note for note in report.notes)
    scores = make({"length": [30.0, 12.0, 7.0, 99.0], **WIDE})
    if kind != "array":
        assert any("'length'" in note for note in evaluate(truth, scores, metrics="p@1").notes)
    assert kind == "array" or evaluate(truth, scores, metrics="p@1", labels=[*WIDE])["p@1"] == 1


def as_pair(scores: Any) -> tuple[Any, Any]:
    labels = np.argsort(-scores, axis=1)
    return labels, np.take_along_axis(scores, labels, 1)


def long_table(values: Any, name: str) -> Table:
    rows, labels = np.indices(values.shape)
    names = {"instance": [f"q{row}" for row in rows.flat], "label": ["abc"[label] for label in labels.flat]}
    return names | {name: values.ravel().tolist()}


SWAPPED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dense": (np.array, np.array),
    "sparse": (csr_array, csr_array),
    "wide": (lambda a: pytest.importorskip("pandas").DataFrame(a, columns=[*"abc"]),) * 2,
    "pair": (np.array, as_pair),
}


@pytest.mark.parametrize("form", [*SWAPPED, *LIBRARIES, *FILES])
def test_grades_and_scores_that_look_swapped_are_noted(form: str) -> None:
    for truth, scores, swapped in (
        ([[0.5, -1.25, 2.0], [0.25, 1.5, 0.75]], [[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], True),
        ([[15.0, 14, 2], [30, 8, 9]], [[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], True),
        ([[0.5, 0.0, 1.0]], [[0.0, 0.0, 0.0]], False), ([[0.5, 0.0, 1.0]], [[0.5, 0.0, 1.0]], False),
        ([[0.5, 0.0, 1.0]], [[1.0, -1.0, 2.0]], False), ([[0.5, 0.0, 1.0]], [[11.0, 1.0, 2.0]], False),
        ([[10.0, -2.0, 1.0]], [[2.0, 1.0, 0.0]], False)
    ):  # fmt: skip
        arrays = np.array(truth), np.array(scores)
        if form in SWAPPED:
            rows = [make(values) for make, values in zip(SWAPPED[form], arrays, strict=True)]
            evaluator = Evaluator("ndcg@3", labels=[*"abc"], conventions="gains=linear")
            evaluator.update(*rows)
            reports = evaluate(*rows, metrics="ndcg@3", conventions="gains=linear"), evaluator.compute()
            notes = [report.notes for report in reports]
        else:
            tables = long_table(arrays[0], "relevance"), long_table(arrays[1], "score")
            notes = [evaluate_tables(form, *tables, metrics="ndcg@3", conventions="gains=linear")[1]]
        assert [any("swapped?" in note for note in each) for each in notes] == [swapped] * len(notes)


def test_only_the_first_values_are_looked_at() -> None:
    for row, swapped in ((0, True), (10_000, True), (69_999, False)):
        truth, scores = np.ones((70_000, 2)), np.ones((70_000, 2))
        truth[row] = 0.5
        notes = evaluate(truth, scores, metrics="ndcg@1", conventions="gains=linear").notes
        assert any("swapped?" in note for note in notes) == swapped
