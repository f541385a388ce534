"""Texts with labels by number: spellings, writing, and files of other programs."""

import gzip
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.test_refused_texts import ATTRIBUTES, HEADER, XML
from tests.made_files import as_list, make_scores, make_truth, npz, pieces_of, rows_of, write_lines
from xmleval import evaluate, write
from xmleval.io import read_hierarchy, read_scores, read_truth, write_xmc

# XMC and svmlight


class Written(NamedTuple):
    """A matrix and the bytes of its file."""

    matrix: Any
    kind: str
    content: bytes


def test_write_xmc_content_and_refusal() -> None:
    path = Path("w.txt")
    values = np.array([0.1, 0, 3e-9], np.float32)
    scores = sp.csr_array((values, [2, 0, 1], [0, 2, 2, 3]), shape=(3, 4))
    stored_zero = sp.csr_array(([0, 1], [0, 1], [0, 2]), shape=(1, 3))
    for case in [
        Written(scores, "scores", b"3 4\n0:0.0 2:0.1\n\n1:3e-09\n"),
        Written(scores != 0, "truth", b"3 4\n2:1\n\n1:1\n"),
        Written(stored_zero, "truth", b"1 3\n1:1\n"),
        Written(sp.coo_matrix((2, 7)), "scores", b"2 7\n\n\n"),
    ]:
        write_xmc(path, case.matrix, case.kind)
        assert path.read_bytes() == case.content
    message = r"matrix: row 0: value 2\.0 is neither 0 nor 1"
    with pytest.raises(ValueError, match=message):
        write_xmc(path, sp.eye_array(3) * 2, "truth")
    assert path.read_bytes() == case.content


@pytest.mark.parametrize(
    ("name", "matrix", "kind", "message"),
    [
        ("w.txt", np.eye(2), "truth", "matrix: not a SciPy sparse matrix or array"),
        ("w.txt", sp.eye_array(2), "sets", "kind='sets' is not one of truth, scores"),
        ("w.txt", sp.eye_array(2), None, "kind=None is not one of truth, scores"),
        ("w.npz", sp.eye_array(2), "truth", "w.npz: this text is written as .txt"),
    ],
)
def test_write_xmc_refuses_other_arguments(name: str, matrix: Any, kind: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write_xmc(name, matrix, kind)
    assert not Path(name).exists()


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("1 0\n2 0\n", [(1, 0), (2, 0)]),
        ("Child Parent\n1 0\n\n2 1\n", [(1, 0), (2, 1)]),
        ("1 0\n2 x\n", [("1", "0"), ("2", "x")]),  # numbers only if all are
        ("child,parent\nblack cat,cat\n", [("black cat", "cat")]),
        ("cat\tpet\ndog\tpet\n", [("cat", "pet"), ("dog", "pet")]),
        ("01\t10\n", [(1, 10)]),
    ],
)
def test_read_hierarchy_returns_numbers_or_names(text: str, edges: list[Any]) -> None:
    Path("edges.txt").write_text(text)
    assert read_hierarchy("edges.txt") == edges


def test_read_hierarchy_refuses_files_without_edges() -> None:
    expected = "; expected a child and its parent on each line"
    for text, fault in (
        ("", "the file is empty"),
        ("child parent\n", "the file has no edges"),
        ("0 1\n0 1 2\n", "line 2: '0 1 2' is not two cells with text in both"),
    ):
        Path("edges.txt").write_text(text)
        with pytest.raises(ValueError, match=f"^edges.txt: {re.escape(fault + expected)}"):
            read_hierarchy("edges.txt")


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
def test_read_scores_of_lists_returns_floats(dtype: str) -> None:
    np.save("m_indices.npy", np.array([[1, 0], [0, -1]]))
    np.save("m_scores.npy", np.array([[3, 2], [1, 0]], dtype))
    labels, scores = read_scores("m")
    assert scores.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert scores[labels >= 0].tolist() == [3, 2, 1]
    report = evaluate(np.eye(2), (labels, scores), metrics=["p@1", "auc.micro"])
    assert dict(report) == dict(evaluate(np.eye(2), "m", metrics=["p@1", "auc.micro"]))


Rows = list[list[int]]
LIBSVM = (
    "# 1,2 3:4\n\n 3,1 qid:7 1:0.5 # qid:8\r\n \t \n2.0,0. 4:1e-3\nqid:3 1:2\n5:1\n7#8\n4\tqid:1\n"
)


class Spelling(NamedTuple):
    """A text file, with its labels by row and the number of labels."""

    name: str
    text: str
    rows: Rows
    n_labels: int


SPELLINGS = [
    Spelling(
        "x.libsvm",
        LIBSVM,
        rows=[[1, 3], [0, 2], [], [], [7], [4]],
        n_labels=8,
    ),
    Spelling(
        "w.txt",
        "1 5000000001\n5000000000:1 3:1\n",
        rows=[[3, 5000000000]],
        n_labels=5000000001,
    ),
    Spelling(
        "n.txt",
        "0 5",
        rows=[],
        n_labels=5,
    ),
    Spelling(
        "v.txt",
        "2\t4\n0:1 \t2:1.0\n1:1e0\n",
        rows=[[0, 2], [1]],
        n_labels=4,
    ),
    Spelling(
        "d.txt",
        "2 9 4\n1,3\t0:1\t4:2\n\t0:1\n",
        rows=[[1, 3], []],
        n_labels=4,
    ),
    Spelling(
        "ids.lines",
        "3, 9\n1\n2\n4, 0\n",
        rows=[[3, 9], [1], [2], [0, 4]],
        n_labels=10,
    ),
    Spelling(
        "ids.lines",
        "3\t9\n1\n\n4,0\n",
        rows=[[3, 9], [1], [], [0, 4]],
        n_labels=10,
    ),
    Spelling(
        "ids.lines",
        "3 8 9\n\n1 0\n2\n",  # the first line looks like a header
        rows=[[3, 8, 9], [], [0, 1], [2]],
        n_labels=10,
    ),
    Spelling(
        "ids.lines",
        "17 28 78\n15\n4 5\n4 5\n",
        rows=[[17, 28, 78], [15], [4, 5], [4, 5]],
        n_labels=79,
    ),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_read_truth_of_each_spelling(spelling: Spelling) -> None:
    Path(spelling.name).write_text(spelling.text)
    matrix = read_truth(spelling.name)
    assert matrix.shape == (len(spelling.rows), spelling.n_labels)
    assert matrix.dtype == np.uint8
    assert [sorted(row) for row in rows_of(matrix)] == spelling.rows


def test_long_line_does_not_widen_short_lines() -> None:
    long_row = [*range(20_000)]
    lines = [" ".join(map(str, long_row))] + ["0"] * 20_000
    path = write_lines(Path("long"), ".lines", lines)
    batches = pieces_of(path, "scores").read(1 << 26)
    assert sum(batch.labels.size for batch in batches) < 1 << 20
    assert rows_of(read_truth(path))[0] == long_row


# Lines of labels


TEXTS = [
    "85 37 23 76 43\n4 2\n",
    "1 2 3\n4\n0 5\n",
    "7\n\n2 1\n",
    "0 5 1",
    "3, 5\n",
    "2 5\n4 2\n0\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_without_scores_are_lists_best_first(text: str) -> None:
    Path("p.lines").write_text(text)
    lines = text.replace(",", " ").splitlines()
    expected_rows = [[*map(int, line.split())] for line in lines]
    labels, no_scores = read_scores("p.lines")
    rows = [[label for label in row if label >= 0] for row in labels.tolist()]
    assert rows == expected_rows
    assert no_scores is None

    metrics = ["p@1", "lrap"]
    truth = np.eye(len(rows), 90, dtype=np.uint8)
    npz(Path("T"), sp.csr_array(truth))
    expected = evaluate(truth.astype(float), rows, n_labels=90, metrics=metrics)
    assert values_of(metrics, "T.npz p.lines") == dict(expected)


@pytest.mark.parametrize("form", ["l{}:{!r}", "__label__l{} {!r}", "l{}"])
def test_names_on_lines_are_those_of_libmultilabel_and_fasttext(form: str) -> None:
    truth = make_truth()
    true_lines = []
    for row in rows_of(truth):
        names = " ".join(f"__label__l{label}" for label in row)
        true_lines.append(f"{names} some text")
    write_lines(Path("t"), ".txt", true_lines)

    labels, scores = as_list(make_scores())
    pairs = zip(labels.tolist(), scores.tolist(), strict=True)
    write_lines(Path("p"), ".txt", (" ".join(map(form.format, *pair)) for pair in pairs))

    has_scores = form != "l{}"
    metrics = ["p@1", "ndcg@5", "lrap"]
    expected = evaluate(truth, (labels, scores if has_scores else None), metrics=metrics)
    values = values_of(metrics, "t.txt p.txt --input-format lines")
    assert values == pytest.approx(dict(expected), rel=1e-12)


# ARFF

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
def test_labels_of_arff_are_anywhere_in_the_order_of_the_document(name: str) -> None:
    other_xml = "<labels><label name='word'/></labels>"
    Path("y.xml").write_text(XML if name == "y.arff" else other_xml)
    Path("y-train.xml").write_text(XML)  # the document of the same stem comes first
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


# numbers that are hard to round, very large, very small, long, or written in another way
NUMBERS = """
0.1 1e22 1e23 9007199254740993 9007199254740992.5 9007199254740991.5 7.2057594037927933e16
1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1e308 1e309 -1e400
179769313486231570793e288 179769313486231580793e288 17976931348623157079300e286
4.9e-324 2e-324 2.4703282292062327208e-324 2.4703282292062328e-324 1e-400 1e-308
2.2250738585072014e-308 2.2250738585072011e-308 2.2250738585072012e-308 8.5e15 5e-1
0.30000000000000004 123456789012345678901234567890 3.141592653589793238462643383279502884197
1.00000000000000011102230246251565404236316680908203125 0.000000000000000000000000000001
1.00000000000000011102230246251565404236316680908203124 6.9294956446009195e15 9.5e-27 3e55
+1.5 1. 1E5 .5 -0 0e400 00012.50 inf -inf 1448997445238699e-27 4503599627370497.5 1e-27 1e55
"""


@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_scores_in_a_text_are_the_nearest_numbers(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"scores{ending}"
    numbers = NUMBERS.split()
    lines = [f"{len(numbers)} 2\n", *(f"1:{number}\n" for number in numbers)]
    write = gzip.open if ending.endswith(".gz") else open
    with write(path, "wt") as file:
        file.writelines(lines)
    scores = sp.csr_array(read_scores(path))
    assert scores.indices.tolist() == [1] * len(numbers)
    read = map(float.hex, scores.data.tolist())  # which tells -0.0 from 0.0
    expected = {number: float.hex(float(number)) for number in numbers}
    assert dict(zip(numbers, read, strict=True)) == expected


def test_write_warns_of_labels_that_a_format_loses(tmp_path: Path) -> None:
    truth = sp.csr_array(np.array([[1, 0, 0, 0], [0, 0, 1, 0]]))
    path = tmp_path / "y.csv"
    with pytest.warns(UserWarning, match="2 labels without rows are not in it") as caught:
        write(path, truth, "truth")
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"{path}: ")
    assert str(caught[0].message).endswith("; give labels=, the names of all")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(path, truth[:, [0, 2]], "truth")  # all labels have rows
        write(path, truth * 0.5, "scores")  # a list has no labels to lose
        for ending in ("npz", "txt"):
            write(tmp_path / f"y.{ending}", truth, "truth")
            assert sp.csr_array(read_truth(tmp_path / f"y.{ending}")).shape == truth.shape


@pytest.mark.parametrize("n_more", [1, 3])
def test_first_row_beyond_the_header_is_refused_by_its_line(n_more: int) -> None:
    Path("t.txt").write_text("2 3\n" + "0:1\n" * (2 + n_more))
    message = "^t.txt: line 4: more than the 2 rows that the header promises"
    with pytest.raises(ValueError, match=message):
        read_truth("t.txt")


def test_lines_of_ids_are_refused_by_their_number_in_each_batch() -> None:
    Path("t.lines").write_text("1 2\n3\n\n4 4\n")
    with pytest.raises(ValueError, match=r"^t\.lines: line 4: label id 4 occurs twice"):
        [*pieces_of(Path("t.lines"), "truth").read(1)]


def test_score_of_a_name_with_colons_is_behind_the_last() -> None:
    Path("t.lines").write_text("a:b\nc\n")
    Path("s.lines").write_text("c:0.5 a:b:0.75\na:b:0.25 c:1\n")
    assert evaluate("t.lines", "s.lines", metrics="p@1")["p@1"] == 1.0


@pytest.mark.parametrize("read", [read_truth, read_scores])
@pytest.mark.parametrize("word", ["07", "00", "cat", "1234567890123456"])
def test_words_of_lines_that_are_no_ids_are_refused(read: Any, word: str) -> None:
    Path("t.lines").write_text(f"7 0\n123456789012 {word}\n")
    with pytest.raises(ValueError, match=f"^t.lines: line 2: '{word}' is not a label id"):
        read("t.lines")


@pytest.mark.parametrize("read", [read_truth, read_scores])
def test_too_large_an_id_is_refused_by_the_file(read: Any) -> None:
    Path("t.lines").write_text(f"7\n{1 << 40}\n")
    message = f"t.lines: label id {1 << 40} is not in 0..{(1 << 40) - 1}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        read("t.lines")


def test_scores_of_lines_may_be_infinite(folder: Path) -> None:
    Path("t.lines").write_text("red\nblue\n")
    Path("s.lines").write_text("red:0.5 blue:-inf\nred:-inf blue:inf\n")
    assert evaluate("t.lines", "s.lines", metrics="p@1")["p@1"] == 1.0


def test_last_field_of_a_line_with_tabs_may_be_empty(folder: Path) -> None:
    Path("t.tsv").write_text("id\tlabels\tnote\nx\ta\tgood\ny\tb\t\n")
    Path("s.tsv").write_text("id\tlabel\tscore\nx\ta\t0.5\ny\tb\t0.25\n")
    assert evaluate("t.tsv", "s.tsv", metrics="p@1")["p@1"] == 1.0
