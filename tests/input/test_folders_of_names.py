"""A folder or pattern of files has the report of one file with all their rows."""

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.commands import Run, json_of
from tests.damage import answer
from tests.limits import small_limits
from xmleval import evaluate
from xmleval.files.input import InputFile

N_ROWS = 12
N_LABELS = 9
CUTS = (0, 3, 4, 9, 12)
METRICS = ("p@1", "ndcg@3", "f1.macro@2", "map@all", "label_coverage@2")


class Row:
    """A row of a truth or of predictions: its key, and its labels with values, best first."""

    def __init__(self, key: str, labels: list[str], values: list[float]) -> None:
        self.key = key
        self.labels = labels
        self.values = values


Rows = Sequence[Row]


def make_rows(kind: str) -> list[Row]:
    """Return rows with labels in any order; predictions have ties and unknown labels."""
    rng = np.random.default_rng(len(kind))
    has_scores = kind == "scores"
    n_labels = N_LABELS + 2 if has_scores else N_LABELS
    rows = []
    for number in range(N_ROWS):
        ids = rng.permutation(n_labels)[: 2 + number % 3]
        labels = [f"label {label}" for label in ids]
        scores = rng.integers(1, 4, len(labels)) / 4
        values = [1.0] * len(labels)
        if has_scores:
            values = sorted(scores.tolist(), reverse=True)
        rows.append(Row(f"row-{number}", labels, values))
    return rows


def fields_of(row: Row, kind: str, with_key: bool = True) -> dict[str, Any]:
    key_field = "id" if with_key else "title"
    fields: dict[str, Any] = {key_field: row.key, "labels": row.labels}
    if kind == "scores":
        fields["scores"] = row.values
    return fields


def entries_of(rows: Rows, kind: str) -> list[dict[str, Any]]:
    """Return a record per label and row."""
    entries = []
    for row in rows:
        for label, value in zip(row.labels, row.values, strict=True):
            entry: dict[str, Any] = {"instance": row.key, "label": label}
            if kind == "scores":
                entry["score"] = value
            entries.append(entry)
    return entries


def number_of(name: str) -> int:
    """Return the number in a row's key or a label's name."""
    return int(name.replace("-", " ").split()[1])


def write_jsonl(path: Path, rows: Rows, kind: str, with_key: bool = True) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(fields_of(row, kind, with_key)) + "\n" for row in rows))
    return path


def write_csv(path: Path, rows: Rows, kind: str, with_key: bool = True) -> Path:
    path = path.with_suffix(".csv")
    records = [fields_of(row, kind, with_key) for row in rows]
    lines = [";".join(records[0])]
    for record in records:
        lines.append(";".join(map(quoted_cell, record.values())))
    path.write_text("\n".join([*lines, ""]))
    return path


def quoted_cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return '"' + text.replace('"', '""') + '"'


def write_jsonl_in_order(path: Path, rows: Rows, kind: str) -> Path:
    """Write rows without ids; another column shows their order."""
    return write_jsonl(path, rows, kind, with_key=False)


def write_csv_in_order(path: Path, rows: Rows, kind: str) -> Path:
    return write_csv(path, rows, kind, with_key=False)


def write_long_csv(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".csv")
    entries = entries_of(rows, kind)
    lines = [",".join(entries[0])]
    for entry in entries:
        lines.append(",".join(map(str, entry.values())))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_json(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".json")
    by_key = {row.key: dict(zip(row.labels, row.values, strict=True)) for row in rows}
    path.write_text(json.dumps(by_key))
    return path


def write_trec(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".run" if kind == "scores" else ".qrels")
    lines = []
    for row in rows:
        for rank, (label, value) in enumerate(zip(row.labels, row.values, strict=True), 1):
            name = label.replace(" ", "_")
            if kind == "scores":
                lines.append(f"{row.key} Q0 {name} {rank} {value} x\n")
            else:
                lines.append(f"{row.key} 0 {name} 1\n")
    path.write_text("".join(lines))
    return path


def write_numbered_trec(path: Path, rows: Rows, kind: str) -> Path:
    """Write qrels or a run whose names are numbers over all files, not in each."""
    path = write_trec(path, rows, kind)
    path.write_text(path.read_text().replace("row-", "").replace("label_", ""))
    return path


def write_ranks(path: Path, rows: Rows, kind: str) -> Path:
    """Write a run of MS MARCO, whose ranks begin in the first file."""
    path = write_trec(path, rows, kind)
    if kind == "scores":
        lines = []
        for line in path.read_text().splitlines():
            key, _, name, rank, *_ = line.split()
            if key != "row-0":
                rank = str(int(rank) + 5)
            lines.append(f"{key}\t{name}\t{rank}\n")
        path.write_text("".join(lines))
    return path


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    path = path.with_suffix(".parquet")
    pyarrow.parquet.write_table(pa.Table.from_pylist(records), path)
    return path


def write_parquet(path: Path, rows: Rows, kind: str) -> Path:
    return write_records(path, [fields_of(row, kind) for row in rows])


def write_long_parquet(path: Path, rows: Rows, kind: str) -> Path:
    return write_records(path, entries_of(rows, kind))


def write_numbered_parquet(path: Path, rows: Rows, kind: str) -> Path:
    """Write a table with a row for each label, whose rows have numbers over all files."""
    entries = entries_of(rows, kind)
    for entry in entries:
        entry["instance"] = number_of(entry["instance"])
        entry["label"] = number_of(entry["label"])
    return write_records(path, entries)


def write_numbered_lists(path: Path, rows: Rows, kind: str) -> Path:
    records = [fields_of(row, kind) for row in rows]
    for record in records:
        record["instance"] = number_of(record.pop("id"))
        record["labels"] = [*map(number_of, record["labels"])]
    return write_records(path, records)


def write_lines(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".lines")
    lines = []
    for row in rows:
        words = [label.replace(" ", "_") for label in row.labels]
        if kind == "scores":
            pairs = zip(words, row.values, strict=True)
            words = [f"{word}:{value}" for word, value in pairs]
        lines.append(" ".join(words))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_codes(path: Path, rows: Rows, kind: str) -> Path:
    """Write codes without scores; one in the last row has a leading zero."""
    path = path.with_suffix(".lines")
    codes = [[label.removeprefix("label ") for label in row.labels] for row in rows]
    if rows[-1].key == f"row-{N_ROWS - 1}":
        codes[-1][0] = "07"
    path.write_text("".join(" ".join(labels) + "\n" for labels in codes))
    return path


def write_names(path: Path, rows: Rows, kind: str) -> Path:
    """Write predictions as arrays of names and scores, and a truth as lines."""
    if kind != "scores":
        return write_lines(path, rows, kind)
    width = max(len(row.labels) for row in make_rows(kind))
    labels = np.full((len(rows), width), "", "U16")
    scores = np.zeros((len(rows), width))
    for position, row in enumerate(rows):
        size = len(row.labels)
        labels[position, :size] = [label.replace(" ", "_") for label in row.labels]
        scores[position, :size] = row.values
    np.save(f"{path}-labels.npy", labels)
    np.save(f"{path}-scores.npy", scores)
    return Path(f"{path}-labels.npy")


Write = Callable[[Path, Rows, str], Path]
WRITERS: list[Write] = [
    write_jsonl,
    write_csv,
    write_jsonl_in_order,
    write_csv_in_order,
    write_long_csv,
    write_json,
    write_trec,
    write_numbered_trec,
    write_ranks,
    write_parquet,
    write_long_parquet,
    write_numbered_parquet,
    write_numbered_lists,
    write_lines,
    write_codes,
    write_names,
]


SET_WRITERS = [
    write_jsonl,
    write_csv,
    write_jsonl_in_order,
    write_csv_in_order,
    write_parquet,
    write_numbered_lists,
    write_lines,
    write_codes,
    write_names,
]


class Written(NamedTuple):
    """Names of one file with all rows, and of a folder with several."""

    file: str
    folder: str


def write_shards(name: str, write: Write, kind: str) -> Written:
    """Write rows in one file, and in a folder of files that are numbered without zeros."""
    rows = make_rows(kind)
    path = write(Path(f"one-{name}"), rows, kind)
    Path(name).mkdir()
    for number, (start, stop) in enumerate(itertools.pairwise(CUTS), 9):
        write(Path(name, f"part-{number}"), rows[start:stop], kind)
    return Written(str(path), name)


def report_of(truth: str, scores: str, options: str) -> Any:
    """Return the report of files in JSON, with their names replaced."""
    code, out, err = answer(f"evaluate {truth} {scores} {options}".split())
    assert code == 0, err
    for name in (truth, scores):
        out = out.replace(name, "INPUT")
    return json.loads(out)


@pytest.mark.parametrize("memory", ["1GB", "2KB"])
@pytest.mark.parametrize("write", WRITERS)
def test_folder_has_the_report_of_one_file(folder: Path, write: Write, memory: str) -> None:
    """Truth, scores, sets and training labels are in folders, in the shell and in Python."""
    truth = write_shards("truths", write, "truth")
    scores = write_shards("scoress", write, "scores")
    options = f"--metrics {','.join(METRICS)} --memory {memory} --format json"
    with small_limits():
        expected = report_of(truth.file, scores.file, options)
        assert report_of(truth.folder, scores.folder, options) == expected
        assert report_of(truth.file, scores.folder, options) == expected
        assert report_of(truth.folder, scores.file, options) == expected
        if write is not write_names:
            pattern = report_of(f"{truth.folder}/p*", f"{scores.folder}/p*", options)
            assert pattern == expected

        roles = ["--train"]
        if write in SET_WRITERS:
            roles.append("--pred")
        for role in roles:
            by_file = report_of(truth.file, scores.file, f"{role} {truth.file} {options}")
            by_folder = report_of(truth.folder, scores.folder, f"{role} {truth.folder} {options}")
            assert by_folder == by_file
    report = evaluate(Path(truth.folder), scores.folder, metrics=METRICS)
    assert report.to_dict()["values"] == expected["values"]
    assert report.per_row is not None


KEYED_WRITERS = [
    write_jsonl,
    write_csv,
    write_long_csv,
    write_json,
    write_trec,
    write_parquet,
]


@pytest.mark.parametrize("write", KEYED_WRITERS)
@pytest.mark.parametrize("kind", ["truth", "scores"])
def test_row_in_two_files_is_refused(folder: Path, refused: Run, write: Write, kind: str) -> None:
    write_shards("truths", write, "truth")
    write_shards("scoress", write, "scores")
    row = Row("row-1", ["label 3", "new"], [1.0, 0.0])
    last = write(Path(f"{kind}s", "part-13"), [row], kind)
    first = last.with_stem("part-9")
    message = refused("evaluate truths scoress --metrics p@1")
    assert message.startswith(f"{last}: ")
    assert message.endswith(f": row 'row-1' is also in {first}; expected each row in one file")


def test_label_twice_in_a_row_is_refused_with_its_file(folder: Path, refused: Run) -> None:
    write_shards("truths", write_jsonl, "truth")
    rows = [
        Row("a", ["x"], [1.0]),
        Row("b", ["x", "x"], [1.0, 1.0]),
    ]
    write_jsonl(Path("truths/part-13"), rows, "truth")
    message = refused("stats truths")
    assert message.startswith("truths/part-13.jsonl: line 2: label 'x' occurs twice")


def test_files_with_other_fields_or_formats_are_refused(folder: Path, refused: Run) -> None:
    for name in ("a", "b", "c", "d", "e"):
        Path(name).mkdir()
    Path("a/1.csv").write_text("id,labels\na,x\n")
    Path("a/2.csv").write_text("id,tags\nb,x\n")
    expected = "a/2.csv: has fields 'id, tags', but a/1.csv has 'id, labels'; expected"
    assert refused("stats a").startswith(expected)

    Path("b/1.csv").write_text("id,labels\na,x\n")
    Path("b/2.jsonl").write_text('{"id": "b", "labels": ["x"]}\n')
    expected = (
        "b/2.jsonl: is a JSON Lines of documents, but b/1.csv is a CSV file of documents; files"
    )
    assert refused("stats b").startswith(expected)

    Path("c/1.qrels").write_text("a 0 x 1\n")
    Path("d/1.run").write_text("a Q0 x 1 0.5 t\n")
    Path("d/2.run").write_text("b x 1\n")
    expected = "d/2.run: line 1: 3 fields, not 6; expected"
    assert refused("evaluate c d --metrics p@1").startswith(expected)

    Path("c.lines").write_text("x\nx\n")
    Path("e/1.lines").write_text("x:0.5\n")
    Path("e/2.lines").write_text("x y\n")
    expected = "e/2.lines: line 1: some labels have scores, and others none; expected"
    message = refused("convert e s.npz --like c.lines --kind scores")
    assert message.startswith(expected)


def test_fields_of_later_files_may_be_in_another_order(folder: Path) -> None:
    Path("a").mkdir()
    Path("a/1.csv").write_text("id,labels\na,x\n")
    Path("a/2.csv").write_text("labels,id\ny,b\n")
    report = evaluate("a", {"a": {"x": 1.0}, "b": {"y": 1.0}}, metrics="p@1")
    assert report["p@1"] == 1.0
    assert report.label_names == ["x", "y"]


def test_predictions_may_be_in_the_files_of_a_truth(folder: Path) -> None:
    Path("docs").mkdir()
    lines = []
    for row in range(6):
        labels = ["x", "y"][: row % 2 + 1]
        record = {"id": f"d{row}", "labels": labels, "predicted": ["x"]}
        lines.append(json.dumps(record))
    Path("all.jsonl").write_text("\n".join(lines))
    Path("docs/1.jsonl").write_text("\n".join(lines[:4]))
    Path("docs/2.jsonl").write_text("\n".join(lines[4:]))
    report = json_of("evaluate docs")
    expected = json_of("evaluate all.jsonl")
    assert report["values"] == expected["values"]


def test_vectors_are_recognized_over_all_files(folder: Path, refused: Run) -> None:
    """Rows of 0 and 1 may be vectors in one file; next to rows of another they are ids."""
    Path("t").mkdir()
    Path("t/1.jsonl").write_text('{"labels": [0, 1]}\n{"labels": [1, 0]}\n')
    assert "rows contain only 0 and 1" in refused("stats t")
    Path("t/2.jsonl").write_text('{"labels": [5]}\n')
    report = evaluate("t", "t", metrics="p@1")
    assert report["p@1"] == 1.0


def test_file_that_changes_meanwhile_is_refused(
    folder: Path, refused: Run, monkeypatch: Any
) -> None:
    write_shards("truths", write_jsonl, "truth")
    path = Path("truths/part-11.jsonl")
    check = InputFile.check
    times = itertools.count()

    def check_and_change(self: InputFile, number: int | None = None) -> None:
        check(self, number)
        if self.path == path:
            os.utime(path, (1, next(times)))

    monkeypatch.setattr(InputFile, "check", check_and_change)
    assert f"{path}: changed while it was read" in refused("stats truths")


def test_merge_refuses_the_rows_of_a_folder_twice(folder: Path, run: Run, refused: Run) -> None:
    write_shards("truths", write_jsonl, "truth")
    write_shards("scoress", write_jsonl, "scores")
    line = "evaluate truths scoress --metrics p@1 --save {}"
    for name in ("a", "b"):
        answer(line.format(name).split())
    assert "are counted already; count each row once" in refused("merge a b")


def test_names_with_colons_end_at_the_last_one(folder: Path) -> None:
    Path("truth.lines").write_text("ns:cat ns:dog\nurn:x:1 ns:cat\n")
    Path("scores.lines").write_text("ns:dog:0.25 ns:cat:0.5 bird:1\nurn:x:1:0.75 ns:dog:-2e-3\n")
    expected = evaluate(
        [["ns:cat", "ns:dog"], ["urn:x:1", "ns:cat"]],
        [{"ns:dog": 0.25, "ns:cat": 0.5, "bird": 1.0}, {"urn:x:1": 0.75, "ns:dog": -0.002}],
        metrics=["p@1", "r@2"],
    )
    report = evaluate("truth.lines", "scores.lines", metrics=["p@1", "r@2"])
    assert dict(report) == dict(expected)
