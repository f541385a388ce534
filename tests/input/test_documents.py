"""CSV and JSON Lines of documents: their fields, their cells, and what they are joined with."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer as done
from tests.made_files import NAMED, make_scores, make_truth, named_pair, npz
from xmleval import evaluate
from xmleval.budget import UNLIMITED
from xmleval.input.formats.delimited import records
from xmleval.input.formats.label_cells import LabelCells, parsed

DOCS = 'id,tags,predicted\n1,"a, b",b\n2,,a\n3,c,"c,a"\n'
TRUTH = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]])
PRED = np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]])
SETS = ["f1.micro", "f1.macro", "subset_accuracy"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("memory", ["1GiB", "4KB"])
@pytest.mark.parametrize("name", NAMED)
def test_values_are_those_of_matrices(folder: Path, found: Any, name: str, memory: str) -> None:
    truth, scores = make_truth(), make_scores()
    metrics = ["p@1", "ndcg@5", "lrap", "auc.micro", "f1.micro@3"]
    paths = named_pair(name, Path(), truth, scores)
    values, _ = found(f"{paths[0]} {paths[1]} --metrics {','.join(metrics)} --memory {memory}")
    assert values == dict(evaluate(truth, scores, metrics=metrics))


# ------------------------------------------------------------------------------ one file with both


@pytest.mark.parametrize("separator", [", ", ";", "|", " | "])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sets_of_one_file(folder: Path, found: Any, separator: str, delimiter: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["id", "text", "tags", "predicted"])
    for row, (truth, pred) in enumerate(zip(TRUTH, PRED, strict=True)):
        cells = [separator.join("abc"[j] for j in np.flatnonzero(sets)) for sets in (truth, pred)]
        writer.writerow([row, 'He said:\n"no",\r\n\n;\tyes', *cells])
    Path("docs.csv").write_text(out.getvalue(), newline="")
    values, notes = found(f"docs.csv --metrics {','.join(SETS)}")
    assert values == dict(evaluate(TRUTH, y_pred=PRED, metrics=SETS))
    mark = separator.strip()
    assert notes == [
        f"docs.csv: relevant labels in 'tags' cut at {mark!r}",
        f"docs.csv: predicted labels in 'predicted' cut at {mark!r}, no scores, taken as sets "
        "(--ranked: also best first)",
    ]


def test_measures_of_sets_are_the_default_of_sets(folder: Path, found: Any) -> None:
    Path("docs.csv").write_text(DOCS)
    values, _ = found("docs.csv")
    assert {"f1.micro", "subset_accuracy", "hamming_loss"} <= {*values}
    assert values["f1.micro"] == evaluate(TRUTH, y_pred=PRED, metrics="f1.micro")["f1.micro"]


def test_ranked_labels_of_one_file(folder: Path, found: Any) -> None:
    Path("docs.csv").write_text(DOCS)
    metrics = ["p@1", "p@2", "mrr@2", "f1.micro"]
    values, notes = found(f"docs.csv --ranked --metrics {','.join(metrics)}")
    listed = np.array([[1, -1], [0, -1], [2, 0]]), None
    assert values == dict(evaluate(TRUTH, listed, y_pred=PRED, metrics=metrics))
    assert notes[1].endswith("no scores, taken as sets and best first")
    values, notes = found("docs.csv --ranked --metrics f1.micro --decision top1")
    assert values == dict(evaluate(TRUTH, listed, metrics=["f1.micro"], decision="top1"))


@pytest.mark.parametrize(
    "form",
    [
        lambda row: row,
        lambda row: [[name, score] for name, score in row.items()],
        lambda row: [{"label": name, "score": score} for name, score in row.items()],
        lambda row: json.dumps(row),
    ],
)
def test_scores_of_one_file(folder: Path, found: Any, form: Any) -> None:
    rows = [{"b": 0.5, "a": 0.25}, {}, {"c": 3, "d": -1e-3}]
    tags = [["a", "b"], [], ["c"]]
    with open("docs.jsonl", "w") as file:
        for own, row in zip(tags, rows, strict=True):
            file.write(json.dumps({"gold": own, "extra": None, "out": form(row)}) + "\n")
    truth = np.hstack([TRUTH, np.zeros((3, 1), int)])
    scores = sp.csr_array(([0.25, 0.5, 3, -1e-3], ([0, 0, 2, 2], [0, 1, 2, 3])), shape=(3, 4))
    values, notes = found(
        "docs.jsonl --pred-field out --metrics p@1,auc.micro,f1.micro --decision threshold0.3"
    )
    want = evaluate(truth, scores, metrics=["p@1", "auc.micro", "f1.micro"], decision="threshold0.3")
    assert values == dict(want)
    assert notes == [
        "docs.jsonl: relevant labels in 'gold'",
        "docs.jsonl: 1 row of the truth has no prediction; it counts as empty",
        "docs.jsonl: 1 predicted label never occurs in the truth; it counts as wrong",
    ]


def test_scores_in_a_field_beside(folder: Path, found: Any) -> None:
    Path("docs.csv").write_text("tags,out,p\na|b,b|a,0.5|0.25\n,,\nc,\"['c']\",[3]\n")
    values, _ = found("docs.csv --pred-field out --score-field p --metrics p@1,auc.micro")
    scores = sp.csr_array(([0.25, 0.5, 3], ([0, 0, 2], [0, 1, 2])), shape=(3, 3))
    assert values == dict(evaluate(TRUTH, scores, metrics=["p@1", "auc.micro"]))


# ------------------------------------------------------------------------------ two files


def test_files_are_joined_by_id(folder: Path, found: Any) -> None:
    Path("t.csv").write_text("doc,tags\nx,a;b\ny,\nz,c\n")
    Path("p.csv").write_text("tags,doc\nc;a,z\na,y\nother,unknown\nb,x\n")
    values, notes = found(f"t.csv --pred p.csv --id-field doc --metrics {','.join(SETS)}")
    assert values == dict(evaluate(TRUTH, y_pred=PRED, metrics=SETS))
    assert notes[1] == "p.csv: predicted labels in 'tags' cut at ';', no scores, taken as sets"
    listed = np.array([[1, -1], [0, -1], [2, 0]]), None
    values, notes = found("t.csv p.csv --id-field doc --metrics p@1,p@2")
    assert values == dict(evaluate(TRUTH, listed, metrics=["p@1", "p@2"]))
    assert notes[1].endswith("taken best first")


def test_files_without_ids_are_joined_by_order(folder: Path, found: Any, refused: Any) -> None:
    Path("t.csv").write_text("tags,n\na;b,1\n,1\nc,1\n")
    Path("p.csv").write_text("pred,n\nb,1\na,1\nc;a,1\n")
    values, _ = found(f"t.csv --pred p.csv --metrics {','.join(SETS)}")
    assert values == dict(evaluate(TRUTH, y_pred=PRED, metrics=SETS))
    for text in ("pred,n\nb,1\na,1\n", "pred,n\nb,1\na,1\nc,1\na,1\n"):
        Path("p.csv").write_text(text)
        assert "rows do not match the 3 of TRUTH" in refused("evaluate t.csv --pred p.csv")
    Path("p.csv").write_text("pred,id\nb,1\na,1\nc;a,1\n")
    assert "id '1' a second time, first in line 2" in refused("evaluate t.csv --pred p.csv")
    Path("p.csv").write_text("pred,id\nb,1\na,2\nc;a,3\n")
    assert "not the numbers 0 to 2 of all rows, and none in TRUTH" in refused("evaluate t.csv --pred p.csv")
    Path("p.csv").write_text("pred,id\na,1\nc;a,2\nb,0\n")
    assert found(f"t.csv --pred p.csv --metrics {','.join(SETS)}")[0] == values
    Path("p.csv").write_text("instance,label,score\n2,c,3\n0,b,1\n2,a,2\n1,a,1\n")
    listed = np.array([[1, -1], [0, -1], [2, 0]]), None
    assert found("t.csv p.csv --metrics p@1,p@2")[0] == dict(evaluate(TRUTH, listed, metrics=["p@1", "p@2"]))


def test_lists_of_very_different_lengths(folder: Path, found: Any) -> None:
    rng = np.random.default_rng(0)
    lists = [rng.permutation(5000)[: 4000 if row % 97 == 0 else row % 3].tolist() for row in range(500)]
    with open("d.jsonl", "w") as file:
        for row, listed in enumerate(lists):
            file.write(json.dumps({"tags": [str(row), "x"], "pred": [*map(str, listed)]}) + "\n")
    values, _ = found("d.jsonl --ranked --metrics p@1,p@5,map@all --memory 100KB")
    numbers: dict[str, int] = {}
    for row in range(500):
        for name in (str(row), "x"):
            numbers.setdefault(name, len(numbers))
    for listed in lists:
        for label in listed:
            numbers.setdefault(str(label), len(numbers))
    truth = [[numbers[str(row)], numbers["x"]] for row in range(500)]
    given = [[numbers[str(label)] for label in listed] for listed in lists]
    want = evaluate(truth, given, n_labels=len(numbers), metrics=["p@1", "p@5", "map@all"])
    assert values == dict(want)


def test_training_labels_and_statistics(folder: Path, found: Any) -> None:
    Path("train.csv").write_text("tags,n\na;b,1\na,1\nzzz,1\n")
    Path("docs.jsonl").write_text('{"tags": ["a"], "predicted": {"a": 1, "b": 2}}\n')
    values, _ = found("docs.jsonl --train train.csv --metrics psp@1")
    assert values == {"psp@1": 0.0}
    _, out, err = done(["stats", "train.csv", "--format", "json"])
    assert json.loads(out)["label_cardinality"] == pytest.approx(4 / 3)
    assert err.startswith("xmleval: train.csv: relevant labels in 'tags' cut at ';', rows and")


@pytest.mark.parametrize(
    ("true", "pred"),
    [
        ("['a', 'b']", "['a', 'c']"),
        ("('a', 'b')", "( 'a' , 'c' , )"),
        ("{'a', 'b'}", "{'c', 'a'}"),
        ("('b', 'a',)", "('c','a')"),
        ("a;b", "(('a', 0.5), ('c', 0.25))"),
        ("a;b", "{'a': 0.5, 'c': 0.25}"),
        ("frozenset({'a', 'b'})", "frozenset({'c', 'a'})"),
        ("array(['a', 'b'], dtype='<U1')", "array(['a',\n       'c'], dtype=object)"),
        ("array(['b', 'a'])", "[np.str_('a'), np.str_('c')]"),
        ("[np.str_('a'), \"b\"]", "[('a', np.float64(0.5)), (np.str_(\"c\"), np.float32(0.25))]"),
    ],
)
def test_collections_as_python_prints_them(folder: Path, found: Any, true: str, pred: str) -> None:
    with Path("d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["true", "pred"], [true, pred], ["set()", "()"], ["(c)d", "[]"]])
        csv.writer(file).writerows([["frozenset()", "array([], dtype=float64)"], ["array(c)d", "set()"]])
    ranked = "" if "0.5" in pred else "--ranked"
    values, _ = found(f"d.csv {ranked} --metrics p@2,label_cardinality")
    assert values == {"p@2": 0.5 / 5, "label_cardinality": 4 / 5}


# ------------------------------------------------------------------------------ what is refused

CSVS = [
    ("", "the file is empty"),
    ("id,tags,predicted\n", "no row in it"),
    ("id,topics\n1,a\n", "its fields are 'id', 'topics'; --true-field tells which holds labels"),
    ("tags,labels,pred\na,b,c\n", "its fields 'tags' and 'labels' may both be meant; an option tells which"),
    ("tags,tags,pred\na,b,c\n", "its fields 'tags' and 'tags' may both be meant"),
    ("tags,pred\na,b\na\n", "line 3: 1 fields, not 2"),
    ("tags,pred\na,b\n\na,b,c\n", "line 4: 3 fields, not 2"),
    ('tags,pred\n"a\n\nb",c\na\n', "line 5: 1 fields, not 2"),
    ('tags,pred\na,"b\nc,d\n', "line 2: a quoted field has no end"),
    ('tags,pred\na,"b"c\n', "line 2: 'c' behind the end of a quoted field"),
    ('tags,pred\na,b\n"x;y,z",a\n', "line 3: ';' and ',' may both stand between labels, as in 'x;y,z'"),
    ("tags,pred\nx;y,b\nu|v,a\n", "line 3: ';' and '|' may both stand between labels, as in 'u|v'"),
    ("tags,pred\nx,b\nmachine learning,a\n", "line 3: 'machine learning' may be one label or several"),
    ("tags,pred\na;a,b\n", "line 2: label 'a' of instance '0' a second time"),
    ('tags,pred\n"[a]",b\n', "line 2: '[a]' is no list of labels in JSON or Python"),
    ("tags,pred\n\"['a' 'b']\",b\n", "line 2: \"['a' 'b']\" is no list of labels"),
    ("tags,pred\n[null],b\n", "line 2: null is no label"),
    ("tags,pred\n[1.5],b\n", "line 2: 1.5 is no label"),
    ('tags,pred\n"{""a"": 1}",b\n', "line 2: 'tags' has scores, in what should be relevant labels"),
    ('tags,pred\na,"{""a"": 1, ""a"": 2}"\n', "line 2: 'a' occurs twice in an object"),
    ('tags,pred\na,"{""a"": ""x""}"\n', "line 2: 'x' is no score"),
    ('tags,pred\na,"{""a"": NaN}"\n', "line 2: NaN is no score"),
    ('tags,pred\na,"{""a"": true}"\n', "line 2: true is no score"),
    ('tags,pred\na,"[[""a"", 1], [""b""]]"\n', "line 2: a list is no label with a score"),
    ('tags,pred\na,b\na,"{""a"": 1}"\n', "line 3: labels with scores, where those before have no scores"),
    ('tags,pred\na,"{""a"": 1}"\na,b\n', "line 3: labels with none, where those before have scores"),
    ("tags,pred,scores\na,b;c,0.5\n", "line 2: 2 labels with 1 score"),
    ("tags,pred,scores\na,b,x\n", "line 2: 'x' is no score"),
    ("tags,pred\n" + "[" * 100_000 + "]" * 100_000 + ",b\n", "line 2: '[[["),
]
JSONS = [
    ("x\n", "line 1: 'x' is no JSON"),
    ("[1]\n", "line 1: '[1]' is no object"),
    ('{"pred": []}\n', "its fields are 'pred'; --true-field tells which holds labels"),
    ('{"tags": [], "pred": []}\n{"tags": []}\n', "line 2: no field 'pred'"),
    ('{"tags": null, "pred": []}\n', "line 1: null is no list of labels"),
    ('{"tags": 3, "pred": []}\n', "line 1: 3 is no list of labels"),
    ('{"tags": [["a"]], "pred": []}\n', "line 1: a list is no label with a score"),
    ('{"tags": ["a"], "pred": [["a", ' + "9" * 5000 + "]]}\n", "line 1: '99999"),
    ('{"tags": ["a"], "pred": [["a", ' + "9" * 299 + ".0]]}\n", None),
    ('{"tags": ["a"], "tags": [], "pred": []}\n', "line 1: 'tags' occurs twice in an object"),
    ('{"tags": ' + "[" * 100_000 + "]" * 100_000 + ', "pred": []}\n', "line 1: "),
]


@pytest.mark.parametrize(("name", "text", "said"), [
    *(("d.csv", *fault) for fault in CSVS),
    *(("d.jsonl", *fault) for fault in JSONS),
])  # fmt: skip
def test_what_is_refused(
    folder: Path, run: Any, refused: Any, name: str, text: str, said: str | None
) -> None:
    Path(name).write_text(text)
    line = f"evaluate {name} --metrics {'f1.micro@1' if said is None else 'f1.micro'}"
    if said is None:
        run(line)
        return
    told = refused(line)
    assert told.startswith(f"{name}: {said}"), told
    assert "; expected " in told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("docs.csv --pred docs.csv --score-field predicted", "docs.csv: line 2: 'b' is no score"),
        ("docs.csv docs.csv --ranked", "--ranked is for predictions in TRUTH's own file"),
        ("scored.jsonl --ranked", "scored.jsonl: its labels have scores, which rank them; --ranked is for"),
        ("docs.csv --decision top3", "docs.csv: --decision needs a ranking, and its labels have no scores"),
        ("docs.csv --metrics p@5", "docs.csv: p@5 needs a ranking, and its labels have no scores; expected"),
        ("docs.csv --pred scored.jsonl", "scored.jsonl: its labels have scores; expected sets"),
        ("docs.csv --separator ''", "--separator is empty"),
        ("docs.csv Y.npz", "Y.npz: expected one file of predictions with names"),
        ("Y.npz docs.csv", "Y.npz: predictions have names (docs.csv); expected one file of relevant labels"),
        ("Y.npz --pred docs.csv", "Y.npz: predictions have names (docs.csv)"),
        ("docs.csv --true-field nope", "docs.csv: no field 'nope' among 'id', 'tags', 'predicted'"),
    ],
)
def test_options_that_do_not_fit(folder: Path, refused: Any, line: str, said: str) -> None:
    Path("docs.csv").write_text(DOCS)
    Path("scored.jsonl").write_text('{"id": 1, "tags": ["a"], "predicted": {"a": 1}}\n')
    npz(folder / "Y", make_truth())
    assert refused(f"evaluate {line}").startswith(said)


def test_documents_are_no_shards(folder: Path, found: Any, refused: Any) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "m", make_scores())
    Path("m.csv").write_text("a result\n")
    assert found("Y.npz m --metrics p@1") == found("Y.npz m.npz --metrics p@1")


# ------------------------------------------------------------------------------ cells and records

texts = st.text(st.sampled_from('ab,;\t"\n |é'), max_size=6)


@given(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=6), st.sampled_from(",;\t"))
def test_records_are_those_of_the_csv_module(rows: list[list[str]], delimiter: str) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(
        [["x", "y"], *rows]
    )
    lines = enumerate(out.getvalue().split("\n"), 1)
    held = [record for _, record in records(iter([*lines]), UNLIMITED)]
    assert held == [["x", "y"], *rows]


@given(st.lists(st.text(max_size=5)))
def test_lists_as_python_prints_them(names: list[str]) -> None:
    assert parsed(repr(names), UNLIMITED) == names
    assert parsed(json.dumps(names), UNLIMITED) == names
    pairs = [(name, 0.5) for name in names]
    assert parsed(repr(pairs), UNLIMITED) == [list(pair) for pair in pairs]


@pytest.mark.parametrize(
    ("cell", "separator", "want"),
    [
        ("a b", " ", ["a", "b"]),
        ("a, b", "|", ["a, b"]),
        ("a, b,", ",", ["a", "b"]),
        ("a -- b", "--", ["a", "b"]),
        ("a\tb c", "\t", ["a", "b c"]),
        ("['a', \"b's\", 3]", None, ["a", "b's", "3"]),
        ('["a", "b"]', ",", ["a", "b"]),
        ("", None, []),
    ],
)
def test_cells(cell: str, separator: str | None, want: list[str]) -> None:
    assert LabelCells("tags", separator).read(cell, 1, UNLIMITED) == (want, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "a JSON list; of a list of documents, write one a line (.jsonl)"),
        ('{"q": 3}', "instance 'q': '3' is no object"),
        (
            '{"q": {"a": 0.5}}',
            "instance 'q': 0.5 is no relevance, an integer; it looks like a score, as if TRUTH, which comes "
            "first, and SCORES were swapped",
        ),
        ('{"q": {"a": true}}', "instance 'q': true is no relevance, an integer"),
        ('{"q": {"a": 1, "a": 0}}', "'a' occurs twice in an object"),
        ('{"q": {"a": 1}, "q": {}}', "'q' occurs twice in an object"),
        ('{"q": {"a": "1"}}', "instance 'q': '1' is no relevance, an integer"),
        ('{"q": {"a": 1}\n', "line 2: no JSON (Expecting ',' delimiter)"),
        ("[" * 100_000, "its objects are nested without end"),
    ],
)
def test_json_that_is_no_qrels(folder: Path, refused: Any, text: str, said: str) -> None:
    Path("t.json").write_text(text)
    Path("s.json").write_text('{"q": {"a": NaN}}')
    assert refused("evaluate t.json s.json").startswith(
        f"t.json: {said}; expected one JSON object of objects"
    )
    Path("t.json").write_text('{"q": {"a": 1}}')
    assert refused("evaluate t.json s.json").startswith("s.json: instance 'q': NaN is no score")
