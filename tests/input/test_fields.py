"""Blocks of lines are read by kernels as they are line by line: values, names, notes and refusals."""

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


def files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw lines of qrels, of a run or of a run of ranks, of which one may be damaged."""
    values = {"qrels": GRADES, "run": SCORES, "ranks": RANKS}[kind]
    lines = list[str]()
    cells = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
    wrong = draw(st.sampled_from(["", "", "", "value", "repeated", *DAMAGE]))
    drawn = draw(st.lists(cells, min_size=3, max_size=24, unique=True))
    place = draw(st.integers(0, len(drawn) - 1))
    drawn += drawn[place:][:1] if wrong == "repeated" else []
    for number, (row, label) in enumerate(drawn):
        value = draw(st.sampled_from(WRONG if wrong == "value" and number == place else values))
        value = "1" if kind == "ranks" and number == 0 and wrong != "value" else value
        parts = {
            "qrels": [row, "0", label, value],
            "run": [row, "Q0", label, "1", value, "tag"],
            "ranks": [row, label, value],
        }[kind]
        blank = draw(st.sampled_from(BLANKS))
        line = draw(st.sampled_from(["", "", " "])) + blank.join(parts)
        lines.append(line + draw(st.sampled_from(["\n", "\n", "\r\n", " \n", "\n\n", "\n \t\n"])))
    texts = [line.encode() for line in lines]
    if wrong in DAMAGE:
        texts[place] = DAMAGE[wrong](lines[place])
    text = b"".join(texts)
    return text.rstrip(b"\n") if draw(st.booleans()) else text


def contents(path: str, kind: str) -> Any:
    """What a file says, by itself and beside the other one, or why it is refused."""
    try:
        read = read_qrels(path) if kind == "qrels" else read_run(path, read_qrels("y.qrels"))
        report = evaluate("y.qrels", "m.run", metrics=["p@2", "mrr@9", "auc.micro"])
    except ValueError as error:
        return re.sub("line [0-9]+: label ", "label ", str(error))  # without one if two blocks hold it
    matrix, names = read.matrix, (read.row_names, read.label_names, [*read.unknown_labels])
    return matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist(), names, report.to_json()


@given(data=st.data())
@pytest.mark.parametrize("kind", ["qrels", "run", "ranks"])
def test_lines_in_blocks_are_those_read_one_by_one(kind: str, data: st.DataObject) -> None:
    path = "y.qrels" if kind == "qrels" else "m.run"
    Path("y.qrels").write_text("a 0 ab 1\n7 0 7 1\nb 0 doc-12345678 2\n")
    Path("m.run").write_text("a Q0 ab 1 1 tag\n7 Q0 7 1 1 tag\n")
    text = data.draw(st.composite(files)(kind))
    is_packed = data.draw(st.booleans())
    Path(path).write_bytes(gzip.compress(text) if is_packed else text)
    answers = []
    for is_block in (True, False):
        with pytest.MonkeyPatch.context() as patched:
            if is_block:
                patched.setattr(input_fields, "BLOCK_BYTES", data.draw(st.sampled_from([1, 99, 999])))
            else:
                patched.setattr(input_fields, "read_fields", lambda *_, **__: None)
            answers.append(contents(path, kind))
    assert answers[0] == answers[1]


def test_names_are_compared_not_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one two three one two four  " + bytes(8)
    starts = np.array([0, 4, 8, 14, 18, 22])
    stops = np.array([3, 7, 13, 17, 21, 26])
    for factor in (HASH, np.uint64(0)):  # by which all hashes are the same
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
    """Draw lines of CSV with a row for each label, of which one may be damaged."""
    values = {"qrels": (*GRADES, "true", " 1 ", "1.0"), "run": (*SCORES, " 1 ")}[kind]
    delimiter = draw(st.sampled_from(",;\t"))
    further = draw(st.sampled_from([[], [], ["rank"], ["title"], ["judged_at"]]))
    names = ["query_id", "doc_id", *([{"qrels": "relevance", "run": "score"}[kind]]), *further]
    if kind == "qrels" and draw(st.booleans()):
        names.remove("relevance")
    names = draw(st.permutations(names))
    cells = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
    drawn = draw(st.lists(cells, min_size=3, max_size=24, unique=True))
    forms = st.sampled_from(draw(st.sampled_from([QUOTED[:1], QUOTED[:3], QUOTED])))
    is_damaged, place = draw(st.integers(0, 3)) == 0, draw(st.integers(0, len(drawn) - 1))
    lines = [delimiter.join(names)]
    for number, (row, label) in enumerate(drawn):
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
        lines.append(delimiter.join(written.values()) + draw(st.sampled_from(["", "", "", "\r", " ", "\n"])))
    blank_lines = draw(st.sampled_from(["", "", "\n", " \r\n", "\n" * 99]))
    text = blank_lines + "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    return text.encode()


def report_of(paths: tuple[str, str]) -> Any:
    """What two files say, or why one is refused."""
    try:
        report = evaluate(*paths, metrics=["p@2", "mrr@9", "ndcg@3"])
    except ValueError as error:
        return str(error)
    return report.to_json()


@given(data=st.data())
@pytest.mark.parametrize("kind", ["qrels", "run"])
def test_lines_of_csv_in_blocks_are_those_read_one_by_one(kind: str, data: st.DataObject) -> None:
    other = (
        "query_id,doc_id\na,ab\n7,7\nb,doc-12345678\n" if kind == "run" else "query_id,doc_id,score\na,ab,1\n"
    )
    text = data.draw(st.composite(csv_files)(kind))
    Path("y.csv").write_bytes(text if kind == "qrels" else other.encode())
    Path("m.csv").write_bytes(text if kind == "run" else other.encode())
    answers = []
    for block_bytes in (data.draw(st.sampled_from([1, 99, 999])), 1 << 22):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_fields, "BLOCK_BYTES", block_bytes)
            if block_bytes == 1 << 22:
                patched.setattr(input_fields, "read_fields", lambda *_, **__: None)
                patched.setattr(csv_lines, "read_fields", lambda *_, **__: None)
            answers.append(report_of(("y.csv", "m.csv")))
    assert answers[0] == answers[1]


LISTED = (*NAMES, "", " ", "\ud800", "e\u0301", "\x1f b \x1f", "\x00")


@given(data=st.data())
def test_labels_of_lists_are_those_of_a_table_of_names(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(st.sampled_from(LISTED), max_size=4, unique_by=str.strip), min_size=1))
    truth = [{"id": str(row), "labels": labels} for row, labels in enumerate(rows)]
    scores = [{"id": str(row), "labels": labels[::-1]} for row, labels in enumerate(rows[1:])]
    for path, records in (("y.jsonl", truth), ("m.jsonl", scores)):
        Path(path).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    answers = []
    for many, batch_bytes in ((0, 200), (1 << 17, 1 << 20)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_rows, "MANY_LABELS", many)
            patched.setattr(input_rows, "BATCH_BYTES", batch_bytes)
            answers.append(report_of(("y.jsonl", "m.jsonl")))
    assert answers[0] == answers[1]


LONG_NUMBERS = ("0." + "123456789" * 4, "1" * 25)
JSON_NUMBERS = ("0.5", "1", "-0.0", "-0", "0", "1e-3", "1E+3", "1e400", "-7", *LONG_NUMBERS)
IDS = ("{}", '"{}"', '"{}"', '"q{} "', '" é{}"')
ODD_LABELS = (
    '"\\u00e9x"', '"a\\n"', '"\\""', "7", "null", '["a", 0.5]', '""', '" "', '"\x01"', '"a', "'a'", '"a" "b"',
)  # fmt: skip
ODD_NUMBERS = ("NaN", "Infinity", "1.", ".5", "+1", "01", "-", "1e", "0x1", '"0.5"', "true", "1_0", "", "1 2")
ODD_IDS = ("01", "-1", "1.5", "null", '""', '"  "', '"\\u0041"', "1" * 30)
ODD_LINES = ("{}\ufeff", "\ufeff{}", "{} {}", "{},", "[{}]", "{}x", "", "{{}}")


def json_files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw objects with an id, labels and perhaps scores, of which one may be damaged."""
    names = ["doc_id", "labels", *(["scores"] if kind == "scores" and draw(st.booleans()) else [])]
    if draw(st.integers(0, 3)) == 0:
        names.remove("doc_id")
    names = draw(st.permutations(names))
    blank, id_form = draw(st.sampled_from(["", " ", "\t", "\r "])), draw(st.sampled_from(IDS))
    texts = [f'"{name}"' for name in NAMES] + [f'" {NAMES[0]}x "']
    rows = draw(st.lists(st.lists(st.sampled_from(texts), max_size=4, unique=True), min_size=3, max_size=9))
    damage, place = draw(st.sampled_from(["", "", "", *names, "line", "members"])), draw(st.integers(0, 2))
    comma, lines = f"{blank},{blank}", list[str]()
    for number, row in enumerate(rows):
        labels, scores = [*row], [draw(st.sampled_from(JSON_NUMBERS)) for _ in row]
        of_row, damaged = id_form.format(number), damage if number == place else ""
        if damaged == "labels":
            labels.append(draw(st.sampled_from(ODD_LABELS)))
            scores += ["1"] * draw(st.integers(0, 1))
        if damaged == "scores":
            scores[draw(st.integers(0, len(scores))) :] = [draw(st.sampled_from(ODD_NUMBERS))]
        if damaged == "doc_id":
            of_row = draw(st.sampled_from(ODD_IDS))
        lists = {"labels": labels, "scores": scores}
        values = {name: f"[{blank}{comma.join(items)}{blank}]" for name, items in lists.items()}
        values["doc_id"] = of_row
        members = [f'"{name}"{blank}:{blank}{values[name]}' for name in names]
        if damaged == "members":
            members = draw(st.sampled_from([members[1:], members[::-1], [*members, members[0]]]))
            members += draw(st.sampled_from([[], ['"title": "t"'], ['"rank": [1]']]))
        line = f"{blank}{{{blank}{comma.join(members)}{blank}}}{blank}"
        lines.append(draw(st.sampled_from(ODD_LINES)).format(line, line) if damaged == "line" else line)
    return (draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines) + "\n").encode()


def answers_of_objects(text: bytes, kind: str, block_bytes: int) -> list[Any]:
    """What JSON Lines say in blocks, and line by line."""
    other = b'{"doc_id": 0, "labels": ["ab", "a"]}\n{"doc_id": 1, "labels": ["7"]}\n'
    Path("y.jsonl").write_bytes(text if kind == "truth" else other)
    Path("m.jsonl").write_bytes(text)
    answers = []
    for n_bytes in (block_bytes, 1 << 22):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_fields, "BLOCK_BYTES", n_bytes)
            if n_bytes == 1 << 22:
                patched.setattr(json_lists, "read_lists", lambda *_: None)
            answers.append(report_of(("y.jsonl", "m.jsonl")))
    return answers


@given(data=st.data())
@pytest.mark.parametrize("kind", ["truth", "scores"])
def test_objects_of_json_lines_in_blocks_are_those_read_one_by_one(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.composite(json_files)(kind))
    in_blocks, line_by_line = answers_of_objects(text, kind, data.draw(st.sampled_from([1, 99, 999])))
    assert in_blocks == line_by_line


@pytest.mark.parametrize("at", [1, 7])
@pytest.mark.parametrize("field", ["doc_id", "labels", "scores"])
def test_an_odd_value_in_blocks_is_what_it_is_line_by_line(field: str, at: int) -> None:
    odd = {
        "doc_id": ODD_IDS,
        "labels": ODD_LABELS,
        "scores": (*ODD_NUMBERS, *JSON_NUMBERS, "1,", ",1", "1, 2"),
    }
    for value in odd[field]:
        lines = []
        for row in range(9):
            values = {"doc_id": str(row), "labels": '"ab"', "scores": "0.5"}
            values |= {field: value} if row == at else {}
            lines.append('{{"doc_id": {}, "labels": [{}], "scores": [{}]}}\n'.format(*values.values()))
        in_blocks, line_by_line = answers_of_objects("".join(lines).encode(), "scores", 99)
        assert in_blocks == line_by_line


@pytest.mark.parametrize("is_scored_first", [True, False])
def test_objects_with_scores_behind_others_without_are_refused_in_blocks(is_scored_first: bool) -> None:
    plain = [f'{{"doc_id": {row}, "labels": ["a"]}}\n' for row in range(9)]
    scored = [line.replace('["a"]', '[["a", 0.5]]') for line in plain]
    lines = scored[:5] + plain[5:] if is_scored_first else plain[:5] + scored[5:]
    in_blocks, line_by_line = answers_of_objects("".join(lines).encode(), "scores", 99)
    assert in_blocks == line_by_line
    assert "line 6: labels with scores, and others without" in in_blocks


@pytest.mark.parametrize(
    "last", ['{"doc_id": 3, "labels": ["a"]}', '{"doc_id": 20, "labels": ["a", "b", "a"]}']
)
def test_what_is_repeated_is_refused_with_its_line_in_blocks(last: str) -> None:
    lines = [f'{{"doc_id": {row}, "labels": ["a"]}}\n' for row in range(20)]
    in_blocks, line_by_line = answers_of_objects("".join([*lines, last]).encode(), "truth", 99)
    assert in_blocks == line_by_line
    assert "line 21" in in_blocks


@pytest.mark.parametrize("last", [[0, 1], ["0", "1"], ["1", "0"]])
def test_texts_of_zeros_and_ones_in_blocks_are_names(last: list[Any]) -> None:
    records = [{"labels": ["0", "1"] if row < 9 else last} for row in range(99)]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    in_blocks, line_by_line = answers_of_objects(text.encode(), "truth", 99)
    assert in_blocks == line_by_line


def test_objects_in_blocks_are_read_by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{{"doc_id": {row}, "labels": ["a", "ab"], "scores": [2, 1e-3]}}\n' for row in range(9)]
    Path("y.jsonl").write_text('{"doc_id": 0, "labels": ["a", "b"]}\n')
    Path("m.jsonl").write_text("".join(lines))
    monkeypatch.setattr(input_fields, "BLOCK_BYTES", 99)
    monkeypatch.setattr("xmleval.input.formats.documents.parsed_block", None)
    assert '"p@2": 0.5' in report_of(("y.jsonl", "m.jsonl"))


@pytest.mark.parametrize("name", ["a\nb", 'a"b', "a\\b", "é", "\ud800", ""])
def test_fields_with_odd_names_in_blocks_are_read_as_line_by_line(name: str) -> None:
    records = [{"doc_id": row, name: ["a"]} for row in range(30)]
    Path("y.jsonl").write_text('{"doc_id": 0, "labels": ["a"]}\n')
    answers = []
    for last in ("", f'{{"doc_id": 30, "{name}": ["a"]}}\n'):
        lines = "".join(f"{json.dumps(record)}\n" for record in records) + last
        Path("m.jsonl").write_bytes(lines.encode(errors="surrogatepass"))
        for n_bytes in (99, 1 << 22):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(input_fields, "BLOCK_BYTES", n_bytes)
                try:
                    lists = scan("m.jsonl", label=name)
                    answers.append(evaluate("y.jsonl", lists, metrics="p@1").to_json())
                except ValueError as error:
                    answers.append(str(error))
    assert answers[::2] == answers[1::2]


@pytest.mark.parametrize("has_ids", [True, False])
def test_files_behind_one_with_further_fields_are_read_line_by_line(has_ids: bool) -> None:
    for kind in ("y", "m"):
        for number in (1, 2):
            records = list[dict[str, Any]]()
            for row in range(30):
                ids = {"doc_id": f"{number}.{row}"} if has_ids else {}
                beside = (
                    {"confidence": [1.5]} if has_ids else {"text": f"text {row if kind == 'y' else -row}"}
                )
                records.append(ids | {"labels": ["a"]} | (beside if number == 1 else {}))
            lines = "".join(f"{json.dumps(record)}\n" for record in records)
            Path(f"{kind}{number}.jsonl").write_text(lines)
    answers = []
    for n_bytes in (99, 1 << 22):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(input_fields, "BLOCK_BYTES", n_bytes)
            answers.append(report_of(("y*.jsonl", "m*.jsonl")))
    assert answers[0] == answers[1]


def test_a_judgement_that_is_not_whole_is_refused_in_later_blocks_of_csv(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [f"q{number},a,{0.5 if number == 20 else 1}" for number in range(30)]
    Path("y.csv").write_text("\n".join(["query_id,doc_id,relevance", *lines]))
    monkeypatch.setattr(input_fields, "BLOCK_BYTES", 99)
    with pytest.raises(ValueError, match=r"line 22: 0\.5 is no relevance, an integer"):
        evaluate("y.csv", "y.csv", metrics="p@1")
