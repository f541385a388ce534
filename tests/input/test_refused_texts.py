"""Texts that are refused: each fault is named in one line, with the file and the line it is in."""

import math
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.limits import small_limits
from tests.made_files import make_scores, make_truth, npz
from xmleval import evaluate
from xmleval.io import read_scores, read_truth

HEADER = """% a comment
@RELATION 'a name: with a colon'

@attribute word numeric
@Attribute "label one" {0,1}
@ATTRIBUTE text string
@attribute\t'it\\'s \\"two\\"' { '0', "1" } % a label
@attribute day date "yyyy-MM-dd"
@attribute three {0,1}
@Data
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="three"><label name="label one"/></label>
<label name="it's &quot;two&quot;"></label>
</labels>
"""
ATTRIBUTES = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(3))
ROWS = [  # of ARFF, below the header
    ("1,2,3\n", "line 11: 3 values for 6 attributes"),
    ("1,1,x,0,y,0,7\n", "line 11: 7 values for 6 attributes"),
    ("{" + "1 1," * 9 + "}\n", "is not {attribute value, ...} with each of 0..5 once"),
    ("{}\n1,2,x,0,y,0\n", "line 12: value '2' of label 'label one' is not 0 or 1"),
    ("1,'1,x,0,y,0\n", "line 11: value \"'1\" of label 'label one' is not 0 or 1"),
    ("1,1,,x,0,y,0\n", "line 11: 7 values for 6 attributes"),
    ("1 1 x 0 y\n", "line 11: 1 values for 6 attributes"),
    ("{1 1,6 1}\n", "is not {attribute value, ...} with each of 0..5 once"),
    ("{-1 1}\n", "line 11: '{-1 1}' is not {attribute value, ...}"),
    ("{1 1, 1 0}\n", "is not {attribute value, ...} with each of 0..5 once"),
    ("{1 1\n", "line 11: '{1 1' is not {attribute value, ...}"),
    ("{1 1}, {0.5}\n", "line 11: '{1 1}, {0.5}' is not {attribute value, ...}"),
]
HEADERS = [
    ("", "the file is empty"),
    ("@relation r\n@attribute a {0,1}\n", "it ends after line 2 without @data"),
    ("@relation r\n@attribute a {0,1}\n@database\n", "line 3: '@database' is not @relation"),
    ("@relation r\n\n@data\n", "'three' must be the name of one attribute and of one label"),
    (
        "@relation r\n@attribute a\n@data\n",
        "line 2: '@attribute a' is not @relation, @attribute NAME TYPE",
    ),
    ("@attribute bag relational\n@end bag\n", "line 2: '@end bag' is not @relation,"),
    (
        "@attribute three {0,1}\n@data\n",
        "'label one' must be the name of one attribute and of one label",
    ),
    (HEADER.replace("word", "three"), "'three' must be the name of one attribute"),
    (HEADER.replace("three {0,1}", "three numeric"), "label 'three' is not of type {0,1}"),
    (HEADER.replace("three {0,1}", "three {0,0}"), "label 'three' is not of type {0,1}"),
]
RELATIONS = [  # which do not tell which attributes are labels
    ("'r -C 2'", "it is not known which of 3 attributes are labels"),
    ("'r: -C 0'", "it is not known which of 3 attributes are labels"),
    (
        "'r: -C 2-weka.filters.unsupervised.attribute.Remove-R1'",
        "no '-C n' without a filter of attributes",
    ),
]
BOMB = """<!DOCTYPE labels [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"""
DOCUMENTS = [  # in XML, which name labels of ARFF
    ("", "the file is empty"),
    (
        BOMB + "<labels><label name='&b;'/></labels>",
        "it has a document type declaration, which is not allowed",
    ),
    ("<labels><label name='&b;'/></labels>", "not well-formed XML (undefined entity"),
    ("<labels></labels>", "it has other elements, or labels without a name"),
    ("<data><label name='three'/></data>", "it has other elements, or labels without a name"),
    ("<labels>\n<label/></labels>", "it has other elements, or labels without a name"),
]
CSVS = [
    ("", "the file is empty"),
    ("id,tags,predicted\n", "it has no rows"),
    (
        "tags,labels,pred\na,b,c\n",
        "columns 'tags' and 'labels' may both be meant; name the column with --label-field, ",
    ),
    ("tags,pred\na,b\n\na,b,c\n", "line 4: 3 fields, not 2"),
    (
        'tags,pred\na,"b\nc,d\n',
        "line 2: unexpected end of data; a quoted field must end with a quote",
    ),
    ('tags,pred\na,"b"c\n', "line 2: ',' expected after '\"'; a quoted field must end"),
    (
        'tags,pred\na,b\n"x,y",a\n',
        "line 3: 'x,y' may be one label or several; give --separator ',' for several",
    ),
    ('tags,pred\n"[""a"", ""a""]",b\n', "line 2: label 'a' occurs twice"),
    ('tags,pred\n"[a]",b\n', "line 2: '[a]' is not a list of labels in JSON or Python"),
    ("tags,pred\n[null],b\n", "line 2: null is not a label"),
    ('tags,pred\n"{""a"": 1}",b\n', "line 2: 'tags' has scores, but relevant labels are expected"),
    ('tags,pred\na,"{""a"": 1, ""a"": 2}"\n', "line 2: 'a' occurs twice in an object"),
    ('tags,pred\na,"{""a"": ""x""}"\n', "line 2: 'x' is not a score"),
    ('tags,pred\na,"{""a"": NaN}"\n', "line 2: NaN is not a score"),
    ('tags,pred\na,"[[""a"", 1], [""b""]]"\n', "line 2: a list is not a label with a score"),
    ('tags,pred\na,b\na,"{""a"": 1}"\n', "line 3: some labels have scores, and others none"),
    ('tags,pred,scores\na,"[""b"", 3]",0.5\n', "line 2: 2 labels, but 1 score"),
    ("tags,pred\n" + "[" * 100_000 + "]" * 100_000 + ",b\n", "line 2: it is nested too deeply"),
]
JSONS = [
    ("x\n", "line 1: 'x' is not JSON"),
    ("1\n", "line 1: '1' is not an object"),
    ("[1]\n", """line 1: '[1]' is a list; write it in a field, {"labels": [...]}"""),
    (
        '{"a": 0, "b": 1}\n{"b": 1}\n',
        """line 2: no field 'a', as in the first line; write labels with scores in a field""",
    ),
    ('{"a": {"b": 1}}\n', "line 1: rows by name; write one object of all rows (NAME.json)"),
    (
        '{"tags": [], "pred": [{"a": 1}]}\n',
        "line 1: an object is not a label with a score, such as",
    ),
    ('{"tags": [], "pred": []}\n{"tags": []}\n', "line 2: no field 'pred'"),
    ('{"tags": null, "pred": []}\n', "line 1: null is not a list of labels"),
    ('{"tags": ["a"], "pred": [["a", ' + "9" * 5000 + "]]}\n", "line 1: "),
    ('{"tags": ' + "[" * 100_000 + "]" * 100_000 + ', "pred": []}\n', "line 1: "),
]

OPTIONS = [
    ("docs.csv --pred docs.csv --score-field predicted", "docs.csv: line 2: 'b' is not a score"),
    (
        "docs.csv --decision top3",
        "docs.csv: --decision needs a ranking, but its labels have no scores",
    ),
    ("docs.csv --pred scored.jsonl", "scored.jsonl: its labels have scores; expected sets"),
    ("docs.csv --separator ''", "--separator: is empty"),
    ("docs.csv Y.npz", "Y.npz: has no names, but other inputs have; expected predictions"),
]


TABLES: list[tuple[str, str, list[tuple[str, str]]]] = [  # a file, and a command that reads it
    ("y-train.arff", "stats {}", [(HEADER + text, message) for text, message in ROWS]),
    ("y-train.arff", "stats {}", HEADERS),
    (
        "z.arff",
        "stats {}",
        [(f"@relation {x}\n{ATTRIBUTES}@data\n0,1,0\n", said) for x, said in RELATIONS],
    ),
    ("y.xml", "stats y-train.arff", DOCUMENTS),
    (
        "t.qrels",
        "evaluate {} y.run",
        [
            ("", "the file is empty"),
            ("q 0 a\n", "line 1: 3 fields, not 4"),
            ("q 0 a 1.0\n", "line 1: relevance '1.0' is not an integer"),
            ("q 0 a 1\nq 0 b 1\nq 0 a 0\n", "line 3: label 'a' occurs twice"),
        ],
    ),
    (
        "m.run",
        "evaluate y.qrels {}",
        [
            ("q1 0 dog 1\n", "line 1: 4 fields, not 6"),
            ("q1 Q0 dog 1 nan m\n", "line 1: score 'nan' is not a number"),
            ("q1 Q0 dog 1 1 m\nq1 Q0 dog 2 1 m\n", "line 2: label 'dog' occurs twice"),
        ],
    ),
    (
        "l.txt",
        "evaluate y.qrels y.run --labels {}",
        [
            ("a\n\nb\n", "line 2 is blank; remove it"),
            ("a\nb\na\n", "name 'a' occurs twice, the second time in place 2"),
        ],
    ),
    (
        "l.json",
        "evaluate y.qrels y.run --labels {}",
        [
            ('["a", 1]', "name 1 is '1'; expected a non-empty string"),
            ('{"a": 1}', "a JSON dict, not a list"),
            ("[" * 200000, "nested too deeply"),
        ],
    ),
    (
        "Z.txt",
        "evaluate {} m.npz --metrics p@1",
        [
            ("1\n2 3\n", "line 1: '1' is not a header of two or three integers"),
            ("names of\nlabels\n", "line 1: 'names of' is not a header of two or three integers"),
        ],
    ),
    (
        "Z.txt",
        "evaluate {} m.npz --metrics p@1 --input-format lines",
        [
            ("1\n2 x\n", "line 2: 'x' is not a label id, a whole number from 0 up"),
            ("1\n\n2 3 2\n", "line 3: label id 2 occurs twice"),
        ],
    ),
    (
        "Z.txt",
        "evaluate t.txt {} --metrics p@1 --input-format lines",
        [
            ("a:0.5 b:0.25\na b:1\n", "line 2: 'a' is not a label with its score"),
            ("a:0.5\nb\n", "line 2: some labels have scores, and others none"),
            ("a:0.5\na:0.5 a:1\n", "line 2: label 'a' occurs twice"),
            ("__label__a 0.5\n__label__b x\n", "line 2: 'b:x' is not a label with its score"),
        ],
    ),
    (
        "t.json",
        "evaluate {} s.json",
        [
            ("[]", "a JSON list; write a list of documents one per line (.jsonl)"),
            ('{"q": 3}', "instance 'q': '3' is not an object"),
            (
                '{"q": {"a": 0.5}}',
                "instance 'q': relevance 0.5 is not an integer; it looks like a score",
            ),
            ('{"q": {"a": 1, "a": 0}}', "'a' occurs twice in an object"),
            ('{"q": {"a": 1}\n', "not JSON: Expecting ',' delimiter: line 2"),
            ("[" * 100_000, "it is nested too deeply"),
        ],
    ),
    ("d.csv", "evaluate {} --metrics f1.micro", CSVS),
    ("d.jsonl", "evaluate {} --metrics f1.micro", JSONS),
    ("s.json", "evaluate t.json {}", [('{"q": {"a": NaN}}', "instance 'q': NaN is not a score")]),
]


@pytest.fixture(autouse=True)
def _files(_folder: None) -> None:
    """Write valid files; a test replaces one of them."""
    npz(Path("Y"), make_truth())
    npz(Path("m"), make_scores())
    Path("y-train.arff").write_text(HEADER)
    Path("y.xml").write_text(XML)
    Path("y.qrels").write_text("q1 0 dog 1\n")
    Path("y.run").write_text("q1 Q0 dog 1 0.5 m\n")
    Path("t.txt").write_text("__label__a a text\n__label__b __label__c another\n")
    Path("t.json").write_text('{"q": {"a": 1}}')
    Path("s.json").write_text('{"q": {"a": 1.5}}')
    Path("docs.csv").write_text('id,tags,predicted\n1,a,b\n2,,a\n3,c,"[""c"", ""a""]"\n')
    Path("scored.jsonl").write_text('{"id": 1, "tags": ["a"], "predicted": {"a": 1}}\n')


@pytest.mark.parametrize(
    ("name", "command", "text", "message"),
    [(name, command, *row) for name, command, rows in TABLES for row in rows],
)
def test_faults_are_refused_with_their_place(
    refused: Any, name: str, command: str, text: str, message: str
) -> None:
    Path(name).write_text(text)
    actual = refused(command.format(name))
    assert actual.startswith(f"{name}: "), actual
    assert message in actual
    assert "; expected " in actual


@pytest.mark.parametrize(
    "text", ["q 0 1 1\n", "0 0 x 1\n", "0 0 1 1\n2 0 1 1\n", "0 0 01 1\n", "0 0 -1 1\n"]
)
def test_names_are_not_read_as_numbers(text: str) -> None:
    Path("t.qrels").write_text(text)
    with pytest.raises(ValueError, match=r"^t.qrels: (.* is not a number|has names); expected"):
        read_truth("t.qrels")
    with pytest.raises(ValueError, match="cannot contain scores; expected"):
        read_scores("t.qrels")


@pytest.mark.parametrize(("line", "message"), OPTIONS)
def test_options_that_do_not_fit_are_refused(refused: Any, line: str, message: str) -> None:
    assert refused(f"evaluate {line}").startswith(message)


def test_line_of_a_repeated_label_counts_comments_and_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.svm"
    path.write_text("# a comment\n\n1,2 1:0.5\n# another\n3,3 1:0.5\n")
    with pytest.raises(ValueError, match=r"t\.svm: line 5: label id 3 occurs twice"):
        read_truth(path)


LONG = [(f"q{number}", "x", f"{number % 7}.5") for number in range(400)]
WRITTEN_SCORES: dict[str, tuple[str, str]] = {  # the first line, and each line, by file
    "s.run": ("", "{} Q0 {} 1 {} m\n"),
    "s.csv": ("instance,label,score\n", "{},{},{}\n"),
    "s.tsv": ("instance\tlabel\tscore\n", "{}\t{}\t{}\n"),
}


@pytest.mark.parametrize("score", ["1_0", "1e1_0", "0x1", "nan", "1.2.3", "--1", "x"])
@pytest.mark.parametrize("name", WRITTEN_SCORES)
def test_scores_that_are_not_numbers_are_refused_far_behind_the_first_line(
    name: str, score: str
) -> None:
    head, line = WRITTEN_SCORES[name]
    rows = [*LONG, ("p", "x", score), *((f"r{key}", label, text) for key, label, text in LONG)]
    Path(name).write_text(head + "".join(line.format(*row) for row in rows))
    number = len(LONG) + 1 + bool(head)
    message = rf"^{name}: line {number}: .*{re.escape(score)}.* is not"
    for limits in (nullcontext, small_limits):
        with limits(), pytest.raises(ValueError, match=message):
            evaluate({"q1": ["x"]}, name, metrics="p@1")


@pytest.mark.parametrize("name", WRITTEN_SCORES)
def test_scores_are_read_in_all_spellings_far_behind_the_first_line(name: str) -> None:
    head, line = WRITTEN_SCORES[name]
    spelled = {"1e1": 10.0, "+.5": 0.5, "-3.": -3.0, "inf": math.inf, "-Infinity": -math.inf}
    rows = [*LONG]
    for place, text in enumerate(spelled):
        rows += [(f"p{place}", "x", text), (f"p{place}", "y", "0.25")]
    rows += [(f"r{key}", label, text) for key, label, text in LONG]
    Path(name).write_text(head + "".join(line.format(*row) for row in rows))
    truth = {f"p{place}": ["x"] for place in range(len(spelled))}
    expected = [float(score > 0.25) for score in spelled.values()]
    for limits in (nullcontext, small_limits):
        with limits():
            report = evaluate(truth, name, metrics="p@1", per_row=True)
        assert report.per_row()["p@1"].tolist() == expected
