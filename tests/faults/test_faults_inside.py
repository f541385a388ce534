"""Faults inside of files, by lines, values and headers: exit 2 after one line that says where."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from tests.faults.test_faults import beginning, folder, says
from tests.made_files import TRUTHS, as_list, make_scores, make_truth, npz

__all__ = ["folder", "says"]  # fixtures


# ------------------------------------------------------------------------------- texts, by their lines

BOM = b"\xef\xbb\xbf"
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


@pytest.mark.parametrize(
    ("name", "held", "said"),
    [
        ("Z.txt", "", "the file is empty"),
        ("Z.txt", "4\n1:1\n", "line 1: '4' is not a header of two or three integers"),
        ("Z.txt", "1000000000000 9\n1:1\n", "1 rows where the header promises 1000000000000"),
        ("Z.txt", "1000000000000 9 9\n1 0:1\n", "1 rows where the header promises 1000000000000"),
        ("Z.txt", "60 99999999999999999 9\n", "line 1: '60 99999999999999999 9' is not a header"),
        ("Z.svm", "\n# nothing\n", "no row in it"),
        ("Z.arff", "@relation x\n@data\n", "line 2: @data before any @attribute"),
        ("Z.arff", "@relation x\n@attribute a {0,1}\n", "it ends after line 2 without @data"),
        ("Z.arff", "@relation 'x: -C 1000000000000'\n@attribute a {0,1}\n@data\n", "nothing tells"),
        ("Z.arff", "@relation 'x: -C 9'\n@attribute a {0,1}\n@data\n", "'-C 9' in the name"),
    ],
)  # fmt: skip
def test_wrong_headers(says: Any, name: str, held: str, said: str) -> None:
    Path(name).write_text(held)
    assert beginning(says(f"stats {name}"), Path(name)).startswith(said)


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        ('<!DOCTYPE l [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><labels>&b;</labels>', "line 1: a document"),
        ('<!DOCTYPE l SYSTEM "file:///etc/passwd"><labels/>', "line 1: a document type declaration"),
        ('<labels><label name="&b;"/></labels>', "no well-formed XML"),
        ("<labels>", "no well-formed XML"),
        ("<labels/>", "no label in it"),
        ('<labels><label name="nope"/></labels>', "no attribute is called 'nope'"),
        ("", "the file is empty"),
    ],
)  # fmt: skip
def test_documents_of_labels(says: Any, xml: str, said: str) -> None:
    path = TRUTHS["mulan"](Path("Z"), make_truth())
    Path("Z.xml").write_text(xml)
    found = says(f"evaluate {path} m")
    assert found.startswith(("Z.xml: ", "Z.arff: "))
    assert said in found


# ----------------------------------------------------------------------------------- arrays and tables


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
    assert said.startswith(f"Z.npz: {part}.npy holds Python objects, which are never read; expected ")
    Path("Z.npz").write_bytes(pickle.dumps(Bomb()))
    assert says(line).startswith("Z.npz: not a zip archive; expected ")
    assert not Path("unpickled").exists()


def bomb(name: str, n_bytes: int, header: bytes) -> bytes:
    """A member of an archive that is full of zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for known, array in (("format", np.array(b"csr")), ("shape", np.array([n_bytes // 8 - 1, 30]))):
            with archive.open(f"{known}.npy", "w") as file:
                np.lib.format.write_array(file, array)
        for known in {"indptr", "indices", "data"} - {name}:
            with archive.open(f"{known}.npy", "w") as file:
                np.lib.format.write_array(file, np.zeros(0, np.int64))
        with archive.open(f"{name}.npy", "w") as file:
            file.write(header)
            for _ in range(n_bytes >> 20):
                file.write(bytes(1 << 20))
    return out.getvalue()


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_archives_that_unpack_to_very_much(says: Any, role: str, name: str) -> None:
    n_bytes = 1 << (28 if name == "indptr" else 26)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (n_bytes // 8,)}
    )
    Path("Z.npz").write_bytes(bomb(name, n_bytes, header.getvalue()))
    assert Path("Z.npz").stat().st_size < 1 << 19
    tracemalloc.start()
    try:
        assert says("evaluate Z.npz m" if role == "truth" else "evaluate Y.npz Z.npz").startswith("Z.npz: ")
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["Z.txt", "Z.svm", "Z.arff"])
@pytest.mark.parametrize("filling", [b"0", b" "])
def test_texts_that_unpack_to_very_much(
    folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch, name: str, filling: bytes
) -> None:
    from xmleval.input import lines

    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 19)  # for the time that it takes
    heads = {"Z.txt": b"60 30\n", "Z.svm": b"", "Z.arff": b"@relation 'x: -C 1'\n@attribute a {0,1}\n@data\n"}
    with gzip.open(name, "wb", compresslevel=1) as file:
        file.write(heads[name])
        for _ in range(32):
            file.write(filling * (1 << 20))
    tracemalloc.start()
    try:
        assert refused(f"evaluate {name} m --memory 1MB").startswith((f"{name}: ", "m: "))
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


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
