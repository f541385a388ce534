"""Laws of files of every format: rows and values are those of matrices, in any reading."""

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
# formats with small lines only
BY_TEXT = (
    "xmc",
    "xmc-gz",
    "xmc-data",
    "svmlight",
    "svmlight-gz",
    "entries",
)
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
    """Draw rows of any length, some empty; the last row has the first and the last label."""
    sizes = draw(st.lists(st.sampled_from([0, 0, 1, 2, 9]), max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    cells = np.zeros((len(sizes) + 2, 9), np.float32)
    for row, size in enumerate(sizes):
        cells[row, rng.permutation(9)[:size]] = 1
    cells[-1, [0, -1]] = 1
    if name.startswith("scores"):
        ranks = rng.permutation(int(cells.sum())) + 1
        cells[cells > 0] = ranks / 4  # exact in texts of float32
    return sp.csr_array(cells)


def cells_of(rows: Any, n_labels: int) -> Any:
    """Return values of all labels, from lists or from a matrix that may be narrower."""
    if isinstance(rows, Rows) and rows.best_first:
        rows = rows_as_lists(rows)
    elif isinstance(rows, Rows):
        rows = rows_as_csr(rows, n_labels)
    if isinstance(rows, tuple):
        labels, scores = rows
        cells = np.zeros((labels.shape[0], n_labels))
        row, slot = np.nonzero(labels >= 0)
        cells[row, labels[row, slot]] = scores[row, slot]
        return cells
    narrow = rows.toarray() if sp.issparse(rows) else rows
    n_missing = n_labels - narrow.shape[1]
    return np.pad(narrow, ((0, 0), (0, n_missing)))


def is_small(rows: Any, n_bytes: int) -> bool:
    """Return whether a batch has one row, or no more entries than fit in so many bytes."""
    if isinstance(rows, Rows):
        return rows.n_rows == 1 or rows.labels.size * 8 <= 2 * n_bytes
    if sp.issparse(rows):
        n_rows = rows.shape[0]
        size = rows.nnz * (rows.dtype.itemsize + 4)  # SciPy may widen ids
    else:
        arrays = rows if isinstance(rows, tuple) else (rows,)
        n_rows = arrays[0].shape[0]
        size = sum(array.nbytes for array in arrays)
    return bool(n_rows == 1 or size <= n_bytes)


def read(path: Path | str, kind: str) -> Any:
    if kind == "truth":
        return read_truth(path)
    return read_scores(path)


def make(kind: str, *sizes: int, **options: int) -> Any:
    if kind == "truth":
        return make_truth(*sizes, **options)
    return make_scores(*sizes, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERED)
@settings(max_examples=8)
@given(data=st.data())
def test_rows_are_those_of_a_matrix(name: str, data: Any) -> None:
    kind = name.partition(" ")[0]
    matrix = data.draw(matrices(name))
    path = NUMBERED[name](Path("z"), matrix)
    m, n_labels = matrix.shape
    cells = matrix.toarray()
    np.testing.assert_array_equal(cells_of(read(path, kind), n_labels), cells)
    if name == "truth qrels":  # never read in batches
        return
    first = data.draw(st.integers(0, 2 * m - 1))
    n = data.draw(st.none() | st.integers(1, 2 * m))
    stop = None if n is None else first + n
    expected = np.vstack([cells, cells])[first:stop]
    has_small_batches = not name.endswith((*IN_ONE_PIECE, *BY_TEXT))
    limits = data.draw(st.sampled_from([nullcontext, small_limits]))
    with limits():
        pieces = pieces_of(path, kind)
        assert pieces.n_rows in (m, None)
        assert pieces.n_labels in (n_labels, None)
        twice = joined([("first", pieces), ("second", pieces)])
        for n_bytes in (1, 40, 100, 300, 1 << 20):
            batches = [*rows_from(twice, n_bytes, first, stop)]
            actual = np.vstack([cells_of(batch, n_labels) for batch in batches])
            np.testing.assert_array_equal(actual, expected)
            if has_small_batches:
                assert all(is_small(batch, n_bytes) for batch in batches)


def test_fault_at_the_end_of_a_file_is_found_with_its_last_row() -> None:
    path = Path("Y.txt")
    path.write_text("2 4\n0:1\n1:1\n2:1\n")
    with pytest.raises(ValueError, match="more than the 2 rows"):
        list(rows_from(pieces_of(path, "truth"), 1 << 20, 0, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NUMBERED, *NAMED])
def test_values_are_those_of_arrays(name: str) -> None:
    truth, scores, path = files_of(name)
    files = f"{truth} {scores}"
    y_score = make_scores()
    if "dense" in name and "scores" in name:
        y_score = y_score.toarray()
    expected = dict(evaluate(make_truth(), y_score, metrics=METRICS))
    assert values_of(METRICS, files) == expected
    with small_limits():
        assert values_of(METRICS, f"{files} --memory 4KB") == expected
    if path.suffix in TEXTS:
        text = path.read_bytes()
        for packing, pack in PACKINGS.items():
            path.write_bytes(pack(text))
            assert values_of(METRICS, files) == expected, packing


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
def test_files_that_change_are_refused(
    name: str, change: Callable[[Path, Path], None], begun: bool
) -> None:
    """Files change between the header and the rows, or between rows.

    A file that is replaced between rows is read to its end.
    """

    def values(batches: Any) -> Any:
        return np.vstack([cells_of(batch, 30) for batch in batches])

    Path("other").mkdir()
    kind = name.split()[0]
    write = NUMBERED[name]
    # small files would be read at once
    path = write(Path("z"), make(kind, 6400, seed=0))
    other = write(Path("other/z"), make(kind, 6400, seed=1))
    # files that are written in succession may have one time
    os.utime(path, ns=(10**18, 10**18))
    os.utime(other, ns=(10**18, 10**18 + 1))
    expected = values(pieces_of(path, kind).read(1024))
    batches = pieces_of(path, kind).read(1024 if begun else 1 << 20)
    first = [next(batches)] if begun else []
    change(path, other)
    if change is replaced and begun:
        np.testing.assert_array_equal(values([*first, *batches]), expected)
        later = values(pieces_of(path, kind).read(1024))
        assert (later != expected).any()
        return
    with pytest.raises(ValueError, match=f"^{path}: .*{CHANGED}.*; expected "):
        list(batches)


@pytest.mark.parametrize("name", ["Y.csv", "Y.jsonl"])
def test_documents_that_change_between_two_readings_are_refused(name: str) -> None:
    path = Path(name)
    write_table(path, {"labels": [["a"]], "predicted": [["b"]]})
    (scan,) = with_fields(True, find_scan("y_true", path))
    document_format = scan.shards[0].format
    assert document_format.holds_both(path)
    assert document_format.rows is not None
    os.utime(path, ns=(10**18, 10**18))
    with pytest.raises(ValueError, match=f"^{path}: {CHANGED}"):
        list(document_format.rows([path], "truth"))


@pytest.mark.parametrize("name", ["truth npz", "scores npz", "scores npz-list", "scores npz-dense"])
def test_bits_that_flip_in_uncompressed_arrays_are_refused(name: str) -> None:
    kind = name.split()[0]
    path = NUMBERED[name](Path("z"), make(kind, 3000, 40))
    original = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.file_size > 10_000]
    for member in members:
        content = bytearray(original)
        start = content.index(b"\x93NUMPY", member.header_offset)
        content[start + member.file_size - 8] ^= 1
        path.write_bytes(content)
        message = f"{path}: .*Bad CRC-32 for file '{member.filename}'; expected "
        for n_bytes in (100, 1 << 40):
            with pytest.raises(ValueError, match=message):
                list(pieces_of(path, kind).read(n_bytes))
            with pytest.raises(ValueError, match=message):
                list(rows_from(pieces_of(path, kind), n_bytes, 2900))
        with pytest.raises(ValueError, match=message):
            read(path, kind)
