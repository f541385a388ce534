"""Texts with labels by number: what each spelling holds, what is written, and what is read by others."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.test_refused_texts import ATTRIBUTES, HEADER, XML
from tests.made_files import as_list, make_scores, make_truth, npz, pieces_of, rows_of, write_lines
from xmleval import evaluate
from xmleval.io import read_scores, read_truth, write_xmc

# -------------------------------------------------------------------------------------- XMC and svmlight


def test_bytes_that_are_written_and_matrices_that_are_not() -> None:
    path = Path("w.txt")
    scores = sp.csr_array((np.array([0.1, 0, 3e-9], np.float32), [2, 0, 1], [0, 2, 2, 3]), shape=(3, 4))
    for matrix, kind, text in [
        (scores, "scores", b"3 4\n0:0.0 2:0.1\n\n1:3e-09\n"),
        (scores != 0, "truth", b"3 4\n2:1\n\n1:1\n"),
        (sp.csr_array(([0, 1], [0, 1], [0, 2]), shape=(1, 3)), "truth", b"1 3\n1:1\n"),
        (sp.coo_matrix((2, 7)), "scores", b"2 7\n\n\n"),
    ]:
        write_xmc(path, matrix, kind)
        assert path.read_bytes() == text
    with pytest.raises(ValueError, match=r"matrix: row 0: value 2\.0 is neither 0 nor 1"):
        write_xmc(path, sp.eye_array(3) * 2, "truth")
    assert path.read_bytes() == text


Rows = list[list[int]]
LIBSVM = "# 1,2 3:4\n\n 3,1 qid:7 1:0.5 # qid:8\r\n \t \n2.0,0. 4:1e-3\nqid:3 1:2\n5:1\n7#8\n4\tqid:1\n"
SPELLINGS: list[tuple[str, str, Rows, int]] = [  # name of a file, text, labels of rows, number of labels
    ("x.libsvm", LIBSVM, [[1, 3], [0, 2], [], [], [7], [4]], 8),
    ("w.txt", "1 5000000001\n5000000000:1 3:1\n", [[3, 5000000000]], 5000000001),
    ("n.txt", "0 5", [], 5),
    ("v.txt", "2\t4\n0:1 \t2:1.0\n1:1e0\n", [[0, 2], [1]], 4),
    ("d.txt", "2 9 4\n1,3\t0:1\t4:2\n\t0:1\n", [[1, 3], []], 4),
    ("ids.lines", "3, 9\n1\n2\n4, 0\n", [[3, 9], [1], [2], [0, 4]], 10),
    ("ids.lines", "3\t9\n1\n\n4,0\n", [[3, 9], [1], [], [0, 4]], 10),
    ("ids.lines", "3 8 9\n\n1 0\n2\n", [[3, 8, 9], [], [0, 1], [2]], 10),  # which looks like a header
    ("ids.lines", "17 28 78\n15\n4 5\n4 5\n", [[17, 28, 78], [15], [4, 5], [4, 5]], 79),
]


@pytest.mark.parametrize(("name", "text", "rows", "n_labels"), SPELLINGS)
def test_spellings_of_texts(name: str, text: str, rows: Rows, n_labels: int) -> None:
    Path(name).write_text(text)
    matrix = read_truth(name)
    assert (matrix.shape, matrix.dtype) == ((len(rows), n_labels), np.uint8)
    assert [sorted(row) for row in rows_of(matrix)] == rows


def test_a_long_line_does_not_widen_short_ones() -> None:
    rows = [[*range(20_000)], *([0] for _ in range(20_000))]
    path = write_lines(Path("long"), ".lines", (" ".join(map(str, row)) for row in rows))
    assert sum(rows.labels.size for rows in pieces_of(path, "scores").read(1 << 26)) < 1 << 20
    assert rows_of(read_truth(path))[0] == rows[0]


# ------------------------------------------------------------------------------------- lines of labels


TEXTS = ["85 37 23 76 43\n4 2\n", "1 2 3\n4\n0 5\n", "7\n\n2 1\n", "0 5 1", "3, 5\n", "2 5\n4 2\n0\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_without_scores_are_lists_best_first(text: str) -> None:
    Path("p.lines").write_text(text)
    rows = [[int(word) for word in line.replace(",", " ").split()] for line in text.splitlines()]
    labels, scores = read_scores("p.lines")
    assert ([[label for label in row if label >= 0] for row in labels.tolist()], scores) == (rows, None)
    npz(Path("T"), sp.csr_array(np.eye(len(rows), 90, dtype=np.uint8)))
    expected = dict(evaluate(np.eye(len(rows), 90), rows, n_labels=90, metrics=["p@1", "lrap"]))
    assert values_of(["p@1", "lrap"], "T.npz p.lines") == expected


@pytest.mark.parametrize("form", ["l{}:{!r}", "__label__l{} {!r}", "l{}"])
def test_names_on_lines_as_libmultilabel_and_fasttext_write_them(form: str) -> None:
    rows = ([f"__label__l{label}" for label in row] for row in rows_of(make_truth()))
    write_lines(Path("t"), ".txt", (f"{' '.join(row)} some text" for row in rows))
    labels, scores = as_list(make_scores())
    pairs = zip(labels.tolist(), scores.tolist(), strict=True)
    write_lines(Path("p"), ".txt", (" ".join(map(form.format, *pair)) for pair in pairs))
    metrics, bare = ["p@1", "ndcg@5", "lrap"], form == "l{}"
    expected = dict(evaluate(make_truth(), (labels, None if bare else scores), metrics=metrics))
    assert values_of(metrics, "t.txt p.txt --input-format lines") == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------------------- ARFF

ROWS = """0.5,1,'a, b',0,"2020-01-01",0
%0.5,1,'a, b',0,"2020-01-01",0
?, '0' ,"50% 'off'", 1 , ? , 1

{1 1,2 'x} 1 1'}
{ 5 0 , 4 "a \\" b" ,3 1}
  {}
{5 1}
"""
EXPECTED = [[1], [0, 2], [1], [2], [], [0]]  # by row, in the order of the document


@pytest.mark.parametrize("name", ["y-train.ARFF", "y.arff"])
def test_labels_of_arff_stand_anywhere_in_the_order_of_the_document(name: str) -> None:
    Path("y.xml").write_text(XML if name == "y.arff" else "<labels><label name='word'/></labels>")
    Path("y-train.xml").write_text(XML)  # that of the same stem comes first
    Path("z.xml").write_text("no document of it")
    Path(name).write_text(HEADER + ROWS)
    assert rows_of(read_truth(name)) == EXPECTED
    Path(name).write_text(HEADER + "% none\n")
    assert read_truth(name).shape == (0, 3)


@pytest.mark.parametrize(("count", "rows"), [("2", [[1], []]), ("-2", [[0, 1], [1]])])
def test_labels_of_arff_are_counted_in_the_relation(count: str, rows: Rows) -> None:
    relation = f"@relation 'X: -split 3 -C {count}'\n"
    Path("m.arff").write_text(f"{relation}{ATTRIBUTES}@data\n0,1,1\n{{2 1}}\n")
    assert rows_of(read_truth("m.arff")) == rows
