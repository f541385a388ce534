"""Judgements and runs of TREC, and names of labels: matched with a truth, counted, written and read again."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer
from tests.limits import small_limits
from xmleval import evaluate
from xmleval.io import Pieces, read_names, read_qrels, read_run, read_truth, write_qrels, write_run

QRELS = "q2 0 cat 1\nq1 0 dog 2\nq1\t0\tcow\t0\n\n  q2 0 dog 3  \nq3 0 cat -1\n"
RUN = "q9 Q0 cat 1 1.0 m\nq1 Q0 dog 1 0.5 m\nq2 Q0 bee 7 -inf m\nq1 Q0 cat 2 1e-3 m\nq2 Q0 ant 1 -2 m\n"


def entries_of(named: Any) -> dict[tuple[str, str], float]:
    """Stored values by the names of their rows and labels."""
    cells = sp.coo_array(named.matrix)
    items = zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True)
    names = [*named.label_names, *named.unknown_labels]
    return {(named.row_names[i], names[j]): value for i, j, value in items}


def test_judgements_and_a_run_in_line_with_them() -> None:
    Path("y.qrels").write_text(QRELS)
    Path("m.run").write_text(RUN)
    truth = read_qrels("y.qrels")
    assert (truth.row_names, truth.label_names) == (["q2", "q1", "q3"], ["cat", "dog", "cow"])
    assert truth.matrix.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert (truth.matrix.format, truth.matrix.dtype) == ("csr", np.uint8)
    scores = read_run("m.run", truth)
    assert (scores.label_names, scores.unknown_labels) == (["cat", "dog", "cow"], ["bee", "ant"])
    assert (scores.n_empty, scores.n_ignored) == (1, 1)
    expected = {("q2", "bee"): -np.inf, ("q2", "ant"): -2, ("q1", "cat"): 0.001, ("q1", "dog"): 0.5}
    assert entries_of(scores) == expected
    report = evaluate(truth, scores, metrics="p@1")
    assert report["p@1"] == pytest.approx(1 / 3)
    assert report.unknown_labels == ["bee", "ant"]
    labels = ["cow", "ant", "dog", "cat"]
    matrix = read_qrels("y.qrels", labels).matrix
    assert matrix.toarray().tolist() == [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]]
    with pytest.raises(ValueError, match="line 2: label 'dog' is not one of the 2 given ones"):
        read_qrels("y.qrels", labels=["cow", "cat"])


@pytest.mark.parametrize("rank", ["0", "-1", "1.5", "x", "1e1"])
def test_runs_of_ms_marco_have_ranks_from_one(rank: str) -> None:
    Path("y.qrels").write_text(QRELS)
    Path("m.run").write_text(f"q1\tdog\t1\nq1\tcat\t{rank}\n")
    message = f"m.run: line 2: rank '{rank}' is not a number from 1 up"
    with pytest.raises(ValueError, match=f"^{message}"):
        read_run("m.run", read_qrels("y.qrels"))
    with pytest.raises(ValueError, match=f"^{message}"):
        evaluate("y.qrels", "m.run", metrics="p@1")
    assert f"xmleval: {message}" in answer(["evaluate", "y.qrels", "m.run"])[2]


CELLS: list[Any] = [[[1, 0, 0], [0, 0, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]], np.zeros((2, 3))]


@pytest.mark.parametrize("cells", CELLS)
def test_judgements_keep_rows_and_labels_that_are_never_relevant(cells: Any) -> None:
    truth = sp.csr_array(cells)
    for data in (truth, Pieces(len(cells), 3, lambda _: iter((truth[:2], truth[2:])))):
        write_qrels("y.qrels", data)
        np.testing.assert_array_equal(read_truth("y.qrels").toarray(), truth.toarray())


def test_runs_are_written_best_first_whole_or_not_at_all() -> None:
    path = Path("m.run")
    scores = sp.csr_array(np.array([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0]]))
    write_run(path, scores, row_names=["a", "b"], label_names=["x", "y", "z"])
    assert path.read_text() == "a Q0 z 1 0.9 xmleval\na Q0 x 2 0.5 xmleval\n"
    write_run(path, Pieces(3, 3, lambda _: iter((scores, scores[:1]))))
    assert [line.split()[0] for line in path.read_text().splitlines()] == ["0", "0", "2", "2"]
    write_run(path, (np.array([[2, -1, 0]]), None))
    text = "0 Q0 2 1 -1.0 xmleval\n0 Q0 0 2 -2.0 xmleval\n"
    assert path.read_text() == text
    with pytest.raises(ValueError, match="row_names"):
        write_run(path, np.eye(2), row_names=["a", "b c"])
    with pytest.raises(ValueError, match="score nan"):
        write_run(path, np.array([[np.nan]]))
    assert {each: each.read_text() for each in Path().iterdir()} == {path: text}


# a valid line, by its number, and a line that is none
LINES = {
    "y.qrels": ("q 0 {} 1", "q"),
    "y.run": ("q Q0 {} 1 0.5 m", "q"),
    "y.jsonl": ('{{"tags": ["{}"]}}', "x"),
    "y.csv": ("tags,{}", "x"),
}
NUMBERED = st.lists(st.sampled_from(["", "\t \r", "line", "line" + " " * 40]), max_size=30)


@pytest.mark.parametrize("name", LINES)
@given(lines=NUMBERED)
def test_lines_are_numbered_however_they_are_read(name: str, lines: list[str]) -> None:
    valid, fault = LINES[name]
    text = [line.replace("line", valid.format(number)) for number, line in enumerate(["line", *lines], 2)]
    if name == "y.csv":
        text = [line.strip() for line in text]
    text = ["tags,n" if name == "y.csv" else valid.format(1), *text, fault]
    Path(name).write_text("\n".join(text))
    Path("t.qrels").write_text("q 0 1 1\n")
    with small_limits():
        code, _, err = answer(["evaluate", "t.qrels", name] if name == "y.run" else ["stats", name])
    assert code == 2
    assert f"{name}: line {len(text)}: " in err


def test_names_of_labels() -> None:
    Path("labels.txt").write_bytes(b"\xef\xbb\xbfcat\r\nblack dog\r\n\r\n")
    Path("labels.txt.gz").write_bytes(gzip.compress(b"cat\nblack dog"))
    Path("labels.json").write_text('["cat", "black dog"]')
    assert all(read_names(path) == ["cat", "black dog"] for path in Path().iterdir())
