"""Parquet and Arrow files: columns, names and writing."""

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import pieces_of
from tests.made_tables import ENDINGS, lists
from tests.made_tables import save as save_in
from xmleval import evaluate
from xmleval.io import (
    Pieces,
    read_arrow_scores,
    read_arrow_truth,
    read_qrels,
    read_scores,
    read_truth,
    write_parquet,
)

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; the extra 'arrow' has it")

save = partial(save_in, Path())
SCORES = [[1.5, 0.5], [], [-1.0], [0.75, 0.25, -np.inf]]
DENSE = [
    [0, 1, 0, 1],
    [0, 0, 0, 0],
    [1, 0, 0, 0],
    [1, 0, 1, 1],
]
ENTRIES = [
    (0, 3, 1.5),
    (0, 1, 0.5),
    (2, 0, -1.0),
    (3, 2, 0.75),
    (3, 0, 0.25),
    (3, 3, -np.inf),
]
KINDS = {
    "list": None,
    "large_list": pa.large_list(pa.int32()),
    "uint16": pa.list_(pa.uint16()),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_arrow_files_have_a_row_for_each_instance(ending: str, kind: str) -> None:
    labels_of_rows = lists(KINDS[kind])
    path = save({"id": ["x"] * 4, "labels": labels_of_rows}, ending, n_labels=5)
    truth = read_truth(path)
    assert truth.shape == (4, 5)
    assert truth.dtype == np.uint8
    assert truth.format == "csr"
    assert truth.toarray()[:, :4].tolist() == DENSE

    labels, no_scores = read_scores(path)
    assert no_scores is None
    assert labels.tolist() == [
        [3, 1, -1],
        [-1, -1, -1],
        [0, -1, -1],
        [2, 0, 3],
    ]

    scores = pa.array(SCORES, pa.list_(pa.float32()))
    path = save({"labels": labels_of_rows, "scores": scores}, ending)
    labels, values = read_scores(path)
    assert values.dtype == np.float32
    assert values[labels >= 0].tolist() == [score for row in SCORES for score in row]
    assert np.isnan(values[labels < 0]).all()

    empty = pa.array([], pa.list_(pa.int64()))
    path = save({"labels": empty}, ending, n_labels=3)
    assert read_truth(path).shape == (0, 3)
    assert read_scores(path).shape == (0, 3)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("instance", ["instance", "row"])
def test_arrow_files_have_a_row_for_each_label(ending: str, instance: str) -> None:
    rows, labels, scores = map(list, zip(*ENTRIES, strict=True))
    columns = {
        instance: rows,
        "label": labels,
        "score": scores,
    }
    matrix = read_scores(save(columns, ending, n_labels=7))
    assert matrix.shape == (4, 7)
    cells = sp.coo_array(matrix)
    entries = zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True)
    assert sorted(entries) == sorted(ENTRIES)

    in_any_order = {
        instance: [3, 0, 2, 3, 0, 3],
        "label": [2, 3, 0, 0, 1, 3],
    }
    path = save(in_any_order, ending)
    assert read_truth(path).toarray().tolist() == DENSE
    batches = pieces_of(path, "truth").read(1)
    assert [batch.labels.tolist() for batch in batches] == [
        [3, 1],
        [],
        [0],
        [2, 0, 3],
    ]


def test_read_scores_of_fixed_size_lists() -> None:
    slots = pa.array([[1, 0], [2, -1]], pa.list_(pa.int32(), 2))
    path = save({"labels": slots, "scores": [[0.5, 0.25], [1.0, np.nan]]})
    labels, values = read_scores(path)
    assert labels.tolist() == [[1, 0], [2, -1]]
    assert values[0].tolist() == [0.5, 0.25]

    path = save({"labels": slots})
    message = r"row 1: label id -1 is not in 0\.\.\d*; expected"
    with pytest.raises(ValueError, match=message):
        read_truth(path)

    path = save({"row": [0, 1, 3, 2], "labels": lists()})
    message = "row 2: row 3, but lists must be in the order of their rows"
    with pytest.raises(ValueError, match=message):
        read_truth(path)


def test_read_arrow_matches_names_of_instances_and_labels() -> None:
    path = save({"instance": ["b", "a", "b"], "label": ["x", "y", "z"]})
    truth = read_arrow_truth(path)
    assert truth.row_names == ["b", "a"]
    assert truth.label_names == ["x", "y", "z"]
    assert truth.matrix.toarray().tolist() == [
        [1, 0, 1],
        [0, 1, 0],
    ]

    columns: dict[str, Any] = {
        "instance": ["b", "c", "b"],
        "label": pa.array(["w", "x", "x"]).dictionary_encode(),
        "score": [0.5, 1.0, 0.25],
    }
    scores = read_arrow_scores(save(columns, "arrow"), truth)
    assert scores.label_names == ["x", "y", "z"]
    assert scores.unknown_labels == ["w"]
    assert scores.matrix.toarray().tolist() == [
        [0.25, 0, 0, 0.5],
        [0, 0, 0, 0],
    ]
    assert scores.n_empty == 1
    assert scores.n_ignored == 1

    message = "row 0: label 'x' is not one of the 1 listed labels; labels= must"
    with pytest.raises(ValueError, match=message):
        read_arrow_truth(path, ["y"])

    # the truth makes names of the numbers
    Path("y.qrels").write_text("1 0 x 1\n2 0 y 1\n")
    columns = {
        "instance": [2, 1],
        "label": ["x", "x"],
        "score": [0.5, 1.0],
    }
    scores = read_arrow_scores(save(columns), read_qrels("y.qrels"))
    assert scores.matrix.toarray().tolist() == [[1.0, 0], [0.5, 0]]


def test_write_parquet_of_rankings_scores_and_missing_rows() -> None:
    labels = np.array([[2, 0], [1, -1]])
    write_parquet("s.parquet", (labels, None), "scores")
    assert read_scores("s.parquet")[1] is None
    assert pieces_of(Path("s.parquet"), "scores").n_labels is None

    scores = labels, np.array([[0.5, 0.5], [0.1, np.nan]])
    write_parquet("s.parquet", scores, "scores", n_labels=30)
    assert pieces_of(Path("s.parquet"), "scores").n_labels == 30
    np.testing.assert_array_equal(read_scores("s.parquet"), scores)

    path = save({"row": [0, 2, 3], "label": [3, 0, 2]}, n_labels=6)
    no_rows = Pieces(0, 4, lambda _: iter(()))
    for pieces, shape in (
        (pieces_of(path, "truth"), (4, 6)),
        (no_rows, (0, 4)),
    ):
        write_parquet("t.feather", pieces, "truth")  # Feather is Arrow IPC
        assert read_truth("t.feather").shape == shape


class BadBatches(NamedTuple):
    """Batches whose second one cannot be written."""

    batches: Iterable[Any]
    n_labels: int | None
    kind: str
    message: str

    def pieces(self) -> Pieces:
        return Pieces(None, self.n_labels, lambda _: iter(self.batches))


def test_write_parquet_keeps_the_file_when_it_fails() -> None:
    path = Path("f.parquet")
    path.write_bytes(b"as it was")
    matrices = sp.csr_array([[1, 0]]), sp.csr_array([[1, 0], [0, 2]])
    one_label = np.array([[0]])
    lists = (
        (one_label, np.array([[0.5]], np.float32)),
        (one_label, np.array([[0.1]])),
    )
    for case in (
        BadBatches(matrices, None, "truth", "truth: row 2: value 2"),
        BadBatches(matrices, 3, "truth", "has 2 labels; 3 were expected"),
        BadBatches(lists, 3, "scores", "after rows of another type"),
    ):
        pieces = case.pieces()
        with pytest.raises(ValueError, match=case.message):
            write_parquet(path, pieces, case.kind)
    contents = {each: each.read_bytes() for each in Path().iterdir()}
    assert contents == {path: b"as it was"}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            {"instance": ["a"], "labels": [["x"]]},
            {"instance": ["b"], "label": ["x"]},
            "has columns 'instance, label', unlike parts/1.parquet",
        ),
        (
            {"instance": ["a"], "labels": [["x"]]},
            {"labels": [["x"]]},
            "has columns 'labels', unlike parts/1.parquet",
        ),
        (
            {"labels": [[0]]},
            {"row": [1], "label": [0]},
            "has columns 'row, label', unlike parts/1.parquet",
        ),
        (
            {"row": [0, 1], "label": [0, 1]},
            {"row": [2, 1], "label": [0, 0]},
            "row 1 is also in parts/1.parquet; expected each row in one file",
        ),
        (
            {"a": [1, 0], "b": [0, 1]},
            {"a": [1], "c": [0]},
            "column 'c' is not in both, this file and parts/1.parquet",
        ),
        (
            {"a": [1, 0], "b": [0, 1]},
            {"a": [1]},
            "column 'b' is not in both, this file and parts/1.parquet",
        ),
        (
            {"a": [1, 0], "b": [0, 1]},
            {"a": [1], "b": [None]},
            "row 0: column 'b': the cell is empty; give 0 if the label is not relevant",
        ),
    ],
)
def test_tables_of_one_truth_have_the_same_columns(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    Path("parts").mkdir(exist_ok=True)
    for number, columns in enumerate((first, second), 1):
        save_in(Path("parts"), columns).rename(f"parts/{number}.parquet")
    with pytest.raises(ValueError, match=f"^parts/2.parquet: {re.escape(message)}"):
        evaluate("parts", np.eye(3, 2), metrics="p@1")


def test_columns_of_labels_may_be_in_another_order_in_each_table() -> None:
    Path("parts").mkdir()
    scores = np.array([[3.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    save_in(Path("parts"), {"a": [1, 0], "b": [0, 1]}).rename("parts/1.parquet")
    save_in(Path("parts"), {"b": [False], "a": [True]}).rename("parts/2.parquet")
    report = evaluate("parts", scores, metrics="p@1", per_row=True)
    assert report.per_row()["p@1"].tolist() == [1.0, 1.0, 0.0]


def test_nulls_among_names_are_refused_with_their_column() -> None:
    names = pa.array(["x", None])
    scores = {"a": {"x": 1.0}}
    path = save({"instance": ["a", "b"], "label": names.dictionary_encode()})
    with pytest.raises(ValueError, match=r"f\.parquet: row 1: 'label' is null; expected"):
        evaluate(path, scores, metrics="p@1")
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1]), names)
    path = save({"instance": ["a", "b"], "label": dictionary}, "arrow")
    message = r"f\.arrow: a null among the values of the dictionary of 'label'; expected"
    with pytest.raises(ValueError, match=message):
        evaluate(path, scores, metrics="p@1")


def test_lists_of_names_without_scores_rank_in_their_order() -> None:
    path = save({"instance": ["q", "p"], "labels": [["y", "x", "z"], ["x"]]})
    scores = read_arrow_scores(path, [*"xyz"])
    assert scores.matrix.toarray().tolist() == [[-2.0, -1.0, -3.0], [-1.0, 0.0, 0.0]]
    truth = {"q": ["y"], "p": ["x"]}
    for y_score in (scores, path, {"q": [*"yxz"], "p": ["x"]}):
        assert evaluate(truth, y_score, metrics="p@1", labels=[*"xyz"])["p@1"] == 1.0
