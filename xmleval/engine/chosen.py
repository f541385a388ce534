"""Some rows of an evaluation, to show: their relevant labels, and the first labels of their lists."""

from __future__ import annotations

from typing import Any

from xmleval.input.scores import ranking_rows
from xmleval.input.sets import set_rows
from xmleval.records import Ints


def first_labels(
    argument: str,
    y_score: Any,
    rows: Ints,
    n_labels: int,
    depth: int,
    unlisted: float | None,
    higher_is_better: bool,
) -> list[list[int]]:
    """Return the best ``depth`` listed labels of some rows; those below unlisted ones do not count."""
    given = n_labels if isinstance(y_score, list) else None
    found = ranking_rows(argument, y_score, given, n_labels, unlisted, depth, True, higher_is_better)
    blocks = [found.block(row, row + 1) for row in rows.tolist()]
    return [one.labels[: min(depth, int(one.n_above[0]))].tolist() for one in blocks]


def relevant_labels(y_true: Any, rows: Ints, n_labels: int, gains: str) -> list[list[int]]:
    """Return the relevant labels of some rows."""
    truth = set_rows("y_true", y_true, n_labels if isinstance(y_true, list) else None, n_labels, gains)
    return [truth.block(row, row + 1).labels.tolist() for row in rows.tolist()]
