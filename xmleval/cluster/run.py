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
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.spans import COMMON


class Leaf(NamedTuple):
    """Rows that one call counts: by what, with which arguments, its key, and how many they are."""

    add: Callable[..., None]
    arguments: tuple[Any, ...]
    key: str
    n_rows: int
    first_row: int = 0


def leaves_of(tasks: Sequence[Task]) -> list[Leaf]:
    """Return what is counted of files."""
    return [Leaf(add_files, (task,), task.key, task.stop - task.start, task.first_row) for task in tasks]


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
        What is counted.
    tasks : sequence of Leaf
        What is handed in, in the order of the rows.
    folder : Path, optional
        Folder that all processes see, for the state of each task, named by its key: those that are there are
        not counted again. Without it, states are sent.
    show : callable
        Called with the number of rows that are counted.

    Raises
    ------
    ValueError
        The error of the lowest rows that have one, as on one machine.
    """
    stored = set[str]() if folder is None else parts_in(folder)
    job = job if folder is None else job.with_file(folder / PROPENSITY)
    whole, failed = opened(job, available_processors()), dict[int, ValueError]()
    are_few = folder is None or len(tasks) <= cutting.FAN_IN
    futures, states, done = dict[Future[Any], int](), dict[int, SentState](), 0
    for place, task in enumerate(tasks):
        name = f"{task.key}.npz"
        path = None if folder is None else str(folder / name)
        if path is not None and name in stored:
            states[place] = path
            done += task.n_rows
        else:
            futures[executor.submit(call, job, path, task.add, *task.arguments)] = place
    try:
        for future in completed(executor, [*futures]):
            state, place = future.result(), futures.pop(future)
            if isinstance(state, ValueError):
                failed[place] = state
            if failed and min(futures.values(), default=len(tasks)) > min(failed):
                raise failed[min(failed)]
            if not failed:
                done += tasks[place].n_rows
                show(done)
                if are_few:
                    add_states(whole, [state])
                else:
                    states[place] = state
        assert not failed
        level = [states[place] for place in sorted(states)]
        while folder is not None and len(level) > cutting.FAN_IN:
            level = _merged(executor, job, folder, level, futures)
        add_states(whole, level)
    finally:
        for future in futures:
            future.cancel()
    _refuse_gaps(whole, tasks[0].first_row, sum(task.n_rows for task in tasks))
    return whole


def _merged(
    executor: Executor, job: Job, folder: Path, level: Sequence[SentState], futures: dict[Future[Any], int]
) -> list[SentState]:
    """Return the sums of states in files, so many at a time, in files named by what they are sums of."""
    groups = [level[start : start + cutting.FAN_IN] for start in range(0, len(level), cutting.FAN_IN)]
    paths = [str(folder / f"{digest_of(['merge', *group])}.npz") for group in groups]
    futures |= {
        executor.submit(call, job, path, add_states, group): place
        for place, (path, group) in enumerate(zip(paths, groups, strict=True))
    }
    for future in completed(executor, [*futures]):
        if isinstance(state := future.result(), ValueError):
            raise state
        del futures[future]
    return [*paths]


def _refuse_gaps(whole: Evaluator, first_row: int, n_rows: int) -> None:
    """Raise ValueError if rows are missing."""
    rows = whole.counted.spans.get(COMMON, ())
    if rows != ((first_row, first_row + n_rows),) and n_rows:
        start = next((stop for first, stop in rows if first == first_row), first_row)
        text = f"rows from {start} on were not counted: {whole.n_rows} of {counted(n_rows, 'rows')}"
        raise ValueError(text)


def completed(executor: Executor, futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Return futures as they end."""
    if isinstance(executor, Processes):
        return executor.as_completed(futures)
    return as_completed(futures)
