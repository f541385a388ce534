"""Count a task into a part: plain arrays, or the error that its rows have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from xmleval.base.arrays import Chunks
from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.cluster.cutting import Task
from xmleval.cluster.job import Job, opened
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.inputs import Inputs
from xmleval.evaluation.reading import count_rows
from xmleval.files.input import stamp
from xmleval.files.remote import as_path
from xmleval.files.saved import Form, Saved, load_state, naming_damage, save_state
from xmleval.input.pieces import Pieces, joined, rows_between
from xmleval.input.shards import FORMATS, Input, Shard

FORM = Form("xmleval part", 4, "part of a run")
Part = dict[str, Any]  # meta and arrays; or a file of them; or error


def count(job: Job, task: Task, path: str | None = None) -> Part:
    """Return the counts of a task, or ``{"error": ...}`` where trying again could not help.

    Parameters
    ----------
    job : Job
        What is counted.
    task : Task
        The rows.
    path : str, optional
        File to put the counts into; then it is returned in place of them.
    """

    def counted() -> Evaluator:
        evaluator = opened(job)
        _refuse_changed(task)
        try:
            for _ in count_rows([evaluator], _inputs_of(task), Resources(job.memory)):
                pass
        except (ValueError, OSError):
            _refuse_changed(task)  # which tells why
            raise
        _refuse_changed(task)
        return evaluator

    return put(counted, path)


def count_block(job: Job, first_row: int, block: Any, path: str | None = None) -> Part:
    """Return the counts of rows in memory: (y_true, y_score), or a dict of arguments of `update`."""

    def counted() -> Evaluator:
        evaluator = opened(job)
        named = block if isinstance(block, dict) else dict(zip(("y_true", "y_score"), block, strict=False))
        try:
            evaluator.update(**named, first_row=first_row)
        except InputError as error:
            row = None if error.row is None else first_row + error.row
            raise InputError(error.argument, error.reason, row=row, value=error.value) from None
        return evaluator

    return put(counted, path)


def size_of(block: Any) -> tuple[int, int] | ValueError:
    """Return the number of rows of a block, and of labels, 0 where its truth does not tell it."""
    pair = isinstance(block, tuple | list) and len(block) == 2
    if not (pair or (isinstance(block, dict) and "y_true" in block)):
        return InputError("blocks", f"{type(block).__name__} is not (y_true, y_score), nor a dict of them")
    truth = block["y_true"] if isinstance(block, dict) else block[0]
    shape: Any = getattr(truth, "shape", ())
    return (int(shape[0]), int(shape[1])) if len(shape) == 2 else (len(truth), 0)


def told_of(part: Part) -> dict[str, Any]:
    """Return the number of rows of a part, and its error, None without."""
    return {name: part.get(name) for name in ("n_rows", "error")}


def restored_part(job: Job, part: Part) -> Evaluator:
    """Return an evaluator with the counts of a part; ValueError if its file is damaged."""
    like, path = opened(job), as_path(part["file"]) if "file" in part else None
    saved = load_state(path, FORM) if path else Saved(part["meta"], part["arrays"])
    with naming_damage(path, FORM) if path else contextlib.nullcontext():
        return like.with_counts(saved)


def put(counted: Callable[[], Evaluator], path: str | None) -> Part:
    """Return counts as a part, in a file where there is a path for it."""
    try:
        evaluator = counted()
    except ValueError as error:
        return {"error": error}
    counts = evaluator.counts()
    if path is not None:
        save_state(as_path(path), counts, FORM)
        return {"file": path, "n_rows": evaluator.n_rows}
    arrays = {name: _in_memory(array) for name, array in counts.arrays.items()}
    return {"meta": counts.meta, "arrays": arrays, "n_rows": evaluator.n_rows}


def _in_memory(array: Any) -> Any:
    if not isinstance(array, Chunks):
        return array
    return np.concatenate([np.empty(0, array.dtype), *array.read()])


def _refuse_changed(task: Task) -> None:
    """Refuse files that are not those that were there when the tasks were cut."""
    for path, expected in task.stamps.items():
        if (version := stamp(as_path(path))) != expected:
            raise ValueError(f"{path}: changed since the run began, from {expected} to {version}")


def _inputs_of(task: Task) -> Inputs:
    """Return the rows of a task, which are read as one machine would read them."""
    formats, inputs = {form.name: form for form in FORMATS}, dict[str, tuple[str, Pieces]]()
    for argument, name, kind, files, first in task.inputs:
        shards = [Shard(as_path(path), formats[form]) for _, path, form in files]
        each = Input(name, kind, shards).each
        pieces = joined([(called, pieces) for (called, *_), (_, pieces) in zip(files, each, strict=True)])
        inputs[argument] = name, rows_between(files[0][0], pieces, first, first + task.stop - task.start)
    truth, scores = inputs.pop("y_true"), inputs.pop("y_score", None)
    return Inputs(
        truth, [] if scores is None else [scores], inputs, (), pairs=task.pairs, start=task.start,
        exclude_from=task.exclude_from, of_rows=task.of_rows, first_row=task.first_row + task.start,
    )  # fmt: skip
