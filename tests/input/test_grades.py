"""Grades of relevance in files: every format that holds them gives the values of trec_eval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.forms import FRAMES
from xmleval.io import read_qrels

TREC: dict[str, Any] = json.loads((Path(__file__).parents[1] / "metrics" / "trec_eval.json").read_text())
QRELS, RUN = TREC["qrels"], TREC["run"]
KEYS = [*QRELS]
NAMES = sorted({name for rows in (QRELS, RUN) for row in rows.values() for name in row})[::-1]
LONG = [(i, name, grade) for i, row in QRELS.items() for name, grade in row.items()]
ENTRIES = sorted((KEYS.index(i), NAMES.index(name), grade) for i, name, grade in LONG)
LISTS = [[(j, grade) for i, j, grade in ENTRIES if i == row] for row in range(len(KEYS))]
SHAPE = len(KEYS), len(NAMES)
MEASURES = ["ndcg@3", "ndcg@12", "p@5"]
EXPECTED = {
    ours: float(np.mean([row[name] for row in TREC["values"].values()]))
    for ours, name in zip(MEASURES, ("ndcg_cut_3", "ndcg", "P_5"), strict=True)
}


def write_lines(path: str, *lines: Any) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines))


def matrix() -> sp.csr_array:
    rows, columns, grades = zip(*ENTRIES, strict=True)
    return sp.csr_array((np.array(grades, np.float64), (rows, columns)), shape=SHAPE)


def write_parquet(path: str, columns: dict[str, Any]) -> None:
    table = FRAMES["arrow"](columns).replace_schema_metadata({"n_labels": str(SHAPE[1])})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


def long_columns(entries: list[Any]) -> dict[str, Any]:
    return dict(zip(("instance", "label", "score"), map(list, zip(*entries, strict=True)), strict=True))


def list_columns(name_of: Callable[[int], Any]) -> dict[str, Any]:
    grades = [[grade for _, grade in row] for row in LISTS]
    return {"labels": [[name_of(j) for j, _ in row] for row in LISTS], "scores": grades}


TEXTS = {
    "q.qrels": [f"{i} 0 {name} {grade}" for i, name, grade in LONG],
    "beir.tsv": ["query-id\tcorpus-id\tscore", *(f"{i}\t{name}\t{grade}" for i, name, grade in LONG)],
    "long.csv": ["instance,label,score", *(f"{i},{name},{grade}" for i, name, grade in LONG)],
    "q.json": [json.dumps(QRELS)],
    "docs.jsonl": [json.dumps({"id": i, "labels": row}) for i, row in QRELS.items()],
}
NUMBERED_TEXTS = {
    "q.qrels": [f"{i} 0 {j} {grade}" for i, j, grade in ENTRIES],
    "Y.txt": [f"{SHAPE[0]} {SHAPE[1]}", *(" ".join(f"{j}:{grade}" for j, grade in row) for row in LISTS)],
}
NAMED: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(TEXTS, lambda path: write_lines(path, *TEXTS[path])),
    "long.parquet": lambda path: write_parquet(path, long_columns(LONG)),
    "lists.parquet": lambda path: write_parquet(path, {"instance": KEYS} | list_columns(NAMES.__getitem__)),
}
NUMBERED: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(NUMBERED_TEXTS, lambda path: write_lines(path, *NUMBERED_TEXTS[path])),
    "Y.npz": lambda path: sp.save_npz(path, matrix()),
    "Y.npy": lambda path: np.save(path, matrix().toarray()),
    "long.parquet": lambda path: write_parquet(path, long_columns(ENTRIES)),
    "lists.parquet": lambda path: write_parquet(path, list_columns(int)),
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the run with names and by number, and the names."""
    monkeypatch.chdir(tmp_path)
    write_lines(
        "m.run", *(f"{i} Q0 {name} 0 {score} x" for i, row in RUN.items() for name, score in row.items())
    )
    write_lines("names.txt", *NAMES)
    scores = [[row[name] + 1 if name in row else 0 for name in NAMES] for row in RUN.values()]
    sp.save_npz("S.npz", sp.csr_array(scores))


@pytest.mark.parametrize("name", NAMED)
def test_files_with_names_have_the_values_of_trec_eval(name: str) -> None:
    NAMED[name](name)
    values = values_of(MEASURES, f"{name} m.run --gains linear --labels names.txt")
    assert values == pytest.approx(EXPECTED, rel=1e-12)


@pytest.mark.parametrize("name", NUMBERED)
def test_numbered_files_have_the_values_of_trec_eval(name: str) -> None:
    NUMBERED[name](name)
    assert values_of(MEASURES, f"{name} S.npz --gains linear") == pytest.approx(EXPECTED, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Y.npz S.npz", "Y.npz: row 0: value -1.0 is neither 0 nor 1 in a label set; grades need --gains"),
        ("long.csv m.run", "long.csv: a field 'score' in what should be relevant labels; grades need gains;"),
        ("docs.jsonl m.run", "docs.jsonl: line 1: 'labels' has scores, in what should be relevant labels;"),
        ("large.npz S.npz --gains exp", "large.npz: row 1: grade 60.0 is above 32, the most that --gains")
    ],
)  # fmt: skip
def test_grades_that_are_not_asked_for_are_refused(refused: Any, line: str, message: str) -> None:
    sp.save_npz("large.npz", matrix() * 20)
    name = line.split()[0]
    if name != "large.npz":
        (NAMED | NUMBERED)[name](name)
    assert message in refused(f"evaluate {line}")


def test_grades_of_qrels_in_python() -> None:
    NAMED["q.qrels"]("q.qrels")
    assert (read_qrels("q.qrels", NAMES, grades=True).matrix != matrix()).nnz == 0
    assert (read_qrels("q.qrels", NAMES).matrix != (matrix() > 0)).nnz == 0


@pytest.mark.parametrize("command", ["compare {} --metrics ndcg@3", "diff {} --metric ndcg@3"])
def test_comparisons_read_grades(run: Any, command: str) -> None:
    sp.save_npz("Y.npz", matrix())
    sp.save_npz("other.npz", sp.csr_array(np.fliplr(sp.load_npz("S.npz").toarray())))
    assert f"{EXPECTED['ndcg@3']:.4f}" in run(command.format("Y.npz S.npz other.npz --gains linear"))
