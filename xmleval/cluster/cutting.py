"""Cut inputs into tasks of consecutive rows, by the headers of their files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.errors import other_rows
from xmleval.cluster.job import Job, digest_of
from xmleval.files.archive import check_sums
from xmleval.files.input import InputFile, stamp, version_of
from xmleval.files.remote import RemotePath
from xmleval.input.formats.format import naming
from xmleval.input.shards import FORMATS, OpenedFiles, Shard
from xmleval.input.small_texts import Pairs

LEAST_BYTES, MOST_BYTES, MOST_TASKS = 128 << 20, 3 << 30, 256  # of the files of a task; how many are aimed at
FAN_IN = 8  # parts that are merged at a time
SHORT_BYTES = 60_000_000  # of the files of a task where there are no more of them


class Shards(NamedTuple):
    """Files of an argument that a task reads: what messages call each, its path and the name of its format.

    ``name`` is what messages call all of them; ``first`` is the row of the first file that the task begins
    with.
    """

    argument: str
    name: str
    kind: str
    files: tuple[tuple[str, str, str], ...]
    first: int


@dataclass(frozen=True)
class Task:
    """Rows ``start`` to ``stop - 1`` of the whole data, and where they are.

    Parameters
    ----------
    key : str
        Hash of all that its counts depend on.
    start, stop : int
        The rows.
    inputs : tuple of Shards
        The files.
    stamps : dict of str to str
        The version of each file.
    of_rows : dict of str to (str, array or list)
        Arguments that have a value for each row: what messages call each, and its values.
    pairs : Pairs, optional
        Pairs of a row, from 0, and a label that are taken out.
    exclude_from : {"both", "predictions"}
        Where they are taken out of.
    first_row : int
        Number of row 0 among the rows of all shards, of which the whole data may be one.
    """

    key: str
    start: int
    stop: int
    inputs: tuple[Shards, ...]
    stamps: dict[str, str]
    of_rows: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    pairs: Pairs | None = None
    exclude_from: str = "both"
    first_row: int = 0


class Place(NamedTuple):
    """A file in the whole data: its first row and that after its last, its size, and how it can be read."""

    start: int
    stop: int
    n_bytes: int
    any_row: bool  # can be read from any row on


def cut(
    job: Job,
    inputs: Mapping[str, OpenedFiles],
    of_rows: Mapping[str, tuple[str, Any]] = MappingProxyType({}),
    pairs: Pairs | None = None,
    exclude_from: str = "both",
    first_row: int = 0,
) -> list[Task]:
    """Return tasks of consecutive rows; the number of workers has no part in it, so that a run can go on.

    Parameters
    ----------
    job : Job
        What is counted.
    inputs : dict of str to OpenedFiles
        Files by argument, ``y_true`` first.
    of_rows, pairs, exclude_from
        As in `Task`, of all rows.
    first_row : int
        Number of the first row among the rows of all shards, of which the inputs may be one.

    Raises
    ------
    ValueError
        If inputs have other numbers of rows, or one that only reading all of a file would tell.
    """
    for path in dict.fromkeys(path for source in inputs.values() for path in source.files):
        if path.suffix == ".npz" and not isinstance(path, RemotePath):
            with naming(path, "an archive without damage"):
                check_sums(InputFile(path))  # once, as each task reads a part
    places = {argument: _places(source) for argument, source in inputs.items()}
    truth, n_rows = inputs["y_true"], places["y_true"][-1].stop
    for argument, each in places.items():
        if each[-1].stop != n_rows:
            unlike = other_rows(each[-1].stop, n_rows, truth.name)
            raise ValueError(f"{inputs[argument].name}: {unlike}")
    for name, values in of_rows.values():
        if len(values) != n_rows:
            raise ValueError(f"{name}: {other_rows(len(values), n_rows, truth.name)}")
    tasks = []
    for start, stop in pairwise(_ends([*places.values()], n_rows)):
        shards, stamps = list[Shards](), dict[str, str]()
        for argument, source in inputs.items():
            parts = _parts(source, places[argument], start, stop)
            called = source.name if len(source.shards) == 1 else ""
            files = [(called or str(s.path), str(s.path.resolve()), s.format.name) for s, _ in parts]
            first = max(start - parts[0][1].start, 0)
            shards.append(Shards(argument, source.name, source.kind, (*files,), first))
            read = [path for s, _ in parts for path in (s.path, *s.format.companions(s.path))]
            stamps |= {str(path.resolve()): stamp(path) for path in read}
        values_of = {argument: (name, values[start:stop]) for argument, (name, values) in of_rows.items()}
        arrays, excluded = {argument: _plain(values) for argument, (_, values) in values_of.items()}, None
        if pairs is not None:
            lo, hi = np.searchsorted(pairs.rows, [start, stop])
            excluded = Pairs(pairs.path, pairs.rows[lo:hi] - start, pairs.labels[lo:hi], pairs.lines[lo:hi])
            arrays |= {"rows": excluded.rows, "labels": excluded.labels}
        settings = [job.digest, start, stop, [*map(str, shards)], stamps, exclude_from, first_row]
        key = digest_of(settings, arrays)
        tasks.append(Task(key, start, stop, (*shards,), stamps, values_of, excluded, exclude_from, first_row))
    return tasks


def _plain(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array that can be hashed."""
    array = np.asarray(values)
    return np.array([*map(repr, array.tolist())]) if array.dtype.kind == "O" else array


def _places(source: OpenedFiles) -> list[Place]:
    places, first = [], 0
    if source.named or any(shard.format not in FORMATS for shard in source.shards):
        text = "its rows or labels have names; several processes count rows and labels by number"
        raise ValueError(f"{source.name}: {text}: `xmleval convert` makes an .npz of it")
    for shard, pieces in source.each:
        if pieces.n_rows is None or len(source.each) < len(source.shards):
            text = f"{shard.path}: only reading it whole tells its number of rows, before which it cannot be "
            raise ValueError(f"{text}divided; `xmleval convert` makes an .npz of it")
        n_bytes = sum(version_of(path).size for path in (shard.path, *shard.format.companions(shard.path)))
        places.append(Place(first, first + pieces.n_rows, n_bytes, pieces.read_from is not None))
        first += pieces.n_rows
    return places


def _ends(inputs: Sequence[Sequence[Place]], n_rows: int) -> list[int]:
    """Return the first row of each task, and the number of rows."""
    n_bytes = sum(place.n_bytes for files in inputs for place in files)
    n_tasks = -(-n_bytes // min(max(LEAST_BYTES, n_bytes // MOST_TASKS), MOST_BYTES))
    n_tasks = max(n_tasks, min(FAN_IN, n_bytes // SHORT_BYTES))
    aims = [n_rows * number // n_tasks for number in range(1, n_tasks)]
    whole = [place for files in inputs for place in files if not place.any_row]

    def allowed(row: int) -> int:
        """Return the first row from this one on that no file has to be read up to."""
        while inside := [place.stop for place in whole if place.start < row < place.stop]:
            row = max(inside)
        return row

    starts = accumulate((min(allowed(aim), n_rows) for aim in aims), max, initial=0)
    return [*dict.fromkeys(row for row in starts if row < n_rows or not row), n_rows]


def _parts(source: OpenedFiles, places: Sequence[Place], start: int, stop: int) -> list[tuple[Shard, Place]]:
    """Return the files of an input that have any of the rows, at least one."""
    parts = [*zip(source.shards, places, strict=True)]
    return [part for part in parts if part[1].start < stop and start < part[1].stop] or parts[:1]
