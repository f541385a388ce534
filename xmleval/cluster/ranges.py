"""Curves of every label by ranges of labels: scores go from each task straight to who sweeps their range.

Merged in a tree, all scores of all labels would be sent at each level, and pass one machine in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.cluster.job import Job, opened
from xmleval.cluster.packing import packed, unpacked, whole
from xmleval.evaluator import Evaluator
from xmleval.files.archive import read_archive, write_archive
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import as_path
from xmleval.files.saved import Form, naming_damage
from xmleval.message import counted
from xmleval.records import Ints
from xmleval.states.label_ranges import (
    NAME,
    curves_of,
    joined_curves,
    restored_range,
    scores_of_labels,
    take_ranges,
)
from xmleval.states.score_runs import ScoreRuns

FORM = Form("xmleval part", 1, "part of a run")
GIVEN = "given"  # inputs, by which a plan is made
SHARE = 4  # a range has about as many scores as so many parts
MOST_SENT = 64  # ranges whose scores are sent, as an engine takes milliseconds for each of each part


def ranges_of(evaluator: Evaluator, n_parts: int, sent: bool) -> int:
    """Return by how many ranges of labels the curves of a run are found; 0 if it has none of every label.

    sent : whether scores are sent to the task of their range, which finds them in files otherwise
    """
    curves = any(spec.state == NAME and spec.average != "micro" for spec in evaluator.asked)
    if not curves or evaluator.settings["confidence"]:  # which needs the scores of each fold
        return 0
    n_ranges = min(-(-n_parts // SHARE), evaluator.n_labels)
    return min(n_ranges, MOST_SENT) if sent else n_ranges


def bounds_of(n_labels: int, n_ranges: int) -> Ints:
    """Return the first label of each range, and the number of labels."""
    return np.arange(n_ranges + 1) * n_labels // n_ranges


def taken_ranges(evaluator: Evaluator, n_ranges: int, path: str | None) -> tuple[list[dict[str, Any]], int]:
    """Take the scores of every label out of an evaluator; return those of each range, and their bytes.

    Where there is a path for the part, they are put into files beside it, one by one.
    """
    state = scores_of_labels(evaluator.counted.states) if n_ranges else None
    if state is None:
        return [], 0
    given = np.array(sorted(evaluator.counted.given))
    found, n_bytes = [], 0
    for number, arrays in enumerate(take_ranges(state, bounds_of(evaluator.n_labels, n_ranges))):
        own = {name: whole(array) for name, array in packed(arrays).items()}
        n_bytes += sum(array.nbytes for array in own.values())
        own[GIVEN] = given
        if path is None:
            found.append(own)
        else:
            with replacing(_beside(path, number)) as file:
                write_archive(file, own)
    return found, n_bytes


def without_ranges(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part without the scores that were taken out of it."""
    return {name: value for name, value in part.items() if name != "ranges"}


def range_of(part: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the scores of a range of labels in a part, nothing if it has none."""
    return part["ranges"][number] if part.get("ranges") else {}


def sweep(job: Job, number: int, n_ranges: int, several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the curves of a range of labels from the scores of all parts, nothing if they have none.

    several : the scores of this range in each part, or parts in files, which are read one by one
    """
    like, found = opened(job), None
    start, stop = bounds_of(like.n_labels, n_ranges)[number : number + 2].tolist()

    @cache
    def state_of(*given: str) -> ScoreRuns | None:
        return scores_of_labels(like.empty_states(given))

    try:
        for part in several:
            path = _beside(part["file"], number) if "file" in part else None
            with naming_damage(path, FORM) if path else nullcontext():
                arrays = _read(path) if path else part
                state = state_of(*arrays[GIVEN].tolist()) if GIVEN in arrays else None
                own = state and restored_range(state, stop - start, unpacked(arrays))
            if own is None:
                continue
            if found is None:
                found = own
            else:
                found.merge(own)
        return {} if found is None else {"curves": curves_of(found), "n_rows": found.n_rows}
    except ValueError as error:
        return {"error": error}


def _read(path: Path) -> dict[str, Any]:
    """Return the scores of a range of labels from a file, nothing if the part has none."""
    if not path.exists():
        return {}
    return read_archive(InputFile(path), in_pieces=lambda name: ".held" in name)  # the others are read whole


def add_curves(evaluator: Evaluator, found: Sequence[dict[str, Any]]) -> None:
    """Give an evaluator of all rows the curves of all ranges of labels, in their order.

    Raise ValueError where scores of rows are missing, as of files that another process has removed.
    """
    state = scores_of_labels(evaluator.counted.states)
    if state is None or not found:
        return
    for number, one in enumerate(found):
        if one.get("n_rows", 0) != state.n_rows:
            own = counted(state.n_rows - one.get("n_rows", 0), "rows")
            raise ValueError(f"scores of {own} are missing in range {number} of labels")
    if state.n_rows:
        state.swept = joined_curves([one["curves"] for one in found])


def _beside(path: str, number: int) -> Path:
    return as_path(f"{path.removesuffix('.npz')}-labels{number}.npz")
