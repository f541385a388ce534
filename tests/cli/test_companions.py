"""What else is evaluated beside SCORES changes none of their values, whatever labels it names."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from xmleval.cli import checkpoint, evaluation, main

Rows = Mapping[str, Mapping[str, float]]  # labels with scores, of rows 0, 1, 2...
TRUTH = {"0": "cat dog", "1": "dog", "2": "bee cat owl", "3": "cow"}
TRAIN = {"0": "cat eel", "1": "dog gnu eel", "2": "ant", "3": "cat dog bee"}
MODELS: dict[str, Rows] = {
    "a": {
        "0": {"cat": 0.9, "eel": 0.5}, "1": {"ant": 0.8, "dog": 0.3}, "2": {"owl": 0.7, "cat": 0.7},
        "3": {"dog": 0.4, "cow": 0.2},
    },
    "b": {
        "0": {"gnu": 0.9, "dog": 0.6}, "1": {"hen": 0.8, "yak": 0.3}, "2": {"eel": 0.7, "bee": 0.6},
        "3": {"cow": 0.9, "fox": 0.4},
    },
    "c": {
        "0": {"cat": 0.9, "dog": 0.8}, "1": {"dog": 0.8, "bee": 0.1}, "2": {"cat": 0.7, "bee": 0.2},
        "3": {"cow": 0.6, "cat": 0.5},
    },
}  # fmt: skip


def _run(name: str, rows: Rows) -> str:
    lines = [f"{row} Q0 {label} 1 {x} m\n" for row, own in rows.items() for label, x in own.items()]
    return _text(f"{name}.run", "".join(lines))


def _long(name: str, rows: Rows) -> str:
    lines = [f"{row},{label},{x}\n" for row, own in rows.items() for label, x in own.items()]
    return _text(f"{name}.csv", "instance,label,score\n" + "".join(lines))


def _documents(name: str, rows: Rows) -> str:
    lines = [json.dumps({"id": row, "predicted": own}) + "\n" for row, own in rows.items()]
    return _text(f"{name}.jsonl", "".join(lines))


def _tags(name: str, rows: Rows) -> str:
    return _text(
        f"{name}.csv", "id,predicted\n" + "".join(f"{r},{';'.join(own)}\n" for r, own in rows.items())
    )


def _lines(name: str, rows: Rows) -> str:
    cells = [" ".join(f"{label}:{x}" for label, x in own.items()) for own in rows.values()]
    return _text(f"{name}.txt", "\n".join(cells) + "\n")


def _strings(name: str, rows: Rows) -> str:
    np.save(f"{name}-labels.npy", np.array([[*own] for own in rows.values()]))
    np.save(f"{name}-scores.npy", np.array([[*own.values()] for own in rows.values()]))
    return f"{name}-labels.npy"


def _table(name: str, rows: Rows) -> str:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    entries = [(row, label, x) for row, own in rows.items() for label, x in own.items()]
    columns = dict(zip(("instance", "label", "score"), map(list, zip(*entries, strict=True)), strict=True))
    pyarrow.parquet.write_table(pa.table(columns), f"{name}.parquet")
    return f"{name}.parquet"


def _text(path: str, text: str) -> str:
    Path(path).write_text(text)
    return path


BY_ID: dict[str, Callable[[str, Rows], str]] = {
    "run": _run, "json": lambda name, rows: _text(f"{name}.json", json.dumps(rows)), "csv": _long,
    "tags": _tags, "jsonl documents": _documents, "parquet": _table,
}  # fmt: skip
IN_ORDER = {"lines": _lines, "npy": _strings}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("truth", TRUTH), ("train", TRAIN)):
        judged = [f"{row} 0 {label} 1\n" for row, labels in rows.items() for label in labels.split()]
        _text(f"{name}.qrels", "".join(judged))
        _text(f"{name}.csv", "tags\n" + "".join(f"{labels.replace(' ', ';')}\n" for labels in rows.values()))
    _text("pred.csv", "id,predicted\n0,cat;kid\n1,dog\n2,owl;eel\n3,ram\n")
    _text("pairs.txt", "0 0\n1 3\n2 1\n")
    _text("names.txt", "ant bee cat cow dog eel fox gnu hen owl yak pig ".replace(" ", "\n"))
    return tmp_path


def results(line: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Everything that is said of each of SCORES: the report, lines of labels and lines of rows."""
    assert main([*line.split(), "--format", "json", "--per-label", "labels.out"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [word for word in line.split() if re.split(r"\W|_", word)[0] in MODELS]
    reports = found.get("reports") or {names[0]: found}
    with open("labels.out", newline="") as file:
        lines = [*csv.DictReader(file)]
    of_labels: dict[str, Any] = {name: [] for name in reports}
    for one in lines:
        of_labels[one.pop("scores", names[0])].append(one)
    return {name: (report, of_labels[name]) for name, report in reports.items()}


OPTIONS = (
    "--metrics all --decision top2 --train {train}",
    "--metrics sets,f1.macro@1,f1.weighted@3,auc.macro --decision threshold0.5 --conventions sklearn",
    "--metrics sets,p@1 --decision rule.npz",
    "--metrics xmc,f1.macro@2 --train {train} --exclude pairs.txt",
    "--metrics sets,f1.macro@1 --decision top2 --labels names.txt",
)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        (form, options)
        for form in (*BY_ID, *IN_ORDER)
        for options in OPTIONS
        if form != "tags" or not ("threshold" in options or "rule" in options)  # which need scores
    ],
)
def test_values_are_those_of_evaluating_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str, options: str
) -> None:
    truth, train = ("truth.qrels", "train.qrels") if form in BY_ID else ("truth.csv", "train.csv")
    files = [(BY_ID | IN_ORDER)[form](name, rows) for name, rows in MODELS.items()]
    if "rule.npz" in options:
        _run("a_fitted", MODELS["a"])
        words = "--rule label --measure f1.macro --output rule.npz"
        assert main(f"threshold fit truth.qrels a_fitted.run {words}".split()) == 0
        capsys.readouterr()
    line = f"evaluate {truth} {{}} {options.format(train=train)}"
    alone: dict[str, Any] = {}
    for file in files:
        alone |= results(line.format(file), capsys)
    assert results(line.format(" ".join(files)), capsys) == alone
    widths = [report["n_labels"] for report, _ in alone.values()]
    assert widths == ([12] * 3 if "names.txt" in options else [7, 10, 5])


def test_labels_of_other_predictions_are_those_of_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [_run(name, rows) for name, rows in MODELS.items()]
    line = "evaluate truth.qrels {} --pred pred.csv --metrics sets,ranking --train train.qrels"
    alone: dict[str, Any] = {}
    for file in files:
        alone |= results(line.format(file), capsys)
    assert results(line.format(" ".join(files)), capsys) == alone
    assert [report["n_labels"] for report, _ in alone.values()] == [
        9,
        12,
        8,
    ]  # eel, kid and ram are of --pred


def test_values_of_rows_are_those_of_evaluating_alone(folder: Path) -> None:
    files = [_run(name, rows) for name, rows in MODELS.items()]
    line = "evaluate truth.qrels {} --metrics p@1,lrap,ndcg@2 --per-row {}"
    for file in files:
        assert main(line.format(file, f"{file}.out").split()) == 0
    assert main(line.format(" ".join(files), "all.out").split()) == 0
    _, *found = Path("all.out").read_text().splitlines()
    wanted = [f"{file},{one}" for file in files for one in Path(f"{file}.out").read_text().splitlines()[1:]]
    assert found == wanted


class StoppedError(Exception):
    """Stands for what ends a run."""


@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_resumed_run_has_the_labels_of_each(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: int
) -> None:
    files = [_tags(name, rows) for name, rows in MODELS.items()]
    options = "--metrics all --decision top1 --train train.qrels --memory 1B"
    line = f"evaluate truth.qrels {' '.join(files)} {options}"
    whole = results(line, capsys)
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS", 0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)
    n_saved: list[int] = []
    save = checkpoint.Checkpoint.save

    def stopping(self: checkpoint.Checkpoint, rows: int, evaluators: Any) -> None:
        save(self, rows, evaluators)
        n_saved.append(rows)
        if rows == at:
            raise StoppedError

    monkeypatch.setattr(checkpoint.Checkpoint, "save", stopping)
    with pytest.raises(StoppedError):
        results(f"{line} --checkpoint kept", capsys)
    assert n_saved[-1] == at
    monkeypatch.setattr(checkpoint.Checkpoint, "save", save)
    assert results(f"{line} --checkpoint kept --resume", capsys) == whole


def test_the_number_of_labels_is_told_of_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "evaluate truth.qrels {} --metrics f1.macro@1"
    a, b, c = (_run(f"model-{name}", rows) for name, rows in MODELS.items())
    assert main(line.format(f"{a} {b} {c}").split()) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "4 rows x 7 (a), 10 (b), 5 (c) labels; * best"
    assert [line for line in out.splitlines() if "note: " in line] == [
        "note: model-a.run: 2 predicted labels never occur in the truth; they count as wrong",
        "note: model-b.run: 5 predicted labels never occur in the truth; they count as wrong",
    ]
    Path("same.run").write_text(Path(a).read_text())
    assert main(line.format(f"{a} same.run").split()) == 0
    assert capsys.readouterr().out.splitlines()[0] == "4 rows x 7 labels; * best"


def test_memory_is_that_of_the_labels_of_each(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluation, "TABLE_BYTES", 1 << 20)
    files = [_run(name, rows) for name, rows in MODELS.items()]
    assert main(f"evaluate truth.qrels {' '.join(files)} --metrics f1.macro@1 --memory 16MB".split()) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("xmleval: truth.qrels: counting 10 labels needs 30 MiB of memory or more")


def _numbered() -> None:
    """Write a truth that does not tell the number of labels, and models of several widths."""
    labels = [[0, 2], [1], [5]]
    lines = [",".join(map(str, row)) for row in labels]
    _text("ids.txt", "".join(f"{line.replace(',', ' ')}\n" for line in lines))
    _text("Y.svm", "".join(f"{line} 1:1\n" for line in lines))
    _text("train.svm", "0,2 1:1\n1 1:1\n5 1:1\n3 1:1\n")
    rng = np.random.default_rng(0)
    scores = np.array([[0.9, 0.4]] * 3, np.float32)
    np.savez("a.npz", indices=np.array([[0, 1], [1, 2], [5, 0]]), scores=scores)
    np.savez("b.npz", indices=np.array([[0, 8], [1, 2], [4, 5]], np.uint32), scores=scores)
    scipy.sparse.save_npz("c.npz", scipy.sparse.csr_array(rng.random((3, 10))))
    for name in "ab":
        with np.load(f"{name}.npz") as held:
            np.save(f"{name}_indices.npy", held["indices"])
            np.save(f"{name}_scores.npy", held["scores"])


@pytest.mark.parametrize("truth", ["ids.txt", "Y.svm"])
@pytest.mark.parametrize("options", ["f1.macro@1,p@1", "psp@1,f1.macro --decision top1 --train train.svm"])
def test_numbered_labels_are_those_of_evaluating_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], truth: str, options: str
) -> None:
    _numbered()
    files = ["a_indices.npy", "b_indices.npy", "c.npz"]
    line = f"evaluate {truth} {{}} --metrics {options}"
    alone: dict[str, Any] = {}
    for file in files:
        alone |= results(line.format(file), capsys)
    assert [report["n_labels"] for report, _ in alone.values()] == [6, 9, 10]
    for order in (files, files[::-1]):
        found = results(line.format(" ".join(order)), capsys)
        assert found == alone
    assert main(line.format(" ".join(files)).split()) == 0
    out, err = capsys.readouterr()
    assert out.startswith("3 rows x 6 (a_indices.npy), 9 (b_indices.npy), 10 (c.npz) labels")
    assert f"note: b_indices.npy: evaluated with 9 labels; its ids go beyond the 6 of {truth}\n" in out
    assert err == ""
