"""CSV and JSON Lines of documents: their fields, their cells, and what they are joined with."""

import csv
import io
import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer, values_of
from xmleval import evaluate
from xmleval.input.formats.documents import parsed

DOCS = 'id,tags,predicted\n1,"a, b",b\n2,,a\n3,c,"c,a"\n'
TRUTH = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]])
PRED = np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]])
LISTED = np.array([[1, -1], [0, -1], [2, 0]]), None
SCORES = sp.csr_array(([0.25, 0.5, 3, -1e-3], ([0, 0, 2, 2], [0, 1, 2, 1])), shape=(3, 3))
SETS, RANKED = ["f1.micro", "f1.macro", "subset_accuracy"], ["p@1", "p@2", "mrr@2"]
FORMS: list[Any] = [
    dict, json.dumps, lambda row: [*row.items()],
    lambda row: [{"label": name, "score": score} for name, score in row.items()],
]  # fmt: skip
SCORED = [(["a", "b"], {"b": 0.5, "a": 0.25}), ([], {}), (["c"], {"c": 3, "b": -1e-3})]
TAGS = "doc,tags\nx,a;b\ny,\nz,c\n"


def cut_at(separator: str, delimiter: str) -> str:
    """Sets in fields that are cut so, beside a text that is hard to split."""
    out = io.StringIO()
    lines = csv.writer(out, delimiter=delimiter)
    lines.writerow(["id", "text", "tags", "predicted"])
    for row, sets in enumerate(zip(TRUTH, PRED, strict=True)):
        cells = [separator.join("abc"[j] for j in np.flatnonzero(labels)) for labels in sets]
        lines.writerow([row, 'He said:\n"no",\r\n\n;\tyes', *cells])
    return out.getvalue()


def in_json(form: Any) -> str:
    rows = ({"gold": tags, "extra": None, "out": form(row)} for tags, row in SCORED)
    return "".join(f"{json.dumps(row)}\n" for row in rows)


CASES: list[tuple[dict[str, str], str, dict[str, Any]]] = [  # files, a command, and what they hold as arrays
    *(({"d.csv": cut_at(*marks)}, f"d.csv --separator {marks[0].strip()}", {"y_pred": PRED})
      for marks in itertools.product([", ", ";", "|", " | "], [",", ";", "\t"])),
    ({"d.csv": DOCS}, "d.csv d.csv --pred d.csv --separator ,", {"y_pred": PRED, "y_score": LISTED}),
    *(({"d.jsonl": in_json(form)}, "d.jsonl d.jsonl --scores-label-field out", {"y_score": SCORES})
      for form in FORMS),
    ({"d.csv": "tags,out,p\na|b,b|a,0.5|0.25\n,,\nc,\"['c', 'b']\",\"[3, -1e-3]\"\n"},
     "d.csv d.csv --scores-label-field out --score-field p --separator |", {"y_score": SCORES}),
    ({"t.csv": TAGS, "p.csv": "tags,doc\nc;a,z\na,y\nother,unknown\nb,x\n"},
     "t.csv --pred p.csv --instance-field doc --separator ;", {"y_pred": PRED}),
    ({"t.csv": TAGS, "p.csv": "pred,n\nb,1\na,1\nc;a,1\n"},
     "t.csv --pred p.csv --separator ;", {"y_pred": PRED}),
    ({"t.csv": "tags,n\na;b,1\n,1\nc,1\n", "p.csv": "pred,id\na,1\nc;a,2\nb,0\n"},
     "t.csv p.csv --separator ;", {"y_score": LISTED}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "line", "arrays"), CASES)
def test_documents_hold_what_arrays_hold(files: Any, line: str, arrays: Any) -> None:
    for name, text in files.items():
        Path(name).write_text(text, newline="")
    metrics = (RANKED if "y_score" in arrays else []) + (SETS if "y_pred" in arrays else [])
    metrics += ["auc.micro"] if arrays.get("y_score") is SCORES else []
    assert values_of(metrics, line) == dict(evaluate(TRUTH, **arrays, metrics=metrics))


CELLS: list[tuple[str, list[str], list[Any]]] = [  # options, cells, and labels or labels with scores in each
    ("--separator ' '", ["a b", "c", ""], [["a", "b"], ["c"], []]),
    ("--separator '|'", ["a, b", "a|b"], [["a, b"], ["a", "b"]]),
    ("--separator ,", ["a, b,", '["a", "b"]'], [["a", "b"], ["a", "b"]]),
    ("--separator '\t'", ["a\tb c"], [["a", "b c"]]),
    ("", ["['a', \"b's\", 3]", "[]", "(c)d", "array(c)d"], [["a", "b's", "3"], [], ["(c)d"], ["array(c)d"]]),
    ("", ["('a', 'b')", "( 'a' , 'c' , )", "()", "('b', 'a',)"], [["a", "b"], ["a", "c"], [], ["a", "b"]]),
    ("", ["{'a', 'b'}", "set()", "frozenset({'a', 'b'})", "frozenset()"], [["a", "b"], [], ["a", "b"], []]),
    ("", ["array(['a',\n  'c'], dtype=object)", "array([], dtype=float64)"], [["a", "c"], []]),
    ("", ["[np.str_('a'), \"c\"]"], [["a", "c"]]),
    ("", ["(('a', 0.5), ('c', 0.25))", "{'a': 0.5, 'c': 0.25}"], [{"a": 0.5, "c": 0.25}] * 2),
    ("", ["[('a', np.float64(0.5)), (np.str_(\"c\"), np.float32(0.25))]"], [{"a": 0.5, "c": 0.25}]),
]


@pytest.mark.parametrize(("options", "cells", "expected"), CELLS)
def test_cells_as_python_and_people_write_them(options: str, cells: list[str], expected: list[Any]) -> None:
    with Path("d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["pred"], *([cell] for cell in cells)])
    rows = ({"labels": [*labels, "first"]} for labels in expected)  # that no cell is empty
    Path("y.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    scored = isinstance(expected[0], dict)
    metrics = "p@2,r@2" if scored else "precision.micro,recall.micro"
    line = f"evaluate y.jsonl {'' if scored else '--pred'} d.csv {options} --metrics {metrics} --format json"
    code, out, err = answer(shlex.split(line))
    assert code == 0, err
    hits, listed = sum(map(len, expected)), 2 * len(cells) if scored else sum(map(len, expected))
    recall = 2 / 3 if scored else hits / (hits + len(cells))
    assert [*json.loads(out)["values"].values()] == pytest.approx([hits / listed, recall])


@given(st.lists(st.text(max_size=5)))
def test_lists_as_python_prints_them(names: list[str]) -> None:
    assert parsed(repr(names)) == parsed(json.dumps(names)) == names
    assert parsed(repr([(name, 0.5) for name in names])) == [[name, 0.5] for name in names]


def test_training_labels_in_documents() -> None:
    Path("train.csv").write_text('tags,n\n"[""a"", ""b""]",1\na,1\nzzz,1\n')
    Path("docs.jsonl").write_text('{"tags": ["a"], "predicted": {"a": 1, "b": 2}}\n')
    assert values_of(["psp@1"], "docs.jsonl --train train.csv") == {"psp@1": 0.0}
    _, out, _ = answer(["stats", "train.csv", "--format", "json"])
    assert json.loads(out)["label_cardinality"] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    "cell",
    ["['a' 'b']", "[0x1]", "[1_0]", "{'a': 1, 2: 3}", "['\\d']", "[b'a']", "[a]", "[1e1_0]"],
)
def test_what_python_never_prints_is_refused(cell: str) -> None:
    with Path("d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["tags", "pred"], ["a", cell]])
    code, _, err = answer(["evaluate", "d.csv", "--metrics", "f1.micro"])
    assert code
    assert "line 2: " in err
    assert "is no list of labels in JSON or Python" in err


@pytest.mark.parametrize("relevance", ["inf", "-inf", "1e30", "nan", "0.5", "1_0"])
def test_judgements_of_a_table_are_whole_numbers(relevance: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(f"query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t{relevance}\n")
    with pytest.raises(ValueError, match=r"qrels\.tsv: line 3: [^\n]*no relevance"):
        evaluate(path, {"q1": {"a": 0.5}}, metrics="p@1")


def test_messages_in_python_name_arguments(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,labels\n1,a;b\n")
    with pytest.raises(ValueError, match=r"line 2: 'a;b' may .*; scan\(path, separator=';'\) cuts it"):
        evaluate(tmp_path / "d.csv", metrics="statistics")
    (tmp_path / "d.csv").write_text("id,topics\n1,a\n")
    with pytest.raises(
        ValueError, match=r"scan\(path, label=...\), scan\(path, score=...\) and .* name them"
    ):
        evaluate(tmp_path / "d.csv", metrics="statistics")
