"""What processes of a run do: count the rows of a task, or merge states, into a state that can be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.cluster.cutting import Task
from xmleval.cluster.job import Job, opened
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.matched_inputs import MatchedInputs
from xmleval.evaluation.reading import count_rows
from xmleval.evaluation.saved import saved_counts
from xmleval.files.input import stamp
from xmleval.files.remote import as_path
from xmleval.files.saved import Form, from_bytes, load_state, naming_damage, save_state, to_bytes
from xmleval.input.pieces import Pieces, joined, rows_between
from xmleval.input.shards import FORMATS, OpenedFiles, Shard

FORM = Form("xmleval part", 5, "part of a run")
RowBlock = Sequence[Any] | Mapping[str, Any]  # (y_true, y_score), or arguments of `Evaluator.update`
SentState = str | bytes  # a file, or what it holds


def call(job: Job, path: str | None, add: Callable[..., None], *arguments: object) -> SentState | ValueError:
    """Return the state of a new evaluator after ``add(evaluator, *arguments)``.

    Parameters
    ----------
    job : Job
        What is counted.
    path : str or None
        File to put the state into; then it is returned in place of it.
    add : callable
        `add_files`, `add_block` or `add_states`.

    Returns
    -------
    str, bytes or ValueError
        The error of the rows, where trying again could not help.
    """
    try:
        evaluator = opened(job)
        add(evaluator, *arguments)
    except ValueError as error:
        return error
    counts = saved_counts(evaluator.counted)
    if path is None:
        return to_bytes(counts)
    save_state(as_path(path), counts, FORM, follow_links=False)
    return path


def add_files(evaluator: Evaluator, task: Task) -> None:
    """Count the rows of a task, which are in files."""
    _refuse_changed(task)
    try:
        for _ in count_rows([evaluator], _inputs_of(task), Resources(evaluator.memory)):
            pass
    except (ValueError, OSError):
        _refuse_changed(task)  # which tells why
        raise
    _refuse_changed(task)


def add_block(evaluator: Evaluator, first_row: int, block: RowBlock) -> None:
    """Count rows in memory: (y_true, y_score), or a dict of arguments of `Evaluator.update`."""
    named = block if isinstance(block, Mapping) else dict(zip(("y_true", "y_score"), block, strict=False))
    try:
        evaluator.update(**named, first_row=first_row)
    except InputError as error:
        row = None if error.row is None else first_row + error.row
        raise InputError(error.argument, error.reason, row=row, value=error.value) from None


def add_states(evaluator: Evaluator, states: Sequence[SentState | ValueError]) -> None:
    """Merge states of other rows each; an error among them is raised, damage and rows held twice refused."""
    for state in states:
        if isinstance(state, ValueError):
            raise state
        if isinstance(state, bytes):
            part = evaluator.with_counts(from_bytes(state))
        else:
            with naming_damage(path := as_path(state), FORM):
                part = evaluator.with_counts(load_state(path, FORM))
        evaluator.merge(part)


def size_of(block: RowBlock) -> tuple[int, int]:
    """Return the number of rows of a block, and of labels, 0 where its truth does not tell it."""
    pair = isinstance(block, tuple | list) and len(block) == 2
    if not (pair or (isinstance(block, Mapping) and "y_true" in block)):
        raise InputError("blocks", f"{type(block).__name__} is not (y_true, y_score), nor a dict of them")
    truth = block["y_true"] if isinstance(block, Mapping) else block[0]
    shape: tuple[int, ...] = getattr(truth, "shape", ())
    return (int(shape[0]), int(shape[1])) if len(shape) == 2 else (len(truth), 0)


def _refuse_changed(task: Task) -> None:
    """Refuse files that are not those that were there when the tasks were cut."""
    for path, expected in task.stamps.items():
        if (version := stamp(as_path(path))) != expected:
            raise ValueError(f"{path}: changed since the run began, from {expected} to {version}")


def _inputs_of(task: Task) -> MatchedInputs:
    """Return the rows of a task, which are read as one machine would read them."""
    formats, inputs = {form.name: form for form in FORMATS}, dict[str, tuple[str, Pieces]]()
    for argument, name, kind, files, first in task.inputs:
        shards = [Shard(as_path(path), formats[form]) for _, path, form in files]
        each = OpenedFiles(name, kind, shards=shards).each
        pieces = joined([(called, pieces) for (called, *_), (_, pieces) in zip(files, each, strict=True)])
        inputs[argument] = name, rows_between(files[0][0], pieces, first, first + task.stop - task.start)
    truth, scores = inputs.pop("y_true"), inputs.pop("y_score", None)
    return MatchedInputs(
        truth, [] if scores is None else [scores], inputs, (), pairs=task.pairs, start=task.start,
        exclude_from=task.exclude_from, of_rows=task.of_rows, first_row=task.first_row + task.start,
    )  # fmt: skip
