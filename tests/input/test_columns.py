"""Columns mean the same in every form of a table: what joins rows, which label, and how it is judged."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from tests.input.test_frames import maker
from xmleval import Evaluator, evaluate, from_df

FRAMES = ["pandas", "polars", "arrow", "stream"]
FILES = ["csv", "tsv", "jsonl", "parquet"]
JUDGEMENTS = ["relevance", "rel", "grade", "relevant", "judgement", "judgment", "label_value", "Relevance"]
OPTIONS: list[dict[str, Any]] = [{}, {"gains": "linear"}]
NDCG_AT_2 = (1 / log2(3) + 1) / 2  # row 1 has its only relevant label at rank 2
LONG_SCORES = {"instance": ["1", "1", "2"], "label": ["z", "a", "b"], "score": [0.9, 0.2, 0.5]}
LIST_SCORES = {"labels": [["z", "a"], ["b"]], "scores": [[0.9, 0.2], [0.5]]}
TAGS = [["toxic"], ["insult"], ["threat"], ["toxic", "insult"]]
WIDE = {"toxic": [0.9, 0.1, 0.1, 0.8], "insult": [0.2, 0.9, 0.1, 0.7], "threat": [0.1, 0.1, 0.9, 0.1]}

Table = dict[str, list[Any]]


def write(path: Path, columns: Table) -> None:
    """Write a table in the format of a file's name."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(maker("arrow")(columns), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        mark = "\t" if path.suffix == ".tsv" else ";"
        cells = [
            [json.dumps(cell) if isinstance(cell, list) else str(cell) for cell in row.values()]
            for row in rows
        ]
        path.write_text("".join(f"{mark.join(line)}\n" for line in [[*columns], *cells]))


class Evaluated:
    """Values and notes of tables in a form, in memory or through the command line."""

    def __init__(self, form: str, run: Any, refused: Any) -> None:
        self.form, self.run, self.refused = form, run, refused

    def __call__(
        self, truth: Table, scores: Table, metrics: str = "p@1,ndcg@2", **options: Any
    ) -> tuple[list[float], list[str]]:
        if self.form in FRAMES:
            make = maker(self.form)
            report = evaluate(make(truth), make(scores), metrics=metrics.split(","), **options)
            return [*report.values()], report.notes
        found = json.loads(
            self.run(f"{self._command(truth, scores, options)} --metrics {metrics} --format json")
        )
        return [*found["values"].values()], found["notes"]

    def refusal(self, truth: Table, scores: Table, **options: Any) -> str:
        if self.form in FRAMES:
            make = maker(self.form)
            with pytest.raises(ValueError) as error:
                evaluate(make(truth), make(scores), metrics=["p@1"], **options)
            return str(error.value)
        return str(self.refused(f"{self._command(truth, scores, options)} --metrics p@1"))

    def _command(self, truth: Table, scores: Table, options: dict[str, Any]) -> str:
        write(Path(f"t.{self.form}"), truth)
        write(Path(f"s.{self.form}"), scores)
        return f"evaluate t.{self.form} s.{self.form} " + " ".join(
            f"--{key} {it}" for key, it in options.items()
        )


@pytest.fixture
def evaluated(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, refused: Any
) -> Evaluated:
    monkeypatch.chdir(tmp_path)
    return Evaluated(request.param, run, refused)


forms = pytest.mark.parametrize("evaluated", [*FRAMES, *FILES], indirect=True)


@forms
@pytest.mark.parametrize("name", JUDGEMENTS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_labels_judged_zero_are_not_relevant(evaluated: Any, name: str, options: dict[str, Any]) -> None:
    truth = {"instance": ["1", "1", "2"], "label": ["a", "z", "b"], name: [3, 0, 1]}
    values, _ = evaluated(truth, LONG_SCORES, **options)
    assert values == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)
    for judged in ([1.0, -1.0, 1.0], [True, False, True]):
        values, _ = evaluated(truth | {name: judged}, LONG_SCORES, **options)
        assert values == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)


@forms
@pytest.mark.parametrize("name", ["relevance", "grades"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_labels_in_lists_are_judged_by_lists(evaluated: Any, name: str, options: dict[str, Any]) -> None:
    values, _ = evaluated({"labels": [["a", "z"], ["b"]], name: [[3, 0], [1]]}, LIST_SCORES, **options)
    assert values == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_named_column_judges_labels(kind: str, options: dict[str, Any]) -> None:
    make = maker(kind)
    rating = make({"instance": ["1", "1", "2"], "label": ["a", "z", "b"], "rating": [3, 0, 1]})
    lists = make({"labels": [["a", "z"], ["b"]], "rating": [[3, 0], [1]]})
    for truth, scores in ((rating, LONG_SCORES), (lists, LIST_SCORES)):
        report = evaluate(from_df(truth, score="rating"), make(scores), metrics=["p@1", "ndcg@2"], **options)
        assert [*report.values()] == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("scored_by", ["score", "rating"])
def test_a_field_named_by_an_option_judges_labels(
    form: str, scored_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, refused: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluated = Evaluated(form, run, refused)
    truth: Table = {"instance": ["1", "1", "2"], "label": ["a", "z", "b"], "rating": [3, 0, 1]}
    scores: Table = {"instance": ["1", "1", "2"], "label": ["z", "a", "b"], scored_by: [0.9, 0.2, 0.5]}
    for options in OPTIONS:
        values, _ = evaluated(truth, scores, **options, **{"score-field": "rating"})
        assert values == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)
    judged = truth | {"relevance": [1, 0, 1], "rating": [0.5, 0.25, 0.125]}  # which are scores
    assert evaluated(judged, scores, **{"score-field": scored_by})[0][0] == 0.5


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_judgements_of_numbered_labels(
    lists: bool,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Any,
    refused: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluated = Evaluated("parquet", run, refused)
    truth: Table = {"instance": [0, 0, 1], "label": [0, 1, 2], "relevance": [3, 0, 1]}
    scores: Table = {"instance": [0, 0, 1], "label": [1, 0, 2], "score": [0.9, 0.2, 0.5]}
    if lists:
        truth = {"labels": [[0, 1], [2]], "grade": [[3, 0], [1]]}
        scores = {"labels": [[1, 0], [2]], "scores": [[0.9, 0.2], [0.5]]}
    values, _ = evaluated(truth, scores, **options)
    assert values == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)


@forms
@pytest.mark.parametrize("side", ["truth", "scores"])
def test_ids_of_one_side_are_told_or_refused(evaluated: Any, side: str) -> None:
    truth: Table = {"text": ["x", "y", "z"], "labels": TRUE_LISTS}
    scores: Table = {"labels": [["a"], ["c"], ["d"]], "scores": [[0.9], [0.2], [0.7]]}
    table = truth if side == "truth" else scores
    table["id"] = [1, 2, 3]
    if evaluated.form in FILES:
        assert "ids" in evaluated.refusal(truth, scores)
        return
    values, notes = evaluated(truth, scores, "p@1")
    assert values == [1.0]
    assert any("'id'" in note for note in notes)


@pytest.mark.parametrize("key", ["id", "qid", "instance"])
def test_integers_name_the_rows_of_numbered_lists(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, refused: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    truth: Table = {key: [0, 1, 2], "labels": [[0, 1], [2], [3]]}
    scores: Table = {key: [2, 0, 1], "labels": [[3], [0], [2]], "scores": [[0.7], [0.9], [0.2]]}
    assert Evaluated("parquet", run, refused)(truth, scores, "p@1")[0] == [1.0]


@forms
@pytest.mark.parametrize("name", ["rating", "weight", "value"])
def test_numbers_that_may_be_judgements_are_refused(evaluated: Any, name: str) -> None:
    truth = {"instance": ["1", "1", "2"], "label": ["a", "z", "b"], name: [3, 0, 1]}
    assert f"{name!r} may hold judgements" in evaluated.refusal(truth, LONG_SCORES)
    beside = {"iteration": [0, 0, 0], "text": ["x", "y", "z"], "row_id": [5, 6, 7]}  # which are none
    values, _ = evaluated({key: it for key, it in truth.items() if key != name} | beside, LONG_SCORES)
    assert values[0] == 1.0


@forms
def test_several_columns_of_judgements_are_refused(evaluated: Any) -> None:
    truth = {"instance": ["1", "2"], "label": ["a", "b"], "relevance": [1, 0], "grade": [0, 1]}
    assert "'relevance' and 'grade' may both be meant" in evaluated.refusal(truth, LONG_SCORES)


@forms
@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "relevance"),
        ("query-id", "corpus-id", "score"),
        ("qid", "docno", "label"),
        ("q_id", "document_id", "grade"),
        ("doc_id", "label", "relevance"),
        ("id", "label", "rel"),
    ],
    ids="-".join,
)
def test_names_of_instances_and_labels(evaluated: Any, names: tuple[str, str, str]) -> None:
    truth = dict(zip(names, (["7", "7", "5"], ["a", "z", "b"], [1, 0, 2]), strict=True))
    scores = dict(
        zip((*names[:2], "score"), (["5", "7", "7"], ["b", "z", "a"], [0.5, 0.9, 0.2]), strict=True)
    )
    if (
        evaluated.form in FRAMES or names[2] != "score"
    ):  # which files may hold for predictions given as a truth
        assert evaluated(truth, scores)[0] == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)
    assert evaluated(truth, scores, gains="linear")[0] == pytest.approx([0.5, NDCG_AT_2], abs=1e-12)


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
TRUE_LISTS = [["a", "b"], ["c"], ["d"]]
SHUFFLED = {"labels": [["d"], ["a"], ["c"]], "scores": [[0.7], [0.9], [0.2]]}


@forms
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("ids", [(["x1", "x2", "x3"], ["x3", "x1", "x2"]), ([7, 5, 9], [9, 7, 5])], ids=str)
def test_lists_are_joined_by_columns_of_ids(
    evaluated: Any, key: str, ids: tuple[list[Any], list[Any]]
) -> None:
    values, notes = evaluated({key: ids[0], "labels": TRUE_LISTS}, {key: ids[1], **SHUFFLED}, "p@1")
    assert values == [1.0]
    assert key in ("instance", "row") or any(repr(key) in note for note in notes)


@forms
@pytest.mark.parametrize("name", ["index", "file_name", "Unnamed: 0"])
def test_values_in_another_order_are_never_joined_by_position(evaluated: Any, name: str) -> None:
    truth = {name: ["x1", "x2", "x3"], "labels": TRUE_LISTS}
    assert f"{name!r} has the values" in evaluated.refusal(truth, {name: ["x3", "x1", "x2"], **SHUFFLED})
    in_order = {"labels": [["a"], ["c"], ["d"]], "scores": [[0.9], [0.2], [0.7]]}
    for same in (["x1", "x2", "x3"], ["x1", "x2", "x4"]):
        assert evaluated(truth, {name: same, **in_order}, "p@1")[0] == [1.0]


WIDE_TRUTH = {label: [int(label in row) for row in TAGS] for label in WIDE}
TRUTHS = ["frame", "frame with ids", "lists", "dicts", "array"]


def wide_truth(kind: str, form: str) -> Any:
    if form == "array":
        return np.array([*WIDE_TRUTH.values()]).T
    if form.startswith("frame"):
        ids: Table = {"id": [104, 103, 102, 101]} if form == "frame with ids" else {}
        return maker(kind)(ids | WIDE_TRUTH)
    return TAGS if form == "lists" else [dict.fromkeys(row, 1) for row in TAGS]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("form", TRUTHS)
@pytest.mark.parametrize("name", ["id", "Unnamed: 0"])
def test_a_column_of_ids_is_no_label(kind: str, form: str, name: str) -> None:
    scores: Table = {name: [104, 103, 102, 101], **WIDE}
    for step in [1, -1] if name == "id" and form == "frame with ids" else [1]:
        turned = {key: column[::step] for key, column in scores.items()}
        report = evaluate(wide_truth(kind, form), maker(kind)(turned), metrics="p@1")
        assert report["p@1"] == 1
        assert any(repr(name) in note for note in report.notes)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("form", TRUTHS[:-1])
def test_a_column_that_is_no_label_of_the_truth_is_named(kind: str, form: str) -> None:
    truth, scores = wide_truth(kind, form), maker(kind)({"length": [30.0, 12.0, 7.0, 99.0], **WIDE})
    if form.startswith("frame"):
        with pytest.raises(ValueError, match="column 'length' is no label of y_true"):
            evaluate(truth, scores, metrics="p@1")
    else:
        assert any("'length'" in note for note in evaluate(truth, scores, metrics="p@1").notes)
    assert evaluate(truth, scores, metrics="p@1", labels=[*WIDE])["p@1"] == 1


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_batches_are_joined_by_their_ids(kind: str) -> None:
    make = maker(kind)
    evaluator = Evaluator("p@1", labels=["a", "b", "c", "d"])
    for ids in (["x1", "x2", "x3"], ["y1", "y2", "y3"]):
        turned = {"id": [ids[2], ids[0], ids[1]], **SHUFFLED}
        evaluator.update(make({"id": ids, "labels": TRUE_LISTS}), make(turned))
    report = evaluator.compute()
    assert report["p@1"] == 1
    assert any("y_score: rows are matched by column 'id'" in note for note in report.notes)


GRADED_RUN = {"q1": {"b": 9.5, "a": 8.25, "c": -0.75, "d": 1.125}, "q2": {"a": 7.75, "e": -1.5, "b": 0.375}}
GRADED_QRELS = {"q1": {"a": 3, "b": 0, "c": 1, "d": 0}, "q2": {"a": 2, "b": 0, "e": 1}}


def long_table(rows: dict[str, dict[str, Any]], value: str) -> Table:
    entries = [(row, label, number) for row, labels in rows.items() for label, number in labels.items()]
    return dict(zip(("instance", "label", value), map(list, zip(*entries, strict=True)), strict=True))


@forms
def test_grades_and_scores_that_look_swapped_are_noted(evaluated: Any) -> None:
    run, qrels = GRADED_RUN, GRADED_QRELS
    quarters = {row: {label: grade / 4 for label, grade in labels.items()} for row, labels in qrels.items()}
    scores = {row: {label: float(grade) for label, grade in labels.items()} for row, labels in qrels.items()}
    for truth, predicted, swapped in ((run, scores, True), (qrels, run, False), (quarters, run, False)):
        tables = long_table(truth, "relevance"), long_table(predicted, "score")
        _, notes = evaluated(*tables, "ndcg@10", gains="linear")
        assert any("swapped?" in note for note in notes) == swapped


@pytest.mark.parametrize("truth", [[[0.5, -1.25, 2.0], [0.25, 1.5, 0.75]], [[15, 14, 2], [30, 8, 9]]])
@pytest.mark.parametrize("form", ["dicts", "dense", "sparse", "wide", "pair", "scores-first", "update"])
def test_objects_of_grades_and_scores_that_look_swapped_are_noted(form: str, truth: Any) -> None:
    truth = np.array(truth)
    scores: Any = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    if form == "dicts":
        truth, scores = GRADED_RUN, GRADED_QRELS
    elif form == "sparse":
        truth, scores = csr_array(truth), csr_array(scores)
    elif form == "wide":
        truth, scores = (pd.DataFrame(values, columns=["a", "b", "c"]) for values in (truth, scores))
    elif form in ("pair", "scores-first"):
        labels = np.argsort(-scores, axis=1)
        scores = (labels, np.take_along_axis(scores, labels, 1))[:: 1 if form == "pair" else -1]
    if form == "update":
        evaluator = Evaluator("ndcg@3", n_labels=3, gains="linear")
        evaluator.update(truth, scores)
        report = evaluator.compute()
    else:
        report = evaluate(truth, scores, metrics="ndcg@3", gains="linear")
    assert any("swapped?" in note for note in report.notes)


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        ([[0.5, 0.0, 1.0]], [[0.0, 0.0, 0.0]]),
        ([[0.5, 0.0, 1.0]], [[0.5, 0.0, 1.0]]),
        ([[0.5, 0.0, 1.0]], [[1.0, -1.0, 2.0]]),
        ([[0.5, 0.0, 1.0]], [[11.0, 1.0, 2.0]]),
        ([[10.0, -2.0, 1.0]], [[2.0, 1.0, 0.0]]),
    ],
)
def test_grades_and_scores_in_the_right_order_have_no_note(truth: Any, scores: Any) -> None:
    report = evaluate(np.array(truth), np.array(scores), metrics="ndcg@3", gains="linear")
    assert not any("swapped?" in note for note in report.notes)


def test_labels_of_a_pair_do_not_look_like_grades() -> None:
    truth, pair = np.array([[0.5, 0.0, 1.0]]), (np.array([[0.75, 0.25]]), np.array([[2, 0]]))
    for scores in (pair, pair[::-1]):
        report = evaluate(truth, scores, metrics="ndcg@3", gains="linear")
        assert not any("swapped?" in note for note in report.notes)


@pytest.mark.parametrize("make", [np.array, csr_array])
@pytest.mark.parametrize(("row", "noted"), [(0, True), (1, True), (10_000, True), (69_999, False)])
def test_the_first_values_tell_whether_inputs_look_swapped(make: Any, row: int, noted: bool) -> None:
    truth, scores = np.ones((70_000, 2)), np.ones((70_000, 2))
    truth[row] = 0.5
    report = evaluate(make(truth), make(scores), metrics="ndcg@1", gains="linear")
    assert any("swapped?" in note for note in report.notes) == noted
