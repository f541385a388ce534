"""Calls of a run in other processes: count the rows of a task, or merge states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.cluster.cutting import Shards, Task
from xmleval.cluster.job import Job, opened
from xmleval.evaluation.evaluator import BatchCounter, Evaluator, counts_of, with_counts
from xmleval.evaluation.matched_inputs import MatchedInputs
from xmleval.evaluation.reading import count_rows
from xmleval.evaluation.saved import saved_counts
from xmleval.files.input import stamp
from xmleval.files.remote import as_path
from xmleval.files.saved import (
    StateForm,
    from_bytes,
    load_state,
    naming_damage,
    save_state,
    to_bytes,
)
from xmleval.input.formats.known import format_known_as
from xmleval.input.pieces import Pieces, joined, rows_between
from xmleval.input.shards import OpenedFiles, Shard

FORM = StateForm("xmleval part", 5, "part of a run")
# (y_true, y_score), or arguments of `Evaluator.update`
RowBlock = Sequence[Any] | Mapping[str, Any]
SentState = str | bytes  # a file, or its contents


def call(
    job: Job, path: str | None, add: Callable[..., None], *arguments: object
) -> SentState | ValueError:
    """Return the state of a new evaluator after ``add(evaluator, *arguments)``.

    Parameters
    ----------
    job : Job
        The evaluation.
    path : str or None
        File to which the state is written; then the path is returned instead of the state.
    add : callable
        `add_files`, `add_block` or `add_states`.

    Returns
    -------
    str, bytes or ValueError
        The state, its path, or an error of the rows, which would occur again.
    """
    try:
        evaluator = opened(job)
        add(evaluator, *arguments)
    except ValueError as error:
        return error
    counts = saved_counts(counts_of(evaluator))
    if path is None:
        return to_bytes(counts)
    save_state(as_path(path), counts, FORM, follow_links=False)
    return path


def add_files(evaluator: Evaluator, task: Task) -> None:
    """Count the rows of a task, which are in files."""
    _refuse_changed(task)
    try:
        for _ in count_rows(
            [BatchCounter(evaluator)], _open_task(task), Resources(evaluator.memory)
        ):
            pass
    except (ValueError, OSError):
        _refuse_changed(task)  # the cause, if a file has changed
        raise
    _refuse_changed(task)


def add_block(evaluator: Evaluator, first_row: int, block: RowBlock) -> None:
    """Count rows in memory: (y_true, y_score), or a dict of arguments of `Evaluator.update`."""
    arguments: Mapping[str, Any]
    if isinstance(block, Mapping):
        arguments = block
    else:
        arguments = dict(zip(("y_true", "y_score"), block, strict=False))
    try:
        evaluator.update(**arguments, first_row=first_row)
    except InputError as error:
        row = error.row
        if row is not None:
            row += first_row
        raise InputError(error.argument, error.reason, row=row, value=error.value) from None


def add_states(evaluator: Evaluator, states: Sequence[SentState | ValueError]) -> None:
    """Merge states, each with different rows; raise an error among them.

    Damaged states, and rows that occur twice, are refused.
    """
    for state in states:
        if isinstance(state, ValueError):
            raise state
        if isinstance(state, bytes):
            part = with_counts(evaluator, from_bytes(state))
        else:
            path = as_path(state)
            with naming_damage(path, FORM):
                part = with_counts(evaluator, load_state(path, FORM))
        evaluator.merge(part)


def count_sizes(block: RowBlock) -> tuple[int, int]:
    """Return the numbers of rows and of labels of a block; 0 labels if its truth has no columns."""
    if isinstance(block, Mapping) and "y_true" in block:
        truth = block["y_true"]
    elif isinstance(block, tuple | list) and len(block) == 2:
        truth = block[0]
    else:
        raise InputError(
            "blocks", f"{type(block).__name__} is neither (y_true, y_score) nor a dict of them"
        )
    shape: tuple[int, ...] = getattr(truth, "shape", ())
    if len(shape) == 2:
        return int(shape[0]), int(shape[1])
    return len(truth), 0


def _refuse_changed(task: Task) -> None:
    """Refuse files that have changed since the tasks were cut."""
    for path, expected in task.stamps.items():
        version = stamp(as_path(path))
        if version != expected:
            raise ValueError(f"{path}: changed since the run began, from {expected} to {version}")


def _open_task(task: Task) -> MatchedInputs:
    """Return the rows of a task, which are read as one machine would read them."""
    inputs = {
        shards.argument: (shards.name, _open_rows(shards, task.stop - task.start))
        for shards in task.inputs
    }
    truth = inputs.pop("y_true")
    scores = list[tuple[str, Pieces]]()
    if "y_score" in inputs:
        scores.append(inputs.pop("y_score"))
    return MatchedInputs(
        truth,
        scores,
        inputs,
        (),
        pairs=task.pairs,
        start=task.start,
        exclude_from=task.exclude_from,
        marks=task.marks,
        graded=task.graded,
        row_values=task.row_values,
        first_row=task.first_row + task.start,
    )


def _open_rows(shards: Shards, n_rows: int) -> Pieces:
    """Return the rows of a task in the files of an argument."""
    opened_shards = [Shard(as_path(path), format_known_as(form)) for _, path, form in shards.files]
    source = OpenedFiles(shards.name, shards.kind, shards=opened_shards)
    names = [name for name, _, _ in shards.files]
    pieces = joined([(name, pieces) for name, (_, pieces) in zip(names, source.each, strict=True)])
    return rows_between(names[0], pieces, shards.first, shards.first + n_rows)
