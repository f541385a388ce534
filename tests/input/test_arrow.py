"""Parquet and Arrow files: their columns, their names, and what is written."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import pieces_of
from tests.made_tables import ENDINGS, lists
from tests.made_tables import save as save_in
from xmleval import io

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; the extra 'arrow' has it")

save = partial(save_in, Path())
SCORES = [[1.5, 0.5], [], [-1.0], [0.75, 0.25, -np.inf]]
DENSE = [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 1]]
ENTRIES = [(0, 3, 1.5), (0, 1, 0.5), (2, 0, -1.0), (3, 2, 0.75), (3, 0, 0.25), (3, 3, -np.inf)]
KINDS = {"list": None, "large_list": pa.large_list(pa.int32()), "uint16": pa.list_(pa.uint16())}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_for_each_instance(ending: str, kind: str) -> None:
    labels_of_rows = lists(KINDS[kind])
    path = save({"id": ["x"] * 4, "labels": labels_of_rows}, ending, n_labels=5)
    truth = io.read_truth(path)
    assert (truth.shape, truth.dtype, truth.format) == ((4, 5), np.uint8, "csr")
    assert truth.toarray()[:, :4].tolist() == DENSE
    labels, none = io.read_scores(path)  # a ranking without scores
    assert none is None
    assert labels.tolist() == [[3, 1, -1], [-1, -1, -1], [0, -1, -1], [2, 0, 3]]
    path = save({"labels": labels_of_rows, "scores": pa.array(SCORES, pa.list_(pa.float32()))}, ending)
    labels, values = io.read_scores(path)
    assert values.dtype == np.float32
    assert values[labels >= 0].tolist() == [s for row in SCORES for s in row]
    assert np.isnan(values[labels < 0]).all()
    path = save({"labels": pa.array([], pa.list_(pa.int64()))}, ending, n_labels=3)
    assert (io.read_truth(path).shape, io.read_scores(path).shape) == ((0, 3), (0, 3))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("instance", ["instance", "row"])
def test_a_row_for_each_label(ending: str, instance: str) -> None:
    columns = dict(zip((instance, "label", "score"), map(list, zip(*ENTRIES, strict=True)), strict=True))
    matrix = io.read_scores(save(columns, ending, n_labels=7))
    assert matrix.shape == (4, 7)
    cells = sp.coo_array(matrix)
    items = zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True)
    assert sorted(items) == sorted(ENTRIES)
    path = save({instance: [3, 0, 2, 3, 0, 3], "label": [2, 3, 0, 0, 1, 3]}, ending)  # in any order
    assert io.read_truth(path).toarray().tolist() == DENSE
    pieces = pieces_of(path, "truth").read(1)
    assert [rows.labels.tolist() for rows in pieces] == [[3, 1], [], [0], [2, 0, 3]]


def test_lists_of_one_length_and_numbers_of_rows() -> None:
    slots = pa.array([[1, 0], [2, -1]], pa.list_(pa.int32(), 2))
    labels, values = io.read_scores(save({"labels": slots, "scores": [[0.5, 0.25], [1.0, np.nan]]}))
    assert (labels.tolist(), values[0].tolist()) == ([[1, 0], [2, -1]], [0.5, 0.25])
    with pytest.raises(ValueError, match=r"row 1: label id -1 is not in 0\.\.\d*; expected"):
        io.read_truth(save({"labels": slots}))
    with pytest.raises(ValueError, match="row 2: row 3, where lists stand in the order of their rows"):
        io.read_truth(save({"row": [0, 1, 3, 2], "labels": lists()}))


def test_names_of_instances_and_labels() -> None:
    path = save({"instance": ["b", "a", "b"], "label": ["x", "y", "z"]})
    truth = io.read_arrow_truth(path)
    assert (truth.row_names, truth.label_names) == (["b", "a"], ["x", "y", "z"])
    assert truth.matrix.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    coded = pa.array(["w", "x", "x"]).dictionary_encode()
    columns: dict[str, Any] = {"instance": ["b", "c", "b"], "label": coded, "score": [0.5, 1.0, 0.25]}
    actual = io.read_arrow_scores(save(columns, "arrow"), truth)
    assert (actual.label_names, actual.unknown_labels) == (["x", "y", "z"], ["w"])
    assert actual.matrix.toarray().tolist() == [[0.25, 0, 0, 0.5], [0, 0, 0, 0]]
    assert (actual.n_empty, actual.n_ignored) == (1, 1)
    with pytest.raises(ValueError, match="row 0: label 'x' is not one of the 1 given ones; labels= must"):
        io.read_arrow_truth(path, ["y"])
    Path("y.qrels").write_text("1 0 x 1\n2 0 y 1\n")  # by which numbers are names
    columns = {"instance": [2, 1], "label": ["x", "x"], "score": [0.5, 1.0]}
    actual = io.read_arrow_scores(save(columns), io.read_qrels("y.qrels"))
    assert actual.matrix.toarray().tolist() == [[1.0, 0], [0.5, 0]]


def test_tables_are_written_of_lists_without_scores_and_of_rows_that_lack_some() -> None:
    io.write_parquet("s.parquet", (np.array([[2, 0], [1, -1]]), None), "scores")
    assert io.read_scores("s.parquet")[1] is None
    assert pieces_of(Path("s.parquet"), "scores").n_labels is None
    scores = np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.5], [0.1, np.nan]])
    io.write_parquet("s.parquet", scores, "scores", n_labels=30)
    assert pieces_of(Path("s.parquet"), "scores").n_labels == 30
    np.testing.assert_array_equal(io.read_scores("s.parquet"), scores)
    first = save({"row": [0, 2, 3], "label": [3, 0, 2]}, n_labels=6)
    for pieces, shape in ((pieces_of(first, "truth"), (4, 6)), (io.Pieces(0, 4, lambda _: iter(())), (0, 4))):
        io.write_parquet("t.feather", pieces, "truth")  # which is Arrow IPC
        assert io.read_truth("t.feather").shape == shape


def test_nothing_is_half_written() -> None:
    path = Path("f.parquet")
    path.write_bytes(b"as it was")
    parts = sp.csr_array([[1, 0]]), sp.csr_array([[1, 0], [0, 2]])
    floats = (np.array([[0]]), np.array([[0.5]], np.float32)), (np.array([[0]]), np.array([[0.1]]))
    for data, kind, message in [
        (io.Pieces(None, None, lambda _: iter(parts)), "truth", "truth: row 2: value 2"),
        (io.Pieces(None, 3, lambda _: iter(parts)), "truth", "has 2 labels; 3 were expected"),
        (io.Pieces(None, 3, lambda _: iter(floats)), "scores", "after rows of another type"),
    ]:
        with pytest.raises(ValueError, match=message):
            io.write_parquet(path, data, kind)
    assert {each: each.read_bytes() for each in Path().iterdir()} == {path: b"as it was"}
