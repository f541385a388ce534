"""Grades of relevance in files: every format that holds them gives the values of trec_eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.engines import ShuffledEngine
from xmleval import Evaluator, evaluate
from xmleval.cluster.evaluation import cut_files, evaluate_files
from xmleval.io import read_qrels, read_run

TREC: dict[str, Any] = json.loads((Path(__file__).parents[1] / "metrics" / "trec_eval.json").read_text())
QRELS, RUN = TREC["qrels"], TREC["run"]
NAMES = sorted({name for rows in (QRELS, RUN) for row in rows.values() for name in row})[::-1]
ENTRIES = sorted(
    (i, NAMES.index(name), grade) for i, row in enumerate(QRELS.values()) for name, grade in row.items()
)
LISTS = [[(j, grade) for i, j, grade in ENTRIES if i == row] for row in range(len(QRELS))]
SHAPE = len(QRELS), len(NAMES)
VALUES = [
    float(np.mean([row[name] for row in TREC["values"].values()])) for name in ("ndcg_cut_3", "ndcg", "P_5")
]
MEASURES = "ndcg@3,ndcg@12,p@5"
LONG = [(i, name, grade) for i, row in QRELS.items() for name, grade in row.items()]


def lines(first: str, *entries: Any) -> str:
    return "".join(f"{line}\n" for line in (*([first] if first else []), *entries))


TEXTS = {
    "q.qrels": lines("", *(f"{i} 0 {name} {grade}" for i, name, grade in LONG)),
    "beir.tsv": lines("query-id\tcorpus-id\tscore", *("\t".join(map(str, one)) for one in LONG)),
    "long.csv": lines("instance,label,score", *(",".join(map(str, one)) for one in LONG)),
    "q.json": json.dumps(QRELS),
    "docs.jsonl": lines("", *(json.dumps({"id": i, "labels": row}) for i, row in QRELS.items())),
}
NUMBERED = {
    "numbered.qrels": lines("", *(f"{i} 0 {j} {grade}" for i, j, grade in ENTRIES)),
    "Y.txt": lines(f"{SHAPE[0]} {SHAPE[1]}", *(" ".join(f"{j}:{g}" for j, g in row) for row in LISTS)),
}


def graded() -> sp.csr_array:
    rows, columns, grades = zip(*ENTRIES, strict=True)
    return sp.csr_array((np.array(grades, np.float64), (rows, columns)), shape=SHAPE)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (TEXTS | NUMBERED).items():
        (tmp_path / name).write_text(text)
    entries = ((i, name, score) for i, row in RUN.items() for name, score in row.items())
    (tmp_path / "m.run").write_text(lines("", *(f"{i} Q0 {name} 0 {score} x" for i, name, score in entries)))
    (tmp_path / "names.txt").write_text(lines("", *NAMES))
    sp.save_npz(tmp_path / "Y.npz", graded())
    np.save(tmp_path / "Y.npy", graded().toarray())
    scores = sp.lil_array(SHAPE)
    for row, run in enumerate(RUN.values()):
        for name, score in run.items():
            scores[row, NAMES.index(name)] = score + 1
    sp.save_npz(tmp_path / "S.npz", scores.tocsr())
    return tmp_path


def values(run: Any, words: str) -> list[float]:
    return [*json.loads(run(f"evaluate {words} --metrics {MEASURES} --format json"))["values"].values()]


@pytest.mark.parametrize("name", [*TEXTS])
def test_files_with_names_have_the_values_of_trec_eval(made: Path, run: Any, name: str) -> None:
    found = values(run, f"{name} m.run --gains linear --labels names.txt")
    np.testing.assert_allclose(found, VALUES, rtol=1e-12)


@pytest.mark.parametrize("name", [*NUMBERED, "Y.npz", "Y.npy"])
def test_numbered_files_have_the_values_of_trec_eval(made: Path, run: Any, name: str) -> None:
    np.testing.assert_allclose(values(run, f"{name} S.npz --gains linear"), VALUES, rtol=1e-12)


@pytest.mark.parametrize("lists", [False, True])
def test_columns_of_parquet_files_hold_grades(made: Path, run: Any, lists: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows, labels, grades = zip(*ENTRIES, strict=True)
    names = [[*QRELS][row] for row in rows], [NAMES[label] for label in labels]
    columns: dict[str, Any] = {"instance": rows, "label": labels, "score": grades}
    named: dict[str, Any] = {"instance": names[0], "label": names[1], "score": np.array(grades, np.float32)}
    if lists:
        columns = {
            name: [[pair[at] for pair in row] for row in LISTS]
            for at, name in enumerate(["labels", "scores"])
        }
        named = {"instance": [*QRELS], **columns, "labels": [[NAMES[j] for j, _ in row] for row in LISTS]}
    pq.write_table(pa.table(columns).replace_schema_metadata({"n_labels": str(SHAPE[1])}), "Y.parquet")
    pq.write_table(pa.table(named), "named.parquet")
    for words in ("Y.parquet S.npz", "named.parquet m.run --labels names.txt"):
        np.testing.assert_allclose(values(run, f"{words} --gains linear"), VALUES, rtol=1e-12)


def test_columns_of_a_numbered_truth_take_names(made: Path, run: Any) -> None:
    Path("numbers.run").write_text(
        "".join(f"{row} Q0 {line}\n" for row, line in enumerate(["d1 1 2 x", "d1 1 2 x"]))
    )
    sp.save_npz("few.npz", graded()[:2])
    found = values(run, "few.npz numbers.run --gains linear --labels names.txt")
    expected = evaluate(
        graded()[:2], np.eye(1, SHAPE[1], NAMES.index("d1")).repeat(2, 0), metrics="p@5", gains="exp"
    )
    assert found[2] == expected["p@5"]


def test_grades_of_qrels_in_python(made: Path) -> None:
    truth = read_qrels("q.qrels", NAMES, grades=True)
    report = evaluate(truth.matrix, read_run("m.run", truth).matrix, metrics="ndcg@3", gains="linear")
    assert report["ndcg@3"] == pytest.approx(VALUES[0], rel=1e-12)
    assert read_qrels("q.qrels", NAMES).matrix.data.tolist() == [1] * sum(grade > 0 for *_, grade in ENTRIES)


def test_shards_saves_and_pieces_give_the_same_bits(made: Path, run: Any) -> None:
    whole = values(run, "Y.npz S.npz --gains exp")
    Path("parts").mkdir()
    for number, rows in enumerate([slice(0, 1), slice(1, 4)]):
        sp.save_npz(f"parts/Y_{number}.npz", graded()[rows])
    assert values(run, "parts S.npz --gains exp --memory 100") == whole
    run(f"evaluate Y.npz S.npz --gains exp --metrics {MEASURES} --save state.npz")
    assert [*Evaluator.load("state.npz").compute().values()] == whole


def test_tasks_of_a_cluster_read_grades(made: Path) -> None:
    files: dict[str, Any] = {"y_true": "Y.txt", "y_score": "S.npz"}
    job, tasks = cut_files(files, metrics="ndcg@3", gains="linear")
    found = evaluate_files(ShuffledEngine(), job, tasks)
    assert found["ndcg@3"] == pytest.approx(VALUES[0], rel=1e-12)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Y.npz S.npz", "Y.npz: row 0: value -1.0 is neither 0 nor 1 in a label set; grades need --gains"),
        ("long.csv m.run", "long.csv: a field 'score' in what should be relevant labels; grades need gains;"),
        ("docs.jsonl m.run", "docs.jsonl: line 1: 'labels' has scores, in what should be relevant labels;"),
        ("Y.npz S.npz --gains exp", "Y.npz: row 1: grade 60.0 is above 32, the most that --gains"),
    ],
)  # fmt: skip
def test_grades_that_are_not_asked_for_are_told(made: Path, refused: Any, line: str, said: str) -> None:
    if "exp" in line:
        sp.save_npz("Y.npz", graded() * 20)
    assert said in refused(f"evaluate {line}")


def test_a_note_tells_of_grades_that_count_as_one(made: Path, run: Any) -> None:
    told = run("evaluate q.qrels m.run --labels names.txt --metrics ndcg@3")
    assert "note: q.qrels: grades above 1 count as 1, unless --gains is given" in told
    assert "note" not in run("evaluate q.qrels m.run --labels names.txt --metrics p@3")


def test_comparisons_read_grades(made: Path, run: Any) -> None:
    sp.save_npz("other.npz", sp.csr_array(np.fliplr(sp.load_npz("S.npz").toarray())))
    for command in ("compare", "diff"):
        more = "--metric ndcg@3" if command == "diff" else "--metrics ndcg@3"
        assert "0.4673" in run(f"{command} Y.npz S.npz other.npz --gains linear {more}")
