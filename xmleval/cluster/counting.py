"""Count a task into a part: plain arrays, or the error that its rows have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.base.arrays import Chunks
from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.cluster.cutting import Shards, Task
from xmleval.cluster.job import Job, opened
from xmleval.evaluation.evaluator import Evaluator
from xmleval.files.input import stamp
from xmleval.files.remote import as_path
from xmleval.files.saved import Form, Saved, load_state, naming_damage, save_state
from xmleval.input.door import pairs_of_rows
from xmleval.input.formats.registry import FORMATS
from xmleval.input.pieces import RowReader, joined
from xmleval.input.shards import Input, Shard

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
            _count_files(evaluator, task, Resources(job.memory))
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
        given = block if isinstance(block, dict) else dict(zip(("y_true", "y_score"), block, strict=False))
        try:
            evaluator.update(**given, first_row=first_row)
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
    counts = evaluator.counts(loose=True)
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
    for path, wanted in task.stamps.items():
        if (found := stamp(as_path(path))) != wanted:
            raise ValueError(f"{path}: changed since the run began, from {wanted} to {found}")


def _count_files(evaluator: Evaluator, task: Task, budget: Resources) -> None:
    """Count the rows of a task, read as one machine would read them."""
    n_bytes = budget.piece(len(task.inputs))
    readers = {s.argument: _reader(s, task, n_bytes) for s in task.inputs}
    first = task.start
    try:
        if first == task.stop:
            none = scipy.sparse.csr_array((0, evaluator.n_labels), dtype=np.float32)
            given = dict.fromkeys([*readers, *(["exclude"] if task.exclude else [])], none)
            evaluator.update(
                **given, **task.vectors, exclude_from=task.exclude_from, first_row=task.first_row
            )
        while first < task.stop:
            n = min(task.stop - first, *(reader.ready() for reader in readers.values()))
            if not n:
                raise ValueError(f"{readers['y_true'].name}: fewer rows than its header told")
            lo, hi = first - task.start, first + n - task.start
            vectors = {name: values[lo:hi] for name, values in task.vectors.items()}
            places = {argument: reader.n_taken for argument, reader in readers.items()}
            given = {name: one.take(n) for name, one in readers.items()}
            if task.exclude:
                given["exclude"] = pairs_of_rows(*task.exclude, lo, hi)
            with _locating(readers, places, first):
                evaluator.update(
                    **given, **vectors, exclude_from=task.exclude_from, first_row=task.first_row + first
                )
            first += n
        for reader in readers.values():
            reader.ready()  # or what is wrong at the end of a file would not be found
    finally:
        for reader in readers.values():
            reader.close()


def _reader(shards: Shards, task: Task, n_bytes: int) -> RowReader:
    formats = {known.name: known for known in FORMATS}
    names = [name for name, _, _ in shards.files]
    files = [Shard(as_path(path), formats[form]) for _, path, form in shards.files]
    each = Input(names[0], shards.kind, files).each
    pieces = joined([(name, own) for name, (_, own) in zip(names, each, strict=True)])
    stop = shards.first + task.stop - task.start
    return RowReader(names[0], pieces, n_bytes, shards.first, stop)


@contextlib.contextmanager
def _locating(readers: Mapping[str, RowReader], places: Mapping[str, int], first: int) -> Iterator[None]:
    """Raise errors about arguments as errors about their files, and rows of others as those of all data."""
    try:
        yield
    except InputError as error:
        name, row = error.argument, first + (error.row or 0)
        if name in readers:
            name, row = readers[name].locate(places[name] + (error.row or 0))
        at = None if error.row is None else row
        raise InputError(name, error.reason, row=at, value=error.value) from None
