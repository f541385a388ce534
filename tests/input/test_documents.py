"""CSV and JSON Lines of documents: fields, cells and joins."""

import csv
import io
import itertools
import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer, values_of
from xmleval import evaluate, scan
from xmleval.input.formats.documents import parsed

DOCS = 'id,tags,predicted\n1,"a, b",b\n2,,a\n3,c,"c,a"\n'
TRUTH = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]])
PRED = np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]])
LISTED = np.array([[1, -1], [0, -1], [2, 0]]), None
SCORES = sp.csr_array(([0.25, 0.5, 3, -1e-3], ([0, 0, 2, 2], [0, 1, 2, 1])), shape=(3, 3))
SETS = ["f1.micro", "f1.macro", "subset_accuracy"]
RANKED = ["p@1", "p@2", "mrr@2"]
FORMS: list[Any] = [
    dict,
    json.dumps,
    lambda row: [*row.items()],
    lambda row: [{"label": name, "score": score} for name, score in row.items()],
]
SCORED = [(["a", "b"], {"b": 0.5, "a": 0.25}), ([], {}), (["c"], {"c": 3, "b": -1e-3})]
TAGS = "doc,tags\nx,a;b\ny,\nz,c\n"


def documents_with(separator: str, delimiter: str) -> str:
    """Return documents with separated labels, next to a text that is hard to split."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["id", "text", "tags", "predicted"])
    for row, sets in enumerate(zip(TRUTH, PRED, strict=True)):
        fields: list[Any] = [row, 'He said:\n"no",\r\n\n;\tyes']
        for labels in sets:
            names = ["abc"[label] for label in np.flatnonzero(labels)]
            fields.append(separator.join(names))
        writer.writerow(fields)
    return out.getvalue()


def as_lines(records: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def scored_documents(form: Any) -> str:
    """Return JSON Lines with predictions in a form."""
    return as_lines({"gold": tags, "extra": None, "out": form(row)} for tags, row in SCORED)


class Case(NamedTuple):
    """Texts by name of a file, a command, and the same data as arrays."""

    files: dict[str, str]
    line: str
    arrays: dict[str, Any]


CASES: list[Case] = []
for separator, delimiter in itertools.product([", ", ";", "|", " | "], [",", ";", "\t"]):
    CASES.append(
        Case(
            {"d.csv": documents_with(separator, delimiter)},
            f"d.csv --separator {separator.strip()}",
            {"y_pred": PRED},
        )
    )
CASES.append(
    Case(
        {"d.csv": DOCS},
        "d.csv d.csv --pred d.csv --separator ,",
        {"y_pred": PRED, "y_score": LISTED},
    )
)
for form in FORMS:
    CASES.append(
        Case(
            {"d.jsonl": scored_documents(form)},
            "d.jsonl d.jsonl --scores-label-field out",
            {"y_score": SCORES},
        )
    )
CASES += [
    Case(
        {"d.csv": "tags,out,p\na|b,b|a,0.5|0.25\n,,\nc,\"['c', 'b']\",\"[3, -1e-3]\"\n"},
        "d.csv d.csv --scores-label-field out --score-field p --separator |",
        {"y_score": SCORES},
    ),
    Case(
        {
            "t.csv": TAGS,
            "p.csv": "tags,doc\nc;a,z\na,y\nother,unknown\nb,x\n",
        },
        "t.csv --pred p.csv --instance-field doc --separator ;",
        {"y_pred": PRED},
    ),
    Case(
        {
            "t.csv": TAGS,
            "p.csv": "pred,n\nb,1\na,1\nc;a,1\n",
        },
        "t.csv --pred p.csv --separator ;",
        {"y_pred": PRED},
    ),
    Case(
        {
            "t.csv": "tags,n\na;b,1\n,1\nc,1\n",
            "p.csv": "pred,id\na,1\nc;a,2\nb,0\n",
        },
        "t.csv p.csv --separator ;",
        {"y_score": LISTED},
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_documents_have_the_values_of_arrays(case: Case) -> None:
    for name, text in case.files.items():
        Path(name).write_text(text, newline="")
    metrics: list[str] = []
    if "y_score" in case.arrays:
        metrics += RANKED
    if "y_pred" in case.arrays:
        metrics += SETS
    if case.arrays.get("y_score") is SCORES:
        metrics.append("auc.micro")
    expected = evaluate(TRUTH, **case.arrays, metrics=metrics)
    assert values_of(metrics, case.line) == dict(expected)


def test_score_field_of_one_file_is_that_of_predictions() -> None:
    """In a truth of its own, it is a field of judgements, of which 0 is not relevant."""
    for name in ("t.csv", "s.csv"):
        Path(name).write_text("id,label,rank\n1,a,1\n1,b,0\n2,c,2\n")
    for files, precision in (("t.csv s.csv", 0.5), ("s.csv ./s.csv", 0.75)):
        values = values_of(["p@2"], f"{files} --instance-field id --score-field rank")
        assert values == {"p@2": precision}


class Cells(NamedTuple):
    """Cells of a column, options, and labels or labels with scores in each cell."""

    cells: list[str]
    expected: list[Any]
    options: str = ""


SCORED_CELL = {"a": 0.5, "c": 0.25}
CELLS = [
    Cells(["a b", "c", ""], [["a", "b"], ["c"], []], "--separator ' '"),
    Cells(["a, b", "a|b"], [["a, b"], ["a", "b"]], "--separator '|'"),
    Cells(["a, b,", '["a", "b"]'], [["a", "b"], ["a", "b"]], "--separator ,"),
    Cells(["a\tb c"], [["a", "b c"]], "--separator '\t'"),
    Cells(
        ["['a', \"b's\", 3]", "[]", "(c)d", "array(c)d"],
        [["a", "b's", "3"], [], ["(c)d"], ["array(c)d"]],
    ),
    Cells(
        ["('a', 'b')", "( 'a' , 'c' , )", "()", "('b', 'a',)"],
        [["a", "b"], ["a", "c"], [], ["a", "b"]],
    ),
    Cells(
        ["{'a', 'b'}", "set()", "frozenset({'a', 'b'})", "frozenset()"],
        [["a", "b"], [], ["a", "b"], []],
    ),
    Cells(
        ["array(['a',\n  'c'], dtype=object)", "array([], dtype=float64)"],
        [["a", "c"], []],
    ),
    Cells(["[np.str_('a'), \"c\"]"], [["a", "c"]]),
    Cells(
        ["(('a', 0.5), ('c', 0.25))", "{'a': 0.5, 'c': 0.25}"],
        [SCORED_CELL, SCORED_CELL],
    ),
    Cells(
        ["[('a', np.float64(0.5)), (np.str_(\"c\"), np.float32(0.25))]"],
        [SCORED_CELL],
    ),
    Cells(
        ["{'a': -0.25, 'c': -5e-1}", "[('a', -1), ('c', np.float64(-2.5))]"],
        [SCORED_CELL, SCORED_CELL],
    ),
]


@pytest.mark.parametrize("case", CELLS)
def test_cells_are_read_as_python_and_people_write_them(case: Cells) -> None:
    with Path("d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pred"])
        writer.writerows([cell] for cell in case.cells)
    # one more relevant label, so that no row is empty
    records = [{"labels": [*labels, "first"]} for labels in case.expected]
    Path("y.jsonl").write_text(as_lines(records))
    n_cells = len(case.cells)
    hits = sum(map(len, case.expected))
    if isinstance(case.expected[0], dict):
        files = "y.jsonl d.csv"
        metrics = "p@2,r@2"
        expected = [hits / (2 * n_cells), 2 / 3]
    else:
        files = "y.jsonl --pred d.csv"
        metrics = "precision.micro,recall.micro"
        expected = [1.0, hits / (hits + n_cells)]
    line = f"evaluate {files} {case.options} --metrics {metrics} --format json"
    code, out, err = answer(shlex.split(line))
    assert code == 0, err
    values = json.loads(out)["values"]
    assert [*values.values()] == pytest.approx(expected)


@given(st.lists(st.text(max_size=5)))
def test_parsed_reads_lists_as_python_prints_them(names: list[str]) -> None:
    assert parsed(repr(names)) == names
    assert parsed(json.dumps(names)) == names
    pairs = [(name, 0.5) for name in names]
    assert parsed(repr(pairs)) == [[name, 0.5] for name in names]


def test_training_labels_are_read_from_documents() -> None:
    Path("train.csv").write_text('tags,n\n"[""a"", ""b""]",1\na,1\nzzz,1\n')
    Path("docs.jsonl").write_text('{"tags": ["a"], "predicted": {"a": 1, "b": 2}}\n')
    assert values_of(["psp@1"], "docs.jsonl --train train.csv") == {"psp@1": 0.0}
    _, out, _ = answer(["stats", "train.csv", "--format", "json"])
    assert json.loads(out)["label_cardinality"] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    "cell",
    [
        "['a' 'b']",
        "[0x1]",
        "[1_0]",
        "{'a': 1, 2: 3}",
        "['\\d']",
        "[b'a']",
        "[a]",
        "[1e1_0]",
        "{'a': -.5}",
    ],
)
def test_cells_that_python_never_prints_are_refused(cell: str) -> None:
    with Path("d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["tags", "pred"], ["a", cell]])
    code, _, err = answer(["evaluate", "d.csv", "--metrics", "f1.micro"])
    assert code
    assert "line 2: " in err
    assert "is not a list of labels in JSON or Python" in err


@pytest.mark.parametrize("relevance", ["inf", "-inf", "1e30", "nan", "0.5", "1_0"])
def test_judgements_of_a_table_are_whole_numbers(relevance: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(f"query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t{relevance}\n")
    with pytest.raises(ValueError, match=r"qrels\.tsv: line 3: [^\n]*is not an integer"):
        evaluate(path, {"q1": {"a": 0.5}}, metrics="p@1")


def test_messages_in_python_name_arguments(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,labels\n1,a;b\n")
    message = r"line 2: 'a;b' may .*; give scan\(path, separator=';'\) for several"
    with pytest.raises(ValueError, match=message):
        evaluate(path, metrics="statistics")

    path.write_text("id,topics\n1,a\n")
    message = r"name the column with scan\(path, label=...\), scan\(path, score=...\) or "
    with pytest.raises(ValueError, match=message):
        evaluate(path, metrics="statistics")


def test_rows_for_each_label_are_noted_where_values_of_ids_repeat(tmp_path: Path) -> None:
    """A field that is named and has one label in each line makes lines entries."""
    path = tmp_path / "t.csv"
    path.write_text("id,tag,text\n1,a,one\n1,b,two\n2,b,three\n")
    scores = {"1": {"a": 0.5, "b": 0.25}, "2": {"a": 1.0}}
    report = evaluate(scan(path, label="tag"), scores, metrics=["p@1", "r@2"])
    assert dict(report) == {"p@1": 0.5, "r@2": 0.5}
    assert report.notes == [
        f"{path}: a row for each label, as values of 'id' repeat, column left out: 'text', as "
        "values differ within a row"
    ]
    path.write_text("id,tag,text\n1,a,one\n2,b,three\n")
    report = evaluate(scan(path, label="tag"), scores, metrics=["p@1"])
    assert report["p@1"] == 0.5
    assert "a row for each label" not in str(report.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,id,pred\n1,1,a\n",
            "2 columns are called 'id'; name the column with",
        ),
        (
            "id,pred\r1,a\r2,b\r",
            "line 1: new-line character seen in unquoted field",
        ),
        ("id,pred\n", "it has no rows; expected a line of field names"),
    ],
)
def test_tables_without_readable_columns_are_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {message}')}"):
        evaluate([["a"], ["b"]], path, metrics="p@1")


@pytest.mark.parametrize(
    ("value", "shown"), [('["de"]', "['de']"), ('{"a": 1}', "{'a': 1}"), ("null", None)]
)
def test_values_of_rows_are_texts_or_numbers(value: str, shown: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    first = '{"id": "1", "tags": ["a"], "lang": "en"}'
    path.write_text(f'{first}\n{{"id": "2", "tags": [], "lang": {value}}}\n')
    message = "has no value; give each row one"
    if shown:
        message = f"has {shown}; expected a text or a number"
    message = re.escape(f"{path}: line 2: column 'lang' {message}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        evaluate(path, {"1": ["a"], "2": ["a"]}, metrics="p@1", row_groups="lang")


def test_weights_of_rows_in_a_column_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,tags,w\n1,a,2\n2,b,x\n")
    message = re.escape(f"{path}: column 'w' has 'x' for row '2'; expected a number")
    scores = {"1": ["a"], "2": ["a"]}
    with pytest.raises(ValueError, match=f"^{message}$"):
        evaluate(path, scores, metrics="p@1", sample_weight="w")
    path.write_text("id,tags,w\n1,a,2\n2,b,6\n")
    assert evaluate(path, scores, metrics="p@1", sample_weight="w")["p@1"] == 0.25


def test_blanks_around_names_and_alone_on_lines_of_csv_are_skipped() -> None:
    Path("t.csv").write_text(" \n id, labels \nq1,a \n  \r\nq2,b\n \n")
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    assert evaluate("t.csv", run, metrics="p@1")["p@1"] == 1.0
    Path("t.csv").write_text("id,labels\n \nq1,a\nq2,b,c\n")
    with pytest.raises(ValueError, match=r"^t\.csv: line 4: 3 fields, not 2"):
        evaluate("t.csv", run, metrics="p@1")
