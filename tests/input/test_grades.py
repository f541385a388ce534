"""Grades of relevance in files: every format that holds them gives the values of trec_eval."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.forms import write_rows
from tests.made_files import SCORES, dense, npz, write_lines
from xmleval.io import read_qrels

TREC: dict[str, Any] = json.loads((Path(__file__).parents[1] / "metrics" / "trec_eval.json").read_text())
QRELS, RUN = TREC["qrels"], TREC["run"]
NAMES = sorted({name for rows in (QRELS, RUN) for row in rows.values() for name in row})[::-1]
LONG = [(key, name, grade) for key, row in QRELS.items() for name, grade in row.items()]
ROWS, LABELS, GRADES = zip(*((row, NAMES.index(name), x) for row, name, x in LONG), strict=True)
MATRIX = sp.csr_array(
    (np.array(GRADES, float), ([[*QRELS].index(row) for row in ROWS], LABELS)), shape=(len(QRELS), len(NAMES))
)
MEASURES = ["ndcg@3", "ndcg@12", "p@5"]
EXPECTED = {
    ours: float(np.mean([row[name] for row in TREC["values"].values()]))
    for ours, name in zip(MEASURES, ("ndcg_cut_3", "ndcg", "P_5"), strict=True)
}
TEXTS = {
    "beir.tsv": ["query-id\tcorpus-id\tscore", *("\t".join(map(str, entry)) for entry in LONG)],
    "docs.jsonl": [json.dumps({"id": key, "labels": row}) for key, row in QRELS.items()],
}
NUMBERED = {name: SCORES[name] for name in ("npz", "xmc", "parquet", "parquet-entries", "feather")}


@pytest.fixture(autouse=True)
def _files(_folder: None) -> None:
    """Write the run with names and by number, and the names."""
    write_rows("m", "run", RUN)
    write_lines(Path("names"), ".txt", NAMES)
    scores = [[row[name] + 1 if name in row else 0 for name in NAMES] for row in RUN.values()]
    npz(Path("S"), sp.csr_array(scores))


def write(name: str) -> str:
    """Write the grades with names, and return the name of the file."""
    if name not in TEXTS:
        return write_rows("y", name, QRELS)
    return str(write_lines(Path(name), Path(name).suffix, TEXTS[name]))


@pytest.mark.parametrize("name", [*TEXTS, "qrels", "json", "csv", "parquet", "lists of parquet"])
def test_files_with_names_have_the_values_of_trec_eval(name: str) -> None:
    values = values_of(MEASURES, f"{write(name)} m.run --gains linear --labels names.txt")
    assert values == pytest.approx(EXPECTED, rel=1e-12)


@pytest.mark.parametrize("name", [*NUMBERED, "dense", "qrels"])
def test_numbered_files_have_the_values_of_trec_eval(name: str) -> None:
    if name == "qrels":
        grades = enumerate(QRELS.values())
        rows = {str(i): {str(NAMES.index(j)): x for j, x in row.items()} for i, row in grades}
        path: object = write_rows("y", name, rows)
    else:
        path = (NUMBERED | {"dense": dense})[name](Path("y"), MATRIX)
    assert values_of(MEASURES, f"{path} S.npz --gains linear") == pytest.approx(EXPECTED, rel=1e-12)


REFUSED = [
    ("Y.npz S.npz", "Y.npz: row 0: value -1.0 is neither 0 nor 1 in a label set; grades need --gains"),
    ("y.csv m.run", "y.csv: a column 'score' in what should be relevant labels; grades need gains;"),
    ("docs.jsonl m.run", "docs.jsonl: line 1: 'labels' has scores, in what should be relevant labels;"),
    ("large.npz S.npz --gains exp", "large.npz: row 1: grade 60.0 is above 32, the most that --gains"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_grades_that_are_not_asked_for_are_refused(refused: Any, line: str, message: str) -> None:
    npz(Path("Y"), MATRIX)
    npz(Path("large"), MATRIX * 20)
    write("csv")
    write("docs.jsonl")
    assert message in refused(f"evaluate {line}")


def test_grades_of_qrels_in_python() -> None:
    write("qrels")
    assert (read_qrels("y.qrels", NAMES, grades=True).matrix != MATRIX).nnz == 0
    assert (read_qrels("y.qrels", NAMES).matrix != (MATRIX > 0)).nnz == 0


@pytest.mark.parametrize("command", ["compare {} --metrics ndcg@3", "diff {} --metric ndcg@3"])
def test_comparisons_read_grades(run: Any, command: str) -> None:
    npz(Path("Y"), MATRIX)
    npz(Path("other"), sp.csr_array(np.fliplr(sp.load_npz("S.npz").toarray())))
    assert f"{EXPECTED['ndcg@3']:.4f}" in run(command.format("Y.npz S.npz other.npz --gains linear"))
