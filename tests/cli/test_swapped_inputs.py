"""Notes on a truth and SCORES that look swapped, in files of every format that has values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import SCORES, make_scores, npz, trec_run, xmc

VALUES = make_scores()
QRELS = sp.csr_array((VALUES.indices % 3 + 1.0, VALUES.indices, VALUES.indptr), shape=VALUES.shape)
WHOLE = sp.csr_array((np.arange(VALUES.nnz) + 1.0, VALUES.indices, VALUES.indptr), shape=VALUES.shape)


def qrels(path: Path, matrix: Any) -> Path:
    entries = zip(*matrix.nonzero(), matrix.data.tolist(), strict=True)
    path.with_suffix(".qrels").write_text("".join(f"{row} 0 {label} {x:.0f}\n" for row, label, x in entries))
    return path.with_suffix(".qrels")


GRADES: dict[str, Callable[[Path, Any], Path]] = {
    "npz": npz,
    "npz-csc": lambda path, matrix: npz(path, matrix, True, "csc"),
    "xmc": lambda path, matrix: xmc(path, matrix, "scores"),
    "parquet": lambda path, matrix: SCORES["parquet-entries"](path, matrix),
    "qrels": qrels,
}


@pytest.fixture
def notes_of(run: Callable[..., str]) -> Callable[..., list[str]]:
    """Return the notes in the JSON report of a truth with grades, and of scores."""

    def notes(truth: Path, scores: Path, more: str = "") -> list[str]:
        line = f"evaluate {truth} {scores} --gains linear --metrics ndcg@5 --format json {more}"
        report: dict[str, list[str]] = json.loads(run(line))
        return report["notes"]

    return notes


@pytest.mark.parametrize("scores_format", SCORES)
@pytest.mark.parametrize("truth_format", GRADES)
def test_numbered_truth_and_scores_that_look_swapped_are_noted(
    truth_format: str, scores_format: str, tmp_path: Path, notes_of: Callable[..., list[str]]
) -> None:
    write_truth, write_scores = GRADES[truth_format], SCORES[scores_format]
    run_as_truth = VALUES if truth_format != "qrels" else WHOLE
    truth, scores = write_truth(tmp_path / "t", run_as_truth), write_scores(tmp_path / "s", QRELS)
    grades = "are fractions" if truth_format != "qrels" else "go beyond 10"
    expected = f"{truth}: its grades {grades}, and the scores of {scores} are whole numbers from 0 to 10; "
    assert notes_of(truth, scores) == [f"{expected}are the truth and the scores swapped?"]
    truth, scores = write_truth(tmp_path / "u", QRELS), write_scores(tmp_path / "v", VALUES)
    assert not notes_of(truth, scores)


@pytest.mark.parametrize("swapped", [True, False])
def test_named_truth_and_scores_that_look_swapped_are_noted(
    swapped: bool, tmp_path: Path, notes_of: Callable[..., list[str]]
) -> None:
    values = (WHOLE, QRELS) if swapped else (QRELS, WHOLE)
    truth, scores = qrels(tmp_path / "t", values[0]), trec_run(tmp_path / "s", values[1])
    assert any("swapped?" in note for note in notes_of(truth, scores)) == swapped


def test_note_on_swapped_inputs_is_that_of_each_scores(tmp_path: Path, run: Callable[..., str]) -> None:
    truth, good = npz(tmp_path / "t", VALUES), npz(tmp_path / "good", VALUES)
    line = f"evaluate {truth} {good} {npz(tmp_path / 'qrels', QRELS)} --gains linear --metrics ndcg@5"
    reports = json.loads(run(f"{line} --format json"))["reports"]
    assert {name: len(report["notes"]) for name, report in reports.items()} == {"good.npz": 0, "qrels.npz": 1}
