"""Labels and scores that do not fit: every format names their row or line, and an array its argument."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from tests.damage import answer
from tests.faults.arrays import ANY_CSR
from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npz, qrels
from xmleval import evaluate
from xmleval.io import read_truth

N_ROWS, N_LABELS, DEPTH = 60, 30, 6


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(Path("Y"), make_truth())
    qrels(Path("Y"), make_truth())
    return tmp_path


def messages(truth: str, path: str) -> str:
    """Return what an evaluation of files is refused with, in memory that is enough and cut small."""
    lines = set()
    for memory in ("64MB", "2kB"):
        code, out, err = answer(["evaluate", truth, path, "--metrics", "p@1,lrap", "--memory", memory])
        assert (code, out, err.count("\n")) == (2, "", 1)
        lines.add(err.removeprefix("xmleval: "))
    assert len(lines) == 1
    return lines.pop()


def write_parquet(path: str, columns: dict[str, Any]) -> str:
    table = pa.table(columns).replace_schema_metadata({"n_labels": str(N_LABELS)})
    pa.parquet.write_table(table, path)
    return messages("Y.npz", path)


def write_text(path: str, lines: Iterator[str], head: str = "") -> str:
    Path(path).write_text(head + "".join(f"{line}\n" for line in lines))
    return messages("Y.qrels" if path.endswith("run") else "Y.npz", path)


def rows(labels: Any, scores: Any) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    for row, (ids, values) in enumerate(zip(labels.tolist(), scores.tolist(), strict=True)):
        yield row, [*zip(ids, values, strict=True)]


def write_list(labels: Any, scores: Any) -> str:
    np.save("m_indices.npy", labels)
    np.save("m_scores.npy", scores)
    return messages("Y.npz", "m_indices.npy")


def write_archive(save: Callable[..., None], **parts: Any) -> str:
    save("m.npz", **parts)
    return messages("Y.npz", "m.npz")


def refusal(y_score: Any) -> str:
    with pytest.raises(ValueError) as error:
        evaluate(make_truth(), y_score)
    return str(error.value)


PTR = np.arange(N_ROWS + 1) * DEPTH
CSR = {"format": b"csr", "shape": (N_ROWS, N_LABELS), "indptr": PTR}
FORMS: dict[str, tuple[str, Callable[[Any, Any], str]]] = {  # where a form names a value, and its message
    "csr": ("y_score: row", lambda ids, scores: refusal(
        sp.csr_array((scores.ravel(), ids.ravel(), PTR), shape=(N_ROWS, N_LABELS)))),
    "lists": ("y_score: row", lambda ids, scores: refusal((ids, scores))),
    "npy": ("m_indices.npy: row", write_list),
    "npz-list": ("m.npz: row", lambda ids, scores: write_archive(np.savez, indices=ids, scores=scores)),
    "npz-list-packed": ("m.npz: row", lambda ids, scores: write_archive(
        np.savez_compressed, indices=ids, scores=scores)),
    "npz": ("m.npz: row", lambda ids, scores: write_archive(
        np.savez, **CSR, indices=ids.ravel(), data=scores.ravel())),
    "npz-packed": ("m.npz: row", lambda ids, scores: write_archive(
        np.savez_compressed, **CSR, indices=ids.ravel(), data=scores.ravel())),
    "parquet": ("m.parquet: row", lambda ids, scores: write_parquet(
        "m.parquet", {"labels": [*ids], "scores": [*scores]})),
    "parquet-entries": ("e.parquet: entry", lambda ids, scores: write_parquet("e.parquet", {
        "row": np.repeat(np.arange(N_ROWS), DEPTH), "label": ids.ravel(), "score": scores.ravel()})),
    "xmc": ("m.txt: line", lambda ids, scores: write_text("m.txt", (
        " ".join(f"{j}:{x}" for j, x in pairs) for _, pairs in rows(ids, scores)), f"{N_ROWS} {N_LABELS}\n")),
    "run": ("m.run: line", lambda ids, scores: write_text("m.run", (
        f"{row} Q0 {j} 0 {x} t" for row, pairs in rows(ids, scores) for j, x in pairs))),
}  # fmt: skip
TWICE = "label id 29 occurs twice; ids of a row must be distinct|label '29' of instance '59' a second time"
LISTS = ("npy", "npy-labels", "npz-list", "npz-list-packed", "npz-calibration")  # without a number of labels
WRONG = [
    ((7, 2), 30, None, r"label id 30 is not in 0\.\.29"),
    ((7, 2), -2, None, r"label id -2 is not in 0\.\.29|'-2:.*' is not label:score"),
    ((59, 1), 29, None, TWICE),
    ((8, 3), None, np.nan, "score '?nan'? is not a number|a score is NaN"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("at", "label", "score", "message"), WRONG)
def test_a_wrong_value_is_named(form: str, at: Any, label: Any, score: Any, message: str) -> None:
    labels, scores = (array.copy() for array in as_list(make_scores()))
    assert labels[59, 0] == 29
    if form == "run" and label in (30, -2):
        pytest.skip("labels of runs are names")
    labels[at], scores[at] = labels[at] if label is None else label, score or scores[at]
    where, write = FORMS[form]
    places = {at[0]}
    if form == "xmc":
        places.add(at[0] + 2)
    elif form == "run":
        places = {at[0] * DEPTH + at[1] + 1}
    elif form == "parquet-entries":
        places.add(at[0] * DEPTH + at[1])
    pattern = rf"{where.split()[0]} (row|line) ({'|'.join(map(str, places))}): ({message})"
    assert re.match(pattern, actual := write(labels, scores)), actual


@pytest.mark.parametrize("role", ["truth", "scores"])
def test_sizes_that_differ_are_both_named(role: str) -> None:
    """Rows of 59 beside 60, and labels of 33 beside 30."""
    scores = str(npz(Path("S"), make_scores()))
    made, make = (TRUTHS, make_truth) if role == "truth" else (SCORES, make_scores)
    for name, write in made.items():
        few, wide = (str(write(Path(f"{name}-{size[0]}"), make(*size))) for size in ((59, 30), (60, 33)))
        sizes = "60 rows do not match the 59" if role == "truth" else "59 rows do not match the 60"
        pair = (few, scores) if role == "truth" else ("Y.npz", few)
        assert messages(*pair) == f"{pair[1]}: {sizes} of {pair[0]}\n"
        if role == "scores" or not name.startswith(("svmlight", "ids", "npz-calibration")):  # as wide as rows
            labels = r"label id 3\d is not in 0\.\.29" if name in LISTS else "30 labels.* 33|33 labels.* 30"
            actual = messages(*((wide, scores) if role == "truth" else ("Y.npz", wide)))
            assert re.search(labels, actual), actual


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("part", ["data", "indices", "indptr", "shape", "format"])
def test_pickles_in_archives_are_never_run(role: str, part: str) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, ("unpickled",)

    np.savez("Z.npz", **(ANY_CSR | {part: np.array([Bomb()], dtype=object)}))
    pair = ("Z.npz", "Y.npz") if role == "truth" else ("Y.npz", "Z.npz")
    assert messages(*pair).startswith(f"Z.npz: {part}.npy: Python objects are not supported; expected ")
    Path("Z.npz").write_bytes(pickle.dumps(Bomb()))
    assert messages(*pair).startswith("Z.npz: not a zip archive; expected ")
    assert not Path("unpickled").exists()


@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("inner", "value"), [("indptr", [0, 2, 1, 2, 2]), ("indices", [0, 9]), ("indices", [0, -7])]
)
def test_inner_lies_are_refused_where_the_matrix_is_used(scheme: str, inner: str, value: list[int]) -> None:
    parts = {
        **ANY_CSR, "format": scheme, "shape": (4, 4), "indptr": np.array([0, 1, 1, 2, 2]),
        "data": np.ones((2, 1, 1) if scheme == "bsr" else 2), inner: np.array(value),
    }  # fmt: skip
    np.savez("Z.npz", **parts)
    with pytest.raises(ValueError, match="y_true: "):
        evaluate(read_truth("Z.npz"), np.ones((4, 4)))
