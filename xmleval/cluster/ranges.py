"""Curves of every label by ranges of labels: scores go from each task straight to who sweeps their range.

Merged in a tree, all scores of all labels would be sent at each level, and pass one machine in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from xmleval.records import Ints
from xmleval.states.label_ranges import NAME, joined_curves, scores_of_labels, sweep_range, take_ranges

FORM = Form("xmleval part", 1, "part of a run")
GIVEN = "given"  # inputs, by which a plan is made
SHARE = 4  # parts whose scores a range has as many as: of each part and range, a task takes its scores


def ranges_of(evaluator: Evaluator, n_parts: int) -> int:
    """Return by how many ranges of labels the curves of a run are found; 0 if it has none of every label."""
    curves = any(spec.state == NAME and spec.average != "micro" for spec in evaluator.asked)
    if not curves or evaluator.settings["confidence"]:  # which needs the scores of each fold
        return 0
    return min(-(-n_parts // SHARE), evaluator.n_labels)


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
    """Return the scores of a range of labels in a part, nothing if it has none; or an error of its file."""
    if "file" not in part:
        return part["ranges"][number] if part.get("ranges") else {}
    path = _beside(part["file"], number)
    if not path.exists():
        return {}
    try:
        with naming_damage(path, FORM):
            return read_archive(InputFile(path))
    except ValueError as error:
        return {"error": error}


def sweep(job: Job, number: int, n_ranges: int, several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the curves of a range of labels from the scores of all parts, nothing if they have none."""
    failed = next((one for one in several if "error" in one), None)
    if failed is not None:
        return failed
    held = [unpacked(arrays) for arrays in several if arrays]
    if not held:
        return {}
    like = opened(job)
    given = {name for arrays in held for name in arrays.pop(GIVEN).tolist()}
    state = scores_of_labels(like.empty_states(given))
    assert state is not None
    start, stop = bounds_of(like.n_labels, n_ranges)[number : number + 2].tolist()
    try:
        return {"curves": sweep_range(state, stop - start, held)}
    except ValueError as error:
        return {"error": error}


def add_curves(evaluator: Evaluator, found: Sequence[dict[str, Any]]) -> None:
    """Give an evaluator of all rows the curves of all ranges of labels, in their order."""
    state = scores_of_labels(evaluator.counted.states)
    if state is not None and found and all(found):
        state.swept = joined_curves([one["curves"] for one in found])


def _beside(path: str, number: int) -> Path:
    return as_path(f"{path.removesuffix('.npz')}-labels{number}.npz")
