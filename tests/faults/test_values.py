"""Faults that show where values are used: lines, labels and scores that do not fit."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from tests.faults import texts
from tests.faults.arrays import ANY_CSR
from tests.faults.test_every_format import beginning
from tests.made_files import TRUTHS, as_list, make_scores, make_truth, npz
from xmleval import evaluate
from xmleval.input.formats.registry import read_truth

LINES = {  # what a line is written over, and what is said of it, in rows of the label 1 alone
    "xmc": ("Z.txt", "4 9\n", "1:1\n", [
        ("x\n", "line 4: 'x' is not label:score"),
        ("9:1\n", "line 4: label id 9 is not in 0..8; ids look one-based"),
        ("1:1 12:1\n", "line 4: label id 12 is not in 0..8"),
        ("1:1 1:1\n", "line 4: label id 1 occurs twice"),
    ]),
    "xmc-data": ("Z.txt", "4 7 9\n", "1 0:1\n", [
        ("1 x\n", "line 4: 'x' is not feature:value"),
        ("9 0:1\n", "line 4: label id 9 is not in 0..8; ids look one-based"),
        ("1,2,1 0:1\n", "line 4: label id 1 occurs twice"),
    ]),
    "svmlight": ("Z.svm", "1 0:1\n", "1 0:1\n", [
        ("1 x\n", "line 4: 'x' is not feature:value"),
        ("-1 0:1\n", "line 4: '-1' is not a label id"),
        ("2,1,2 0:1\n", "line 4: label id 2 occurs twice"),
    ]),
    "arff": ("Z.arff", "@relation 'x: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n", "0,1\n", [
        ("0,1,1\n", "line 7: 3 or more values for 2 attributes"),
        ("0,2\n", "line 7: value '2' of label 'b' is not 0 or 1"),
        ("{1 1,1 1}\n", "line 7: label 'b' has two values"),
        ("{2 1}\n", "line 7: attribute 2 is not in 0..1"),
        ("0,nan\n", "line 7: value 'nan' of label 'b' is not 0 or 1"),
    ]),
    "qrels": ("Z.qrels", "a 0 y 1\n", "{row} 0 x 1\n", [
        ("b 0 x\n", "line 4: 3 fields, not 4"),
        ("b 0 x nan\n", "line 4: relevance 'nan' is not an integer"),
        ("a 0 y 0\n", "line 4: label 'y' of instance 'a' a second time"),
    ]),
}  # fmt: skip
SCORED = {
    "xmc": ("z.txt", "4 9\n", "1:0.5\n", [
        ("1:x\n", "line 4: '1:x' is not label:score"),
        ("9:0.5\n", "line 4: label id 9 is not in 0..8; ids look one-based"),
        ("1:0.5 1:0.25\n", "line 4: label id 1 occurs twice"),
        ("1:nan\n", "row 2: score nan is not a number"),
        ("1:nan nan:1\n", "line 4: 'nan:1' is not label:score"),
    ]),
    "run": ("z.run", "a Q0 y 1 0.5 t\n", "{row} Q0 x 1 0.5 t\n", [
        ("b Q0 x\n", "line 4: 3 fields, not 6"),
        ("b Q0 x 1 nan t\n", "line 4: score 'nan' is not a number"),
        ("a Q0 y 1 0.25 t\n", "line 4: label 'y' of instance 'a' a second time"),
    ]),
}  # fmt: skip


def text_cases(table: dict[str, Any]) -> list[Any]:
    return [(name, bad, said) for name, (_, _, _, faults) in table.items() for bad, said in faults]


def write_text(entry: Any, bad: str = "", end: str = "\n", start: bytes = b"", packed: bool = False) -> str:
    """Write four rows, the third of them bad where it is given; return the file's name."""
    name, head, row, _ = entry
    lines = [row.format(row=number) for number in range(4)]
    if head[-4:] in (row[-4:], "y 1\n", ".5 t"[-4:]) or name.endswith((".svm", ".qrels", ".run")):
        lines = lines[:3]  # the head is a row, too
    if bad:
        lines[2] = bad
    held = start + (head + "".join(lines)).replace("\n", end).encode()
    Path(name).write_bytes(gzip.compress(held) if packed else held)
    return str(name)


def valid_pair(role: str, name: str) -> None:
    """Write what belongs to a text: a truth, or scores, of as many rows."""
    truth = sp.csr_array(np.eye(9, dtype=np.float32)[[1, 1, 1, 1]])
    npz(Path("one"), truth if role == "scores" else truth[:, : 2 if name in ("svmlight", "arff") else 9])
    Path("a.qrels").write_text("a 0 y 1\n0 0 x 1\n1 0 x 1\n2 0 x 1\n")
    Path("a.run").write_text("a Q0 y 1 0.5 t\n0 Q0 x 1 0.5 t\n1 Q0 x 1 0.5 t\n2 Q0 x 1 0.5 t\n")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("end", "start"), [("\n", b""), ("\r\n", b""), ("\n", b"\xef\xbb\xbf"), ("\r\n", b"\xef\xbb\xbf")]
)
@pytest.mark.parametrize("name", [*LINES, "run", "xmc-scores"])
def test_ends_of_lines_and_marks_of_byte_order(
    folder: Path, run: Any, name: str, end: str, start: bytes, packed: bool
) -> None:
    role = "truth" if name in LINES else "scores"
    valid_pair(role, name)
    entry = LINES[name] if role == "truth" else SCORED[name.removesuffix("-scores")]
    lines = {
        "qrels": "evaluate Z.qrels a.run", "run": "evaluate a.qrels z.run",
        "xmc-scores": "evaluate one.npz z.txt",
    }  # fmt: skip
    found = []
    for form in (("\n", b"", False), (end, start, packed)):
        path = write_text(entry, "", *form)
        found.append(run(f"{lines.get(name, f'evaluate {path} one.npz')} --metrics p@1,lrap --format json"))
    assert found[0] == found[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("name", "bad", "said"), text_cases(LINES))
def test_lines_of_truth(says: Any, name: str, bad: str, said: str, end: str) -> None:
    valid_pair("truth", name)
    path = write_text(LINES[name], bad, end, packed=end == "\r\n")
    other = "a.run" if name == "qrels" else "one.npz"
    assert beginning(says(f"evaluate {path} {other}"), Path(path)).startswith(said)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("name", "bad", "said"), text_cases(SCORED))
def test_lines_of_scores(says: Any, name: str, bad: str, said: str, end: str) -> None:
    valid_pair("scores", name)
    path = write_text(SCORED[name], bad, end, packed=end == "\r\n")
    truth = "a.qrels" if name == "run" else "one.npz"
    assert beginning(says(f"evaluate {truth} {path}"), Path(path)).startswith(said)


@pytest.mark.parametrize(("xml", "said"), texts.DOCUMENTS)
def test_documents_of_labels(says: Any, xml: str, said: str) -> None:
    path = TRUTHS["mulan"](Path("Z"), make_truth())
    Path("Z.xml").write_text(xml)
    found = says(f"evaluate {path} m")
    assert found.startswith(("Z.xml: ", "Z.arff: "))
    assert said in found


@pytest.mark.parametrize("form", ["npy", "npz-list", "npz-list-packed"])
@pytest.mark.parametrize(
    ("at", "label", "score", "said"),
    [
        ((7, 2), 30, None, "row 7: label id 30 is not in 0..29 (or -1, an empty slot)"),
        ((7, 2), -2, None, "row 7: label id -2 is not in 0..29"),
        ((59, 1), "first", None, "row 59: label id"),
        ((8, 3), None, np.nan, "row 8: score nan is not a number"),
    ],
)
def test_values_of_lists(
    says: Any, form: str, at: tuple[int, int], label: Any, score: Any, said: str
) -> None:
    labels, scores = (array.copy() for array in as_list(make_scores()))
    if label is not None:
        labels[at] = labels[at[0], 0] if label == "first" else label
    if score is not None:
        scores[at] = score
    if form == "npy":
        np.save("z_indices.npy", labels)
        np.save("z_scores.npy", scores)
    else:
        (np.savez if form == "npz-list" else np.savez_compressed)(
            "z_indices.npz", indices=labels, scores=scores
        )
    path = Path("z_indices.npy" if form == "npy" else "z_indices.npz")
    assert beginning(says(f"evaluate Y.npz {path}"), path).startswith(said)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("indices", lambda ids: np.where(np.arange(ids.size) == 5, 30, ids), "label id 30 is not in 0..29"),
        ("indices", lambda ids: np.where(np.arange(ids.size) == 5, -1, ids), "label id -1 is not in 0..29"),
        ("indices", lambda ids: np.where(np.arange(ids.size) == 5, ids[4], ids), "occurs twice"),
        ("data", lambda data: np.where(np.arange(data.size) == 5, np.nan, data), "nan"),
        ("indptr", lambda ptr: ptr[::-1].copy(), "indptr is"),
        ("indptr", lambda ptr: ptr[:-1], "indptr is of shape (60,), for 60 rows"),
        ("shape", lambda shape: np.array([10**12, 30]), "1000000000000 rows for"),
        ("shape", lambda shape: np.array([60, 0]), "label"),
    ],
)
def test_parts_of_matrices(says: Any, role: str, part: str, change: Any, said: str, compressed: bool) -> None:
    matrix = make_truth() if role == "truth" else make_scores()
    matrix.indices = matrix.indices.astype(np.int64)
    assert not (matrix.indptr == 5).any()  # entries 4 and 5 are of one row
    parts = {name: getattr(matrix, name) for name in ("indptr", "indices", "data")}
    parts |= {"format": np.array(b"csr"), "shape": np.array([60, 30])}
    parts[part] = change(parts[part])
    (np.savez_compressed if compressed else np.savez)("Z.npz", **parts)
    found = says("evaluate Z.npz m" if role == "truth" else "evaluate Y.npz Z.npz")
    assert said in found
    assert "Z.npz" in found


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("part", ["data", "indices", "indptr", "shape", "format"])
def test_pickles_in_archives(says: Any, role: str, part: str) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, ("unpickled",)

    matrix = make_truth()
    parts: dict[str, Any] = {name: getattr(matrix, name) for name in ("indptr", "indices", "data")}
    parts |= {"format": np.array(b"csr"), "shape": np.array([60, 30])}
    parts[part] = np.array([Bomb()], dtype=object)
    np.savez("Z.npz", **parts)
    line = "evaluate Z.npz m" if role == "truth" else "evaluate Y.npz Z.npz"
    said = says(line)
    assert said.startswith(f"Z.npz: {part}.npy: Python objects are not supported; expected ")
    Path("Z.npz").write_bytes(pickle.dumps(Bomb()))
    assert says(line).startswith("Z.npz: not a zip archive; expected ")
    assert not Path("unpickled").exists()


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("range", "row 2: label id 30 is not in 0..29"),
        ("negative", "row 2: label id -7 is not in 0..29"),
        ("twice", "row 2: label id 1 occurs twice"),
        ("nan", "row 2: a score is NaN"),
        ("null", "row 2: "),
        ("names", "names"),
        ("columns", "its columns are 'tags'"),
    ],
)
def test_tables(says: Any, role: str, lists: bool, fault: str, said: str) -> None:
    ids: Any = [[1], [1], [1], [1]]
    if fault in ("range", "negative", "twice", "null"):
        ids[2] = {"range": [30], "negative": [-7], "twice": [1, 1], "null": [None]}[fault]
    scores = [[0.5 - place / 4 for place, _ in enumerate(row)] for row in ids]
    if fault == "nan":
        if role == "truth":
            pytest.skip("a truth has no scores")
        scores[2] = [np.nan]
    if fault == "names":
        ids[2] = ["cat"]
        ids = [[str(label) for label in row] for row in ids]
    columns: dict[str, Any] = {"labels": ids, "scores": scores}
    if not lists:
        columns = {
            "instance": [row for row, labels in enumerate(ids) for _ in labels],
            "label": [label for labels in ids for label in labels],
            "score": [score for row in scores for score in row],
        }
    if role == "truth":
        columns.popitem()
    if fault == "columns":
        columns = {"tags": [1, 2]}
    table = pa.table(columns).replace_schema_metadata({"n_labels": "30"})
    pa.parquet.write_table(table, "Z.parquet")
    npz(Path("four"), make_truth()[:4])
    found = says("evaluate Z.parquet four.npz" if role == "truth" else "evaluate four.npz Z.parquet")
    if lists and role == "scores" and fault in ("range", "negative"):
        said = said.replace("row 2: label", "label")
    if fault == "names":
        assert found.startswith(("Z.parquet: ", "four.npz: "))
    else:
        assert said in beginning(found, Path("Z.parquet"))


@pytest.mark.parametrize(
    ("inner", "value"), [("indptr", [0, 2, 1, 2, 2]), ("indices", [0, 9]), ("indices", [0, -7])]
)
@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr"])
def test_inner_lies_are_found_where_the_matrix_is_used(
    tmp_path: Path, scheme: str, inner: str, value: list[int]
) -> None:
    parts = {
        **ANY_CSR, "format": scheme, "shape": (4, 4), "indptr": np.array([0, 1, 1, 2, 2]),
        "data": np.ones((2, 1, 1) if scheme == "bsr" else 2), inner: np.array(value),
    }  # fmt: skip
    np.savez(tmp_path / "Y.npz", **parts)
    with pytest.raises(ValueError, match="y_true: "):
        evaluate(read_truth(tmp_path / "Y.npz"), np.ones((4, 4)))
