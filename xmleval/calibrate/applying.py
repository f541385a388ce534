"""A map applied to scores in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from xmleval.calibrate.calibrator import Calibrator
from xmleval.evaluation.convert import find_files, write_data, write_rows, writer_of
from xmleval.evaluation.match_files import read_scores_alone
from xmleval.evaluation.request import Progress
from xmleval.input.argument_types import FilePath
from xmleval.input.rows import Rows
from xmleval.input.stack import as_rows


def apply_to_files(
    saved: Path, scores: FilePath, target: Path, shown: Progress = False
) -> tuple[int, int, list[str]]:
    """Write predictions with the probabilities of a saved map in place of scores.

    It returns the numbers of rows and of probabilities, and notes.
    """
    (source,) = find_files([(scores, "scores")])
    # refuses before anything is read
    writer = writer_of(target, "scores", source.name if source.named else None)
    calibrator = Calibrator.load(saved)
    n_rows = 0
    n_entries = 0

    def calibrate(rows: Rows | NDArray[Any]) -> Rows:
        nonlocal n_rows, n_entries
        probabilities: Rows = as_rows(calibrator.apply(rows), "scores")
        n_rows += probabilities.n_rows
        n_entries += int((probabilities.labels >= 0).sum())
        return probabilities

    if source.named:
        rows = calibrate(read_scores_alone(source, None))
        notes = write_data(source.name, rows, "scores", target)
    else:
        pieces = source.pieces()
        notes = write_rows(
            source.name, pieces, "scores", target, writer, change=calibrate, shown=shown
        )
    return n_rows, n_entries, notes
