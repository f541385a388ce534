"""Lists of zeros and ones, one for each label, are refused where label ids are read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer, values_of
from tests.input.forms import FRAMES, write_table
from tests.made_files import write_lines
from xmleval import Evaluator, evaluate, inverse_propensity, label_groups, label_statistics
from xmleval.io import read_truth, write_parquet

VECTORS = "rows contain only 0 and 1, which may be values of all labels or label ids"
KEYS = "abcdefgh"
PAIRS = [[0, 1], [1, 0]]
VECTOR_ROWS = {
    "rising pairs": [[0, 1], [0, 1], [0, 1]],
    "falling pairs": [[1, 0], [1, 0]],
    "pairs": PAIRS,
    "pair": [[0, 1]],
    "ones": [[1, 1], [1, 1]],
    "a pair and ones": [[0, 1], [1, 1]],
    "zeros": [[0, 0]] * 2,
    "four labels": [[0, 1, 0, 0], [1, 0, 0, 1]],
    "no label": [[0, 0, 0], [0, 0, 0]],
    "five labels in a row": [[0, 1, 0, 0, 1]],
}
ID_ROWS = {
    "first": [[0], [0]],
    "a pair and the first": [[0, 1], [0]],
    "a falling pair and none": [[1, 0], [], [2]],
    "a pair behind two labels": [[2, 0], [1, 0], [0, 1]],
    "a pair and none": [[0, 1], []],
    "pairs and one behind them": [*PAIRS, *PAIRS, [1]],
}


def keys_of(rows: Any) -> list[str]:
    return [*KEYS[: len(rows)]]


def joined(separator: str, end: str = "") -> Callable[[Any], str]:
    return lambda row: separator.join(map(str, row)) + end


class FileForm(NamedTuple):
    """A file: its name, and a function that makes the cell or line of a row."""

    name: str
    write_row: Callable[[Any], Any]


FILES = {
    "jsonl": FileForm("Y.jsonl", list),
    "csv of lists": FileForm("Y.csv", list),
    "csv of arrays": FileForm("Y.csv", lambda row: f"array({row})"),
    "csv of text": FileForm("Y.csv", joined(",")),
    "parquet": FileForm("Y.parquet", list),
    "parquet by key": FileForm("Y.parquet", list),
    "lines": FileForm("Y.lines", joined(" ")),
    "svmlight": FileForm("Y.svm", joined(",", " 0:1.5 3:0.25")),
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


FORMS = OBJECTS | KEYED


def refusal_of_file(form: str, rows: Any) -> str:
    """Return the message that refuses a file in any memory; empty if rows are read as ids."""
    name, write_row = FILES[form]
    path = Path(name)
    cells = [*map(write_row, rows)]
    if path.suffix in (".lines", ".svm"):
        write_lines(path, path.suffix, cells)
    else:
        key_column = "instance" if "key" in form else "text"
        write_table(path, {key_column: keys_of(rows), "labels": cells})
    command = ["evaluate", name, "--metrics", "label_cardinality", "--format", "json"]
    if form == "csv of text":
        command += ["--separator", ","]
    code, out, err = answer(command)
    assert answer([*command, "--memory", "100"])[:2] == (code, out)
    if code:
        return err
    cardinality = sum(map(len, rows)) / len(rows)
    assert json.loads(out)["values"]["label_cardinality"] == cardinality
    return ""


def refusal_of_truth_or_sets(y_true: Any, y_pred: Any, n_labels: int) -> str:
    try:
        report = evaluate(y_true, y_pred=y_pred, metrics="f1.micro", n_labels=n_labels)
    except ValueError as error:
        return str(error).partition(": ")[2]
    is_exact = report["f1.micro"] == 1
    return "" if is_exact else "another value"


def refusal(form: str, rows: Any, n_labels: int) -> str:
    """Return the message that refuses rows in a form; empty if they are read as ids."""
    if form in FILES:
        return refusal_of_file(form, rows)
    sets: Any = [*map(set, rows)]
    if form in KEYED:
        sets = KEYED["dict"](sets)
    lists = FORMS[form](rows)
    refusals = {
        refusal_of_truth_or_sets(lists, sets, n_labels),
        refusal_of_truth_or_sets(sets, lists, n_labels),
    }
    if len(refusals) > 1:
        return str(refusals)
    return refusals.pop()


@pytest.mark.parametrize("form", [*FILES, *OBJECTS, *KEYED])
def test_zeros_and_ones_of_each_label_are_refused_in_every_form(form: str) -> None:
    for name, rows in (VECTOR_ROWS | ID_ROWS).items():
        if form == "lines" and name in ("pair", "a pair and none"):
            continue  # a line of two numbers alone is a header
        is_refused = name in VECTOR_ROWS
        n_labels = len(rows[0]) if is_refused else 3
        message = refusal(form, rows, n_labels)
        assert bool(message) == is_refused, (name, message)
        assert (VECTORS in message) == is_refused, (name, message)
        assert "\n" not in message.rstrip("\n")
        if form not in FILES and name in VECTOR_ROWS:
            message = refusal(form, rows, 9)
            # pairs among more labels are ids
            is_refused = "pair" not in name or "ones" in name
            assert bool(message) == is_refused, message
            assert (VECTORS in message) == is_refused, message


@pytest.mark.parametrize("form", ["jsonl", "csv of lists", "parquet", "parquet by key"])
def test_texts_of_zero_and_one_are_names(form: str) -> None:
    assert not refusal(form, [["0", "1"], ["1", "0"]], 2)


def test_sets_and_judged_lists_of_zero_and_one_are_ids() -> None:
    sets = [{0, 1}] * 3
    dense = np.ones((3, 2), int)
    for y_true in (
        sets,
        [*map(frozenset, sets)],
        OBJECTS["Series"](sets),
        OBJECTS["pandas"](sets),
    ):
        report = evaluate(y_true, y_pred=dense, metrics="f1.micro", n_labels=2)
        assert report["f1.micro"] == 1

    options: dict[str, Any] = {
        "metrics": "f1.micro",
        "n_labels": 2,
        "conventions": "gains=linear",
    }
    for form in ("Series", "pandas", "polars Series", "dict"):
        judged = FORMS[form]([[(0, 1), (1, 1)]] * 3)
        y_pred: Any = sets
        if form == "dict":
            y_pred = KEYED["dict"](sets)
        report = evaluate(judged, y_pred=y_pred, **options)
        assert report["f1.micro"] == 1

    assert label_statistics(sets, n_labels=2)["n_stored"] == 6
    propensities = inverse_propensity(sets, n_labels=2)
    assert np.array_equal(propensities, inverse_propensity(dense))

    path = Path("Y.parquet")
    matrix = csr_array(dense)
    write_parquet(path, matrix, "truth")  # stores the number of labels
    assert (read_truth(path) != matrix).nnz == 0

    judged = {"labels": PAIRS, "judgements": [[1, 0], [1, 1]]}
    for columns in ({}, {"instance": ["a", "b"]}):
        write_table(path, judged | columns)
        values = values_of(["label_cardinality"], str(path))
        assert values["label_cardinality"] == 1.5

    scored: dict[str, Any] = {
        "labels": [[0], [1]],
        "predicted": [[0, 1], [1, 0]],
        "scores": [[0.9, 0.1]] * 2,
    }
    write_table(Path("scored.jsonl"), scored)
    assert values_of(["p@1"], "scored.jsonl") == {"p@1": 1.0}


def test_training_labels_in_unambiguous_lists_are_read_as_an_array() -> None:
    train = [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    truth = np.eye(4, 3, dtype=int)
    scores = np.random.default_rng(0).random((4, 3))
    options: Any = {
        "metrics": ["psp@1", "p@1"],
        "label_groups": [0, 1, 2, 3],
    }
    expected = evaluate(truth, scores, y_train=np.array(train), **options)
    options["y_train"] = train
    evaluator = Evaluator(n_labels=3, **options)
    evaluator.update(truth, scores)
    report_of_lists = evaluate(truth.tolist(), scores, **options)
    for report in (report_of_lists, evaluator.compute()):
        assert dict(report) == dict(expected)
        assert repr(report.groups) == repr(expected.groups)

    propensities = inverse_propensity(train)
    assert np.array_equal(propensities, inverse_propensity(np.array(train)))
    for function in (inverse_propensity, label_groups):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            function([[1, 0], [1, 0], [0, 1]], n_labels=2)
    for form in ("Series", "pandas", "polars"):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            evaluate(np.eye(2), np.eye(2), y_train=OBJECTS[form](PAIRS), metrics="psp@1")
