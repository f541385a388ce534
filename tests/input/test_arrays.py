"""Sparse matrices, lists and dense arrays in .npz and .npy files: their forms, names and refusals."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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
        assert (matrix.format, matrix.dtype, matrix.shape) == ("csr", saved.dtype, saved.shape)
        np.testing.assert_array_equal(matrix.toarray(), DENSE)
        assert matrix.data.flags.writeable  # as that of memory is, for which kernels are compiled


def save(name: str, arrays: Any) -> None:
    np.savez(name, **arrays) if isinstance(arrays, dict) else np.save(name, arrays)  # which add the ending


LISTS = [  # names of the list, files by their stems, labels and scores
    ("m_indices.npy m_scores.npy m", {"m_indices": LABELS, "m_scores": VALUES}, (LABELS, VALUES)),
    ("m-labels.npy m-scores.npy m", {"m-labels": LABELS, "m-scores": VALUES}, (LABELS, VALUES)),
    ("m_indices.npy m", {"m_indices": LABELS}, (LABELS, None)),
    ("m", {"m_indices": np.asfortranarray(LABELS.astype(">i8"))}, (LABELS, None)),
    ("m", {"m_indices": LABELS[:0], "m_scores": VALUES[:0]}, (LABELS[:0, :0], VALUES[:0, :0])),
    ("m.npz", {"m": {"indices": LABELS}}, (LABELS, None)),
    ("m.npz", {"m": {"indices": np.asfortranarray(LABELS), "scores": VALUES}}, (LABELS, VALUES)),
    ("m.npz", {"m": {"indices": LABELS[:, :0], "scores": VALUES[:, :0]}}, (LABELS[:, :0], VALUES[:, :0])),
    *(
        ("m.npz", {"m": {values: VALUES, ids: LABELS, "queries": np.array(["a", "b"])}}, (LABELS, VALUES))
        for ids, values in (("indices", "values"), ("prediction_ids", "D"), ("labels", "scores"), ("I", "D"))
    ),
]


@pytest.mark.parametrize(("names", "files", "expected"), LISTS)
def test_lists_by_each_of_their_names(names: str, files: Any, expected: Any) -> None:
    for stem, arrays in files.items():
        save(stem, arrays)
    for name in names.split():
        for actual, array in zip(read_scores(name), expected, strict=True):
            np.testing.assert_array_equal(actual, array)


MORE: list[dict[str, Any]] = [{"labels": DENSE}, {"ids": np.arange(4)}, {"ids": np.array([["a"]], object)}]
ARRAYS: list[tuple[str, Any]] = [
    ("truth.npy", DENSE), ("dense-scores.npy", SCORED), ("S.npy", np.asfortranarray(SCORED)),
    *(("m.npz", {"scores": np.asfortranarray(SCORED), **arrays}) for arrays in MORE)
]  # fmt: skip


@pytest.mark.parametrize(("name", "arrays"), ARRAYS)
def test_dense_arrays_by_their_names(name: str, arrays: Any) -> None:
    save(name, arrays)
    read, expected = (read_truth, DENSE) if name.startswith("t") else (read_scores, SCORED)
    np.testing.assert_array_equal(read(name), expected)


@pytest.mark.parametrize("scored", [True, False])
def test_strings_in_lists_are_names(scored: bool) -> None:
    names = np.array([f"label {label}" for label in range(30)])
    rows = ("[" + ", ".join(f'"{name}"' for name in names[row]) + "]" for row in rows_of(make_truth()))
    write_lines(Path("Y"), ".jsonl", (f'{{"labels": {row}}}' for row in rows))
    labels, scores = as_list(make_scores())
    np.save("n-labels.npy", names[labels])
    if scored:
        np.save("n-scores.npy", scores)
    expected = dict(evaluate(make_truth(), (labels, scores if scored else None), metrics=METRICS))
    assert values_of(METRICS, "Y.jsonl n-labels.npy") == pytest.approx(expected, rel=1e-12)


def test_names_that_do_not_tell_a_format(refused: Any) -> None:
    sp.save_npz("Y.npz", sp.csr_array(DENSE))
    with pytest.raises(FileNotFoundError, match="expected a file with its ending"):
        read_truth("Y")
    Path("Y.npz").rename("Y.dat")
    assert "Y.dat: its name does not tell its format" in refused("stats Y.dat")
    assert read_truth(scan("Y.dat", format="npz")).shape == DENSE.shape
    np.save("ranked.npy", LABELS)
    with pytest.raises(ValueError, match=r"ranked\.npy: .*_indices\.npy"):
        read_scores("ranked.npy")
    np.save("m_indices.npy", LABELS)
    with pytest.raises(ValueError, match="a top-k list holds no truth"):
        read_truth("m_indices.npy")


LINES = [
    "q.txt r.txt --input-format run",
    "s.txt m-labels.npy --input-format svmlight",  # which holds no scores
    "Y.npz ranked.npy --input-format npy",
    "Y.npz m.parquet --input-format xmc",  # which is no text
    "Y.npz S.dat --input-format dense",
]


@pytest.mark.parametrize("line", LINES)
def test_formats_by_option(line: str) -> None:
    truth, scores = make_truth(), make_scores()
    for name, path in (("npz", "Y.npz"), ("qrels", "q.txt"), ("svmlight", "s.txt")):
        NUMBERED[f"truth {name}"](Path(path), truth).rename(path)
    for name, path in (("npy-labels", "m"), ("parquet", "m"), ("dense", "S")):
        NUMBERED[f"scores {name}"](Path(path), scores)
    Path("S.npy").rename("S.dat")
    NAMED["run"][1](Path("r"), scores).rename("r.txt")
    np.save("ranked.npy", as_list(scores)[0])
    assert values_of(["p@1", "p@5"], line) == dict(evaluate(truth, scores, metrics=["p@1", "p@5"]))


REFUSED: list[tuple[str, Any, str]] = [
    ("m.npz", {"labels": np.eye(2, dtype=int), "scores": np.eye(2) / 4}, "'labels' may be ids of labels, or"),
    ("m.npz", {"I": LABELS, "D": VALUES[1:]}, "D is float32 of shape (3, 2), for I of shape (4, 2)"),
    ("m.npz", {"scores": np.ones(4)}, "scores is float64 of shape (4,); expected scores of all labels"),
    ("m.npy", DENSE.astype(int), "int64 of shape (4, 4); expected scores of all labels, floating"),
    ("m.npy", np.ones((4, 0)), "float64 of shape (4, 0), without a label; expected scores"),
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
def test_arrays_that_are_refused(refused: Any, name: str, array: Any, message: str) -> None:
    np.save("T.npy", DENSE)
    save(name, array)
    for memory in ("1GB", "1KB"):
        assert refused(f"evaluate T.npy {name} --memory {memory}").startswith(f"{name}: {message}")


def test_headers_are_parsed_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the filters of warnings are those of the process."""
    np.save("S.npy", SCORED)
    read_magic, parsing, sizes = np.lib.format.read_magic, [], []

    def slowly(file: Any) -> Any:
        parsing.append(file)
        sizes.append(len(parsing))
        time.sleep(0.01)
        parsing.remove(file)
        return read_magic(file)

    monkeypatch.setattr(np.lib.format, "read_magic", slowly)
    with ThreadPoolExecutor(4) as pool:
        shapes = set(pool.map(lambda _: read_scores("S.npy").shape, range(8)))
    assert (shapes, set(sizes)) == ({SCORED.shape}, {1})
