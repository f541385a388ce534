"""TREC's files, and names of rows and labels: matched, counted, refused by the line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import xmleval
from xmleval.input import lines
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.trec import read_qrels, read_run, write_qrels, write_run
from xmleval.input.names import NameIndex, read_names
from xmleval.input.pieces import Pieces

QRELS = "q2 0 cat 1\nq1 0 dog 2\nq1\t0\tcow\t0\n\n  q2 0 dog 3  \nq3 0 cat -1\n"
RUN = """q9 Q0 cat 1 1.0 m
q1 Q0 dog 1 0.5 m
q2 Q0 bee 7 -inf m
q1 Q0 cat 2 1e-3 m
q2 Q0 ant 1 -2 m
"""


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    (tmp_path / "y.qrels").write_text(QRELS)
    return tmp_path / "y.qrels"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "m.run").write_text(RUN)
    return tmp_path / "m.run"


def refused(call: Any, path: Path, *rest: Any) -> str:
    with pytest.raises(ValueError) as caught:
        call(path, *rest)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "; expected " in message
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


# ------------------------------------------------------------------------------------------ what is read


def test_judgements(qrels: Path) -> None:
    found = read_qrels(qrels)
    assert found.row_names == ["q2", "q1", "q3"]
    assert found.label_names == ["cat", "dog", "cow"]
    assert found.matrix.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert (found.matrix.format, found.matrix.dtype) == ("csr", np.uint8)


def test_labels_of_a_list(qrels: Path) -> None:
    found = read_qrels(qrels, labels=["cow", "ant", "dog", "cat"])
    assert found.matrix.toarray().tolist() == [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert "line 2: label 'dog' is not one of the 2 given ones" in refused(read_qrels, qrels, ["cow", "cat"])


def test_a_run_in_line_with_the_truth(qrels: Path, run: Path) -> None:
    truth = read_qrels(qrels)
    found = read_run(run, truth)
    assert found.row_names == truth.row_names
    assert found.label_names == ["cat", "dog", "cow", "bee", "ant"]
    assert (found.n_empty, found.n_ignored, found.n_new_labels) == (1, 1, 2)
    stored = sp.coo_array(found.matrix)
    cells = zip(stored.row.tolist(), stored.col.tolist(), stored.data.tolist(), strict=True)
    assert sorted(cells) == [(0, 3, -np.inf), (0, 4, -2.0), (1, 0, 0.001), (1, 1, 0.5)]
    wide = truth.widened(found.label_names)
    assert wide.matrix.shape == found.matrix.shape
    assert (wide.matrix[:, :3] != truth.matrix).nnz == 0
    assert xmleval.evaluate(wide.matrix, found.matrix, metrics="p@1")["p@1"] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="do not begin with"):
        truth.widened(["dog", "cat", "cow"])


@pytest.mark.parametrize("change", ["gzip", "crlf", "bom"])
def test_the_same_in_other_clothes(qrels: Path, run: Path, change: str) -> None:
    truth = read_qrels(qrels)
    wanted = read_run(run, truth)
    for path in (qrels, run):
        held = path.read_bytes()
        if change == "gzip":
            path.write_bytes(gzip.compress(held))
        else:
            path.write_bytes(held.replace(b"\n", b"\r\n") if change == "crlf" else b"\xef\xbb\xbf" + held)
    assert read_qrels(qrels).row_names == truth.row_names
    found = read_run(run, read_qrels(qrels))
    np.testing.assert_array_equal(found.matrix.toarray(), wanted.matrix.toarray())


@given(order=st.permutations(range(6)))
def test_lines_in_any_order(tmp_path_factory: pytest.TempPathFactory, order: list[int]) -> None:
    lines = [f"q{i % 2} 0 l{i // 2} {i % 3}\n" for i in range(6)]
    path = tmp_path_factory.mktemp("trec") / "y.qrels"
    path.write_text("".join(lines[i] for i in order))
    found = read_qrels(path)
    dense = found.matrix.toarray()
    for i in range(6):
        cell = dense[found.row_names.index(f"q{i % 2}"), found.label_names.index(f"l{i // 2}")]
        assert cell == (i % 3 > 0)


# ------------------------------------------------------------------------------------------- round trips


@st.composite
def matrices(draw: st.DrawFn) -> Any:
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return sp.csr_array((rng.random(shape) < draw(st.sampled_from([0, 0.3, 1]))).astype(np.uint8))


@given(truth=matrices(), pieces=st.booleans())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, truth: Any, pieces: bool) -> None:
    folder = tmp_path_factory.mktemp("trec")
    n_rows, n_labels = truth.shape
    given_truth = truth
    if pieces:
        given_truth = Pieces(n_rows, n_labels, lambda _: (truth[i : i + 2] for i in range(0, n_rows, 2)))
    write_qrels(folder / "y.qrels", given_truth)
    np.testing.assert_array_equal(read_truth(folder / "y.qrels").toarray(), truth.toarray())
    rng = np.random.default_rng(n_rows)
    scores = sp.csr_array(truth.astype(np.float32))
    scores.data = rng.choice(np.array([0, 0.1, -1e30, np.inf], np.float32), scores.nnz)
    write_run(folder / "m.run", scores)
    if not scores.nnz:
        return
    named = read_qrels(folder / "y.qrels")
    found = read_run(folder / "m.run", named)
    assert found.n_ignored == 0
    stored = sp.coo_array(scores)
    held = {(str(i), str(j)): v for i, j, v in zip(stored.row, stored.col, stored.data.tolist(), strict=True)}
    back = sp.coo_array(found.matrix)
    assert held == {
        (found.row_names[i], found.label_names[j]): v
        for i, j, v in zip(back.row, back.col, back.data.tolist(), strict=True)
    }


def test_a_run_best_first_with_names(tmp_path: Path) -> None:
    scores = sp.csr_array(np.array([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0]]))
    write_run(tmp_path / "m.run", scores, row_names=["a", "b"], label_names=["x", "y", "z"])
    assert (tmp_path / "m.run").read_text() == "a Q0 z 1 0.9 xmleval\na Q0 x 2 0.5 xmleval\n"
    write_run(tmp_path / "m.run", (np.array([[2, -1, 0]]), None))
    assert (tmp_path / "m.run").read_text() == "0 Q0 2 1 -1.0 xmleval\n0 Q0 0 2 -2.0 xmleval\n"


def test_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "y.qrels").write_text("as it was")
    truth = np.array([[1, 0], [0, 1]])
    for words in (["a"], ["a", "b c"], ["a", ""]):
        with pytest.raises(ValueError, match="row_names"):
            write_qrels(tmp_path / "y.qrels", truth, row_names=words)
    with pytest.raises(ValueError, match="row 1: value 2"):
        write_qrels(tmp_path / "y.qrels", truth * [[1], [2]])
    with pytest.raises(ValueError, match="score nan"):
        write_run(tmp_path / "y.qrels", np.array([[np.nan]]))
    with pytest.raises(FileNotFoundError):
        write_qrels(tmp_path / "none" / "y.qrels", truth)
    assert [path.name for path in tmp_path.iterdir()] == ["y.qrels"]
    assert (tmp_path / "y.qrels").read_text() == "as it was"


# ------------------------------------------------------------------------------------- what is not read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("q 0 a\n", "line 1: 3 fields, not 4"),
        ("\nq Q0 a 1 0.5 tag\n", "line 2: 6 fields, not 4"),
        ("q 0 a 1.0\n", "line 1: relevance '1.0' is not an integer"),
        ("q 0 a 1_0\n", "relevance '1_0' is not an integer"),
        ("q 0 a " + "9" * 5000 + "\n", "is not an integer"),
        ("q 0 a 1\nq 0 b 1\nq 0 a 0\n", "line 3: label 'a' of instance 'q' a second time"),
        ("q 0 a 1\nr 0 b 1\nr 0 b 1\nq 0 a 1\n", "line 3: label 'b' of instance 'r' a second time"),
    ],
)
def test_qrels_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "y.qrels").write_text(text)
    assert said in refused(read_qrels, tmp_path / "y.qrels")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 0 dog 1\n", "line 1: 4 fields, not 6"),
        ("q1 Q0 dog 1 1 m" + " x" * 99 + "\n", "line 1: 7 or more fields, not 6"),
        ("q1 Q0 dog 1 high m\n", "line 1: score 'high' is not a number"),
        ("q1 Q0 dog 1 nan m\n", "line 1: score 'nan' is not a number"),
        ("q1 Q0 dog 1 1_0 m\n", "score '1_0' is not a number"),
        ("q1 Q0 dog 1 1 m\nq1 Q0 dog 2 1 m\n", "line 2: label 'dog' of instance 'q1' a second time"),
    ],
)
def test_runs_that_are_none(tmp_path: Path, qrels: Path, text: str, said: str) -> None:
    (tmp_path / "m.run").write_text(text)
    assert said in refused(read_run, tmp_path / "m.run", read_qrels(qrels))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q 0 1 1\n", "instance 'q' is not called by a number"),
        ("0 0 x 1\n", "label 'x' is not called by a number"),
        ("0 0 01 1\n", "label '01' is not called by a number"),
        ("0 0 1 1\n2 0 1 1\n", "instance 2, of 2"),
        ("301 0 1 1\n", "instance 301, of 1"),
    ],
)
def test_names_are_not_taken_for_numbers(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "y.qrels").write_text(text)
    assert said in refused(read_truth, tmp_path / "y.qrels")
    with pytest.raises(ValueError, match="holds no scores"):
        read_scores(tmp_path / "y.qrels")


def test_files_that_are_none(tmp_path: Path, qrels: Path) -> None:
    qrels.write_bytes(gzip.compress(qrels.read_bytes())[:-12])
    assert "gzip stream is cut short" in refused(read_qrels, qrels)
    qrels.write_bytes(b"q 0 a 1\nq 0 b\xff 1\n")
    assert "line 2 is not in UTF-8" in refused(read_qrels, qrels)
    with pytest.raises(FileNotFoundError):
        read_qrels(tmp_path / "none.qrels")
    with pytest.raises(IsADirectoryError):
        read_qrels(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
def test_no_permission(qrels: Path) -> None:
    qrels.chmod(0)
    with pytest.raises(PermissionError, match=r"y\.qrels"):
        read_qrels(qrels)


@given(data=st.data(), packed=st.booleans())
def test_mutated_bytes(tmp_path_factory: pytest.TempPathFactory, data: Any, packed: bool) -> None:
    folder = tmp_path_factory.mktemp("trec")
    truth = folder / "y.qrels"
    truth.write_text(QRELS)
    like = read_qrels(truth)
    for text, read in ((QRELS, read_qrels), (RUN, lambda path: read_run(path, like))):
        held = bytearray(gzip.compress(text.encode()) if packed else text.encode())
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(held) - 1))
            held[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3))
        (folder / "mutated").write_bytes(held)
        try:
            found = read(folder / "mutated")
        except (ValueError, OSError) as error:
            assert str(folder) in str(error)  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert found.matrix.shape == (len(found.row_names), len(found.label_names))


# ------------------------------------------------------------------------------------------------ names


def test_an_index_of_names() -> None:
    index = NameIndex(["a", "b"])
    assert [index.add(name) for name in ("b", "c", "a", "c")] == [1, 2, 0, 2]
    assert (index.find("c"), index.find("d"), len(index), index.names) == (2, None, 3, ["a", "b", "c"])
    with pytest.raises(ValueError, match="'a' occurs twice, the second time in place 2"):
        NameIndex(["a", "b", "a"])


def test_names_of_labels(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes(b"\xef\xbb\xbfcat\r\nblack dog\r\n\r\n")
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(b"cat\nblack dog"))
    (tmp_path / "labels.json").write_text('["cat", "black dog"]')
    for path in tmp_path.iterdir():
        assert read_names(path) == ["cat", "black dog"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("l.txt", "a\n\nb\n", "name 1 is empty"),
        ("l.txt", "a\nb\na\n", "name 'a' occurs twice, the second time in place 2"),
        ("l.json", '["a", 1]', "name 1 is '1', not a string"),
        ("l.json", '["a", ""]', "name 1 is empty"),
        ("l.json", '{"a": 1}', "a JSON dict, not a list"),
        ("l.json", '["a"', "; expected names of labels"),
        ("l.json", "[" * 200000, "nested without end"),
    ],
)
def test_names_that_are_none(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    assert said in refused(read_names, tmp_path / name)


def test_much_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_JSON_BYTES", 9)
    (tmp_path / "l.json").write_text('["a", "b"]')
    assert "more than 9 bytes of JSON" in refused(read_names, tmp_path / "l.json")
