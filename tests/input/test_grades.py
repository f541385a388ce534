"""Grades of relevance in files have the values of trec_eval in every format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.forms import Rows, write_rows
from tests.made_files import SCORES, dense, npz, write_lines
from xmleval.io import read_qrels

TREC_FILE = Path(__file__).parents[1] / "metrics" / "trec_eval.json"
TREC: dict[str, Any] = json.loads(TREC_FILE.read_text())
QRELS = TREC["qrels"]
RUN = TREC["run"]
NAMES = sorted(set().union(*QRELS.values(), *RUN.values()), reverse=True)
LONG = [(key, name, grade) for key, row in QRELS.items() for name, grade in row.items()]
ROW_IDS = [[*QRELS].index(key) for key, _, _ in LONG]
LABEL_IDS = [NAMES.index(name) for _, name, _ in LONG]
GRADES = np.array([grade for _, _, grade in LONG], float)
MATRIX = sp.csr_array((GRADES, (ROW_IDS, LABEL_IDS)), shape=(len(QRELS), len(NAMES)))


def trec_mean(name: str) -> float:
    return float(np.mean([row[name] for row in TREC["values"].values()]))


EXPECTED = {
    "ndcg@3": trec_mean("ndcg_cut_3"),
    "ndcg@12": trec_mean("ndcg"),
    "p@5": trec_mean("P_5"),
}
MEASURES = [*EXPECTED]
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
    # an unlisted label has no score
    scores = [[row.get(name, -1) + 1 for name in NAMES] for row in RUN.values()]
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
        rows: Rows = {}
        for number, row in enumerate(QRELS.values()):
            rows[str(number)] = {str(NAMES.index(label)): grade for label, grade in row.items()}
        path: object = write_rows("y", name, rows)
    elif name == "dense":
        path = dense(Path("y"), MATRIX)
    else:
        path = NUMBERED[name](Path("y"), MATRIX)
    values = values_of(MEASURES, f"{path} S.npz --gains linear")
    assert values == pytest.approx(EXPECTED, rel=1e-12)


REFUSED = [
    (
        "Y.npz S.npz",
        "Y.npz: row 0: value -1.0 is neither 0 nor 1 in a label set; grades need --gains",
    ),
    (
        "y.csv m.run",
        "y.csv: column 'score' has scores, but relevant labels are expected; grades need gains;",
    ),
    (
        "docs.jsonl m.run",
        "docs.jsonl: line 1: 'labels' has scores, but relevant labels are expected;",
    ),
    (
        "large.npz S.npz --gains exp",
        "large.npz: row 1: grade 60.0 is above 32, the most that --gains",
    ),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_grades_without_gains_are_refused(refused: Any, line: str, message: str) -> None:
    npz(Path("Y"), MATRIX)
    npz(Path("large"), MATRIX * 20)
    write("csv")
    write("docs.jsonl")
    assert message in refused(f"evaluate {line}")


def test_read_qrels_with_and_without_grades() -> None:
    write("qrels")
    graded = read_qrels("y.qrels", NAMES, grades=True)
    assert (graded.matrix != MATRIX).nnz == 0
    binary = read_qrels("y.qrels", NAMES)
    assert (binary.matrix != (MATRIX > 0)).nnz == 0


@pytest.mark.parametrize("command", ["compare {} --metrics ndcg@3", "diff {} --metric ndcg@3"])
def test_comparisons_read_grades(run: Any, command: str) -> None:
    npz(Path("Y"), MATRIX)
    scores = sp.load_npz("S.npz").toarray()
    npz(Path("other"), sp.csr_array(np.fliplr(scores)))
    out = run(command.format("Y.npz S.npz other.npz --gains linear"))
    assert f"{EXPECTED['ndcg@3']:.4f}" in out
