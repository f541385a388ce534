"""Tasks that are counted in this process, and an engine for tests: in any order, some of them twice."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval import Evaluator
from xmleval.cluster.counting import count_block as count_block
from xmleval.cluster.exchange import Exchange as Exchange
from xmleval.cluster.job import Job as Job
from xmleval.cluster.job import make_job
from xmleval.cluster.run import Leaf, run

MEMORY = 1 << 23  # bytes of a task


class SerialEngine:
    """Runs every function at once, in this process."""

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        return function(*arguments)

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        yield from enumerate(handles)

    def cancel(self, handles: Sequence[Any]) -> None:
        """Do nothing: all have run."""


def job_of(evaluator: Evaluator) -> Job:
    return make_job(evaluator, MEMORY, 1)


def leaf(first: int, rows: Any, n_rows: int, key: str = "") -> Leaf:
    """Return the task of rows that follow one another."""
    return Leaf(count_block, (first, rows), key or str(first), n_rows)


def count_leaves(
    job: Job, leaves: Sequence[Leaf], engine: Any = None, exchange: Exchange | None = None
) -> Evaluator:
    """Return the evaluator that has counted all tasks."""
    return run(engine or SerialEngine(), job, leaves, exchange)


@dataclass
class Handle:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    key: str
    sent: bytes = b""


class ShuffledEngine:
    """Runs what is asked for in any order, some of it twice; results are copies that cannot be written."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.ran: list[str] = []

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Handle:
        return Handle(function, arguments, key)

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for place in self.rng.permutation(len(handles)).tolist():
            yield place, self.result(handles[place])

    def cancel(self, handles: Sequence[Any]) -> None:
        """Forget nothing: what was given up may still run."""

    def result(self, handle: Handle) -> Any:
        for _ in range(0 if handle.sent else int(self.rng.integers(1, 3))):
            handle.sent = pickle.dumps(handle.function(*map(self.value_of, handle.arguments)), 5)
            self.ran.append(handle.key)
        return read_only(pickle.loads(handle.sent))

    def value_of(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self.value_of(each) for each in argument]
        return self.result(argument) if isinstance(argument, Handle) else argument


def read_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: read_only(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        members = [read_only(each) for each in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value
