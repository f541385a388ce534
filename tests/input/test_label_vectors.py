"""Zeros and ones of each label, where label ids are read: never silently ids."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer, values_of
from tests.input.forms import FRAMES, write_table
from tests.made_files import write_lines
from xmleval import Evaluator, evaluate, inverse_propensity, label_groups, label_statistics
from xmleval.io import read_truth, write_parquet

VECTORS = "rows of zeros and ones, one for each label, look like label ids"
KEYS = "abcdefgh"
PAIRS = [[0, 1], [1, 0]]
VECTOR_ROWS = {
    "rising pairs": [[0, 1], [0, 1], [0, 1]], "falling pairs": [[1, 0], [1, 0]], "pairs": PAIRS,
    "pair": [[0, 1]], "ones": [[1, 1], [1, 1]], "a pair and ones": [[0, 1], [1, 1]], "zeros": [[0, 0]] * 2,
    "four labels": [[0, 1, 0, 0], [1, 0, 0, 1]], "no label": [[0, 0, 0], [0, 0, 0]],
    "five labels in a row": [[0, 1, 0, 0, 1]],
}  # fmt: skip
ID_ROWS = {
    "first": [[0], [0]], "a pair and the first": [[0, 1], [0]], "a falling pair and none": [[1, 0], [], [2]],
    "a pair behind two labels": [[2, 0], [1, 0], [0, 1]], "a pair and none": [[0, 1], []],
    "pairs and one behind them": [*PAIRS, *PAIRS, [1]],
}  # fmt: skip


def keys_of(rows: Any) -> list[str]:
    return [*KEYS[: len(rows)]]


def joined(mark: str, end: str = "") -> Callable[[Any], str]:
    return lambda row: mark.join(map(str, row)) + end


FILES: dict[str, tuple[str, Callable[[Any], Any]]] = {  # a name, and what is written for each row
    "jsonl": ("Y.jsonl", list),
    "csv of lists": ("Y.csv", list),
    "csv of arrays": ("Y.csv", lambda row: f"array({row})"),
    "csv of text": ("Y.csv", joined(",")),
    "parquet": ("Y.parquet", list),
    "parquet by key": ("Y.parquet", list),
    "lines": ("Y.lines", joined(" ")),
    "svmlight": ("Y.svm", joined(",", " 0:1.5 3:0.25")),
}
OBJECTS: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "tuples": lambda rows: [*map(tuple, rows)],
    "arrays": lambda rows: [np.array(row, int) for row in rows],
    "Series": lambda rows: pytest.importorskip("pandas").Series(rows),
    "polars Series": lambda rows: pytest.importorskip("polars").Series(rows),
    "pandas": lambda rows: FRAMES["pandas"]({"labels": rows}),
    "polars": lambda rows: FRAMES["polars"]({"labels": rows}),
}
KEYED: dict[str, Callable[[Any], Any]] = {
    "dict": lambda rows: dict(zip(KEYS, rows, strict=False)),
    "Series by key": lambda rows: pytest.importorskip("pandas").Series(rows, keys_of(rows)),
    "pandas by key": lambda rows: FRAMES["pandas"]({"id": keys_of(rows), "labels": rows}),
}


def refusal(form: str, rows: Any, n_labels: int) -> str:
    """Return what refuses rows in a form, in any cut of files, or nothing where they are ids."""
    if form in FILES:
        name, write = FILES[form]
        cells = [*map(write, rows)]
        if name in ("Y.lines", "Y.svm"):
            write_lines(Path(name), Path(name).suffix, cells)
        else:
            write_table(Path(name), {"instance" if "key" in form else "text": keys_of(rows), "labels": cells})
        command = ["evaluate", name, "--metrics", "label_cardinality", "--format", "json"]
        command += ["--separator", ","] if form == "csv of text" else []
        code, out, err = answer(command)
        assert answer([*command, "--memory", "100"])[:2] == (code, out)
        assert code or json.loads(out)["values"]["label_cardinality"] == sum(map(len, rows)) / len(rows)
        return err if code else ""
    sets = KEYED["dict"]([*map(set, rows)]) if form in KEYED else [*map(set, rows)]
    lists, refusals = (OBJECTS | KEYED)[form](rows), set[str]()
    for y_true, y_pred in ((lists, sets), (sets, lists)):
        try:
            report = evaluate(y_true, y_pred=y_pred, metrics="f1.micro", n_labels=n_labels)
        except ValueError as error:
            refusals.add(str(error).partition(": ")[2])
        else:
            refusals.add("" if report["f1.micro"] == 1 else "another value")
    return refusals.pop() if len(refusals) == 1 else str(refusals)


@pytest.mark.parametrize("form", [*FILES, *OBJECTS, *KEYED])
def test_zeros_and_ones_of_each_label_are_refused_in_every_form(form: str) -> None:
    for name, rows in (VECTOR_ROWS | ID_ROWS).items():
        if form == "lines" and name in ("pair", "a pair and none"):
            continue  # a line of two numbers alone is a header
        n_labels = 3 if name in ID_ROWS else len(rows[0])
        message = refusal(form, rows, n_labels)
        assert (VECTORS in message) == bool(message) == (name not in ID_ROWS), (name, message)
        assert "\n" not in message.rstrip("\n")
        if form not in FILES and name in VECTOR_ROWS:  # pairs among more labels are ids
            message = refusal(form, rows, 9)
            assert (VECTORS in message) == bool(message) == ("pair" not in name or "ones" in name), message


@pytest.mark.parametrize("form", ["jsonl", "csv of lists", "parquet", "parquet by key"])
def test_texts_of_zero_and_one_are_names(form: str) -> None:
    assert not refusal(form, [["0", "1"], ["1", "0"]], 2)


def test_sets_and_judged_lists_of_zero_and_one_are_ids() -> None:
    rows, dense = [{0, 1}] * 3, np.ones((3, 2), int)
    for y_true in (rows, [*map(frozenset, rows)], OBJECTS["Series"](rows), OBJECTS["pandas"](rows)):
        assert evaluate(y_true, y_pred=dense, metrics="f1.micro", n_labels=2)["f1.micro"] == 1
    for form in ("Series", "pandas", "polars Series", "dict"):
        judged = (OBJECTS | KEYED)[form]([[(0, 1), (1, 1)]] * 3)
        y_pred = KEYED["dict"](rows) if form == "dict" else rows
        report = evaluate(judged, y_pred=y_pred, metrics="f1.micro", n_labels=2, conventions="gains=linear")
        assert report["f1.micro"] == 1
    assert label_statistics(rows, n_labels=2)["n_stored"] == 6
    assert np.array_equal(inverse_propensity(rows, n_labels=2), inverse_propensity(dense))
    path, judgements = Path("Y.parquet"), [[1, 0], [1, 1]]
    write_parquet(path, csr_array(dense), "truth")  # which tells the number of labels
    assert (read_truth(path) != csr_array(dense)).nnz == 0
    for columns in ({}, {"instance": ["a", "b"]}):
        write_table(path, {"labels": PAIRS, "judgements": judgements, **columns})
        assert values_of(["label_cardinality"], str(path))["label_cardinality"] == 1.5
    scored: dict[str, Any] = {"labels": [[0], [1]], "predicted": [[0, 1], [1, 0]], "scores": [[0.9, 0.1]] * 2}
    write_table(Path("scored.jsonl"), scored)
    assert values_of(["p@1"], "scored.jsonl") == {"p@1": 1.0}


def test_training_labels_in_lists_are_read_as_the_array_where_nothing_else_is_meant() -> None:
    train = [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    truth, scores = np.eye(4, 3, dtype=int), np.random.default_rng(0).random((4, 3))
    options: Any = {"metrics": ["psp@1", "p@1"], "label_groups": [0, 1, 2, 3]}
    expected = evaluate(truth, scores, y_train=np.array(train), **options)
    evaluator = Evaluator(n_labels=3, y_train=train, **options)
    evaluator.update(truth, scores)
    for report in (evaluate(truth.tolist(), scores, y_train=train, **options), evaluator.compute()):
        assert dict(report) == dict(expected)
        assert repr(report.groups) == repr(expected.groups)
    assert np.array_equal(inverse_propensity(train), inverse_propensity(np.array(train)))
    for make in (inverse_propensity, label_groups):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            make([[1, 0], [1, 0], [0, 1]], n_labels=2)
    for form in ("Series", "pandas", "polars"):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            evaluate(np.eye(2), np.eye(2), y_train=OBJECTS[form](PAIRS), metrics="psp@1")
