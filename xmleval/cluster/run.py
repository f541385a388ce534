"""Run tasks on an engine: what is handed in, in which order, and what is done about errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from xmleval.base.budget import available_processors
from xmleval.cluster import cutting
from xmleval.cluster.counting import Part, count, told_of
from xmleval.cluster.cutting import Task
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import Job, digest_of, opened
from xmleval.cluster.reduction import add, expect_rows, groups, merge
from xmleval.evaluation.evaluator import Evaluator

WITH_TASKS = 1 << 14  # bytes of a job that each task gets, where sending it first would cost a task more


class Engine(Protocol):
    """What runs functions somewhere: a few lines for each library."""

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return a handle on what ``function(*arguments)`` will return.

        Arguments, and members of lists among them, may be handles; the same key always gives the same result.
        """

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the place and the result of each handle when it is there."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """Give up what has not run."""


class Leaf(NamedTuple):
    """What is counted by one task: a function, its arguments after the job, its key, and its rows."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    key: str
    n_rows: int
    first_row: int = 0


def leaves_of(tasks: Sequence[Task]) -> list[Leaf]:
    """Return what is counted of files."""
    return [Leaf(count, (task,), task.key, task.stop - task.start, task.first_row) for task in tasks]


def run(
    engine: Engine,
    job: Job,
    leaves: Sequence[Leaf],
    exchange: Exchange | None = None,
    show: Callable[[int], object] = lambda done: None,
) -> Evaluator:
    """Return the evaluator that has counted all rows.

    Parameters
    ----------
    engine : Engine
        Where tasks run.
    job : Job
        What is counted.
    leaves : sequence of Leaf
        What each task counts, in the order of the rows.
    exchange : Exchange, optional
        Where parts are put, and found.
    show : callable
        Called with the number of rows that are counted.

    Raises
    ------
    ValueError
        The error of the lowest rows that have one, as on one machine.
    """
    job = job if exchange is None else exchange.with_propensity(job)
    sent = job if job.n_bytes <= WITH_TASKS else engine.submit(as_it_is, job, key=f"job-{job.digest}")
    few = len(leaves) <= cutting.FAN_IN  # which are merged here
    whole = opened(job, available_processors())
    reported: dict[int, Any] = {}  # by leaf: its part, or what is told of one that is merged elsewhere
    stored_keys = set[str]() if exchange is None else exchange.keys()

    def path_of(key: str) -> str | None:
        return None if exchange is None else str(exchange.path(key))

    def stored(key: str) -> Part | None:
        return {"file": path_of(key)} if key in stored_keys else None

    @cache
    def part_of(place: int) -> Any:
        leaf = leaves[place]
        part: Any = stored(leaf.key)
        if part is None:
            part = engine.submit(leaf.function, sent, *leaf.arguments, path_of(leaf.key), key=leaf.key)
            reported[place] = part if few else engine.submit(told_of, part, key=f"told-{leaf.key}")
        return part

    def summed(keys: Sequence[str], part: Callable[[int], Any]) -> list[Any]:
        """Return the few parts that are left to merge; of these, those that are not stored are made."""
        if len(keys) <= cutting.FAN_IN:
            return [*map(part, range(len(keys)))]
        grouped = [[keys[place] for place in group] for group in groups(len(keys))]
        sums = [group[0] if len(group) == 1 else digest_of(["merge", *group]) for group in grouped]

        def summed_group(number: int) -> Any:
            group = groups(len(keys))[number]
            if len(group) == 1:
                return part(group[0])
            key = sums[number]
            return stored(key) or engine.submit(merge, sent, [*map(part, group)], path_of(key), key=key)

        return summed(sums, summed_group)

    last = summed([leaf.key for leaf in leaves], part_of)
    failed = dict[int, Exception]()
    done = sum(leaf.n_rows for leaf in leaves) - sum(leaves[place].n_rows for place in reported)
    unreported = [part for part in last if not few or all(part is not handle for handle in reported.values())]
    at_once = [part for part in unreported if isinstance(part, dict)]  # stored, or made by an engine at once
    waiting = [part for part in unreported if not isinstance(part, dict)]
    places = [*reported]

    of_merges: list[Exception] = []

    def added(part: Part) -> None:
        if part.get("error") is not None:
            of_merges.append(part["error"])
        elif not failed:
            add(job, whole, part)

    for number, result in engine.completed([*reported.values(), *waiting]):
        if number < len(places):
            place = places[number]
            if result.get("error") is not None:
                failed[place] = result["error"]
                engine.cancel([handle for at, handle in reported.items() if at > place] + waiting)
            done += leaves[place].n_rows
            show(done)
        if few or number >= len(places):
            added(result)
    if failed:
        raise failed[min(failed)]
    for part in at_once:
        added(part)
    if of_merges:
        raise of_merges[0]
    expect_rows(whole, leaves[0].first_row, sum(leaf.n_rows for leaf in leaves))
    return whole


def as_it_is(value: Any) -> Any:
    """Return a value, as a task that can be done again where its result is lost."""
    return value
