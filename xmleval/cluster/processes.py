"""Processes of this machine that run tasks.

`concurrent.futures` hands tasks to processes by two threads. Where these cannot start, or end for
lack of memory, its futures never end, and its processes outlive a parent that is killed. No thread
is needed here.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, ParamSpec, TypeVar

from xmleval.cluster.worker import serve

P = ParamSpec("P")
T = TypeVar("T")
DIED = (
    "a process ended while it counted, perhaps for lack of memory; "
    "with a checkpoint, the run can be resumed"
)
END_SECONDS = 5.0  # time for a process to end by itself


class Worker(NamedTuple):
    """A process, and the pipe through which it takes calls."""

    process: BaseProcess
    pipe: Connection


class Waiting(NamedTuple):
    """A call that no process has taken yet."""

    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Processes(Executor):
    """An executor that runs calls in ``n`` new processes while `as_completed` waits for them."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._busy: dict[Connection, tuple[Worker, Future[Any]]] = {}
        self._waiting: deque[Waiting] = deque()

    def submit(
        self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs
    ) -> Future[T]:
        """Return the future of a call, which ends while `as_completed` waits."""
        future: Future[T] = Future()
        self._waiting.append(Waiting(future, (function, arguments, named)))
        return future

    def as_completed(self, futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
        """Yield futures as they end; a process that died raises ChildProcessError in its future."""
        remaining = {*futures}
        while remaining:
            self._hand_out()
            if not self._busy:  # all were cancelled
                yield from remaining
                return
            for pipe in wait([*self._busy]):
                assert isinstance(pipe, Connection)
                future = self._receive(pipe)
                self._hand_out()  # before the caller works on the result
                remaining.discard(future)
                yield future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End busy processes, and idle ones that do not end by themselves in time."""
        for worker, future in self._busy.values():
            worker.process.terminate()
            future.cancel()
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join(END_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(END_SECONDS)
        self._workers.clear()
        self._idle.clear()
        self._busy.clear()
        self._waiting.clear()

    def _hand_out(self) -> None:
        """Give calls to idle processes, and start processes for more."""
        n_new = min(self._n - len(self._workers), len(self._waiting) - len(self._idle))
        for _ in range(n_new):  # all of them load while the first takes its call
            self._start()
        while self._waiting and self._idle:
            future, call = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                worker = self._idle.pop(0)
                self._busy[worker.pipe] = worker, future
                with contextlib.suppress(ConnectionError):  # it has ended, as `wait` will report
                    worker.pipe.send(call)

    def _start(self) -> None:
        """Start a process."""
        context = multiprocessing.get_context("spawn")
        pipe, end = context.Pipe()
        process = context.Process(target=serve, args=(end, not self._workers), daemon=True)
        process.start()
        worker = Worker(process, pipe)
        self._workers.append(worker)
        self._idle.append(worker)
        end.close()  # so that the pipe ends with the process

    def _receive(self, pipe: Connection) -> Future[Any]:
        """Return the future of a call that has ended."""
        worker, future = self._busy.pop(pipe)
        try:
            result, error = pipe.recv()
        except (EOFError, ConnectionError):
            future.set_exception(ChildProcessError(DIED))
            return future
        self._idle.append(worker)
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
        return future
