"""Executors for tests: they run functions in this process, in any order, some of them twice."""

import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from xmleval import Evaluator
from xmleval.cluster.counting import add_block
from xmleval.cluster.job import Job as Job
from xmleval.cluster.job import make_job
from xmleval.cluster.run import Leaf, run

MEMORY = 1 << 23  # bytes of a task


class SerialExecutor(Executor):
    """Runs functions at once; records their arguments and the keys of the tasks with a file."""

    def __init__(self) -> None:
        self.ran = list[str]()
        self.arguments = list[Any]()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        path = arguments[1] if len(arguments) > 1 else None
        if path:
            self.ran.append(Path(path).stem)
        self.arguments += arguments
        future.set_result(function(*arguments, **named))
        return future


class ShuffledExecutor(ThreadPoolExecutor):
    """Runs functions in any order, some of them twice; results are read-only copies."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(3)
        self.rng = np.random.default_rng(seed)
        self.ran = list[str]()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        wait = self.rng.random() / 200
        times = int(self.rng.integers(1, 3))
        sent = pickle.dumps((function, arguments, named))
        return super().submit(self._call, wait, times, sent)

    def _call(self, wait: float, times: int, sent: bytes) -> Any:
        time.sleep(wait)
        for _ in range(times):
            function, arguments, named = read_only(pickle.loads(sent))
            path = arguments[1] if len(arguments) > 1 else None
            if isinstance(path, str):
                self.ran.append(Path(path).stem)
            result = pickle.dumps(function(*arguments, **named))
        return read_only(pickle.loads(result))


def job_of(evaluator: Evaluator) -> Job:
    return make_job(evaluator, MEMORY, 1)


def leaf(first: int, rows: Any, n_rows: int, key: str = "") -> Leaf:
    """Return the task of rows that follow one another."""
    return Leaf(add_block, (first, rows), key or f"{first:032x}", n_rows)


def count_leaves(
    job: Job,
    leaves: Sequence[Leaf],
    executor: Executor | None = None,
    folder: Path | None = None,
) -> Evaluator:
    """Return the evaluator that has counted all tasks."""
    return run(executor or SerialExecutor(), job, leaves, folder)


def read_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: read_only(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        members = [read_only(each) for each in value]
        if hasattr(value, "_fields"):
            return type(value)(*members)
        return type(value)(members)
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value
