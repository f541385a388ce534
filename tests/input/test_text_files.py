"""Text files: what is written is read, in any cutting and packing, as plain Python and others read it."""

from __future__ import annotations

import gzip
import itertools
import os
import tempfile
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import xmleval
from tests.conftest import DATA, NO_DATA, seeds
from tests.oracles.text import plain_svmlight, plain_xmc
from xmleval.budget import UNLIMITED
from xmleval.cli import main
from xmleval.files.input import InputFile
from xmleval.input import lines
from xmleval.input.formats import xmc
from xmleval.input.formats.registry import FORMATS, find_format, read_scores, read_truth
from xmleval.input.formats.svmlight import svmlight_pieces
from xmleval.input.formats.xmc import write_xmc, xmc_pieces
from xmleval.input.stack import stack

SPECIAL = [0.0, -0.0, 1.0, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, -2.5e-7]
PACKINGS: dict[str, Any] = {
    "plain": lambda held: held,
    "no last newline": lambda held: held.removesuffix(b"\n"),
    "gzip": gzip.compress,
    "two gzip members": lambda held: gzip.compress(held[:7]) + gzip.compress(held[7:]),
    "padded gzip": lambda held: gzip.compress(held) + bytes(9),
    "byte order mark": lambda held: b"\xef\xbb\xbf" + held,
    "carriage returns": lambda held: held.replace(b"\n", b"\r\n"),
    "carriage return last": lambda held: held.replace(b"\n", b"\r\n").removesuffix(b"\n"),
    "tabs": lambda held: held.replace(b" ", b"\t"),
    "all": lambda held: gzip.compress(b"\xef\xbb\xbf" + held.replace(b"\n", b"\r\n")),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a module."""
    return tmp_path_factory.mktemp("text")


def same(a: Any, b: Any) -> bool:
    """Equal in shape, structure and the bits of the values, NaN equal to itself."""
    return a.shape == b.shape and all(
        np.array_equal(x, y, equal_nan=x.dtype.kind == "f") and np.array_equal(np.signbit(x), np.signbit(y))
        for x, y in ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
    )


def random_matrix(seed: int, dtype: Any, n_labels: int = 50) -> Any:
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(n_labels)[: rng.choice([0, 1, 5, 40])] for _ in range(rng.integers(1, 30))]
    data = rng.random(sum(map(len, rows))) * 10.0 ** rng.integers(-20, 20)
    data = np.where(rng.random(data.size) < 0.2, rng.choice(SPECIAL, data.size), data)
    ptr = np.cumsum([0, *map(len, rows)])
    ids = np.concatenate([np.sort(row) for row in rows]).astype(np.int32)
    with np.errstate(over="ignore"):
        return sp.csr_array((data.astype(dtype), ids, ptr.astype(np.int32)), shape=(len(rows), n_labels))


def data_file(truth: Any, seed: int = 0, header: bool = True) -> bytes:
    """A truth as labels with features."""
    rng = np.random.default_rng(seed)
    lines = [f"{truth.shape[0]} 9999 {truth.shape[1]}"] if header else []
    for lo, hi in itertools.pairwise(truth.indptr):
        features = zip(np.unique(rng.integers(1, 9999, 5)).tolist(), rng.random(5).tolist(), strict=False)
        lines.append(
            ",".join(map(str, truth.indices[lo:hi].tolist()))
            + " "
            + " ".join(f"{f}:{x:.6f}" for f, x in features)
        )
    return "".join(f"{line}\n" for line in lines).encode()


def written(folder: Path, matrix: Any, kind: str) -> bytes:
    write_xmc(folder / "written.txt", matrix, kind)
    return (folder / "written.txt").read_bytes()


# ------------------------------------------------------------------------------------ write and read


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "int64", "uint8", "bool"]))
def test_scores_that_are_written_are_read(folder: Path, seed: int, dtype: str) -> None:
    matrix = random_matrix(seed, np.float32)
    if not dtype.startswith("float"):
        matrix.data = np.arange(matrix.nnz) % 3 - (dtype == "int64")
    elif dtype == "float64":
        matrix = random_matrix(seed, np.float64)
    matrix = matrix.astype(dtype)
    path = folder / "scores.txt"
    write_xmc(path, matrix, "scores")
    found = read_scores(path)
    assert found.dtype == np.float64
    assert found.has_canonical_format
    assert same(found, plain_xmc(path.read_bytes(), "scores"))
    with np.errstate(over="ignore"):
        assert same(found.astype(dtype), matrix)


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "int8", "bool"]), zeros=st.booleans())
def test_truth_that_is_written_is_read(folder: Path, seed: int, dtype: str, zeros: bool) -> None:
    matrix = random_matrix(seed, np.float32)
    matrix.data = np.arange(matrix.nnz) % 2 if zeros else np.ones(matrix.nnz)
    path = folder / "truth.txt.gz"
    write_xmc(path, matrix.astype(dtype), "truth")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    found = read_truth(path)
    matrix.eliminate_zeros()
    assert found.dtype == np.uint8
    assert same(found, matrix)


def test_what_is_written(folder: Path) -> None:
    scores = sp.csr_array((np.array([0.1, 0, 3e-9], np.float32), [2, 0, 1], [0, 2, 2, 3]), shape=(3, 4))
    assert written(folder, scores, "scores") == b"3 4\n0:0.0 2:0.1\n\n1:3e-09\n"
    assert scores.indices.tolist() == [2, 0, 1]
    assert written(folder, scores != 0, "truth") == b"3 4\n2:1\n\n1:1\n"
    assert written(folder, sp.coo_matrix((2, 7)), "scores") == b"2 7\n\n\n"


def test_what_is_not_written(folder: Path) -> None:
    path = folder / "not.txt"
    twice = sp.csr_array((np.ones(2), [1, 1], [0, 2]), shape=(1, 3))
    for matrix, kind, said in [
        (np.eye(3), "scores", "matrix: not a SciPy sparse"),
        (sp.eye_array(3) * 2, "truth", "matrix: row 0: value 2.0 is neither 0 nor 1"),
        (twice, "scores", "matrix: row 0: label id 1 occurs twice"),
        (sp.eye_array(3), "labels", "kind='labels' is not one of truth, scores"),
    ]:
        with pytest.raises(ValueError, match=said):
            write_xmc(path, matrix, kind)
    with pytest.raises(FileNotFoundError):
        write_xmc(folder / "none" / "x.txt", sp.eye_array(3), "truth")
    assert not [name for name in os.listdir(folder) if "not.txt" in name]


# -------------------------------------------------------------------------------- forms and cuttings


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_packing_changes_nothing(folder: Path, packing: str, seed: int) -> None:
    pack, matrix = PACKINGS[packing], random_matrix(seed, np.float64)
    if packing in ("no last newline", "carriage return last") and not np.diff(matrix.indptr)[-1]:
        matrix = sp.vstack([matrix, matrix[[0]] + sp.csr_array(np.eye(1, 50))], format="csr")
    held = pack(written(folder, matrix, "scores"))
    (folder / "packed.txt").write_bytes(held)
    assert same(read_scores(folder / "packed.txt"), matrix)
    truth = matrix != 0
    held = pack(data_file(truth))
    (folder / "packed.txt").write_bytes(held)
    assert same(read_truth(folder / "packed.txt"), truth)
    (folder / "packed.svm").write_bytes(pack(data_file(truth, header=False)))
    found = read_truth(folder / "packed.svm")
    assert found.shape == (truth.shape[0], truth.indices.max() + 1)
    found.resize(truth.shape)
    assert same(found, truth)


@given(seed=seeds, n_bytes=st.one_of(st.integers(0, 300), st.integers(300, 10**5)))
def test_pieces_make_the_whole(folder: Path, seed: int, n_bytes: int) -> None:
    matrix = random_matrix(seed, np.float32)
    truth = matrix != 0
    (folder / "p.txt").write_bytes(written(folder, matrix, "scores"))
    (folder / "d.txt").write_bytes(data_file(truth))
    (folder / "s.svm").write_bytes(b"# start\n\n" + data_file(truth, header=False))
    for path, kind, whole in [
        ("p.txt", "scores", matrix.astype(float)), ("p.txt", "truth", matrix), ("d.txt", "truth", truth),
        ("s.svm", "truth", truth),
    ]:  # fmt: skip
        pieces_of = find_format(folder / path)[0].pieces
        assert pieces_of is not None
        pieces = pieces_of(folder / path, kind, UNLIMITED)
        found = list(pieces.read(n_bytes))
        assert all(piece.shape[0] for piece in found)
        for piece in found:
            size = piece.data.nbytes + piece.indices.nbytes + piece.indptr[1:].nbytes
            assert size <= max(n_bytes, 4) or piece.shape[0] == 1 or n_bytes < 2000
        again = stack(pieces.read(n_bytes), pieces.n_labels or 0, np.uint8)
        if path == "s.svm":
            assert (pieces.n_rows, pieces.n_labels) == (None, None)
            assert [piece.shape[1] for piece in found] == sorted(piece.shape[1] for piece in found)
            again.resize(truth.shape)
        else:
            assert (pieces.n_rows, pieces.n_labels) == matrix.shape
        whole = plain_xmc((folder / path).read_bytes(), kind) if path == "p.txt" else whole
        assert same(again, whole)


@given(seed=seeds)
def test_scikit_learn_reads_the_same(folder: Path, seed: int) -> None:
    load_svmlight_file = pytest.importorskip("sklearn.datasets").load_svmlight_file
    matrix = random_matrix(seed, np.float64)
    held = written(folder, matrix, "scores")
    path, svm = folder / "k.txt", folder / "k.svm"
    if np.diff(matrix.indptr).all():  # it skips rows without labels
        path.write_bytes(held)
        svm.write_bytes(held.split(b"\n", 1)[1])
        theirs, _ = load_svmlight_file(str(svm), n_features=50, multilabel=True, zero_based=True)
        assert same(read_scores(path), sp.csr_array(theirs))
    svm.write_bytes(data_file(matrix != 0, header=False))
    _, labels = load_svmlight_file(str(svm), multilabel=True, zero_based=True)
    found = read_truth(svm)
    assert [tuple(map(float, row.indices)) for row in found] == labels


def test_what_svmlight_passes_over(folder: Path) -> None:
    held = b"# 1,2 3:4\n\n 3,1 qid:7 1:0.5 # qid:8\r\n \t \n2.0,0. 4:1e-3\nqid:3 1:2\n5:1\n7#8\n4\tqid:1\n"
    (folder / "x.libsvm").write_bytes(held)
    found = read_truth(folder / "x.libsvm")
    assert [row.indices.tolist() for row in found] == [[1, 3], [0, 2], [], [], [7], [4]]
    assert same(found, plain_svmlight(held))
    assert found.data.dtype == np.uint8


def test_ids_beyond_32_bits(folder: Path) -> None:
    (folder / "w.svm").write_text("1,0 1:1\n5000000000 1:1\n2 1:1\n")
    pieces = list(svmlight_pieces(folder / "w.svm", "truth").read(1))
    assert [piece.shape[1] for piece in pieces] == [2, 5000000001, 5000000001]
    found = read_truth(folder / "w.svm")
    assert found.indices.tolist() == [0, 1, 5000000000, 2]
    (folder / "w.txt").write_text("1 5000000001\n5000000000:0.5 3:1\n")
    assert read_scores(folder / "w.txt").indices.tolist() == [5000000000, 3]  # as the file has them


def test_sizes_of_nothing(folder: Path) -> None:
    (folder / "n.txt").write_text("0 5")
    assert read_truth(folder / "n.txt").shape == read_scores(folder / "n.txt").shape == (0, 5)
    assert read_scores(folder / "n.txt").dtype == np.float64
    (folder / "n.txt").write_text("2 9 5\n\n \n")
    assert read_truth(folder / "n.txt").shape == (2, 5)


def test_values_of_a_truth_that_are_no_labels(folder: Path) -> None:
    (folder / "v.txt").write_text("2 4\n0:1 1:0 2:1.0\n3:-0.0 1:1e0\n")
    found = read_truth(folder / "v.txt")
    assert found.dtype == np.uint8
    assert found.toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 0]]
    (folder / "v.txt").write_text("2 4\n0:1 1:0 2:1.0\n3:0.5 1:1e0\n")
    found = read_truth(folder / "v.txt")
    assert (found.dtype, found.data.tolist()) == (np.float64, [1, 1, 1, 0.5])
    with pytest.raises(ValueError, match=r"y_true: row 1: value 0\.5 is neither 0 nor 1"):
        xmleval.evaluate(found, np.ones((2, 4)))


# ------------------------------------------------------------------------------------ means and ends


def test_memory_follows_the_result(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    path, n_rows = folder / "large.txt", 1500
    ids = np.sort(rng.integers(0, 20, (n_rows, 40)) + np.arange(0, 800, 20), axis=1)
    lines = (" ".join(f"{j}:1.5" for j in row) for row in ids.tolist())
    path.write_text(f"{n_rows} 1000\n" + "\n".join(lines) + "\n")
    monkeypatch.setattr(xmc, "WHOLE_BYTES", 1 << 14)
    read_scores(path)
    tracemalloc.start()
    found = read_scores(path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for piece in xmc_pieces(path, "scores").read(1 << 14):
        assert piece.data.nbytes + piece.indices.nbytes < 1 << 14
    _, peak_of_pieces = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.nnz == ids.size
    assert peak < 1.5 * held + 8 * (1 << 14)
    assert peak_of_pieces - held < 8 * (1 << 14)


def test_a_reader_that_is_left_leaves_nothing(folder: Path) -> None:
    path = folder / "left.txt"
    write_xmc(path, random_matrix(5, np.float64), "scores")
    before = threading.active_count()
    rows = xmc_pieces(path, "scores").read(8)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_the_command_line_reads_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = random_matrix(8, np.float32)
    scores.data = np.abs(scores.data)
    truth = (scores > 0.01).astype(np.uint8)
    write_xmc(folder / "y.txt", scores, "scores")
    (folder / "t.txt").write_bytes(data_file(truth))
    sp.save_npz(folder / "same.npz", scores)
    values = []
    for given_scores in ("y.txt", "same.npz", "same"):
        assert main(["evaluate", str(folder / "t.txt"), str(folder / given_scores), "--format", "csv"]) == 0
        values.append(capsys.readouterr().out)
    assert values[0] == values[1] == values[2]
    line = ["evaluate", str(folder / "t.txt"), str(folder / "same.npz"), "--format", "csv", "--output"]
    for name, code in [("same.txt", 0), ("t.txt", 2), ("same.npz", 2)]:
        assert main([*line, str(folder / name)]) == code
        assert main([*line, str(folder / name)]) == code


@pytest.mark.skipif(not (DATA / "bibtex").is_dir(), reason=NO_DATA)
def test_real_files(folder: Path) -> None:
    for kind, name, reader in [
        ("truth", "Y_test.npz", read_truth),
        ("scores", "scores_omikuji.npz", read_scores),
        ("scores", "X_test.npz", read_scores),
    ]:
        matrix = sp.csr_array(sp.load_npz(DATA / "bibtex" / name))
        write_xmc(folder / "real.txt.gz", matrix, kind)
        found = reader(folder / "real.txt.gz")
        matrix.sort_indices()
        assert same(found.astype(matrix.dtype), matrix)


def test_text_formats_can_be_read_in_pieces() -> None:
    by_name = {known.name: known for known in FORMATS}
    assert by_name["xmc"].pieces is xmc_pieces
    assert by_name["svmlight"].pieces is svmlight_pieces
    assert by_name["svmlight"].scores is None


@given(
    st.lists(st.sampled_from([b"", b" ", b"\t \r", b"ab", b" c ", b"d" * 9, "\u00e9".encode()]), max_size=40),
    st.integers(1, 9),
    st.booleans(),
)
def test_lines_are_numbered_however_they_are_read(held: list[bytes], size: int, ended: bool) -> None:
    text = b"\n".join([b"first", *held]) + b"\n" * ended
    expected = [(i, line.decode().strip()) for i, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "SPLIT_BYTES", size)
        (Path(folder) / "lines.txt").write_bytes(text)
        assert list(lines.numbered_lines(InputFile(Path(folder) / "lines.txt"))) == expected
