"""Parquet and Arrow files that do not hold what they should: every fault in one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.input.test_arrow import ENDINGS, entries, lists, refused, save, scores
from xmleval.input.formats.arrow_names import read_arrow_scores, read_arrow_truth
from xmleval.input.formats.parquet import write_parquet
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.tabular import arrow_pieces

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; the extra 'arrow' has it")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("columns", "kind", "said"),
    [
        ({"a": [1], "b": [2]}, "truth", "its columns are 'a', 'b'"),
        ({"label": [1]}, "truth", "its columns are 'label'"),
        ({"row": [1], "instance": [1], "label": [1]}, "truth", "its columns are 'row', 'instance', 'label'"),
        ({"labels": [[1]], "scores": [[0.5]]}, "truth", "a column 'scores' in what should be"),
        ({"row": [0], "label": [1]}, "scores", "no column 'score' beside 'label'"),
        ({"labels": [1, 2]}, "truth", "column 'labels' is int64, not lists"),
        ({"labels": [[0.5]]}, "truth", "column 'labels' holds double, not integers"),
        ({"labels": [["x"]]}, "truth", "column 'labels' holds string, names"),
        ({"labels": [[1]], "scores": [["x"]]}, "scores", "column 'scores' holds string, not floating-point"),
        ({"labels": [[1], [2], None]}, "truth", "row 2: 'labels' is null"),
        ({"labels": [[1], [2], [3, None]]}, "truth", "row 2: a null in 'labels'"),
        ({"labels": [[1], [], [2]], "scores": [[1.0], [], [None]]}, "scores", "row 2: a null in 'scores'"),
        ({"labels": [[1], [1], [2]], "scores": [[1.0], [1.0], [np.nan]]}, "scores", "row 2: a score is NaN"),
        ({"labels": [[1], [], [2]], "scores": [[1.0], [], [1.0, 2]]}, "scores", "row 2: 1 labels with 2"),
        ({"labels": [[1], [], [-2]]}, "scores", "row 2: label id -2 is not in 0..4"),
        ({"labels": [[1], [], [0, 5]]}, "truth", "row 2: label id 5 is not in 0..4"),
        ({"row": [0, 1, -1], "label": [1, 1, 1]}, "truth", "row 2: row -1 is negative"),
        ({"row": [0, 1, None], "label": [1, 1, 1]}, "truth", "row 2: 'row' is null"),
        ({"row": [0, 1, 2], "label": [1, 1, None]}, "truth", "row 2: 'label' is null"),
        ({"row": [0, 1, 2], "label": [1, 1, 5]}, "truth", "row 2: label id 5 is not in 0..4"),
        ({"row": [0, 1, 2], "label": [1, 1, 1], "score": [1, 1, np.nan]}, "scores", "row 2: a score is NaN"),
        ({"row": [0, 1, 10**15], "label": [1, 1, 1]}, "truth", "1000000000000001 instances with 3 labels"),
        ({"row": ["a"], "label": [1]}, "truth", "column 'row' holds string, names"),
    ],
)  # fmt: skip
def test_columns_that_do_not_fit(
    tmp_path: Path, ending: str, columns: dict[str, Any], kind: str, said: str
) -> None:
    path = save(tmp_path, columns, ending, n_labels=5)
    assert said in refused(path, read_truth if kind == "truth" else read_scores)
    with pytest.raises(ValueError) as caught:
        list(arrow_pieces(path, kind).read(50))
    assert said.replace("with 3 labels", "with") in str(caught.value)


@pytest.mark.parametrize("text", ["0", "-1", "many", "5.0", "9" * 99])
def test_metadata_that_tell_nothing(tmp_path: Path, text: str) -> None:
    assert "n_labels in its metadata is" in refused(save(tmp_path, {"labels": [[1]]}, n_labels=text))


def test_large_ids(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": pa.array([[2**64 - 1]], pa.list_(pa.uint64()))})
    assert "row 0: label id" in refused(path)
    found = read_truth(save(tmp_path, {"labels": [[2**40 - 1]]}))
    assert found.shape == (1, 2**40)


def test_a_long_row_does_not_widen_all(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": [list(range(20000)), *([[1]] * 30000)]}, size=10**6)
    assert "a row of 20000 labels, where 30001 rows have 50000" in refused(path, read_scores)
    pieces = list(arrow_pieces(path, "scores").read(1 << 20))
    assert sum(labels.shape[0] for labels, _ in pieces) == 30001
    assert max(labels.nbytes for labels, _ in pieces) <= 1 << 20


def test_rows_of_nothing(tmp_path: Path) -> None:
    nothing = pa.array([[]] * 5, pa.list_(pa.int64(), 0))
    assert "not lists" in refused(save(tmp_path, {"labels": nothing}, "arrow"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_are_none(tmp_path: Path, ending: str) -> None:
    path = save(tmp_path, {"labels": lists()}, ending)
    held = path.read_bytes()
    for cut in (held[:-9], held[: len(held) // 2], held[:12], held[:7] + os.urandom(500)):
        path.write_bytes(cut)
        refused(path)
    path.write_bytes(b"")
    assert "the file is empty" in refused(path)
    path.write_bytes(b"FEA1" * 9)
    assert "it begins neither as Parquet nor as Arrow IPC" in refused(path)
    with pytest.raises(FileNotFoundError):
        read_truth(tmp_path / "none.parquet")
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        read_truth(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": lists()})
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"f\.parquet"):
        read_truth(path)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, {"labels": lists()})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pyarrow is not installed: pip install 'xmleval[arrow]'" in refused(path)
    with pytest.raises(ValueError, match=r"pip install 'xmleval\[arrow\]'"):
        write_parquet(path, np.eye(2), "truth")


@given(data=st.data(), ending=st.sampled_from(ENDINGS), form=st.sampled_from(["lists", "entries", "names"]))
def test_mutated_bytes(tmp_path_factory: pytest.TempPathFactory, data: Any, ending: str, form: str) -> None:
    folder = tmp_path_factory.mktemp("arrow")
    columns: dict[str, Any] = {"labels": lists(), "scores": scores()} if form == "lists" else entries()
    if form == "names":
        columns["label"] = pa.array([f"l{label}" for label in columns["label"]]).dictionary_encode()
    path = save(folder, columns, ending, n_labels=5)
    held = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(held) - 1))
        new = data.draw(st.binary(max_size=4))
        held[place : place + data.draw(st.sampled_from([len(new), 0, 1, 8]))] = new
    path.write_bytes(held)
    try:
        if form == "names":
            read_arrow_scores(path, read_arrow_truth(save(folder, entries(scored=False), "arrow")))
        else:
            read_scores(path)
    except (ValueError, OSError) as error:
        assert str(folder) in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
