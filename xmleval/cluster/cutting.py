"""Cut inputs into tasks of consecutive rows, by the headers of their files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.errors import other_rows
from xmleval.cluster.job import Job, digest_of
from xmleval.files.archive import check_sums
from xmleval.files.input import InputFile, stamp, version_of
from xmleval.files.remote import RemotePath
from xmleval.input.cell_marks import NO_MARKS, CellMarks
from xmleval.input.formats.format import naming
from xmleval.input.formats.known import known_formats
from xmleval.input.shards import OpenedFiles, Shard
from xmleval.input.text_columns import TextPairs

LEAST_BYTES = 128 << 20  # size of the files of a task to aim at, at least
MOST_BYTES = 3 << 30  # largest size
MOST_TASKS = 256  # as long as none exceeds the largest size
FAN_IN = 8  # parts that are merged at a time
SHORT_BYTES = 60_000_000  # size to aim at while there are fewer than `FAN_IN` tasks


class Shards(NamedTuple):
    """Files of an argument that a task reads; keys of tasks are hashes of its ``repr``.

    name : the input in messages
    files : for every file, its name in messages, its path and the name of its format
    first : row of the first file with which the task begins
    """

    argument: str
    name: str
    kind: str
    files: tuple[tuple[str, str, str], ...]
    first: int


@dataclass(frozen=True)
class Task:
    """Rows ``start`` to ``stop - 1`` of the whole data, and their files.

    Parameters
    ----------
    key : str
        Hash of everything on which its counts depend.
    start, stop : int
        The rows.
    inputs : tuple of Shards
        The files.
    stamps : dict of str to str
        The version of every file.
    row_values : dict of str to (str, array or list)
        Arguments with a value for every row: their name in messages, and the values.
    pairs : dict of str to TextPairs
        Pairs of a row, from 0, and a label, such as excluded ones, by argument.
    exclude_from : {"both", "predictions"}
        Inputs from which they are excluded.
    marks, graded : CellMarks, bool
        What the truth tells of judged cells, and whether it keeps its grades.
    first_row : int
        Number of row 0 among the rows of all shards, of which the whole data may be one.
    """

    key: str
    start: int
    stop: int
    inputs: tuple[Shards, ...]
    stamps: dict[str, str]
    row_values: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    pairs: Mapping[str, TextPairs] = field(default_factory=dict)
    exclude_from: str = "both"
    marks: CellMarks = NO_MARKS
    graded: bool = False
    first_row: int = 0


class Place(NamedTuple):
    """A file in the whole data: its first row, the row after its last one, and its size."""

    start: int
    stop: int
    n_bytes: int
    any_row: bool  # whether it can be read from any row on


def cut(
    job: Job,
    inputs: Mapping[str, OpenedFiles],
    row_values: Mapping[str, tuple[str, Any]] = MappingProxyType({}),
    pairs: Mapping[str, TextPairs] = MappingProxyType({}),
    exclude_from: str = "both",
    marks: CellMarks = NO_MARKS,
    graded: bool = False,
    first_row: int = 0,
) -> list[Task]:
    """Return tasks of consecutive rows.

    They do not depend on the number of workers, so that a run can go on with another number.

    Parameters
    ----------
    job : Job
        The evaluation.
    inputs : dict of str to OpenedFiles
        Files by argument, ``y_true`` first.
    row_values, pairs, exclude_from, marks, graded
        As in `Task`, for all rows.
    first_row : int
        Number of the first row among the rows of all shards, of which the inputs may be one.

    Raises
    ------
    ValueError
        If inputs differ in their number of rows, or it is known only once a file was read.
    """
    _check_archives(inputs)
    places = {argument: _find_places(source) for argument, source in inputs.items()}
    n_rows = places["y_true"][-1].stop
    _check_lengths(inputs, places, row_values)
    tasks = []
    for start, stop in pairwise(_find_ends([*places.values()], n_rows)):
        shards, stamps = _select_files(inputs, places, start, stop)
        task_values = {
            argument: (name, values[start:stop]) for argument, (name, values) in row_values.items()
        }
        arrays = {argument: _hashable(values) for argument, (_, values) in task_values.items()}
        task_pairs = {
            argument: _select_pairs(of_rows, start, stop) for argument, of_rows in pairs.items()
        }
        for argument, of_rows in task_pairs.items():
            arrays[f"{argument} rows"] = of_rows.rows
            arrays[f"{argument} labels"] = of_rows.labels
        settings = [job.digest, start, stop, [*map(str, shards)], stamps, exclude_from, first_row]
        settings += [str(mark) for mark in (*marks, graded)]
        task = Task(
            digest_of(settings, arrays),
            start,
            stop,
            shards,
            stamps,
            task_values,
            task_pairs,
            exclude_from,
            marks,
            graded,
            first_row,
        )
        tasks.append(task)
    return tasks


def _check_archives(inputs: Mapping[str, OpenedFiles]) -> None:
    """Refuse damaged archives on this machine, once, as every task reads only a part."""
    for path in dict.fromkeys(path for source in inputs.values() for path in source.files):
        if path.suffix == ".npz" and not isinstance(path, RemotePath):
            with naming(path, "an archive without damage"):
                check_sums(InputFile(path))


def _check_lengths(
    inputs: Mapping[str, OpenedFiles],
    places: Mapping[str, Sequence[Place]],
    row_values: Mapping[str, tuple[str, Any]],
) -> None:
    """Refuse inputs and values of rows that differ from the truth in their number of rows."""
    truth = inputs["y_true"].name
    n_true = places["y_true"][-1].stop
    for argument, input_places in places.items():
        n_rows = input_places[-1].stop
        if n_rows != n_true:
            raise ValueError(f"{inputs[argument].name}: {other_rows(n_rows, n_true, truth)}")
    for name, values in row_values.values():
        if len(values) != n_true:
            raise ValueError(f"{name}: {other_rows(len(values), n_true, truth)}")


def _select_files(
    inputs: Mapping[str, OpenedFiles],
    places: Mapping[str, Sequence[Place]],
    start: int,
    stop: int,
) -> tuple[tuple[Shards, ...], dict[str, str]]:
    """Return the files of a task by argument, and the version of every file."""
    shards = list[Shards]()
    stamps = dict[str, str]()
    for argument, source in inputs.items():
        parts = _find_parts(source, places[argument], start, stop)
        single_name = source.name if len(source.shards) == 1 else ""
        files = list[tuple[str, str, str]]()
        for shard, _ in parts:
            name = single_name or str(shard.path)
            files.append((name, str(shard.path.resolve()), shard.format.name))
            for path in (shard.path, *shard.format.companions(shard.path)):
                stamps[str(path.resolve())] = stamp(path)
        _, first_place = parts[0]
        first = max(start - first_place.start, 0)
        shards.append(Shards(argument, source.name, source.kind, (*files,), first))
    return (*shards,), stamps


def _select_pairs(pairs: TextPairs, start: int, stop: int) -> TextPairs:
    """Return the pairs of the rows of a task, numbered from 0."""
    first, end = np.searchsorted(pairs.rows, [start, stop])
    return TextPairs(
        pairs.path,
        pairs.rows[first:end] - start,
        pairs.labels[first:end],
        pairs.lines[first:end],
    )


def _hashable(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array that can be hashed."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        return np.array([*map(repr, array.tolist())])
    return array


def _find_places(source: OpenedFiles) -> list[Place]:
    """Return where the files of an input are in the whole data."""
    if source.named or any(shard.format not in known_formats() for shard in source.shards):
        text = "its rows or labels have names, which several processes cannot match"
        raise ValueError(f"{source.name}: {text}; convert it to .npz with `xmleval convert`")
    places = []
    first = 0
    for shard, pieces in source.each:
        if pieces.n_rows is None or len(source.each) < len(source.shards):
            raise ValueError(
                f"{shard.path}: cannot be divided among processes, as its number of rows is not "
                "known before it is read; convert it to .npz with `xmleval convert`"
            )
        paths = (shard.path, *shard.format.companions(shard.path))
        n_bytes = sum(version_of(path).size for path in paths)
        end = first + pieces.n_rows
        places.append(Place(first, end, n_bytes, pieces.read_from is not None))
        first = end
    return places


def _find_ends(inputs: Sequence[Sequence[Place]], n_rows: int) -> list[int]:
    """Return the first row of every task, and the number of rows."""
    places = [place for files in inputs for place in files]
    n_bytes = sum(place.n_bytes for place in places)
    task_bytes = min(max(LEAST_BYTES, n_bytes // MOST_TASKS), MOST_BYTES)
    n_tasks = -(-n_bytes // task_bytes)
    # few large tasks leave workers without work at the end
    n_tasks = max(n_tasks, min(FAN_IN, n_bytes // SHORT_BYTES))
    whole_files = [place for place in places if not place.any_row]
    starts = [0]
    for number in range(1, n_tasks):
        start = _next_start(n_rows * number // n_tasks, whole_files)
        if starts[-1] < start < n_rows:
            starts.append(start)
    return [*starts, n_rows]


def _next_start(row: int, whole_files: Sequence[Place]) -> int:
    """Return the first row, from this one on, that is not inside a file to be read as a whole."""
    while True:
        ends = [place.stop for place in whole_files if place.start < row < place.stop]
        if not ends:
            return row
        row = max(ends)


def _find_parts(
    source: OpenedFiles, places: Sequence[Place], start: int, stop: int
) -> list[tuple[Shard, Place]]:
    """Return the files of an input that have any of the rows, at least one."""
    parts = [*zip(source.shards, places, strict=True)]
    overlapping = [
        (shard, place) for shard, place in parts if place.start < stop and start < place.stop
    ]
    return overlapping or parts[:1]
