"""Run tasks on an engine: what is handed in, in which order, and what is done about errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from xmleval.cluster.counting import count, told_of
from xmleval.cluster.cutting import Task
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import Job, digest_of
from xmleval.cluster.reduction import finish, groups, merge
from xmleval.evaluator import Evaluator


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
    """What is counted by one task: a function, its arguments behind the job, and the rows up to its end."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    key: str
    n_rows: int


class SerialEngine:
    """Runs every function at once, in this process."""

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return what the function returns."""
        return function(*arguments)

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield all results."""
        yield from enumerate(handles)

    def cancel(self, handles: Sequence[Any]) -> None:
        """Do nothing: all have run."""


def leaves_of(tasks: Sequence[Task]) -> list[Leaf]:
    """Return what is counted of files."""
    return [Leaf(count, (task,), task.key, task.stop - task.start) for task in tasks]


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
    sent = engine.submit(as_it_is, job, key=f"job-{job.digest}")
    there = set() if exchange is None else exchange.keys()
    told: list[Any] = []
    of_told: list[int] = []

    def stored(key: str) -> dict[str, Any] | None:
        return {"file": str(exchange.path(key))} if exchange is not None and key in there else None

    def made(function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        path = None if exchange is None else str(exchange.path(key))
        return engine.submit(function, sent, *arguments, path, key=key)

    def counted(place: int) -> Any:
        leaf = leaves[place]
        part: Any = stored(leaf.key)
        if part is None:
            part = made(leaf.function, *leaf.arguments, key=leaf.key)
            told.append(engine.submit(told_of, part, key=f"told-{leaf.key}"))
            of_told.append(place)
        return part

    def summed(keys: Sequence[str], part: Callable[[int], Any]) -> Any:
        """Return the sum of parts, of which only those are made that no stored sum holds."""
        if len(keys) == 1:
            return part(0)
        several = [[keys[place] for place in group] for group in groups(len(keys))]
        sums = [own[0] if len(own) == 1 else digest_of(["merge", *own]) for own in several]

        def one(number: int) -> Any:
            group = groups(len(keys))[number]
            if len(group) == 1:
                return part(group[0])
            return stored(sums[number]) or made(merge, [part(place) for place in group], key=sums[number])

        return summed(sums, one)

    whole = summed([leaf.key for leaf in leaves], counted)
    done = sum(leaf.n_rows for leaf in leaves) - sum(leaves[place].n_rows for place in of_told)
    failed: dict[int, Exception] = {}
    for number, result in engine.completed(told):
        place = of_told[number]
        if result["error"] is not None:
            failed[place] = result["error"]
            engine.cancel([one for one, at in zip(told, of_told, strict=True) if at > place])
        done += leaves[place].n_rows
        show(done)
    if failed:
        raise failed[min(failed)]
    if not isinstance(whole, dict):  # a part that was there, or that an engine made at once
        ((_, whole),) = engine.completed([whole])
    return finish(job, whole, sum(leaf.n_rows for leaf in leaves))


def as_it_is(value: Any) -> Any:
    """Return a value, as a task that can be done again where its result is lost."""
    return value
