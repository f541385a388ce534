"""Blocks of lines, read by kernels, have the values, names, notes and refusals of single lines."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmleval import evaluate, scan
from xmleval.input import fields as input_fields
from xmleval.input import rows as input_rows
from xmleval.input.formats import csv_lines, json_lists
from xmleval.input.names import NameTable, TableNames
from xmleval.io import read_qrels, read_run
from xmleval.kernels import fields
from xmleval.kernels.checking import HASH
from xmleval.kernels.jit import Kernel

NAMES = ("a", "b", "ab", "0", "007", "7", "é", "\xa0", "\u2028", "a" * 9, "doc-12345678", "x" * 40)
BLANKS = (" ", "\t", "  ", " \t ", "\x0b", "\x0c", "\x1c", "\x1f")
SCORES = (
    "0.5",
    "1",
    "-0.0",
    "1e-3",
    "1.",
    ".5",
    "+2",
    "inf",
    "-inf",
    "Infinity",
    "1e400",
    "0." + "123456789" * 4,
)
GRADES = ("0", "1", "-1", "2", "+1", "007")
RANKS = ("1", "2", "3", "12")
WRONG = ("x", "nan", "1_0", "0x1", "--1", "1e", "٣", "1,5")
DAMAGE: dict[str, Callable[[str], bytes]] = {
    "a field less": lambda line: line.rstrip().rpartition(" ")[0].encode() + b"\n",
    "a field more": lambda line: line.rstrip("\r\n").encode() + b" more\n",
    "not UTF-8": lambda line: line.replace("\n", "\xff\n").encode("latin-1", "replace"),
    "a byte order mark": lambda line: "\ufeff".encode() + line.encode(),
    "no value": lambda line: b"\n",
}


# names of rows and labels
PAIRS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    min_size=3,
    max_size=24,
    unique=True,
)


def as_lines(records: list[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw lines of qrels, a run or a run of ranks; one line may be damaged."""
    values = {"qrels": GRADES, "run": SCORES, "ranks": RANKS}[kind]
    lines = list[str]()
    wrong = draw(st.sampled_from(["", "", "", "value", "repeated", *DAMAGE]))
    pairs = draw(PAIRS)
    place = draw(st.integers(0, len(pairs) - 1))
    if wrong == "repeated":
        pairs.append(pairs[place])
    for number, (row, label) in enumerate(pairs):
        is_wrong = wrong == "value" and number == place
        value = draw(st.sampled_from(WRONG if is_wrong else values))
        if kind == "ranks" and number == 0 and wrong != "value":
            value = "1"
        parts = {
            "qrels": [row, "0", label, value],
            "run": [row, "Q0", label, "1", value, "tag"],
            "ranks": [row, label, value],
        }[kind]
        blank = draw(st.sampled_from(BLANKS))
        start = draw(st.sampled_from(["", "", " "]))
        end = draw(st.sampled_from(["\n", "\n", "\r\n", " \n", "\n\n", "\n \t\n"]))
        lines.append(start + blank.join(parts) + end)
    encoded = [line.encode() for line in lines]
    if wrong in DAMAGE:
        encoded[place] = DAMAGE[wrong](lines[place])
    text = b"".join(encoded)
    if draw(st.booleans()):
        return text.rstrip(b"\n")
    return text


def read_named(path: str, kind: str) -> Any:
    if kind == "qrels":
        return read_qrels(path)
    return read_run(path, read_qrels("y.qrels"))


def contents(path: str, kind: str) -> Any:
    """Return the content of a file and the report with the other one, or the refusal."""
    try:
        named = read_named(path, kind)
        report = evaluate("y.qrels", "m.run", metrics=["p@2", "mrr@9", "auc.micro"])
    except ValueError as error:
        # a label in two blocks is refused without its line
        return re.sub("line [0-9]+: label ", "label ", str(error))
    matrix = named.matrix
    return (
        matrix.indptr.tolist(),
        matrix.indices.tolist(),
        matrix.data.tolist(),
        named.row_names,
        named.label_names,
        [*named.unknown_labels],
        report.to_json(),
    )


@given(data=st.data())
@pytest.mark.parametrize("kind", ["qrels", "run", "ranks"])
def test_lines_in_blocks_are_those_read_one_by_one(kind: str, data: st.DataObject) -> None:
    path = "y.qrels" if kind == "qrels" else "m.run"
    Path("y.qrels").write_text("a 0 ab 1\n7 0 7 1\nb 0 doc-12345678 2\n")
    Path("m.run").write_text("a Q0 ab 1 1 tag\n7 Q0 7 1 1 tag\n")
    text = data.draw(st.composite(files)(kind))
    is_packed = data.draw(st.booleans())
    Path(path).write_bytes(gzip.compress(text) if is_packed else text)
    with pytest.MonkeyPatch.context() as patched:
        block_bytes = data.draw(st.sampled_from([1, 99, 999]))
        patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
        in_blocks = contents(path, kind)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(input_fields, "read_fields", lambda *_, **__: None)
        line_by_line = contents(path, kind)
    assert in_blocks == line_by_line


def test_names_are_compared_not_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one two three one two four  " + bytes(8)
    starts = np.array([0, 4, 8, 14, 18, 22])
    stops = np.array([3, 7, 13, 17, 21, 26])
    for factor in (HASH, np.uint64(0)):  # with 0, all hashes are equal
        table = NameTable()
        table._seed = np.uint64(0)
        monkeypatch.setitem(cast(Kernel, fields.hash_of).made_plain().__globals__, "HASH", factor)
        for _ in range(2):
            numbers = table.numbers(np.frombuffer(text, np.uint8), starts, stops)
            assert numbers[[0, 3]].tolist() == [0, 0]
            assert table.texts(numbers) == ["one", "two", "three", "one", "two", "four"]
        assert sorted(TableNames(table)) == ["four", "one", "three", "two"]


QUOTED = ("{}", "{}", '"{}"', '"{} "', " {} ", '"{}\n"')
ODDLY_QUOTED = ('"{}"', '"{}""x"', '"{},;\t"', ' "{}"')
CSV_DAMAGE = ("NaN", "0.5", '"{}', '"{}"x', "{}\rx", "{},;\t", "{}\ufeff", "{}\x00", "", "  ")


def csv_files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw lines of CSV with a row for each label; one line may be damaged."""
    values = {"qrels": (*GRADES, "true", " 1 ", "1.0"), "run": (*SCORES, " 1 ")}[kind]
    value_name = {"qrels": "relevance", "run": "score"}[kind]
    delimiter = draw(st.sampled_from(",;\t"))
    more_names = draw(st.sampled_from([[], [], ["rank"], ["title"], ["judged_at"]]))
    names = ["query_id", "doc_id", value_name, *more_names]
    if kind == "qrels" and draw(st.booleans()):
        names.remove("relevance")
    names = draw(st.permutations(names))
    pairs = draw(PAIRS)
    forms = st.sampled_from(draw(st.sampled_from([QUOTED[:1], QUOTED[:3], QUOTED])))
    is_damaged = draw(st.integers(0, 3)) == 0
    place = draw(st.integers(0, len(pairs) - 1))
    lines = [delimiter.join(names)]
    for number, (row, label) in enumerate(pairs):
        texts = {
            "query_id": row,
            "doc_id": label,
            "rank": str(number),
            "title": f"of {row}",
            "judged_at": "3",
        }
        texts |= dict.fromkeys(("score", "relevance"), draw(st.sampled_from(values)))
        written = {name: draw(forms).format(texts[name]) for name in names}
        written["doc_id"] = draw(st.sampled_from((*QUOTED, *ODDLY_QUOTED))).format(label)
        if is_damaged and number == place:
            name = draw(st.sampled_from(names))
            written[name] = draw(st.sampled_from(CSV_DAMAGE)).format(texts[name])
        end = draw(st.sampled_from(["", "", "", "\r", " ", "\n"]))
        lines.append(delimiter.join(written.values()) + end)
    blank_lines = draw(st.sampled_from(["", "", "\n", " \r\n", "\n" * 99]))
    last_newline = draw(st.sampled_from(["", "\n"]))
    text = blank_lines + "\n".join(lines) + last_newline
    return text.encode()


def report_of(truth: str, scores: str) -> str:
    """Return the report of two files, or the message that refuses one."""
    try:
        report = evaluate(truth, scores, metrics=["p@2", "mrr@9", "ndcg@3"])
    except ValueError as error:
        return str(error)
    return report.to_json()


ONE_BLOCK = 1 << 22


@given(data=st.data())
@pytest.mark.parametrize("kind", ["qrels", "run"])
def test_lines_of_csv_in_blocks_are_those_read_one_by_one(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.composite(csv_files)(kind))
    if kind == "qrels":
        Path("y.csv").write_bytes(text)
        Path("m.csv").write_bytes(b"query_id,doc_id,score\na,ab,1\n")
    else:
        Path("y.csv").write_bytes(b"query_id,doc_id\na,ab\n7,7\nb,doc-12345678\n")
        Path("m.csv").write_bytes(text)
    with pytest.MonkeyPatch.context() as patched:
        block_bytes = data.draw(st.sampled_from([1, 99, 999]))
        patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
        in_blocks = report_of("y.csv", "m.csv")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(input_fields, "BLOCK_BYTES", ONE_BLOCK)
        patched.setattr(input_fields, "read_fields", lambda *_, **__: None)
        patched.setattr(csv_lines, "read_fields", lambda *_, **__: None)
        line_by_line = report_of("y.csv", "m.csv")
    assert in_blocks == line_by_line


LISTED = (*NAMES, "", " ", "\ud800", "e\u0301", "\x1f b \x1f", "\x00")


@given(data=st.data())
def test_labels_of_lists_are_those_of_a_table_of_names(data: st.DataObject) -> None:
    lists = st.lists(st.sampled_from(LISTED), max_size=4, unique_by=str.strip)
    rows = data.draw(st.lists(lists, min_size=1))
    truth = [{"id": str(row), "labels": labels} for row, labels in enumerate(rows)]
    scores = [{"id": str(row), "labels": labels[::-1]} for row, labels in enumerate(rows[1:])]
    Path("y.jsonl").write_text(as_lines(truth))
    Path("m.jsonl").write_text(as_lines(scores))
    reports = []
    for many, batch_bytes in ((0, 200), (1 << 17, 1 << 20)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_rows, "MANY_LABELS", many)
            patched.setattr(input_rows, "BATCH_BYTES", batch_bytes)
            reports.append(report_of("y.jsonl", "m.jsonl"))
    assert reports[0] == reports[1]


LONG_NUMBERS = ("0." + "123456789" * 4, "1" * 25)
JSON_NUMBERS = ("0.5", "1", "-0.0", "-0", "0", "1e-3", "1E+3", "1e400", "-7", *LONG_NUMBERS)
IDS = ("{}", '"{}"', '"{}"', '"q{} "', '" é{}"')
ODD_LABELS = (
    '"\\u00e9x"',
    '"a\\n"',
    '"\\""',
    "7",
    "null",
    '["a", 0.5]',
    '""',
    '" "',
    '"\x01"',
    '"a',
    "'a'",
    '"a" "b"',
)
ODD_NUMBERS = (
    "NaN",
    "Infinity",
    "1.",
    ".5",
    "+1",
    "01",
    "-",
    "1e",
    "0x1",
    '"0.5"',
    "true",
    "1_0",
    "",
    "1 2",
)
ODD_IDS = ("01", "-1", "1.5", "null", '""', '"  "', '"\\u0041"', "1" * 30)
ODD_LINES = ("{}\ufeff", "\ufeff{}", "{} {}", "{},", "[{}]", "{}x", "", "{{}}")


def json_files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw objects with an id, labels and perhaps scores; one object may be damaged."""
    names = ["doc_id", "labels"]
    if kind == "scores" and draw(st.booleans()):
        names.append("scores")
    if draw(st.integers(0, 3)) == 0:
        names.remove("doc_id")
    names = draw(st.permutations(names))
    blank = draw(st.sampled_from(["", " ", "\t", "\r "]))
    id_form = draw(st.sampled_from(IDS))
    texts = [f'"{name}"' for name in NAMES] + [f'" {NAMES[0]}x "']
    row_strategy = st.lists(st.sampled_from(texts), max_size=4, unique=True)
    rows = draw(st.lists(row_strategy, min_size=3, max_size=9))
    damage = draw(st.sampled_from(["", "", "", *names, "line", "members"]))
    place = draw(st.integers(0, 2))
    comma = f"{blank},{blank}"
    lines = list[str]()
    for number, row in enumerate(rows):
        labels = [*row]
        scores = [draw(st.sampled_from(JSON_NUMBERS)) for _ in row]
        row_id = id_form.format(number)
        damaged = damage if number == place else ""
        if damaged == "labels":
            labels.append(draw(st.sampled_from(ODD_LABELS)))
            scores += ["1"] * draw(st.integers(0, 1))
        if damaged == "scores":
            scores[draw(st.integers(0, len(scores))) :] = [draw(st.sampled_from(ODD_NUMBERS))]
        if damaged == "doc_id":
            row_id = draw(st.sampled_from(ODD_IDS))
        values = {
            "doc_id": row_id,
            "labels": f"[{blank}{comma.join(labels)}{blank}]",
            "scores": f"[{blank}{comma.join(scores)}{blank}]",
        }
        members = [f'"{name}"{blank}:{blank}{values[name]}' for name in names]
        if damaged == "members":
            members = draw(st.sampled_from([members[1:], members[::-1], [*members, members[0]]]))
            members += draw(st.sampled_from([[], ['"title": "t"'], ['"rank": [1]']]))
        line = f"{blank}{{{blank}{comma.join(members)}{blank}}}{blank}"
        if damaged == "line":
            line = draw(st.sampled_from(ODD_LINES)).format(line, line)
        lines.append(line)
    newline = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    return (newline.join(lines) + "\n").encode()


def reports_of_objects(text: bytes, kind: str, block_bytes: int) -> tuple[str, str]:
    """Return reports of JSON Lines read in blocks, and line by line."""
    truth = b'{"doc_id": 0, "labels": ["ab", "a"]}\n{"doc_id": 1, "labels": ["7"]}\n'
    Path("y.jsonl").write_bytes(text if kind == "truth" else truth)
    Path("m.jsonl").write_bytes(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
        in_blocks = report_of("y.jsonl", "m.jsonl")
        patched.setattr(input_fields, "BLOCK_BYTES", ONE_BLOCK)
        patched.setattr(json_lists, "read_lists", lambda *_: None)
        line_by_line = report_of("y.jsonl", "m.jsonl")
    return in_blocks, line_by_line


@given(data=st.data())
@pytest.mark.parametrize("kind", ["truth", "scores"])
def test_objects_of_json_lines_in_blocks_are_those_read_one_by_one(
    kind: str, data: st.DataObject
) -> None:
    text = data.draw(st.composite(json_files)(kind))
    block_bytes = data.draw(st.sampled_from([1, 99, 999]))
    in_blocks, line_by_line = reports_of_objects(text, kind, block_bytes)
    assert in_blocks == line_by_line


@pytest.mark.parametrize("at", [1, 7])
@pytest.mark.parametrize("field", ["doc_id", "labels", "scores"])
def test_odd_values_in_blocks_are_read_as_line_by_line(field: str, at: int) -> None:
    odd_values = {
        "doc_id": ODD_IDS,
        "labels": ODD_LABELS,
        "scores": (*ODD_NUMBERS, *JSON_NUMBERS, "1,", ",1", "1, 2"),
    }
    for odd_value in odd_values[field]:
        lines = []
        for row in range(9):
            values = {"doc_id": str(row), "labels": '"ab"', "scores": "0.5"}
            if row == at:
                values[field] = odd_value
            line = '{{"doc_id": {doc_id}, "labels": [{labels}], "scores": [{scores}]}}\n'
            lines.append(line.format(**values))
        in_blocks, line_by_line = reports_of_objects("".join(lines).encode(), "scores", 99)
        assert in_blocks == line_by_line


@pytest.mark.parametrize("is_scored_first", [True, False])
def test_objects_with_scores_behind_others_without_are_refused_in_blocks(
    is_scored_first: bool,
) -> None:
    plain = [f'{{"doc_id": {row}, "labels": ["a"]}}\n' for row in range(9)]
    scored = [line.replace('["a"]', '[["a", 0.5]]') for line in plain]
    lines = plain[:5] + scored[5:]
    if is_scored_first:
        lines = scored[:5] + plain[5:]
    text = "".join(lines)
    in_blocks, line_by_line = reports_of_objects(text.encode(), "scores", 99)
    assert in_blocks == line_by_line
    assert "line 6: some labels have scores, and others none" in in_blocks


@pytest.mark.parametrize(
    "last", ['{"doc_id": 3, "labels": ["a"]}', '{"doc_id": 20, "labels": ["a", "b", "a"]}']
)
def test_repeated_rows_and_labels_in_blocks_are_refused_with_their_line(last: str) -> None:
    lines = [f'{{"doc_id": {row}, "labels": ["a"]}}\n' for row in range(20)]
    text = "".join([*lines, last])
    in_blocks, line_by_line = reports_of_objects(text.encode(), "truth", 99)
    assert in_blocks == line_by_line
    assert "line 21" in in_blocks


@pytest.mark.parametrize("last", [[0, 1], ["0", "1"], ["1", "0"]])
def test_texts_of_zeros_and_ones_in_blocks_are_names(last: list[Any]) -> None:
    records = [{"labels": ["0", "1"]}] * 9 + [{"labels": last}] * 90
    text = as_lines(records)
    in_blocks, line_by_line = reports_of_objects(text.encode(), "truth", 99)
    assert in_blocks == line_by_line


def test_objects_in_blocks_are_read_by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{{"doc_id": {}, "labels": ["a", "ab"], "scores": [2, 1e-3]}}\n'
    Path("y.jsonl").write_text('{"doc_id": 0, "labels": ["a", "b"]}\n')
    Path("m.jsonl").write_text("".join(map(line.format, range(9))))
    monkeypatch.setattr(input_fields, "BLOCK_BYTES", 99)
    monkeypatch.setattr("xmleval.input.formats.documents.parsed_block", None)
    assert '"p@2": 0.5' in report_of("y.jsonl", "m.jsonl")


@pytest.mark.parametrize("name", ["a\nb", 'a"b', "a\\b", "é", "\ud800", ""])
def test_fields_with_odd_names_in_blocks_are_read_as_line_by_line(name: str) -> None:
    records = [{"doc_id": row, name: ["a"]} for row in range(30)]
    Path("y.jsonl").write_text('{"doc_id": 0, "labels": ["a"]}\n')

    def report(block_bytes: int) -> str:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
            try:
                lists = scan("m.jsonl", label=name)
                return evaluate("y.jsonl", lists, metrics="p@1").to_json()
            except ValueError as error:
                return str(error)

    for last in ("", f'{{"doc_id": 30, "{name}": ["a"]}}\n'):
        text = as_lines(records) + last
        Path("m.jsonl").write_bytes(text.encode(errors="surrogatepass"))
        assert report(99) == report(ONE_BLOCK)


@pytest.mark.parametrize("has_ids", [True, False])
def test_files_behind_one_with_further_fields_are_read_line_by_line(has_ids: bool) -> None:
    for kind, sign in (("y", 1), ("m", -1)):
        for number in (1, 2):
            records = []
            for row in range(30):
                record: dict[str, Any] = {}
                if has_ids:
                    record["doc_id"] = f"{number}.{row}"
                record["labels"] = ["a"]
                if number == 1 and has_ids:
                    record["confidence"] = [1.5]
                elif number == 1:
                    record["text"] = f"text {sign * row}"
                records.append(record)
            Path(f"{kind}{number}.jsonl").write_text(as_lines(records))
    reports = []
    for block_bytes in (99, ONE_BLOCK):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
            reports.append(report_of("y*.jsonl", "m*.jsonl"))
    assert reports[0] == reports[1]


def test_judgement_that_is_not_whole_is_refused_in_later_blocks_of_csv(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["query_id,doc_id,relevance"]
    lines += [f"q{number},a,1" for number in range(30)]
    lines[21] = "q20,a,0.5"
    Path("y.csv").write_text("\n".join(lines))
    monkeypatch.setattr(input_fields, "BLOCK_BYTES", 99)
    with pytest.raises(ValueError, match=r"line 22: relevance 0\.5 is not an integer"):
        evaluate("y.csv", "y.csv", metrics="p@1")
