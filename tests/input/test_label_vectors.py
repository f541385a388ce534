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

from xmleval import Evaluator, compare, evaluate, inverse_propensity, label_groups, label_statistics
from xmleval.budget import UNLIMITED
from xmleval.cli import main
from xmleval.input.formats.write_parquet import write_parquet as write_parquet_file
from xmleval.input.glances import VECTORS
from xmleval.io import find_format, read_truth

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
}
LONE_ROWS = {"pair": [[0, 1]], "five labels in a row": [[0, 1, 0, 0, 1]]}
ID_ROWS = {
    "first": [[0], [0]],
    "either": [[0], [1]],
    "a pair and the first": [[0, 1], [0]],
    "a falling pair and none": [[1, 0], [], [2]],
    "pairs of three": [[0, 1], [1, 2]],
    "a pair behind others": [[2, 0], [1, 0], [0, 1]],
    "a pair and none": [[0, 1], []],
}


def write_csv(path: str, rows: list[Any], written: Callable[[Any], str]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([["labels"], *([written(row)] for row in rows)])


def write_parquet(path: str, rows: list[Any], by_key: bool = False) -> None:
    pa, keys = pytest.importorskip("pyarrow"), {"instance": [*KEYS[: len(rows)]]} if by_key else {}
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
    "svmlight": ("Y.svm", lambda path, rows: Path(path).write_text(
        "".join(",".join(map(str, row)) + " 0:1.5 3:0.25\n" for row in rows))),
}  # fmt: skip


def as_frame(library: str, rows: Any, by_key: bool = False) -> Any:
    keys = {"id": [*KEYS[: len(rows)]]} if by_key else {}
    return pytest.importorskip(library).DataFrame({**keys, "labels": rows})


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "tuples": lambda rows: [*map(tuple, rows)],
    "arrays": lambda rows: [np.array(row, int) for row in rows],
    "dict": lambda rows: dict(zip(KEYS, rows, strict=False)),
    "Series": lambda rows: pytest.importorskip("pandas").Series(rows),
    "Series by key": lambda rows: pytest.importorskip("pandas").Series(rows, [*KEYS[: len(rows)]]),
    "polars Series": lambda rows: pytest.importorskip("polars").Series(rows),
    "pandas": lambda rows: as_frame("pandas", rows),
    "pandas by key": lambda rows: as_frame("pandas", rows, True),
    "polars": lambda rows: as_frame("polars", rows),
    "polars by key": lambda rows: as_frame("polars", rows, True),
}
KEYED = ("dict", "Series by key", "pandas by key", "polars by key")


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., str]:
    """Return what refuses rows in a form, or nothing where they are read as label ids."""
    monkeypatch.chdir(tmp_path)

    def message_of(form: str, rows: Any, n_labels: int) -> str:
        if form in FILES:
            path, write = FILES[form]
            write(path, rows)
            code = main(["stats", path, "--format", "json"])
            output, message = capsys.readouterr()
            assert code or json.loads(output)["n_stored"] == sum(map(len, rows))
            return str(message) if code else ""
        sets = OBJECTS["dict"]([*map(set, rows)]) if form in KEYED else [*map(set, rows)]
        try:
            report = evaluate(OBJECTS[form](rows), y_pred=sets, metrics="f1.micro", n_labels=n_labels)
        except ValueError as error:
            return str(error)
        assert report["f1.micro"] == 1
        return ""

    return message_of


FORMS = [*FILES, *OBJECTS]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [*VECTOR_ROWS, *LONE_ROWS, *ID_ROWS])
def test_zeros_and_ones_of_each_label_are_refused_in_every_form(form: str, rows: str, read: Any) -> None:
    values = {**VECTOR_ROWS, **LONE_ROWS, **ID_ROWS}[rows]
    if form == "lines" and rows in ("pair", "a pair and none"):
        pytest.skip("a line of two numbers alone is a header")
    n_labels = 3 if rows in ID_ROWS else len(values[0])
    message = read(form, values, n_labels)
    assert (VECTORS in message) == bool(message) == (rows not in ID_ROWS), message
    assert "\n" not in message.rstrip("\n")


@pytest.mark.parametrize("form", OBJECTS)
@pytest.mark.parametrize("rows", VECTOR_ROWS)
def test_pairs_beside_more_labels_are_ids(form: str, rows: str, read: Any) -> None:
    message = read(form, VECTOR_ROWS[rows], 9)
    assert (VECTORS in message) == bool(message) == ("pairs" not in rows), message


@pytest.mark.parametrize("form", FORMS)
def test_rows_behind_others_tell_that_pairs_are_ids(form: str, read: Any) -> None:
    assert not read(form, [*PAIRS, *PAIRS, [1]], 2)


@pytest.mark.parametrize("form", ["lines", "svmlight", "parquet"])
def test_rows_in_later_pieces_tell_that_pairs_are_ids(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, write = FILES[form]
    for rows, is_read in (([*PAIRS, *PAIRS, [1]], True), ([*PAIRS, *PAIRS], False)):
        write(path, rows)
        known = find_format(Path(path), kind="truth")[0]
        assert known.pieces is not None
        pieces = known.pieces(Path(path), "truth", UNLIMITED)
        taken = pieces.read(1)
        if is_read:
            assert sum(piece.nnz for piece in taken) == 9
        else:
            with pytest.raises(ValueError, match=f"0 and 1 in all rows: {VECTORS}"):
                list(taken)


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
    expected = inverse_propensity(dense)
    assert np.array_equal(inverse_propensity(rows, n_labels=2), expected)
    scores, options = np.eye(3, 2), dict[str, Any](metrics="psp@1")
    values = [evaluate(dense, scores, y_train=train, **options)["psp@1"] for train in (rows, dense)]
    assert values[0] == values[1]


@pytest.mark.parametrize("form", ["jsonl", "csv of lists", "parquet", "parquet by key"])
def test_texts_of_zero_and_one_are_names(form: str, read: Any) -> None:
    assert not read(form, [["0", "1"], ["1", "0"]], 2)


@pytest.mark.parametrize("form", ["dict", "Series", "Series by key", "pandas", "polars Series"])
def test_zero_and_one_with_judgements_are_ids(form: str) -> None:
    judged = OBJECTS[form]([[(0, 1), (1, 1)], [(0, 1), (1, 1)]])
    sets = OBJECTS["dict" if form in KEYED else "lists"]([{0, 1}, {0, 1}])
    report = evaluate(judged, y_pred=sets, metrics="f1.micro", n_labels=2, gains="linear")
    assert report["f1.micro"] == 1


@pytest.mark.parametrize("name", ["d.jsonl", "d.parquet", "k.parquet"])
def test_lists_of_judgements_beside_zero_and_one_make_them_ids(
    name: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    columns: dict[str, Any] = {"labels": [[0, 1], [1, 0]], "judgements": [[1, 0], [1, 1]]}
    if name == "d.jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        keys = {"instance": ["a", "b"]} if name == "k.parquet" else {}
        table = pytest.importorskip("pyarrow").table({**keys, **columns})
        pytest.importorskip("pyarrow.parquet").write_table(table, name)
    assert json.loads(run(f"evaluate {name} --metrics label_cardinality --format json"))["values"] == {
        "label_cardinality": 1.5
    }


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


@pytest.mark.parametrize("rows", ["rising pairs", "pairs", "a pair and ones"])
@pytest.mark.parametrize("form", [form for form in OBJECTS if "Series" in form or "pandas" in form])
def test_vectors_in_columns_of_training_labels_are_refused(form: str, rows: str) -> None:
    train = OBJECTS[form](VECTOR_ROWS[rows])
    with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
        evaluate(np.eye(2), np.eye(2), y_train=train, metrics="psp@1")


def test_pairs_are_refused_where_training_labels_are_ids() -> None:
    for make in (inverse_propensity, label_groups):
        with pytest.raises(ValueError, match=f"^y_train: {VECTORS}"):
            make(TRAIN[0], n_labels=2)
