"""Names of rows and labels in files, notes on what they settle, and inputs that look swapped."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import json_of
from tests.damage import answer
from tests.made_files import SCORES, make_scores, npz, xmc
from xmleval import evaluate, inverse_propensity

TRUTH = "q1 0 cat 1\nq1 0 dog 1\nq2 0 dog 1\nq2 0 cow 0\n"
RUN = "q1 Q0 cat 1 0.9 m\nq1 Q0 cow 2 0.5 m\nq2 Q0 dog 1 0.9 m\n"
MARCO = "300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n94798\t0\t7067181\t1\n"
MARCO_RUN = "300674\t7067032\t1\n300674\t7067056\t2\n125705\t7067181\t1\n125705\t7067056\t2\n94798\t9\t1\n"
GRADED = "--gains linear --metrics ndcg@5"
WHOLE = "whole numbers from 0 to 10; are the truth and the scores swapped?"


@pytest.mark.parametrize(("files", "expected"), [
    ({"news.txt": TRUTH, "model.txt": RUN}, 1.0),
    ({"judged.trec": TRUTH, "bm25.trec": RUN}, 1.0),
    ({"qrels.dev.tsv": MARCO, "run.dev.tsv": MARCO_RUN}, 1 / 3),
])  # fmt: skip
def test_trec_files_of_any_name(folder: Path, files: dict[str, str], expected: float) -> None:
    for name, text in files.items():
        Path(name).write_text(text)
    truth, scores = files
    contents = json_of(f"evaluate {truth} {scores} --metrics p@1 --input-format qrels")
    assert contents["values"]["p@1"] == pytest.approx(expected, abs=1e-12)
    assert any("read as a run of MS MARCO, by rank" in note for note in contents["notes"]) == (expected < 1)


def test_numbers_that_leave_some_out_are_names(folder: Path) -> None:
    for text, expected in ("301 0 7 1\n305 0 9 1\n", 2), ("1 0 7 1\n0 0 9 1\n", 10):
        Path("t.qrels").write_text(text)
        code, out, err = answer(["stats", "t.qrels", "--format", "json"])
        assert (code, json.loads(out)["n_labels"], err) == (0, expected, "")


@pytest.mark.parametrize("scores", ["m.jsonl", "by_id.jsonl", "m.run"])
@pytest.mark.parametrize("truth", ["Y.npz", "ids.lines"])
def test_list_names_the_columns_of_a_numbered_truth(folder: Path, truth: str, scores: str) -> None:
    array = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    npz(folder / "Y", sp.csr_array(array))
    Path("ids.lines").write_text("0 2\n1\n0 1\n\n")
    Path("names.txt").write_text("cat\ndog\ncow\n")
    rows = [{"cow": 0.9, "cat": 0.25}, {"dog": 0.5}, {"cow": 0.75}, {}]
    objects = [{"id": number, "pred": row} for number, row in enumerate(rows)]
    Path("m.jsonl").write_text("".join(json.dumps({"pred": row}) + "\n" for row in rows))
    Path("by_id.jsonl").write_text("".join(json.dumps(each) + "\n" for each in objects[::-1]))
    lines = [f"{i} Q0 {label} 1 {x} m\n" for i, row in enumerate(rows) for label, x in row.items()]
    Path("m.run").write_text("".join(lines))
    metrics = ["p@1", "psp@1", "f1.macro", "auc.micro"]
    words = f"--labels names.txt --train Y.npz --decision top1 --metrics {','.join(metrics)}"
    q = inverse_propensity(label_counts=array.sum(axis=0), n_instances=4)
    matrix = sp.csr_array(([0.9, 0.25, 0.5, 0.75], [2, 0, 1, 2], [0, 2, 3, 4, 4]), shape=(4, 3))
    report = evaluate(array, matrix, metrics=metrics, inverse_propensity=q, decision="top1")
    assert json_of(f"evaluate {truth} {scores} {words}")["values"] == dict(report)


@pytest.mark.parametrize("form", ["npz", "npz-csc", "xmc"])
def test_scores_that_look_swapped_with_the_truth_are_noted(folder: Path, form: str) -> None:
    """Of several SCORES, each has its note."""
    values, write = make_scores(), xmc if form == "xmc" else npz
    options: dict[str, Any] = (
        {"kind": "scores"} if form == "xmc" else {"scheme": form.partition("-")[2] or "csr"}
    )
    judged = sp.csr_array((values.indices % 3 + 1.0, values.indices, values.indptr), shape=values.shape)
    truth = write(folder / "t", values, **options)
    for matrix, is_noted in (judged, True), (values, False):
        scores = [str(SCORES[each](Path(f"{each}-{is_noted}"), matrix)) for each in SCORES]
        reports = json_of(f"evaluate {truth} {' '.join(scores)} {GRADED}")["reports"]
        for path, report in zip(scores, reports.values(), strict=True):
            note = f"{truth}: its grades are fractions, and the scores of {path} are {WHOLE}"
            assert report["notes"] == [note] * is_noted
    files = write(folder / "t", judged, **options), write(folder / "s", values, **options)
    assert not json_of(f"evaluate {files[0]} {files[1]} {GRADED}")["notes"]
