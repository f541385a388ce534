"""Zeros and ones of each label, where label ids are read: never silently ids."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, compare, evaluate, inverse_propensity, label_groups
from xmleval.cli import main
from xmleval.input.glances import VECTORS

PAIRS = [[0, 1], [1, 0]]
WIDE = [[0, 1, 0, 0], [1, 0, 0, 1]]
IDS = [[[0, 1], [0]], [[1, 0], [], [2]], [[0, 1], [1, 2]], [[0], [1]]]


def write_csv(path: str, rows: list[Any], written: Callable[[Any], str]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([["labels"], *([written(row)] for row in rows)])


def write_parquet(path: str, rows: list[Any], by_key: bool = False) -> None:
    pa, keys = pytest.importorskip("pyarrow"), {"instance": [*"abc"[: len(rows)]]} if by_key else {}
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"labels": rows, **keys}), path)


FILES: dict[str, tuple[str, Callable[[str, list[Any]], Any]]] = {
    "jsonl": ("Y.jsonl", lambda path, rows: Path(path).write_text(
        "".join(json.dumps({"labels": row}) + "\n" for row in rows))),
    "csv of lists": ("Y.csv", lambda path, rows: write_csv(path, rows, str)),
    "csv of tuples": ("Y.csv", lambda path, rows: write_csv(path, rows, lambda row: str([*row]))),
    "csv of arrays": ("Y.csv", lambda path, rows: write_csv(path, rows, lambda row: f"array({row})")),
    "csv of text": ("Y.csv", lambda path, rows: write_csv(path, rows, lambda row: ",".join(map(str, row)))),
    "parquet": ("Y.parquet", write_parquet),
    "parquet by key": ("Y.parquet", lambda path, rows: write_parquet(path, rows, True)),
    "lines": ("Y.txt", lambda path, rows: Path(path).write_text(
        "".join(" ".join(map(str, row)) + "\n" for row in rows))),
}  # fmt: skip


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("rows", [PAIRS, WIDE, PAIRS[::-1]])
def test_vectors_in_files_are_refused(
    form: str, rows: Any, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, write = FILES[form]
    write(path, rows)
    told = refused(f"stats {path}")
    assert told.startswith(f"{path}: ")
    assert VECTORS in told


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("rows", IDS)
def test_ids_in_files_are_read(
    form: str, rows: Any, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, write = FILES[form]
    write(path, rows)
    assert main(["stats", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_stored"] == sum(map(len, rows))


def test_lists_with_scores_beside_them_are_ids(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"labels": [0], "predicted": [0, 1]}, {"labels": [1], "predicted": [1, 0]}]
    text = "".join(json.dumps({**row, "scores": [0.9, 0.1]}) + "\n" for row in rows)
    Path("d.jsonl").write_text(text)
    assert '"p@1": 1.0' in run("evaluate d.jsonl --metrics p@1 --format json")


@pytest.mark.parametrize("argument", ["y_true", "y_pred"])
@pytest.mark.parametrize("form", ["lists", "tuples", "Series", "frame", "arrays"])
def test_pairs_of_zero_and_one_beside_a_number_of_labels_are_refused(argument: str, form: str) -> None:
    forms: dict[str, Callable[[], Any]] = {
        "lists": lambda: PAIRS,
        "tuples": lambda: [*map(tuple, PAIRS)],
        "arrays": lambda: [*map(np.array, PAIRS)],
        "Series": lambda: pytest.importorskip("pandas").Series(PAIRS),
        "frame": lambda: pytest.importorskip("pandas").DataFrame({"labels": PAIRS}),
    }
    rows = forms[form]()
    inputs = {"y_true": np.array(PAIRS), "y_pred": np.array(PAIRS), argument: rows}
    with pytest.raises(ValueError, match=f"^{argument}: {VECTORS}; give an array"):
        evaluate(**inputs, metrics="f1.micro", n_labels=2)
    with pytest.raises(ValueError, match=f"^{argument}: {VECTORS}; give an array"):
        Evaluator("f1.micro", n_labels=2).update(inputs["y_true"], y_pred=inputs["y_pred"])


@pytest.mark.parametrize("rows", [[[0, 1], [0]], [[0, 1], [0, 1]], [[1, 0]], [[0, 1], []]])
def test_other_lists_beside_a_number_of_labels_are_ids(rows: Any) -> None:
    dense = np.array([[int(label in row) for label in range(2)] for row in rows])
    assert evaluate(rows, y_pred=dense, metrics="f1.micro", n_labels=2)["f1.micro"] == 1


TRAIN = [[[1, 0], [1, 0], [1, 0], [0, 1]], [[1, 0, 0], [1, 1, 0], [0, 1, 0]]]


@pytest.mark.parametrize("train", TRAIN)
def test_training_labels_in_lists_are_read_as_the_array(train: Any) -> None:
    width = len(train[0])
    truth, scores = np.eye(4, width, dtype=int), np.random.default_rng(0).random((4, width))
    options: Any = {"metrics": ["psp@1", "p@1"], "label_groups": [0, 1, 2, 3]}
    expected = evaluate(truth, scores, y_train=np.array(train), **options)
    for y_true in (truth, truth.tolist()):
        report = evaluate(y_true, scores, y_train=train, **options)
        assert dict(report) == dict(expected)
        assert repr(report.groups) == repr(expected.groups)
    compared = compare({"a": scores, "b": scores}, truth, y_train=train, metrics="psp@1")
    assert compared.reports["a"]["psp@1"] == expected["psp@1"]
    evaluator = Evaluator(n_labels=width, y_train=train, **options)
    evaluator.update(truth, scores)
    assert dict(evaluator.compute()) == dict(expected)
    assert np.array_equal(inverse_propensity(train), inverse_propensity(np.array(train)))


def test_pairs_are_refused_where_training_labels_are_ids() -> None:
    for make in (inverse_propensity, label_groups):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            make(TRAIN[0], n_labels=2)
