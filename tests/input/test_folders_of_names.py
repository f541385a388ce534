"""Files with names that follow one another have the report of the one file that they make together."""

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import xmleval
from tests.commands import Run, json_of
from tests.damage import answer
from tests.limits import small_limits
from xmleval.files.input import InputFile

N_ROWS, N_LABELS = 12, 9
CUTS = (0, 3, 4, 9, 12)
METRICS = ("p@1", "ndcg@3", "f1.macro@2", "map@all", "label_coverage@2")


class Row:
    """A row of a truth or of predictions: its key, and its labels with values, best first."""

    def __init__(self, key: str, labels: list[str], values: list[float]) -> None:
        self.key, self.labels, self.values = key, labels, values


Rows = Sequence[Row]


def make_rows(kind: str) -> list[Row]:
    """Return rows whose labels first occur in an order of their own; equal scores, and unknown labels."""
    rng = np.random.default_rng(len(kind))
    rows = []
    for number in range(N_ROWS):
        labels = [f"label {n}" for n in rng.permutation(N_LABELS + 2 * (kind == "scores"))[: 2 + number % 3]]
        values = sorted((rng.integers(1, 4, len(labels)) / 4).tolist(), reverse=True)
        rows.append(Row(f"row-{number}", labels, values if kind == "scores" else [1.0] * len(labels)))
    return rows


def fields_of(row: Row, kind: str, with_key: bool = True) -> dict[str, Any]:
    key = {"id": row.key} if with_key else {"title": row.key}
    return {**key, "labels": row.labels, **({"scores": row.values} if kind == "scores" else {})}


def write_jsonl(path: Path, rows: Rows, kind: str, with_key: bool = True) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(fields_of(row, kind, with_key)) + "\n" for row in rows))
    return path


def write_csv(path: Path, rows: Rows, kind: str, with_key: bool = True) -> Path:
    path = path.with_suffix(".csv")
    fields = [fields_of(row, kind, with_key) for row in rows]
    lines = [";".join(fields[0])]
    for each in fields:
        cells = [value if isinstance(value, str) else json.dumps(value) for value in each.values()]
        lines.append(";".join('"' + cell.replace('"', '""') + '"' for cell in cells))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_jsonl_in_order(path: Path, rows: Rows, kind: str) -> Path:
    """Write rows without ids beside a column that shows their order."""
    return write_jsonl(path, rows, kind, with_key=False)


def write_csv_in_order(path: Path, rows: Rows, kind: str) -> Path:
    return write_csv(path, rows, kind, with_key=False)


def write_long_csv(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".csv")
    lines = ["instance,label" + ",score" * (kind == "scores")]
    for row in rows:
        for label, value in zip(row.labels, row.values, strict=True):
            lines.append(f"{row.key},{label}" + f",{value}" * (kind == "scores"))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_json(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".json")
    path.write_text(json.dumps({row.key: dict(zip(row.labels, row.values, strict=True)) for row in rows}))
    return path


def write_trec(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".run" if kind == "scores" else ".qrels")
    lines = []
    for row in rows:
        for rank, (label, value) in enumerate(zip(row.labels, row.values, strict=True), 1):
            name = label.replace(" ", "_")
            line = f"{row.key} Q0 {name} {rank} {value} x\n"
            lines.append(line if kind == "scores" else f"{row.key} 0 {name} 1\n")
    path.write_text("".join(lines))
    return path


def write_numbered_trec(path: Path, rows: Rows, kind: str) -> Path:
    """Write qrels whose names are numbers over all files, not in each."""
    path = write_trec(path, rows, kind)
    path.write_text(path.read_text().replace("row-", "").replace("label_", ""))
    return path


def write_ranks(path: Path, rows: Rows, kind: str) -> Path:
    """Write a run of MS MARCO, whose ranks begin in the first file."""
    path = write_trec(path, rows, kind)
    if kind == "scores":
        lines = [line.split() for line in path.read_text().splitlines()]
        later = [int(line[3]) + 5 * (line[0] != "row-0") for line in lines]
        text = [f"{line[0]}\t{line[2]}\t{rank}\n" for line, rank in zip(lines, later, strict=True)]
        path.write_text("".join(text))
    return path


def write_parquet(path: Path, rows: Rows, kind: str) -> Path:
    fields = [fields_of(row, kind) for row in rows]
    pyarrow.parquet.write_table(pa.Table.from_pylist(fields), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_long_parquet(path: Path, rows: Rows, kind: str) -> Path:
    entries = []
    for row in rows:
        for label, value in zip(row.labels, row.values, strict=True):
            entry = {"instance": row.key, "label": label}
            entries.append(entry | ({"score": value} if kind == "scores" else {}))
    pyarrow.parquet.write_table(pa.Table.from_pylist(entries), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_numbered_parquet(path: Path, rows: Rows, kind: str) -> Path:
    """Write a table with a row for each label, whose rows have numbers over all files."""
    entries = []
    for row in rows:
        for label, value in zip(row.labels, row.values, strict=True):
            entry = {"instance": int(row.key[4:]), "label": int(label[6:])}
            entries.append(entry | ({"score": value} if kind == "scores" else {}))
    pyarrow.parquet.write_table(pa.Table.from_pylist(entries), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_numbered_lists(path: Path, rows: Rows, kind: str) -> Path:
    fields = [fields_of(row, kind) for row in rows]
    for each in fields:
        each["instance"] = int(each.pop("id")[4:])
        each["labels"] = [int(label[6:]) for label in each["labels"]]
    pyarrow.parquet.write_table(pa.Table.from_pylist(fields), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_lines(path: Path, rows: Rows, kind: str) -> Path:
    path = path.with_suffix(".lines")
    scored = kind == "scores"
    lines = []
    for row in rows:
        pairs = zip(row.labels, row.values, strict=True)
        lines.append(" ".join(label.replace(" ", "_") + f":{value}" * scored for label, value in pairs))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_codes(path: Path, rows: Rows, kind: str) -> Path:
    """Write codes without scores, of which one in the last row has a leading zero."""
    path = path.with_suffix(".lines")
    codes = [[label[6:] for label in row.labels] for row in rows]
    if rows[-1].key == f"row-{N_ROWS - 1}":
        codes[-1][0] = "07"
    path.write_text("".join(" ".join(labels) + "\n" for labels in codes))
    return path


def write_names(path: Path, rows: Rows, kind: str) -> Path:
    """Write a list of names, of which only predictions can be."""
    if kind != "scores":
        return write_lines(path, rows, kind)
    width = max(len(row.labels) for row in make_rows(kind))
    labels = np.array([[*row.labels, *[""] * width][:width] for row in rows], "U16")
    values = np.array([[*row.values, *[0.0] * width][:width] for row in rows])
    np.save(f"{path}-labels.npy", np.char.replace(labels, " ", "_"))
    np.save(f"{path}-scores.npy", values)
    return Path(f"{path}-labels.npy")


WRITERS: list[Callable[[Path, Rows, str], Path]] = [
    write_jsonl, write_csv, write_jsonl_in_order, write_csv_in_order, write_long_csv, write_json, write_trec,
    write_numbered_trec, write_ranks, write_parquet, write_long_parquet, write_numbered_parquet,
    write_numbered_lists, write_lines, write_codes, write_names,
]  # fmt: skip


OF_SETS = [
    write_jsonl, write_csv, write_jsonl_in_order, write_csv_in_order, write_parquet, write_numbered_lists,
    write_lines, write_codes, write_names,
]  # fmt: skip


def write_shards(name: str, write: Callable[[Path, Rows, str], Path], kind: str) -> tuple[str, str]:
    """Write rows in one file, and in several of a folder that are numbered without zeros; return both."""
    rows = make_rows(kind)
    whole = write(Path(f"one-{name}"), rows, kind)
    Path(name).mkdir()
    for number, (start, stop) in enumerate(itertools.pairwise(CUTS)):
        write(Path(name, f"part-{9 + number}"), rows[start:stop], kind)
    return str(whole), name


def without_names_of_files(text: str, *names: str) -> Any:
    for name in names:
        text = text.replace(name, "INPUT")
    return json.loads(text)


@pytest.mark.parametrize("memory", ["1GB", "2KB"])
@pytest.mark.parametrize("write", WRITERS)
def test_a_folder_has_the_report_of_one_file(
    folder: Path, write: Callable[[Path, Rows, str], Path], memory: str
) -> None:
    """Of the truth, scores, sets and training labels, as folders and patterns, in the shell and in Python."""
    (truth, truths), (scores, several) = (write_shards(f"{k}s", write, k) for k in ("truth", "scores"))
    options = f"--metrics {','.join(METRICS)} --memory {memory} --format json"

    def report(line: str, *names: str) -> Any:
        code, out, err = answer(f"evaluate {line} {options}".split())
        assert code == 0, err
        return without_names_of_files(out, *names)

    with small_limits():
        expected = report(f"{truth} {scores}", truth, scores)
        for pair in ((truths, several), (truth, several), (truths, scores)):
            assert report(" ".join(pair), *pair) == expected
        if write is not write_names:
            patterns = f"{truths}/p*", f"{several}/p*"
            assert report(" ".join(patterns), *patterns) == expected
        trained = report(f"{truth} {scores} --train {truth}", truth, scores)
        assert report(f"{truths} {several} --train {truths}", truths, several) == trained
        if write in OF_SETS:
            sets = report(f"{truth} {scores} --pred {truth}", truth, scores)
            assert report(f"{truths} {several} --pred {truths}", truths, several) == sets
    in_python = xmleval.evaluate(Path(truths), several, metrics=METRICS)
    assert in_python.to_dict()["values"] == expected["values"]
    assert in_python.per_row is not None


@pytest.mark.parametrize(
    "write", [write_jsonl, write_csv, write_long_csv, write_json, write_trec, write_parquet]
)
@pytest.mark.parametrize("kind", ["truth", "scores"])
def test_a_row_in_two_files_is_refused(
    folder: Path, refused: Run, write: Callable[[Path, Rows, str], Path], kind: str
) -> None:
    truth, scores = (write_shards(f"{k}s", write, k)[1] for k in ("truth", "scores"))
    last = write(Path(f"{kind}s", "part-13"), [Row("row-1", ["label 3", "new"], [1.0, 0.0])], kind)
    first = last.with_stem("part-9")
    message = refused(f"evaluate {truth} {scores} --metrics p@1")
    assert message.startswith(f"{last}: ")
    assert message.endswith(f": row 'row-1' is also in {first}; expected each row in one file")


def test_a_label_twice_in_a_row_names_the_file(folder: Path, refused: Run) -> None:
    write_shards("truths", write_jsonl, "truth")
    write_jsonl(Path("truths/part-13"), [Row("a", ["x"], [1.0]), Row("b", ["x", "x"], [1.0, 1.0])], "truth")
    assert refused("stats truths").startswith("truths/part-13.jsonl: line 2: label 'x' occurs twice")


def test_files_of_other_fields_or_formats_are_refused(folder: Path, refused: Run) -> None:
    for name in ("a", "b", "c", "d", "e"):
        Path(name).mkdir()
    Path("a/1.csv").write_text("id,labels\na,x\n")
    Path("a/2.csv").write_text("id,tags\nb,x\n")
    assert refused("stats a").startswith("a/2.csv: fields 'id, tags', not 'id, labels' of a/1.csv; expected")
    Path("b/1.csv").write_text("id,labels\na,x\n")
    Path("b/2.jsonl").write_text('{"id": "b", "labels": ["x"]}\n')
    message = "b/2.jsonl: a JSON Lines of documents, and b/1.csv is a CSV file of documents; expected"
    assert refused("stats b").startswith(message)
    Path("c/1.qrels").write_text("a 0 x 1\n")
    Path("d/1.run").write_text("a Q0 x 1 0.5 t\n")
    Path("d/2.run").write_text("b x 1\n")
    assert refused("evaluate c d --metrics p@1").startswith("d/2.run: line 1: 3 fields, not 6; expected")
    Path("c.lines").write_text("x\nx\n")
    Path("e/1.lines").write_text("x:0.5\n")
    Path("e/2.lines").write_text("x y\n")
    message = refused("convert e s.npz --like c.lines --kind scores")
    assert message.startswith("e/2.lines: line 1: labels with scores, and others without; expected")


def test_fields_of_other_files_may_be_in_another_order(folder: Path) -> None:
    Path("a").mkdir()
    Path("a/1.csv").write_text("id,labels\na,x\n")
    Path("a/2.csv").write_text("labels,id\ny,b\n")
    report = xmleval.evaluate("a", {"a": {"x": 1.0}, "b": {"y": 1.0}}, metrics="p@1")
    assert (report["p@1"], report.label_names) == (1.0, ["x", "y"])


def test_predictions_in_the_files_of_a_truth(folder: Path) -> None:
    Path("docs").mkdir()
    lines = [
        json.dumps({"id": f"d{n}", "labels": ["x", "y"][: n % 2 + 1], "predicted": ["x"]}) for n in range(6)
    ]
    Path("all.jsonl").write_text("\n".join(lines))
    Path("docs/1.jsonl").write_text("\n".join(lines[:4]))
    Path("docs/2.jsonl").write_text("\n".join(lines[4:]))
    assert json_of("evaluate docs")["values"] == json_of("evaluate all.jsonl")["values"]


def test_vectors_are_told_over_all_files(folder: Path, refused: Run) -> None:
    """In one file, 0 and 1 in all rows may be vectors; they are none beside other rows."""
    Path("t").mkdir()
    Path("t/1.jsonl").write_text('{"labels": [0, 1]}\n{"labels": [1, 0]}\n')
    assert "0 and 1 in all rows" in refused("stats t")
    Path("t/2.jsonl").write_text('{"labels": [5]}\n')
    assert xmleval.evaluate("t", "t", metrics="p@1")["p@1"] == 1.0


def test_a_file_that_changes_meanwhile_is_refused(folder: Path, refused: Run, monkeypatch: Any) -> None:
    write_shards("truths", write_jsonl, "truth")
    path, check, times = Path("truths/part-11.jsonl"), InputFile.check, itertools.count()

    def check_and_change(self: InputFile, number: int | None = None) -> None:
        check(self, number)
        if self.path == path:
            os.utime(path, (1, next(times)))

    monkeypatch.setattr(InputFile, "check", check_and_change)
    assert "truths/part-11.jsonl: changed while it was read" in refused("stats truths")


def test_the_rows_of_a_folder_are_merged_once(folder: Path, run: Run, refused: Run) -> None:
    write_shards("truths", write_jsonl, "truth")
    write_shards("scoress", write_jsonl, "scores")
    line = "evaluate truths scoress --metrics p@1 --save {}"
    for name in ("a", "b"):
        answer(line.format(name).split())
    assert "are counted already; count each row once" in refused("merge a b")
