"""Names of rows and labels in files, and notes on inputs that look swapped."""

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
MARCO_RUN = (
    "300674\t7067032\t1\n300674\t7067056\t2\n125705\t7067181\t1\n125705\t7067056\t2\n94798\t9\t1\n"
)
GRADED = "--gains linear --metrics ndcg@5"
WHOLE = "whole numbers from 0 to 10; are the truth and the scores swapped?"


@pytest.mark.parametrize(
    ("files", "precision", "is_marco"),
    [
        pytest.param(
            {"news.txt": TRUTH, "model.txt": RUN},
            1.0,
            False,
            id="txt",
        ),
        pytest.param(
            {"judged.trec": TRUTH, "bm25.trec": RUN},
            1.0,
            False,
            id="trec",
        ),
        pytest.param(
            {"qrels.dev.tsv": MARCO, "run.dev.tsv": MARCO_RUN},
            1 / 3,
            True,
            id="MS MARCO",
        ),
    ],
)
def test_trec_files_may_have_any_name(
    folder: Path, files: dict[str, str], precision: float, is_marco: bool
) -> None:
    for name, text in files.items():
        Path(name).write_text(text)
    truth, scores = files
    contents = json_of(f"evaluate {truth} {scores} --metrics p@1 --input-format qrels")
    assert contents["values"]["p@1"] == pytest.approx(precision, abs=1e-12)
    message = "read as a run of MS MARCO, by rank"
    assert any(message in note for note in contents["notes"]) == is_marco


def test_row_numbers_with_gaps_are_names(folder: Path) -> None:
    with_gap = "301 0 7 1\n305 0 9 1\n"
    without_gap = "1 0 7 1\n0 0 9 1\n"
    for text, n_labels in ((with_gap, 2), (without_gap, 10)):
        Path("t.qrels").write_text(text)
        code, out, err = answer(["stats", "t.qrels", "--format", "json"])
        assert (code, err) == (0, "")
        assert json.loads(out)["n_labels"] == n_labels


def write_json_lines(name: str, objects: list[Any]) -> None:
    Path(name).write_text("".join(json.dumps(each) + "\n" for each in objects))


@pytest.mark.parametrize("scores", ["m.jsonl", "by_id.jsonl", "m.run"])
@pytest.mark.parametrize("truth", ["Y.npz", "ids.lines"])
def test_labels_option_names_the_columns_of_a_numbered_truth(
    folder: Path, truth: str, scores: str
) -> None:
    array = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    npz(folder / "Y", sp.csr_array(array))
    Path("ids.lines").write_text("0 2\n1\n0 1\n\n")
    Path("names.txt").write_text("cat\ndog\ncow\n")
    rows = [{"cow": 0.9, "cat": 0.25}, {"dog": 0.5}, {"cow": 0.75}, {}]
    with_ids = [{"id": number, "pred": row} for number, row in enumerate(rows)]
    write_json_lines("m.jsonl", [{"pred": row} for row in rows])
    write_json_lines("by_id.jsonl", with_ids[::-1])
    lines = []
    for number, row in enumerate(rows):
        lines += [f"{number} Q0 {label} 1 {score} m\n" for label, score in row.items()]
    Path("m.run").write_text("".join(lines))

    values = [0.9, 0.25, 0.5, 0.75]
    labels = [2, 0, 1, 2]
    row_starts = [0, 2, 3, 4, 4]
    metrics = ["p@1", "psp@1", "f1.macro", "auc.micro"]
    expected = evaluate(
        array,
        sp.csr_array((values, labels, row_starts), shape=(4, 3)),
        metrics=metrics,
        inverse_propensity=inverse_propensity(label_counts=array.sum(axis=0), n_instances=4),
        decision="top1",
    )
    options = f"--labels names.txt --train Y.npz --decision top1 --metrics {','.join(metrics)}"
    assert json_of(f"evaluate {truth} {scores} {options}")["values"] == dict(expected)


@pytest.mark.parametrize(
    ("write", "options"),
    [
        pytest.param(npz, {"scheme": "csr"}, id="npz"),
        pytest.param(npz, {"scheme": "csc"}, id="npz-csc"),
        pytest.param(xmc, {"kind": "scores"}, id="xmc"),
    ],
)
def test_scores_that_look_swapped_with_the_truth_are_noted(
    folder: Path, write: Any, options: dict[str, Any]
) -> None:
    """Each of several SCORES has its note."""
    fractions = make_scores()
    grades = fractions.indices % 3 + 1.0
    graded = sp.csr_array((grades, fractions.indices, fractions.indptr), shape=fractions.shape)
    truth = write(folder / "t", fractions, **options)
    for matrix, is_noted in ((graded, True), (fractions, False)):
        paths = []
        for form, write_scores in SCORES.items():
            paths.append(str(write_scores(Path(f"{form}-{is_noted}"), matrix)))
        reports = json_of(f"evaluate {truth} {' '.join(paths)} {GRADED}")["reports"]
        for path, report in zip(paths, reports.values(), strict=True):
            notes = []
            if is_noted:
                notes = [f"{truth}: its grades are fractions, but the scores of {path} are {WHOLE}"]
            assert [note for note in report["notes"] if "across a cutoff" not in note] == notes
    truth = write(folder / "t", graded, **options)
    scores = write(folder / "s", fractions, **options)
    assert not json_of(f"evaluate {truth} {scores} {GRADED}")["notes"]
