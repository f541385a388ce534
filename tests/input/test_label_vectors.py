"""Zeros and ones of each label, where label ids are read: never silently ids."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer, values_of
from tests.input.forms import FRAMES
from xmleval import Evaluator, compare, evaluate, inverse_propensity, label_groups, label_statistics
from xmleval.input.glances import VECTORS
from xmleval.io import read_truth
from xmleval.io import write_parquet as write_parquet_file

KEYS = "abcdefgh"
PAIRS = [[0, 1], [1, 0]]
VECTOR_ROWS = {
    "rising pairs": [[0, 1], [0, 1], [0, 1]],
    "falling pairs": [[1, 0], [1, 0]],
    "pairs": PAIRS,
    "pairs, falling first": PAIRS[::-1],
    "ones": [[1, 1], [1, 1]],
    "zeros": [[0, 0], [0, 0]],
    "a pair and ones": [[0, 1], [1, 1]],
    "four labels": [[0, 1, 0, 0], [1, 0, 0, 1]],
    "five labels": [[0, 1, 0, 0, 1], [1, 0, 0, 0, 0]],
    "no label": [[0, 0, 0], [0, 0, 0]],
    "pair": [[0, 1]],
    "five labels in a row": [[0, 1, 0, 0, 1]],
}
ID_ROWS = {
    "first": [[0], [0]],
    "either": [[0], [1]],
    "a pair and the first": [[0, 1], [0]],
    "a falling pair and none": [[1, 0], [], [2]],
    "pairs of three": [[0, 1], [1, 2]],
    "a pair behind others": [[2, 0], [1, 0], [0, 1]],
    "a pair and none": [[0, 1], []],
    "pairs and one behind them": [*PAIRS, *PAIRS, [1]],
}
TRAIN = [[[1, 0], [1, 0], [1, 0], [0, 1]], [[1, 0, 0], [1, 1, 0], [0, 1, 0]]]


def write_csv(cell: Callable[[Any], str]) -> Callable[[Path, list[Any]], None]:
    def write(path: Path, rows: list[Any]) -> None:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["labels"], *([cell(row)] for row in rows)])

    return write


def write_lines(line: Callable[[Any], str]) -> Callable[[Path, list[Any]], Any]:
    return lambda path, rows: path.write_text("".join(f"{line(row)}\n" for row in rows))


def write_parquet(path: Path, rows: list[Any], **columns: Any) -> None:
    table = FRAMES["arrow"]({**columns, "labels": rows})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


FILES: dict[str, tuple[str, Callable[[Path, list[Any]], Any]]] = {
    "jsonl": ("Y.jsonl", write_lines(lambda row: json.dumps({"labels": row}))),
    "csv of lists": ("Y.csv", write_csv(str)),
    "csv of arrays": ("Y.csv", write_csv(lambda row: f"array({row})")),
    "csv of text": ("Y.csv", write_csv(lambda row: ",".join(map(str, row)))),
    "parquet": ("Y.parquet", write_parquet),
    "parquet by key": (
        "Y.parquet",
        lambda path, rows: write_parquet(path, rows, instance=[*KEYS[: len(rows)]]),
    ),
    "lines": ("Y.txt", write_lines(lambda row: " ".join(map(str, row)))),
    "svmlight": ("Y.svm", write_lines(lambda row: ",".join(map(str, row)) + " 0:1.5 3:0.25")),
}


def series(rows: Any, index: Any = None) -> Any:
    return pytest.importorskip("pandas").Series(rows, index)


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "tuples": lambda rows: [*map(tuple, rows)],
    "arrays": lambda rows: [np.array(row, int) for row in rows],
    "Series": series,
    "polars Series": lambda rows: pytest.importorskip("polars").Series(rows),
    "pandas": lambda rows: FRAMES["pandas"]({"labels": rows}),
    "polars": lambda rows: FRAMES["polars"]({"labels": rows}),
}
KEYED: dict[str, Callable[[Any], Any]] = {
    "dict": lambda rows: dict(zip(KEYS, rows, strict=False)),
    "Series by key": lambda rows: series(rows, [*KEYS[: len(rows)]]),
    "pandas by key": lambda rows: FRAMES["pandas"]({"id": [*KEYS[: len(rows)]], "labels": rows}),
    "polars by key": lambda rows: FRAMES["polars"]({"id": [*KEYS[: len(rows)]], "labels": rows}),
}


def refusal(form: str, rows: Any, n_labels: int, folder: Path) -> str:
    """Return what refuses rows in a form, in any cut of files, or nothing where they are ids."""
    if form in FILES:
        name, write = FILES[form]
        write(folder / name, rows)
        command = ["evaluate", str(folder / name), "--metrics", "label_cardinality", "--format", "json"]
        code, out, err = answer(command)
        assert answer([*command, "--memory", "100"])[:2] == (code, out)
        assert code or json.loads(out)["values"]["label_cardinality"] == sum(map(len, rows)) / len(rows)
        return err if code else ""
    sets = KEYED["dict"]([*map(set, rows)]) if form in KEYED else [*map(set, rows)]
    try:
        report = evaluate((OBJECTS | KEYED)[form](rows), y_pred=sets, metrics="f1.micro", n_labels=n_labels)
    except ValueError as error:
        return str(error)
    assert report["f1.micro"] == 1
    return ""


@pytest.mark.parametrize("form", [*FILES, *OBJECTS, *KEYED])
def test_zeros_and_ones_of_each_label_are_refused_in_every_form(form: str, tmp_path: Path) -> None:
    for name, rows in (VECTOR_ROWS | ID_ROWS).items():
        if form == "lines" and name in ("pair", "a pair and none"):
            continue  # a line of two numbers alone is a header
        n_labels = 3 if name in ID_ROWS else len(rows[0])
        message = refusal(form, rows, n_labels, tmp_path)
        assert (VECTORS in message) == bool(message) == (name not in ID_ROWS), (name, message)
        assert "\n" not in message.rstrip("\n")
        if form not in FILES and name in VECTOR_ROWS:  # pairs among more labels are ids
            message = refusal(form, rows, 9, tmp_path)
            assert (VECTORS in message) == bool(message) == ("pair" not in name or "ones" in name), message


def test_pairs_in_parquet_that_tells_the_number_of_labels_are_ids(tmp_path: Path) -> None:
    truth = csr_array(np.ones((3, 2), np.uint8))
    write_parquet_file(tmp_path / "Y.parquet", truth, "truth")
    assert (read_truth(tmp_path / "Y.parquet") != truth).nnz == 0


@pytest.mark.parametrize("as_set", [set, frozenset])
def test_sets_of_zero_and_one_are_ids(as_set: Any) -> None:
    rows, dense = [as_set((0, 1))] * 3, np.ones((3, 2), int)
    for y_true in (rows, OBJECTS["Series"](rows), OBJECTS["pandas"](rows)):
        assert evaluate(y_true, y_pred=dense, metrics="f1.micro", n_labels=2)["f1.micro"] == 1
    assert label_statistics(rows, n_labels=2)["n_stored"] == 6
    assert np.array_equal(inverse_propensity(rows, n_labels=2), inverse_propensity(dense))
    psp = [evaluate(dense, np.eye(3, 2), y_train=train, metrics="psp@1") for train in (rows, dense)]
    assert dict(psp[0]) == dict(psp[1])


@pytest.mark.parametrize("form", ["jsonl", "csv of lists", "parquet", "parquet by key"])
def test_texts_of_zero_and_one_are_names(form: str, tmp_path: Path) -> None:
    assert not refusal(form, [["0", "1"], ["1", "0"]], 2, tmp_path)


@pytest.mark.parametrize("form", ["dict", "Series", "Series by key", "pandas", "polars Series"])
def test_zero_and_one_with_judgements_are_ids(form: str) -> None:
    judged = (OBJECTS | KEYED)[form]([[(0, 1), (1, 1)], [(0, 1), (1, 1)]])
    sets = KEYED["dict"]([{0, 1}, {0, 1}]) if form in KEYED else [{0, 1}, {0, 1}]
    report = evaluate(judged, y_pred=sets, metrics="f1.micro", n_labels=2, gains="linear")
    assert report["f1.micro"] == 1


@pytest.mark.parametrize("name", ["d.jsonl", "d.parquet", "k.parquet"])
def test_lists_with_judgements_or_scores_are_ids(name: str, tmp_path: Path) -> None:
    labels, judgements = [[0, 1], [1, 0]], [[1, 0], [1, 1]]
    if name == "d.jsonl":
        rows = [*zip(labels, judgements, strict=True)]
        write_lines(lambda row: json.dumps({"labels": row[0], "judgements": row[1]}))(tmp_path / name, rows)
    else:
        keys = {"instance": ["a", "b"]} if name == "k.parquet" else {}
        write_parquet(tmp_path / name, labels, judgements=judgements, **keys)
    assert values_of(["label_cardinality"], str(tmp_path / name)) == {"label_cardinality": 1.5}
    scored = [{"labels": [i], "predicted": [i, 1 - i], "scores": [0.9, 0.1]} for i in (0, 1)]
    write_lines(json.dumps)(tmp_path / "scored.jsonl", scored)
    assert values_of(["p@1"], str(tmp_path / "scored.jsonl")) == {"p@1": 1.0}


@pytest.mark.parametrize("form", OBJECTS)
def test_zeros_and_ones_are_refused_in_every_argument(form: str) -> None:
    rows, dense = OBJECTS[form](PAIRS), np.array(PAIRS)
    if not form.startswith("polars"):
        for argument in ("y_true", "y_pred"):
            inputs = {"y_true": dense, "y_pred": dense, argument: rows}
            with pytest.raises(ValueError, match=f"^{argument}: {VECTORS}; give an array"):
                evaluate(**inputs, metrics="f1.micro", n_labels=2)
            with pytest.raises(ValueError, match=f"^{argument}: {VECTORS}; give an array"):
                Evaluator("f1.micro", n_labels=2).update(**inputs)
    if form not in ("lists", "tuples", "arrays"):
        for name in ("rising pairs", "pairs", "a pair and ones"):
            with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
                evaluate(np.eye(2), np.eye(2), y_train=OBJECTS[form](VECTOR_ROWS[name]), metrics="psp@1")
    for make in (inverse_propensity, label_groups):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            make(TRAIN[0], n_labels=2)


@pytest.mark.parametrize("train", TRAIN)
def test_training_labels_in_lists_are_read_as_the_array(train: Any) -> None:
    width = len(train[0])
    truth, scores = np.eye(4, width, dtype=int), np.random.default_rng(0).random((4, width))
    options: Any = {"metrics": ["psp@1", "p@1"], "label_groups": [0, 1, 2, 3]}
    expected = evaluate(truth, scores, y_train=np.array(train), **options)
    evaluator = Evaluator(n_labels=width, y_train=train, **options)
    evaluator.update(truth, scores)
    reports = [evaluate(y_true, scores, y_train=train, **options) for y_true in (truth, truth.tolist())]
    for report in (*reports, evaluator.compute()):
        assert dict(report) == dict(expected)
        assert repr(report.groups) == repr(expected.groups)
    compared = compare({"a": scores, "b": scores}, truth, y_train=train, metrics="psp@1")
    assert compared.reports["a"]["psp@1"] == expected["psp@1"]
    assert np.array_equal(inverse_propensity(train), inverse_propensity(np.array(train)))
