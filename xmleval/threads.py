"""Threads: tasks taken in order by this thread and others, and the memory and threads to use."""

from __future__ import annotations

import _thread
import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import NamedTuple, TypeVar, cast

T = TypeVar("T")


class Work(NamedTuple):
    """Memory for scores, in bytes, and the most threads to use.

    ``last`` tells that values are computed once, and what was counted is then dropped: nobody else reads the
    scores again, so they may be sorted where they are.
    """

    memory: int
    threads: int
    last: bool = False

    def map(self, task: Callable[[int], T], numbers: Sequence[int]) -> list[T]:
        """Return what a task gives for each number, in order."""
        return map_in_turns(task, numbers, self.threads)


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_turns(n: int, workers: Sequence[Callable[[int], None]]) -> None:
    """Let workers take the numbers 0 to n - 1 in order, the first worker in this thread.

    A thread that only waits for the others would take the processor from them each time it looks. Where
    threads cannot be started, fewer workers do the work. A signal handler may raise at any time: the threads
    then stop after the number they are at. A thread pool would not do: its locks are held by Python code that
    such an exception can leave.

    Raises
    ------
    BaseException
        The first failure by number, for numbers are taken in order; but an interrupt before any failure. No
        further numbers are then taken.
    """
    turn = itertools.count()
    failed: list[tuple[int, BaseException]] = []

    def work(worker: Callable[[int], None]) -> None:
        while not failed and (number := next(turn)) < n:
            try:
                worker(number)
            except BaseException as error:
                failed.append((number, error))

    ended = [False] * len(workers)

    def run(place: int, running: _thread.LockType) -> None:
        work(workers[place])
        ended[place] = True
        running.release()

    started: list[tuple[int, _thread.LockType]] = []
    try:
        for place in range(1, min(len(workers), n)):
            running = _thread.allocate_lock()
            running.acquire()
            try:
                _thread.start_new_thread(run, (place, running))
            except RuntimeError:  # no more threads
                break
            started.append((place, running))
        work(workers[0])
    except BaseException as error:
        failed.append((n, error))
    for place, running in started:
        while not ended[place]:
            try:
                running.acquire()
            except BaseException as error:
                failed.append((n, error))
    if failed:
        raise min(failed, key=lambda item: (isinstance(item[1], Exception), item[0]))[1]


def map_in_turns(task: Callable[[int], T], numbers: Sequence[int], threads: int) -> list[T]:
    """Return what a task gives for each number, in order."""
    if threads == 1 or len(numbers) < 2:
        return [task(number) for number in numbers]
    found: list[T | None] = [None] * len(numbers)

    def work(place: int) -> None:
        found[place] = task(numbers[place])

    in_turns(len(numbers), [work] * min(threads, len(numbers)))
    return cast(list[T], found)


def when_free(task: Callable[[int], None], numbers: Iterable[int], locks: Sequence[Lock]) -> None:
    """Do a task for each number, holding the lock of that number; those first whose lock is free.

    locks : by number, or none where nobody else does the same work
    """
    left = list(numbers)
    while left:
        number = next((number for number in left if locks and not locks[number].locked()), left[0])
        with locks[number] if locks else contextlib.nullcontext():
            task(number)
        left.remove(number)
