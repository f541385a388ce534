"""Sparse matrices, lists and dense arrays in .npz and .npy files: forms, names and refusals."""

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.faults.arrays import DENSE, LABELS
from tests.faults.arrays import SCORES as VALUES
from tests.made_files import NAMED, NUMBERED, as_list, make_scores, make_truth, rows_of, write_lines
from xmleval import evaluate, scan
from xmleval.io import read_scores, read_truth

METRICS = ["p@1", "ndcg@5", "lrap"]
SCORED = DENSE + 0.5


@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_of_every_scheme_are_read_by_rows(scheme: str, kind: str) -> None:
    saved = getattr(sp, f"{scheme}_{kind}")(DENSE)
    sp.save_npz("Y.npz", saved, compressed=kind == "array")
    for read in (read_truth, read_scores):
        matrix = read("Y.npz")
        assert matrix.format == "csr"
        assert matrix.dtype == saved.dtype
        assert matrix.shape == saved.shape
        np.testing.assert_array_equal(matrix.toarray(), DENSE)
        assert matrix.data.flags.writeable  # kernels are compiled for writeable arrays


def save(stem: str, arrays: Any) -> None:
    """Save one array as .npy, or several as .npz."""
    if isinstance(arrays, dict):
        np.savez(stem, **arrays)
    else:
        np.save(stem, arrays)


class List(NamedTuple):
    """A top-k list: its names, its files by their stems, labels and scores."""

    names: str
    files: dict[str, Any]
    labels: Any = LABELS
    scores: Any = VALUES


LISTS = [
    List(
        "m_indices.npy m_scores.npy m",
        {"m_indices": LABELS, "m_scores": VALUES},
    ),
    List(
        "m-labels.npy m-scores.npy m",
        {"m-labels": LABELS, "m-scores": VALUES},
    ),
    List(
        "m_indices.npy m",
        {"m_indices": LABELS},
        scores=None,
    ),
    List(
        "m",
        {"m_indices": np.asfortranarray(LABELS.astype(">i8"))},
        scores=None,
    ),
    List(
        "m",
        {"m_indices": LABELS[:0], "m_scores": VALUES[:0]},
        labels=LABELS[:0, :0],
        scores=VALUES[:0, :0],
    ),
    List(
        "m.npz",
        {"m": {"indices": LABELS}},
        scores=None,
    ),
    List(
        "m.npz",
        {"m": {"indices": np.asfortranarray(LABELS), "scores": VALUES}},
    ),
    List(
        "m.npz",
        {"m": {"indices": LABELS[:, :0], "scores": VALUES[:, :0]}},
        labels=LABELS[:, :0],
        scores=VALUES[:, :0],
    ),
]
for ids, values in (
    ("indices", "values"),
    ("prediction_ids", "D"),
    ("labels", "scores"),
    ("I", "D"),
):
    arrays = {values: VALUES, ids: LABELS, "queries": np.array(["a", "b"])}
    LISTS.append(List("m.npz", {"m": arrays}))


@pytest.mark.parametrize("case", LISTS)
def test_lists_are_read_by_each_of_their_names(case: List) -> None:
    for stem, arrays in case.files.items():
        save(stem, arrays)
    for name in case.names.split():
        labels, scores = read_scores(name)
        np.testing.assert_array_equal(labels, case.labels)
        np.testing.assert_array_equal(scores, case.scores)


MORE: list[dict[str, Any]] = [
    {"labels": DENSE},
    {"ids": np.arange(4)},
    {"ids": np.array([["a"]], object)},
]
ARRAYS: list[tuple[str, Any]] = [
    ("truth.npy", DENSE),
    ("dense-scores.npy", SCORED),
    ("S.npy", np.asfortranarray(SCORED)),
    *(("m.npz", {"scores": np.asfortranarray(SCORED), **arrays}) for arrays in MORE),
]


@pytest.mark.parametrize(("name", "arrays"), ARRAYS)
def test_dense_arrays_are_read_by_their_names(name: str, arrays: Any) -> None:
    save(name, arrays)
    if name == "truth.npy":
        np.testing.assert_array_equal(read_truth(name), DENSE)
    else:
        np.testing.assert_array_equal(read_scores(name), SCORED)


@pytest.mark.parametrize("scored", [True, False])
def test_strings_in_lists_are_names(scored: bool) -> None:
    names = np.array([f"label {label}" for label in range(30)])
    lines = [json.dumps({"labels": names[row].tolist()}) for row in rows_of(make_truth())]
    write_lines(Path("Y"), ".jsonl", lines)
    labels, scores = as_list(make_scores())
    np.save("n-labels.npy", names[labels])
    if scored:
        np.save("n-scores.npy", scores)
    expected = evaluate(make_truth(), (labels, scores if scored else None), metrics=METRICS)
    values = values_of(METRICS, "Y.jsonl n-labels.npy")
    assert values == pytest.approx(dict(expected), rel=1e-12)


def save_names(stem: str, names: list[list[str]], scores: Any = None) -> None:
    """Save lists of names, and their scores if there are any."""
    np.save(f"{stem}-labels.npy", np.array(names))
    if scores is not None:
        np.save(f"{stem}-scores.npy", np.array(scores))


def test_lists_of_names_in_several_files_are_alike() -> None:
    truth = [["a"], ["b"], ["b"]]
    save_names("m_1", [["a", "b"]], [[0.5, 0.2]])
    save_names("m_2", [["", "b"], ["b", "a"]], [[0.9, 0.2], [0.3, 0.4]])
    report = evaluate(truth, "m_?-labels.npy", metrics=["p@1"], per_row=True)
    assert report.per_row()["p@1"].tolist() == [1.0, 1.0, 0.0]
    Path("m_2-scores.npy").unlink()
    message = r"^m_2-labels\.npy: expected scores in all files or in none, but m_1-labels\.npy diff"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, "m_?-labels.npy", metrics=["p@1"])
    Path("m_1-scores.npy").unlink()
    assert evaluate(truth, "m_?-labels.npy", metrics=["p@1"])["p@1"] == 1.0
    np.save("m_2-labels.npy", np.array([[0, 1], [1, 0]]))
    message = r"^m_2-labels\.npy: expected predictions with names, as TRUTH has them"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, "m_?-labels.npy", metrics=["p@1"])


def test_wrong_lists_of_names_are_refused_with_their_row() -> None:
    truth = [["a"], ["b"], ["b"]]
    save_names("m", [["a", "b"], ["", "b"], ["b", "b"]])
    message = r"^m-labels\.npy: row 2: label 'b' occurs twice; expected each label once in a row$"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, "m-labels.npy", metrics="p@1")
    names = [["a", "b"], ["", "b"], ["b", "a"]]
    save_names("m", names, [[0.5, 0.2], [math.nan, 0.2], [0.3, 0.4]])  # no score of an empty slot
    assert evaluate(truth, "m-labels.npy", metrics="p@1")["p@1"] == pytest.approx(2 / 3)
    save_names("m", names, [[0.5, 0.2], [0.1, 0.2], [0.3, math.nan]])
    with pytest.raises(ValueError, match=r"^m-labels\.npy: row 2: score nan is not a number"):
        evaluate(truth, "m-labels.npy", metrics="p@1")


def test_names_without_a_known_format_are_refused(refused: Any) -> None:
    sp.save_npz("Y.npz", sp.csr_array(DENSE))
    with pytest.raises(FileNotFoundError, match="expected a file with its ending"):
        read_truth("Y")
    Path("Y.npz").rename("Y.dat")
    assert "Y.dat: its format is not known from its name" in refused("stats Y.dat")
    assert read_truth(scan("Y.dat", format="npz")).shape == DENSE.shape
    np.save("ranked.npy", LABELS)
    with pytest.raises(ValueError, match=r"ranked\.npy: .*_indices\.npy"):
        read_scores("ranked.npy")
    np.save("m_indices.npy", LABELS)
    with pytest.raises(ValueError, match="a top-k list cannot contain truth"):
        read_truth("m_indices.npy")


LINES = [
    "q.txt r.txt --input-format run",
    "s.txt m-labels.npy --input-format svmlight",  # a format without scores
    "Y.npz ranked.npy --input-format npy",
    "Y.npz m.parquet --input-format xmc",  # a format of texts
    "Y.npz S.dat --input-format dense",
]


@pytest.mark.parametrize("line", LINES)
def test_input_format_option_reads_each_format(line: str) -> None:
    truth = make_truth()
    scores = make_scores()
    for name, path in (
        ("npz", "Y.npz"),
        ("qrels", "q.txt"),
        ("svmlight", "s.txt"),
    ):
        NUMBERED[f"truth {name}"](Path(path), truth).rename(path)
    for name, path in (
        ("npy-labels", "m"),
        ("parquet", "m"),
        ("dense", "S"),
    ):
        NUMBERED[f"scores {name}"](Path(path), scores)
    Path("S.npy").rename("S.dat")
    NAMED["run"][1](Path("r"), scores).rename("r.txt")
    labels, _ = as_list(scores)
    np.save("ranked.npy", labels)
    metrics = ["p@1", "p@5"]
    expected = evaluate(truth, scores, metrics=metrics)
    assert values_of(metrics, line) == dict(expected)


REFUSED: list[tuple[str, Any, str]] = [
    (
        "m.npz",
        {"labels": np.eye(2, dtype=int), "scores": np.eye(2) / 4},
        "'labels' may be label ids, or",
    ),
    (
        "m.npz",
        {"I": LABELS, "D": VALUES[1:]},
        "D is float32 of shape (3, 2), for I of shape (4, 2)",
    ),
    (
        "m.npz",
        {"scores": np.ones(4)},
        "scores is float64 of shape (4,); expected scores of all labels",
    ),
    ("m.npy", DENSE.astype(int), "int64 of shape (4, 4); expected scores of all labels, floating"),
    ("m.npy", np.ones((4, 0)), "float64 of shape (4, 0), and has no labels; expected scores"),
    ("m.npy", SCORED[:3], "3 rows do not match the 4 of T.npy"),
    ("m.npy", SCORED[:, :3], "3 labels do not match the 4 of T.npy"),
    ("m.npy", np.where(np.arange(4) == 3, np.nan, SCORED), "row 0: score nan is not a number"),
    (
        "m-labels.npy",
        LABELS.astype(object),
        "object of shape (4, 2); Python objects are not supported",
    ),
]


@pytest.mark.parametrize(("name", "array", "message"), REFUSED)
def test_wrong_arrays_are_refused(refused: Any, name: str, array: Any, message: str) -> None:
    np.save("T.npy", DENSE)
    save(name, array)
    for memory in ("1GB", "1KB"):
        refusal = refused(f"evaluate T.npy {name} --memory {memory}")
        assert refusal.startswith(f"{name}: {message}")


def test_headers_are_parsed_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All threads share the filters of warnings."""
    np.save("S.npy", SCORED)
    read_magic = np.lib.format.read_magic
    parsing = []
    sizes = []

    def slowly(file: Any) -> Any:
        parsing.append(file)
        sizes.append(len(parsing))
        time.sleep(0.01)
        parsing.remove(file)
        return read_magic(file)

    monkeypatch.setattr(np.lib.format, "read_magic", slowly)
    with ThreadPoolExecutor(4) as pool:
        shapes = set(pool.map(lambda _: read_scores("S.npy").shape, range(8)))
    assert shapes == {SCORED.shape}
    assert set(sizes) == {1}
