"""Parquet and Arrow files: every form, in pieces and whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import xmleval
from tests.conftest import DATA, NO_DATA
from tests.made_tables import DENSE, ENDINGS, ENTRIES, SCORES, entries, lists, save, scores
from xmleval.input.formats.arrow_names import read_arrow_scores, read_arrow_truth
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.tabular import arrow_pieces, read_arrow
from xmleval.input.formats.trec import read_qrels
from xmleval.input.formats.write_parquet import write_parquet
from xmleval.input.pieces import Pieces

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; the extra 'arrow' has it")
ipc = pytest.importorskip("pyarrow.ipc")
pq = pytest.importorskip("pyarrow.parquet")


def refused(path: Path, read: Any = read_truth, *rest: Any) -> str:
    with pytest.raises(ValueError) as caught:
        read(path, *rest)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "; expected " in message
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


# ------------------------------------------------------------------------------------------ what is read


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("of", ["list", "large_list", "uint16"])
def test_a_row_for_each_instance(tmp_path: Path, ending: str, of: str) -> None:
    kind = {"list": None, "large_list": pa.large_list(pa.int32()), "uint16": pa.list_(pa.uint16())}[of]
    path = save(tmp_path, {"id": ["x"] * 4, "labels": lists(kind)}, ending, n_labels=5)
    truth = read_truth(path)
    assert (truth.shape, truth.dtype, truth.format) == ((4, 5), np.uint8, "csr")
    assert truth.toarray()[:, :4].tolist() == DENSE
    labels, none = read_scores(path)  # a ranking without scores
    assert none is None
    assert labels.tolist() == [[3, 1, -1], [-1, -1, -1], [0, -1, -1], [2, 0, 3]]
    path = save(tmp_path, {"labels": lists(kind), "scores": scores(pa.list_(pa.float32()))}, ending)
    labels, values = read_scores(path)
    assert values.dtype == np.float32
    assert values[labels >= 0].tolist() == [s for row in SCORES for s in row]
    assert np.isnan(values[labels < 0]).all()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("instance", ["instance", "row"])
def test_a_row_for_each_label(tmp_path: Path, ending: str, instance: str) -> None:
    columns = entries((instance, "label", "score"))
    found = read_scores(save(tmp_path, columns, ending, n_labels=7))
    assert found.shape == (4, 7)
    stored = sp.coo_array(found)
    held = zip(stored.row.tolist(), stored.col.tolist(), stored.data.tolist(), strict=True)
    assert sorted(held) == sorted(ENTRIES)
    del columns["score"]
    assert read_truth(save(tmp_path, columns, ending)).toarray().tolist() == DENSE


def test_lists_of_one_length_and_empty_slots(tmp_path: Path) -> None:
    of = pa.list_(pa.int32(), 2)
    path = save(tmp_path, {"labels": pa.array([[1, 0], [2, -1]], of), "scores": [[0.5, 0.25], [1.0, np.nan]]})
    labels, values = read_scores(path)
    assert labels.tolist() == [[1, 0], [2, -1]]
    assert values[0].tolist() == [0.5, 0.25]
    assert "row 1: label id -1 is not in 0.." in refused(
        save(tmp_path, {"labels": pa.array([[1, 0], [2, -1]], of)})
    )


def test_instances_in_any_order(tmp_path: Path) -> None:
    columns = entries()
    shuffled = {name: [column[i] for i in (5, 0, 3, 1, 4, 2)] for name, column in columns.items()}
    path = save(tmp_path, shuffled)
    found, wanted = read_scores(path), sp.csr_array((3, 4))
    wanted = read_scores(save(tmp_path, columns, "arrow"))
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    with pytest.raises(ValueError, match=r"row 1: instance 0 after 3; in pieces they are read in order"):
        list(arrow_pieces(path, "scores").read(100))


def test_instances_of_lists_are_checked(tmp_path: Path) -> None:
    assert read_truth(save(tmp_path, {"row": [0, 1, 2, 3], "labels": lists()})).toarray().tolist() == DENSE
    path = save(tmp_path, {"row": [0, 1, 3, 2], "labels": lists()})
    assert "row 2: row 3, where lists stand in the order of their rows" in refused(path)


def test_no_rows(tmp_path: Path) -> None:
    none = pa.array([], pa.list_(pa.int64()))
    for ending in ENDINGS:
        path = save(tmp_path, {"labels": none}, ending, n_labels=3)
        assert read_truth(path).shape == (0, 3)
        assert read_scores(path)[0].shape == (0, 0)
        assert list(arrow_pieces(path, "truth").read(9)) == []
    path = save(tmp_path, {"instance": pa.array([], pa.int64()), "label": pa.array([], pa.int64())})
    assert read_truth(path).shape == (0, 1)


def test_n_labels(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": lists()})
    assert arrow_pieces(path, "truth").n_labels is None
    assert read_arrow(path, "truth", n_labels=9).shape == (4, 9)
    path = save(tmp_path, {"labels": lists()}, n_labels=9)
    assert arrow_pieces(path, "truth").n_labels == 9
    with pytest.raises(ValueError, match="9 labels by its metadata; 8 were expected"):
        arrow_pieces(path, "truth", 8)


# ------------------------------------------------------------------------------------------------- names


def test_names(tmp_path: Path) -> None:
    truth_path = save(tmp_path, {"instance": ["b", "a", "b"], "label": ["x", "y", "z"]})
    truth = read_arrow_truth(truth_path)
    assert (truth.row_names, truth.label_names) == (["b", "a"], ["x", "y", "z"])
    assert truth.matrix.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    packed = pa.array(["w", "x", "x"]).dictionary_encode()
    columns = {"instance": ["b", "c", "b"], "label": packed, "score": [0.5, 1.0, 0.25]}
    found = read_arrow_scores(save(tmp_path, columns, "arrow"), truth)
    assert found.label_names == ["x", "y", "z", "w"]
    assert found.matrix.toarray().tolist() == [[0.25, 0, 0, 0.5], [0, 0, 0, 0]]
    assert (found.n_empty, found.n_ignored, found.n_new_labels) == (1, 1, 1)
    assert "holds string, names, not numbers" in refused(truth_path)
    assert "row 0: label 'x' is not one of the 1 given ones" in refused(truth_path, read_arrow_truth, ["y"])


def test_names_in_lists(tmp_path: Path) -> None:
    truth = read_arrow_truth(save(tmp_path, {"labels": [["x", "y"], [], ["y"]]}))
    assert (truth.row_names, truth.label_names) == (["0", "1", "2"], ["x", "y"])
    assert truth.matrix.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    columns = {"row": ["2", "0"], "labels": [["y"], ["q", "x"]], "scores": [[1.0], [0.5, 0.25]]}
    found = read_arrow_scores(save(tmp_path, columns), truth)
    assert found.matrix.toarray().tolist() == [[0.25, 0, 0.5], [0, 0, 0], [0, 1, 0]]
    assert found.n_empty == 1
    path = save(tmp_path, {"labels": [["y"], ["q", "q"]], "scores": [[1.0], [0.5, 0.25]]})
    assert "row 1: label 'q' of instance '1' a second time" in refused(path, read_arrow_scores, truth)
    assert "no column 'scores'" in refused(save(tmp_path, {"labels": [["y"]]}), read_arrow_scores, truth)


def test_names_across_formats(tmp_path: Path) -> None:
    (tmp_path / "y.qrels").write_text("1 0 x 1\n2 0 y 1\n")
    truth = read_qrels(tmp_path / "y.qrels")
    columns = {"instance": [2, 1], "label": ["x", "x"], "score": [0.5, 1.0]}
    assert read_arrow_scores(save(tmp_path, columns), truth).matrix.toarray().tolist() == [[1.0, 0], [0.5, 0]]


# ------------------------------------------------------------------------------------------------ pieces


@st.composite
def ragged(draw: st.DrawFn) -> list[list[int]]:
    sizes = draw(st.lists(st.sampled_from([0, 0, 1, 2, 7]), max_size=9))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return [rng.permutation(9)[:size].tolist() for size in sizes]


@given(rows=ragged(), n_bytes=st.sampled_from([1, 40, 100, 300, 10**6]), ending=st.sampled_from(ENDINGS),
       size=st.integers(1, 4), known=st.booleans())  # fmt: skip
def test_pieces_make_up_the_whole(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, n_bytes: int, ending: str, size: int, known: bool
) -> None:
    folder, n_labels = tmp_path_factory.mktemp("arrow"), 9 if known else None
    values = [[float(j) / 8 for j in row] for row in rows]
    of, scored = pa.array(rows, pa.list_(pa.int64())), pa.array(values, pa.list_(pa.float64()))

    path = save(folder, {"labels": of}, ending, n_labels, size)
    found = list(arrow_pieces(path, "truth").read(n_bytes))
    assert all(piece.shape[0] == 1 or 8 * piece.shape[0] + 5 * piece.nnz <= n_bytes for piece in found)
    assert [row.tolist() for piece in found for row in np.split(piece.indices, piece.indptr[1:-1])] == rows
    assert read_truth(path).nnz == sum(map(len, rows))

    path = save(folder, {"labels": of, "scores": scored}, ending, n_labels, size)
    lists_found = list(arrow_pieces(path, "scores").read(n_bytes))
    assert all(len(labels) <= 1 or labels.nbytes + s.nbytes <= n_bytes for labels, s in lists_found)
    assert [row[row >= 0].tolist() for labels, _ in lists_found for row in labels] == rows
    assert [row[~np.isnan(row)].tolist() for _, piece in lists_found for row in piece] == values
    assert read_scores(path)[0].shape == (len(rows), max(map(len, rows), default=0))

    flat = [(i, j, j / 8) for i, row in enumerate(rows) for j in row]
    columns = {
        name: pa.array([entry[at] for entry in flat], kind)
        for at, (name, kind) in enumerate(
            (("row", pa.int32()), ("label", pa.int32()), ("score", pa.float32()))
        )
    }
    path = save(folder, columns, ending, n_labels, size)
    pieces = arrow_pieces(path, "scores")
    for _ in range(2):  # as often as one likes
        found = list(pieces.read(n_bytes))
        whole = [row.tolist() for piece in found for row in np.split(piece.indices, piece.indptr[1:-1])]
        while rows and not rows[-1]:
            rows.pop()  # nothing tells of them
        assert whole == rows
    assert all(piece.shape[0] == 1 or 8 * piece.shape[0] + 8 * piece.nnz <= n_bytes for piece in found)
    assert read_scores(path).shape[0] == len(rows)


# ------------------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read(tmp_path: Path, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    truth = sp.csr_array((rng.random((50, 30)) < 0.1).astype(np.int64))
    listed = sp.csr_array(np.where(rng.random((50, 30)) < 0.5, rng.integers(1, 5, (50, 30)), 0).astype(dtype))
    path = tmp_path / "f.parquet"
    write_parquet(path, truth, "truth")
    found = read_truth(path)
    assert found.shape == truth.shape
    assert (found != truth).nnz == 0
    write_parquet(path, listed, "scores")
    back = read_scores(path)
    assert back[1].dtype == dtype
    wanted = xmleval.evaluate(truth, listed, metrics=["p@3", "auc.micro", "ndcg@9"])
    assert xmleval.evaluate(truth, back, metrics=["p@3", "auc.micro", "ndcg@9"]).to_json() == wanted.to_json()
    write_parquet(path, back, "scores", n_labels=30)  # lists with ties keep their order
    again = read_scores(path)
    np.testing.assert_array_equal(again[0], back[0])
    write_parquet(path, (back[0], None), "scores")
    assert read_scores(path)[1] is None
    assert arrow_pieces(path, "scores").n_labels is None


def test_pieces_are_written(tmp_path: Path) -> None:
    first, second = save(tmp_path, entries(scored=False), n_labels=6), tmp_path / "g.parquet"
    write_parquet(second, arrow_pieces(first, "truth"), "truth")
    assert arrow_pieces(second, "truth").n_labels == 6
    assert (read_truth(second) != read_truth(first)).nnz == 0
    none = Pieces(0, 4, lambda _: iter(()))
    write_parquet(second, none, "truth")
    assert read_truth(second).shape == (0, 4)


def test_a_page_that_says_2_gib_takes_no_such_memory(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": lists()}, "parquet")
    content = path.read_bytes()
    header, at = content[4:40], 0  # of the first page: its kind, its size, and that in the file
    for _ in range(3):
        assert header[at] == 0x15  # the next field, a 32-bit integer of seven bits a byte
        first, at = at + 1, next(i for i in range(at + 1, 36) if header[i] < 0x80) + 1
    huge = header[:first] + b"\xe4\xff\xff\xff\x0f" + header[at:]  # 2^31 - 14
    path.write_bytes(content[:4] + huge + content[40:])
    code = """
import resource, sys, pyarrow.parquet, xmleval.cli
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert xmleval.cli.main(["stats", sys.argv[1]]) == 2
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert f"{path}: " in done.stderr
    assert float(done.stdout) < 300  # MiB


def test_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"as it was")
    parts = sp.csr_array([[1, 0]]), sp.csr_array([[1, 0], [0, 2]])
    for bad, said in (
        (parts[1], "truth: row 1: value 2"),
        (Pieces(None, None, lambda _: iter(parts)), "truth: row 2: value 2"),
        (Pieces(None, 3, lambda _: iter(parts)), "has 2 labels; 3 were expected"),
    ):
        with pytest.raises(ValueError, match=said):
            write_parquet(path, bad, "truth")
    floats = (np.array([[0]]), np.array([[0.5]], np.float32)), (np.array([[0]]), np.array([[0.1]]))
    with pytest.raises(ValueError, match="after rows of another type"):
        write_parquet(path, Pieces(None, 3, lambda _: iter(floats)), "scores")
    with pytest.raises(FileNotFoundError):
        write_parquet(tmp_path / "none" / "f.parquet", parts[0], "truth")
    assert [other.name for other in tmp_path.iterdir()] == ["f.parquet"]
    assert path.read_bytes() == b"as it was"


@pytest.mark.skipif(not (DATA / "bibtex").is_dir(), reason=NO_DATA)
def test_real_scores(tmp_path: Path) -> None:
    truth = sp.load_npz(DATA / "bibtex" / "Y_test.npz")
    pecos = sp.load_npz(DATA / "bibtex" / "scores_pecos.npz")
    write_parquet(tmp_path / "y.parquet", truth, "truth")
    write_parquet(tmp_path / "s.parquet", pecos, "scores")
    wanted = xmleval.evaluate(truth, pecos, metrics="xmc").to_json()
    whole = read_truth(tmp_path / "y.parquet"), read_scores(tmp_path / "s.parquet")
    assert xmleval.evaluate(*whole, metrics="xmc").to_json() == wanted
