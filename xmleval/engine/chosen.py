"""Some rows of an evaluation, to show: their relevant labels, and the first labels of their lists."""

from __future__ import annotations

from typing import Any

from xmleval.conventions import Conventions
from xmleval.input.door import Door
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.records import Ints


def chosen_rows(
    y_true: Any,
    y_score: Any,
    rows: Ints,
    n_labels: int,
    depth: int,
    conventions: Conventions,
    higher_is_better: bool,
    door: Door,
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the relevant labels of some rows, and the best ``depth`` ones listed above unlisted ones."""
    given = [n_labels if isinstance(value, list) else None for value in (y_true, y_score)]
    truth = set_rows("y_true", y_true, given[0], n_labels, conventions.gains)
    door = door.opened(truth, n_labels)
    level, left = conventions.unlisted_score, door.of_ranking
    how = Reading("y_score", n_labels, level, depth, higher_is_better=higher_is_better, left=left)
    lists = ranking_rows(y_score, given[1], how)
    truth = door.passed(truth, None)[0]
    relevant, listed = [], []
    for row in rows.tolist():
        ranking = lists.block(row, row + 1)
        relevant.append(relevant_of(truth.block(row, row + 1)).labels.tolist())
        listed.append(ranking.labels[: min(depth, int(ranking.n_above[0]))].tolist())
    return relevant, listed
