"""Names of rows and labels in files, notes on what they settle, and inputs that look swapped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tests.damage import answer
from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npz, trec_run, xmc
from xmleval import evaluate, inverse_propensity
from xmleval.cli.forms import WRITERS

Run = Callable[..., str]
TRUTH = "q1 0 cat 1\nq1 0 dog 1\nq2 0 dog 1\nq2 0 cow 0\n"
RUN = "q1 Q0 cat 1 0.9 m\nq1 Q0 cow 2 0.5 m\nq2 Q0 dog 1 0.9 m\n"
MARCO = "300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n94798\t0\t7067181\t1\n"
MARCO_RUN = "300674\t7067032\t1\n300674\t7067056\t2\n125705\t7067181\t1\n125705\t7067056\t2\n94798\t9\t1\n"


def evaluated(words: str) -> Any:
    code, out, err = answer(["evaluate", *words.split(), "--format", "json"])
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize(
    ("truth", "scores", "texts", "expected"),
    [
        ("news.txt", "model.txt", (TRUTH, RUN), 1.0),
        ("judged.trec", "bm25.trec", (TRUTH, RUN), 1.0),
        ("qrels.dev.tsv", "run.dev.tsv", (MARCO, MARCO_RUN), 1 / 3),
    ],
)
def test_trec_files_are_recognised_by_their_lines(
    folder: Path, truth: str, scores: str, texts: tuple[str, str], expected: float
) -> None:
    Path(truth).write_text(texts[0])
    Path(scores).write_text(texts[1])
    contents = evaluated(f"{truth} {scores} --metrics p@1")
    assert contents["values"]["p@1"] == pytest.approx(expected, abs=1e-12)
    notes = " ".join(contents["notes"])
    assert f"{truth}: read as TREC qrels" in notes
    assert f"{scores}: read as a" in notes


@pytest.mark.parametrize("source", ["npz", "svmlight-gz"])
def test_statistics_are_those_of_their_definitions(folder: Path, run: Run, source: str) -> None:
    truth, train = (make_truth(n, seed=n) for n in (60, 90))
    npz(folder / "train", train)
    path = TRUTHS[source](folder / "Y", truth)
    sets, counts = [tuple(np.flatnonzero(row)) for row in truth.toarray()], truth.toarray().sum(axis=0)
    present, unseen = counts[counts > 0], (counts > 0) & (train.toarray().sum(axis=0) == 0)
    assert json.loads(run(f"stats {path.name} --train train.npz --format json")) == pytest.approx({
        "n_rows": 60, "n_labels": 30, "n_stored": truth.nnz, "label_cardinality": truth.nnz / 60,
        "label_density": truth.nnz / 1800, "label_diversity": len({*sets}),
        "proportional_diversity": len({*sets}) / 60, "max_labels_per_row": max(map(len, sets)),
        "rows_without_labels": sets.count(()), "points_per_label": truth.nnz / 30,
        "labels_without_rows": 30 - present.size, "tail_share": np.mean(present <= 10),
        "imbalance": np.mean(present.max() / present), "labels_unseen_in_training": unseen.sum(),
        "stored_unseen_in_training": counts[unseen].sum() / truth.nnz,
    })  # fmt: skip


def test_numbers_that_leave_some_out_are_names(folder: Path) -> None:
    for text, expected in ("301 0 7 1\n305 0 9 1\n", 2), ("1 0 7 1\n0 0 9 1\n", 10):
        Path("t.qrels").write_text(text)
        code, out, err = answer(["stats", "t.qrels", "--format", "json"])
        assert (code, json.loads(out)["n_labels"], bool(err)) == (0, expected, expected == 2)


@pytest.mark.parametrize("scores", ["m.jsonl", "by_id.jsonl", "m.run"])
@pytest.mark.parametrize("truth", ["Y.npz", "D.npy", "ids.txt"])
def test_list_names_the_columns_of_a_numbered_truth(folder: Path, truth: str, scores: str) -> None:
    array = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    npz(folder / "Y", sp.csr_array(array))
    np.save("D.npy", array)
    Path("ids.txt").write_text("0 2\n1\n0 1\n\n")
    Path("names.txt").write_text("cat\ndog\ncow\n")
    rows = [{"cow": 0.9, "cat": 0.25}, {"dog": 0.5}, {"cow": 0.75}, {}]
    objects = [{"id": number, "pred": row} for number, row in enumerate(rows)]
    Path("m.jsonl").write_text("".join(json.dumps({"pred": row}) + "\n" for row in rows))
    Path("by_id.jsonl").write_text("".join(json.dumps(each) + "\n" for each in objects[::-1]))
    lines = [f"{i} Q0 {label} 1 {x} m\n" for i, row in enumerate(rows) for label, x in row.items()]
    Path("m.run").write_text("".join(lines))
    metrics = ["p@1", "psp@1", "f1.macro", "auc.micro"]
    line = f"{truth} {scores} --labels names.txt --train Y.npz --decision top1 --metrics {','.join(metrics)}"
    q = inverse_propensity(label_counts=array.sum(axis=0), n_instances=4)
    matrix = sp.csr_array(([0.9, 0.25, 0.5, 0.75], [2, 0, 1, 2], [0, 2, 3, 4, 4]), shape=(4, 3))
    report = evaluate(array, matrix, metrics=metrics, inverse_propensity=q, decision="top1")
    assert evaluated(line)["values"] == dict(report)


@pytest.mark.parametrize("names", [["a", "b", "c"], [7, 5, 9]])
def test_numbered_lists_of_a_table_in_another_order_are_refused(
    folder: Path, refused: Run, names: list[Any]
) -> None:
    scores = {"scores": [[0.5], [0.5], [0.5]]}
    columns = {"file_name": names, "labels": [[0], [1], [2]]}
    pq.write_table(pa.table(columns), "t.parquet")
    pq.write_table(pa.table(columns | scores), "same.parquet")
    moved = {name: [values[place] for place in (2, 0, 1)] for name, values in columns.items()}
    pq.write_table(pa.table(moved | scores), "other.parquet")
    assert evaluated("t.parquet same.parquet --metrics p@1")["values"] == {"p@1": 1.0}
    message = (
        "other.parquet: 'file_name' has the values of TRUTH's in another order; call it 'instance' in both"
    )
    assert message in refused("evaluate t.parquet other.parquet --metrics p@1")


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "json"])
def test_notes_name_options_and_leave_csv_a_table_alone(folder: Path, name: str) -> None:
    for line in (
        "evaluate Y_test.npz sets.npz --save s.npz",
        "merge s.npz",
        "evaluate Y_test.npz sets.npz m",
    ):
        code, out, err = answer([*line.split(), "--format", name])
        assert code == 0
        out, err = out.replace("\\", ""), err.replace("\\", "")
        notes, rest = (err, out) if name == "csv" else (out, err)
        for text in ("--train or --inverse-propensity", "every score is 0 or 1"):
            assert text in notes
            assert text not in rest
        assert not any(text in out + err for text in ("y_train", "y_pred", "inverse_propensity="))
        assert all(line.startswith("xmleval: ") for line in err.splitlines())


# ------------------------------------------------------------------------ truth and scores swapped

VALUES = make_scores()
JUDGED = sp.csr_array((VALUES.indices % 3 + 1.0, VALUES.indices, VALUES.indptr), shape=VALUES.shape)
WHOLE = sp.csr_array((np.arange(VALUES.nnz) + 1.0, VALUES.indices, VALUES.indptr), shape=VALUES.shape)


def qrels(path: Path, matrix: Any) -> Path:
    entries = zip(*matrix.nonzero(), matrix.data.tolist(), strict=True)
    path.with_suffix(".qrels").write_text("".join(f"{row} 0 {label} {x:.0f}\n" for row, label, x in entries))
    return path.with_suffix(".qrels")


GRADES: dict[str, Callable[[Path, Any], Path]] = {
    "npz": npz,
    "npz-csc": lambda path, matrix: npz(path, matrix, True, "csc"),
    "xmc": lambda path, matrix: xmc(path, matrix, "scores"),
    "parquet": SCORES["parquet-entries"],
    "qrels": qrels,
}


@pytest.mark.parametrize("truth_format", GRADES)
def test_truth_and_scores_that_look_swapped_are_noted(folder: Path, truth_format: str) -> None:
    line = "{} {} --gains linear --metrics ndcg@5"
    for name, write_scores in SCORES.items():
        Path(name).mkdir()
        values = VALUES if truth_format != "qrels" else WHOLE
        truth, scores = GRADES[truth_format](Path(name, "t"), values), write_scores(Path(name, "s"), JUDGED)
        grades = "are fractions" if truth_format != "qrels" else "go beyond 10"
        note = f"{truth}: its grades {grades}, and the scores of {scores} are whole numbers from 0 to 10; "
        expected = [f"{note}are the truth and the scores swapped?"]
        assert evaluated(line.format(truth, scores))["notes"] == expected
        truth, scores = GRADES[truth_format](Path(name, "u"), JUDGED), write_scores(Path(name, "v"), VALUES)
        assert not evaluated(line.format(truth, scores))["notes"]


def test_note_on_swapped_inputs_is_that_of_each_scores_and_of_names(folder: Path) -> None:
    npz(folder / "t", VALUES)
    npz(folder / "good", VALUES)
    npz(folder / "judged", JUDGED)
    reports = evaluated("t.npz good.npz judged.npz --gains linear --metrics ndcg@5")["reports"]
    assert {name: len(report["notes"]) for name, report in reports.items()} == {
        "good.npz": 0,
        "judged.npz": 1,
    }
    for values, swapped in ((WHOLE, JUDGED), True), ((JUDGED, WHOLE), False):
        truth, scores = qrels(Path("t"), values[0]), trec_run(Path("s"), values[1])
        notes = evaluated(f"{truth} {scores} --gains linear --metrics ndcg@5")["notes"]
        assert any("swapped?" in note for note in notes) == swapped
