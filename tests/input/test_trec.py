"""Judgements and runs of TREC, and files with names of labels."""

import gzip
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

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
RUN = (
    "q9 Q0 cat 1 1.0 m\n"
    "q1 Q0 dog 1 0.5 m\n"
    "q2 Q0 bee 7 -inf m\n"
    "q1 Q0 cat 2 1e-3 m\n"
    "q2 Q0 ant 1 -2 m\n"
)


def entries_of(named: Any) -> dict[tuple[str, str], float]:
    """Return stored values by the names of their rows and labels."""
    cells = sp.coo_array(named.matrix)
    row_names = named.row_names
    label_names = [*named.label_names, *named.unknown_labels]
    entries: dict[tuple[str, str], float] = {}
    for row, label, value in zip(cells.row, cells.col, cells.data.tolist(), strict=True):
        entries[row_names[row], label_names[label]] = value
    return entries


def test_read_run_matches_rows_and_labels_of_judgements() -> None:
    Path("y.qrels").write_text(QRELS)
    Path("m.run").write_text(RUN)
    truth = read_qrels("y.qrels")
    assert truth.row_names == ["q2", "q1", "q3"]
    assert truth.label_names == ["cat", "dog", "cow"]
    assert truth.matrix.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert truth.matrix.format == "csr"
    assert truth.matrix.dtype == np.uint8

    scores = read_run("m.run", truth)
    assert scores.label_names == ["cat", "dog", "cow"]
    assert scores.unknown_labels == ["bee", "ant"]
    assert scores.n_empty == 1
    assert scores.n_ignored == 1
    assert entries_of(scores) == {
        ("q2", "bee"): -np.inf,
        ("q2", "ant"): -2,
        ("q1", "cat"): 0.001,
        ("q1", "dog"): 0.5,
    }
    report = evaluate(truth, scores, metrics="p@1")
    assert report["p@1"] == pytest.approx(1 / 3)
    assert report.unknown_labels == ["bee", "ant"]

    labels = ["cow", "ant", "dog", "cat"]
    matrix = read_qrels("y.qrels", labels).matrix
    assert matrix.toarray().tolist() == [
        [0, 0, 1, 1],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
    ]
    message = "line 2: label 'dog' is not one of the 2 listed labels"
    with pytest.raises(ValueError, match=message):
        read_qrels("y.qrels", labels=["cow", "cat"])


@pytest.mark.parametrize("rank", ["0", "-1", "1.5", "x", "1e1"])
def test_read_run_refuses_ranks_below_one(rank: str) -> None:
    Path("y.qrels").write_text(QRELS)
    Path("m.run").write_text(f"q1\tdog\t1\nq1\tcat\t{rank}\n")
    message = f"m.run: line 2: rank '{rank}' is not a number from 1 up"
    with pytest.raises(ValueError, match=f"^{message}"):
        read_run("m.run", read_qrels("y.qrels"))
    with pytest.raises(ValueError, match=f"^{message}"):
        evaluate("y.qrels", "m.run", metrics="p@1")
    _, _, err = answer(["evaluate", "y.qrels", "m.run"])
    assert f"xmleval: {message}" in err


CELLS: list[Any] = [
    [[1, 0, 0], [0, 0, 0], [0, 0, 1]],
    [[1, 0, 0], [0, 1, 0], [1, 1, 0]],
    np.zeros((2, 3)),
]


@pytest.mark.parametrize("cells", CELLS)
def test_write_qrels_keeps_rows_and_labels_that_are_never_relevant(cells: Any) -> None:
    truth = sp.csr_array(cells)
    pieces = Pieces(len(cells), 3, lambda _: iter((truth[:2], truth[2:])))
    for data in (truth, pieces):
        write_qrels("y.qrels", data)
        actual = read_truth("y.qrels")
        np.testing.assert_array_equal(actual.toarray(), truth.toarray())


def test_write_run_is_best_first_and_keeps_the_file_when_it_fails() -> None:
    path = Path("m.run")
    scores = sp.csr_array(np.array([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0]]))
    write_run(path, scores, row_names=["a", "b"], label_names=["x", "y", "z"])
    assert path.read_text() == "a Q0 z 1 0.9 xmleval\na Q0 x 2 0.5 xmleval\n"

    pieces = Pieces(3, 3, lambda _: iter((scores, scores[:1])))
    write_run(path, pieces)
    lines = path.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["0", "0", "2", "2"]

    ranking = np.array([[2, -1, 0]])
    write_run(path, (ranking, None))
    expected = "0 Q0 2 1 -1.0 xmleval\n0 Q0 0 2 -2.0 xmleval\n"
    assert path.read_text() == expected

    with pytest.raises(ValueError, match="row_names"):
        write_run(path, np.eye(2), row_names=["a", "b c"])
    with pytest.raises(ValueError, match="score nan"):
        write_run(path, np.array([[np.nan]]))
    contents = {each: each.read_text() for each in Path().iterdir()}
    assert contents == {path: expected}


@pytest.mark.parametrize("write", [write_run, write_qrels])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"row_names": ["a", "b c", "d"]}, "row_names: 'b c' is not one word, which TREC files"),
        ({"row_names": ["a", "", "d"]}, "row_names: '' is not one word, which TREC files need"),
        ({"label_names": ["x", "y", "z\t"]}, r"label_names: 'z\\t' is not one word"),
        ({"row_names": ["a", "b"]}, "row_names has 2 names; row 2 has none"),
        ({"row_names": ["a"]}, "row_names has 1 name; row 1 has none"),
        ({"row_names": ["a", "b", "a"]}, "row_names: 'a' is given twice; give each its own name"),
        ({"label_names": ["x", "x", "z"]}, "label_names: 'x' is given twice"),
        ({"label_names": ["x", "y"]}, "label_names has 2 names; label 2 has none"),
    ],
)
def test_written_names_are_words_for_every_row_and_label(
    write: Any, names: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        write("m.txt", np.eye(3), **names)
    assert not Path("m.txt").exists()


class Lines(NamedTuple):
    """Lines of a format: the first one, a valid one by its number, and a wrong one."""

    first: str
    valid: str
    wrong: str


LINES = {
    "y.qrels": Lines("q 0 1 1", "q 0 {} 1", "q"),
    "y.run": Lines("q Q0 1 1 0.5 m", "q Q0 {} 1 0.5 m", "q"),
    "y.jsonl": Lines('{"tags": ["1"]}', '{{"tags": ["{}"]}}', "x"),
    "y.csv": Lines("tags,n", "tags,{}", "x"),
}
TEMPLATES = st.lists(st.sampled_from(["", "\t \r", "line", "line" + " " * 40]), max_size=30)


@pytest.mark.parametrize("name", LINES)
@given(templates=TEMPLATES)
def test_messages_number_lines_in_every_format(name: str, templates: list[str]) -> None:
    lines = [LINES[name].first]
    for number, template in enumerate(["line", *templates], 2):
        line = template.replace("line", LINES[name].valid.format(number))
        lines.append(line.strip() if name == "y.csv" else line)
    lines.append(LINES[name].wrong)
    Path(name).write_text("\n".join(lines))
    Path("t.qrels").write_text("q 0 1 1\n")
    command = ["stats", name]
    if name == "y.run":
        command = ["evaluate", "t.qrels", name]
    with small_limits():
        code, _, err = answer(command)
    assert code == 2
    assert f"{name}: line {len(lines)}: " in err


def test_read_names_of_text_gzip_and_json() -> None:
    Path("labels.txt").write_bytes(b"\xef\xbb\xbfcat\r\nblack dog\r\n\r\n")
    Path("labels.txt.gz").write_bytes(gzip.compress(b"cat\nblack dog"))
    Path("labels.json").write_text('["cat", "black dog"]')
    for path in Path().iterdir():
        assert read_names(path) == ["cat", "black dog"]


@pytest.mark.parametrize("score", ["1_0", "\u0661", "nan", "0x1"])
def test_scores_of_runs_are_plain_decimals(score: str) -> None:
    Path("m.run").write_text(f"q1 Q0 cat 1 2 m\nq1 Q0 dog 2 {score} m\n")
    with pytest.raises(ValueError, match=f"^m.run: line 2: score '{score}' is not a number"):
        read_run("m.run", ["cat", "dog"])


@pytest.mark.parametrize(("last", "is_by_number"), [(1, True), (2, False)])
def test_judgements_are_by_number_if_every_row_has_one(last: int, is_by_number: bool) -> None:
    Path("y.qrels").write_text(f"0 0 0 1\n{last} 0 1 1\n")
    expected = pytest.raises(ValueError, match=r"^y_score: has no names, but other inputs have")
    with nullcontext() if is_by_number else expected:
        assert evaluate("y.qrels", np.eye(2), metrics="p@1")["p@1"] == 1.0
