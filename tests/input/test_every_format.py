"""Laws of files of every format: their rows and values are those of matrices, however they are read."""

import gzip
import os
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.damage import values_of
from tests.input.forms import write_table
from tests.limits import small_limits
from tests.made_files import NAMED, NUMBERED, files_of, make_scores, make_truth, pieces_of
from xmleval import evaluate
from xmleval.input.pieces import joined, rows_from
from xmleval.input.rows import Rows
from xmleval.input.shards import find_scan, with_fields
from xmleval.input.stack import rows_as_csr, rows_as_lists
from xmleval.io import read_scores, read_truth

METRICS = ["p@1", "ndcg@5", "lrap", "auc.micro", "f1.micro@3"]
IN_ONE_PIECE = ("npz-csc", "npz-coo", "dense-columns", "truth npz-calibration")
BY_TEXT = ("xmc", "xmc-gz", "xmc-data", "svmlight", "svmlight-gz", "entries")  # of small lines alone
TEXTS = (".txt", ".svm", ".arff", ".qrels", ".run", ".csv", ".jsonl", ".tsv", ".json", ".lines")
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "no last newline": lambda text: text.removesuffix(b"\n"),
    "two gzip members": lambda text: gzip.compress(text[:7]) + gzip.compress(text[7:]),
    "padded gzip": lambda text: gzip.compress(text) + bytes(9),
    "carriage return last": lambda text: text.replace(b"\n", b"\r\n").removesuffix(b"\n"),
    "all": lambda text: gzip.compress(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")),
}


@st.composite
def matrices(draw: st.DrawFn, name: str) -> Any:
    """Rows of any length, some empty; the last one has the last label, as nothing else tells of it."""
    sizes = draw(st.lists(st.sampled_from([0, 0, 1, 2, 9]), max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    cells = np.zeros((len(sizes) + 2, 9), np.float32)
    for row, size in enumerate(sizes):
        cells[row, rng.permutation(9)[:size]] = 1
    cells[-1, [0, -1]] = 1
    if name.startswith("scores"):
        cells[cells > 0] = (rng.permutation(int(cells.sum())) + 1) / 4  # exact in texts of float32
    return sp.csr_array(cells)


def cells_of(rows: Any, n_labels: int) -> Any:
    """A list, or a matrix that may be narrower, as values of all labels."""
    if isinstance(rows, Rows):
        rows = rows_as_lists(rows) if rows.best_first else rows_as_csr(rows, n_labels)
    if isinstance(rows, tuple):
        labels, scores = rows
        cells = np.zeros((labels.shape[0], n_labels))
        row, slot = np.nonzero(labels >= 0)
        cells[row, labels[row, slot]] = scores[row, slot]
        return cells
    narrow = rows.toarray() if sp.issparse(rows) else rows
    return np.pad(narrow, ((0, 0), (0, n_labels - narrow.shape[1])))


def is_small(rows: Any, n_bytes: int) -> bool:
    """Whether a piece has a row alone, or no more entries than so many bytes hold."""
    if isinstance(rows, Rows):
        return rows.n_rows == 1 or rows.labels.size * 8 <= 2 * n_bytes
    parts = rows if isinstance(rows, tuple) else (rows,)
    size = rows.nnz * (rows.dtype.itemsize + 4) if sp.issparse(rows) else sum(part.nbytes for part in parts)
    return bool(parts[0].shape[0] == 1 or size <= n_bytes)  # whose ids SciPy may widen


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERED)
@settings(max_examples=8)
@given(data=st.data())
def test_rows_are_those_of_a_matrix(name: str, data: Any) -> None:
    kind = name.partition(" ")[0]
    matrix = data.draw(matrices(name))
    path = NUMBERED[name](Path("z"), matrix)
    m, n_labels = matrix.shape
    whole = (read_truth if kind == "truth" else read_scores)(path)
    np.testing.assert_array_equal(cells_of(whole, n_labels), matrix.toarray())
    if name == "truth qrels":  # which is read whole
        return
    first, n = data.draw(st.integers(0, 2 * m - 1)), data.draw(st.none() | st.integers(1, 2 * m))
    stop = None if n is None else first + n
    expected = np.vstack([matrix.toarray()] * 2)[first:stop]
    with data.draw(st.sampled_from([nullcontext, small_limits]))():
        pieces = pieces_of(path, kind)
        assert pieces.n_rows in (m, None)
        assert pieces.n_labels in (n_labels, None)
        twice = joined([("first", pieces), ("second", pieces)])
        for n_bytes in (1, 40, 100, 300, 1 << 20):
            rows = [*rows_from(twice, n_bytes, first, stop)]
            np.testing.assert_array_equal(np.vstack([cells_of(piece, n_labels) for piece in rows]), expected)
            assert name.endswith((*IN_ONE_PIECE, *BY_TEXT)) or all(is_small(piece, n_bytes) for piece in rows)


def test_what_is_wrong_at_the_end_of_a_file_is_found_with_its_last_row() -> None:
    Path("Y.txt").write_text("2 4\n0:1\n1:1\n2:1\n")
    with pytest.raises(ValueError, match="more than the 2 rows"):
        list(rows_from(pieces_of(Path("Y.txt"), "truth"), 1 << 20, 0, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NUMBERED, *NAMED])
def test_values_are_those_of_arrays(name: str) -> None:
    truth, scores, path = files_of(name)
    arrays = make_scores().toarray() if "dense" in name and "scores" in name else make_scores()
    expected = dict(evaluate(make_truth(), arrays, metrics=METRICS))
    assert values_of(METRICS, f"{truth} {scores}") == expected
    with small_limits():
        assert values_of(METRICS, f"{truth} {scores} --memory 4KB") == expected
    if path.suffix in TEXTS:
        text = path.read_bytes()
        for packing, pack in PACKINGS.items():
            path.write_bytes(pack(text))
            assert values_of(METRICS, f"{truth} {scores}") == expected, packing


CHANGED = "changed while it was read, from "
IN_PIECES = [name for name in NUMBERED if not name.endswith((*IN_ONE_PIECE, "qrels", "entries"))]


def cut_short(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def rewritten(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(10**18, 10**18 + 1))


def replaced(path: Path, other: Path) -> None:
    other.replace(path)


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("change", [cut_short, rewritten, replaced])
@pytest.mark.parametrize("name", IN_PIECES)
def test_files_that_change_are_refused(name: str, change: Callable[[Path, Path], None], begun: bool) -> None:
    """Between the header and the rows, or between rows, where another file of the name is not read."""

    def values(rows: Any) -> Any:
        return np.vstack([cells_of(piece, 30) for piece in rows])

    Path("other").mkdir()
    kind = name.split()[0]
    make = make_truth if kind == "truth" else make_scores
    made = (make(6400, seed=i) for i in (0, 1))  # small files are held whole
    path, other = map(NUMBERED[name], (Path("z"), Path("other/z")), made)
    for number, each in enumerate((path, other)):
        os.utime(each, ns=(10**18, 10**18 + number))  # as files that are written at once may be of one time
    expected = values(pieces_of(path, kind).read(1024))
    rows = pieces_of(path, kind).read(1024 if begun else 1 << 20)
    first = [next(rows)] if begun else []
    change(path, other)
    if change is replaced and begun:
        np.testing.assert_array_equal(values([*first, *rows]), expected)
        assert (values(pieces_of(path, kind).read(1024)) != expected).any()
        return
    with pytest.raises(ValueError, match=f"^{path}: .*{CHANGED}.*; expected "):
        list(rows)


@pytest.mark.parametrize("name", ["Y.csv", "Y.jsonl"])
def test_documents_that_change_between_two_readings_are_refused(name: str) -> None:
    path = Path(name)
    write_table(path, {"labels": [["a"]], "predicted": [["b"]]})
    (given,) = with_fields(True, find_scan("y_true", path))
    known = given.shards[0].format
    assert known.holds_both(path)
    os.utime(path, ns=(10**18, 10**18))
    with pytest.raises(ValueError, match=f"^{path}: {CHANGED}"):
        list(known.rows([path], "truth") if known.rows else [])


@pytest.mark.parametrize("name", ["truth npz", "scores npz", "scores npz-list", "scores npz-dense"])
def test_bits_that_flip_in_arrays_without_compression_are_refused(name: str) -> None:
    kind = name.split()[0]
    path = NUMBERED[name](Path("z"), make_truth(3000, 40) if kind == "truth" else make_scores(3000, 40))
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.file_size > 10_000]
    for info in members:
        content = bytearray(whole)
        content[content.index(b"\x93NUMPY", info.header_offset) + info.file_size - 8] ^= 1
        path.write_bytes(content)
        message = f"{path}: .*Bad CRC-32 for file '{info.filename}'; expected "
        for n_bytes in (100, 1 << 40):
            with pytest.raises(ValueError, match=message):
                list(pieces_of(path, kind).read(n_bytes))
            with pytest.raises(ValueError, match=message):
                list(rows_from(pieces_of(path, kind), n_bytes, 2900))
        with pytest.raises(ValueError, match=message):
            (read_truth if kind == "truth" else read_scores)(path)
