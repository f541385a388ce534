"""Run tasks on an executor of `concurrent.futures`, and merge their states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.base.budget import available_processors
from xmleval.base.errors import counted
from xmleval.cluster import cutting
from xmleval.cluster.counting import SentState, add_files, add_states, call
from xmleval.cluster.cutting import Task
from xmleval.cluster.exchange import PROPENSITY, parts_in
from xmleval.cluster.job import Job, digest_of, opened
from xmleval.cluster.processes import Processes
from xmleval.evaluation.evaluator import Evaluator, counts_of
from xmleval.evaluation.spans import COMMON


class Leaf(NamedTuple):
    """A call that counts rows: its function and arguments, its key, and the number of rows."""

    add: Callable[..., None]
    arguments: tuple[Any, ...]
    key: str
    n_rows: int
    first_row: int = 0


def make_leaves(tasks: Sequence[Task]) -> list[Leaf]:
    """Return the calls that count the rows of files."""
    return [
        Leaf(add_files, (task,), task.key, task.stop - task.start, task.first_row) for task in tasks
    ]


def run(
    executor: Executor,
    job: Job,
    tasks: Sequence[Leaf],
    folder: Path | None = None,
    show: Callable[[int], object] = lambda done: None,
) -> Evaluator:
    """Return the evaluator that has counted all rows.

    Parameters
    ----------
    executor : Executor
        Where tasks run, in processes whose versions are those of this one.
    job : Job
        The evaluation.
    tasks : sequence of Leaf
        Calls in the order of the rows.
    folder : Path, optional
        Folder that all processes see, for the state of each task, named by its key: tasks with a
        state are not counted again. Without it, states are sent.
    show : callable
        Called with the number of rows that are counted.

    Raises
    ------
    ValueError
        The error of the lowest rows that have one, as on one machine.
    """
    stored = set[str]()
    if folder is not None:
        stored = parts_in(folder)
        job = job.with_file(folder / PROPENSITY)
    evaluator = opened(job, available_processors())
    merges_at_once = folder is None or len(tasks) <= cutting.FAN_IN
    futures, states = _submit(executor, job, tasks, folder, stored)
    done = sum(tasks[place].n_rows for place in states)
    failures = dict[int, ValueError]()
    try:
        for future in completed(executor, [*futures]):
            state = future.result()
            place = futures.pop(future)
            if isinstance(state, ValueError):
                failures[place] = state
            if failures:
                lowest = min(failures)
                if min(futures.values(), default=len(tasks)) > lowest:
                    raise failures[lowest]
                continue
            done += tasks[place].n_rows
            show(done)
            if merges_at_once:
                add_states(evaluator, [state])
            else:
                states[place] = state
        assert not failures
        level = [states[place] for place in sorted(states)]
        while folder is not None and len(level) > cutting.FAN_IN:
            level = _merge_level(executor, job, folder, level, futures)
        add_states(evaluator, level)
    finally:
        for future in futures:
            future.cancel()
    _refuse_gaps(evaluator, tasks[0].first_row, sum(task.n_rows for task in tasks))
    return evaluator


def _submit(
    executor: Executor, job: Job, tasks: Sequence[Leaf], folder: Path | None, stored: set[str]
) -> tuple[dict[Future[Any], int], dict[int, SentState]]:
    """Submit tasks without a stored state; return their futures, and the stored states by place."""
    futures = dict[Future[Any], int]()
    states = dict[int, SentState]()
    for place, task in enumerate(tasks):
        path = None
        if folder is not None:
            name = f"{task.key}.npz"
            path = str(folder / name)
            if name in stored:
                states[place] = path
                continue
        futures[executor.submit(call, job, path, task.add, *task.arguments)] = place
    return futures, states


def _merge_level(
    executor: Executor,
    job: Job,
    folder: Path,
    level: Sequence[SentState],
    futures: dict[Future[Any], int],
) -> list[SentState]:
    """Merge groups of states in files, and return files named by a hash of their group.

    futures : gets the futures of the merges, until they have ended
    """
    starts = range(0, len(level), cutting.FAN_IN)
    groups = [level[start : start + cutting.FAN_IN] for start in starts]
    paths = [str(folder / f"{digest_of(['merge', *group])}.npz") for group in groups]
    for place, (path, group) in enumerate(zip(paths, groups, strict=True)):
        futures[executor.submit(call, job, path, add_states, group)] = place
    for future in completed(executor, [*futures]):
        state = future.result()
        if isinstance(state, ValueError):
            raise state
        del futures[future]
    return [*paths]


def _refuse_gaps(evaluator: Evaluator, first_row: int, n_rows: int) -> None:
    """Raise ValueError if rows are missing."""
    spans = counts_of(evaluator).spans.get(COMMON, ())
    if spans == ((first_row, first_row + n_rows),) or not n_rows:
        return
    start = next((stop for first, stop in spans if first == first_row), first_row)
    raise ValueError(
        f"rows from {start} on were not counted: {evaluator.n_rows} of {counted(n_rows, 'rows')}"
    )


def completed(executor: Executor, futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Return futures as they end."""
    if isinstance(executor, Processes):
        return executor.as_completed(futures)
    return as_completed(futures)
