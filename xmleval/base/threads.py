"""Run numbered tasks in several threads."""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")
MOST_THREADS = 1024  # more would only wait for one another


class Pool(ThreadPoolExecutor):
    """A thread pool that does tasks in the calling thread once no thread can be started.

    The first task of these is done by another thread, too, if there is one. Tasks have the caller's memory
    limit.
    """

    _full = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Return what a task will return."""
        if not self._full:
            try:
                return super().submit(contextvars.copy_context().run, fn, *args, **kwargs)
            except RuntimeError:  # no more threads
                self._full = True
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def in_turns(n: int, workers: Sequence[Callable[[int], None]]) -> None:
    """Let workers take the numbers 0 to n - 1 in order, the first worker in the calling thread.

    If a thread cannot be started, fewer workers run. If a signal handler raises, each thread stops after its
    current number. A thread pool is unsuitable: such an exception can leave its Python-level locks held.

    Raises
    ------
    BaseException
        An interrupt, or else the failure with the lowest number. No further numbers are taken after it.
    """
    turn = itertools.count()
    failed: list[tuple[int, BaseException]] = []
    stopped = [False]  # lists, for an item is set without memory, of which there may be none left

    def work(worker: Callable[[int], None]) -> None:
        while not stopped[0] and (number := next(turn)) < n:
            try:
                worker(number)
            except BaseException as error:
                stopped[0] = True
                failed.append((number, error))

    ended, died = [False] * len(workers), [True] * len(workers)

    def run(place: int, unclaimed: list[int], running: _thread.LockType) -> None:
        if not _claimed(unclaimed):
            return  # this thread took so long to begin that nobody waits for it
        try:
            work(workers[place])
            died[place] = False
        finally:
            ended[place] = True
            running.release()

    started: list[tuple[int, list[int], _thread.LockType]] = []
    try:
        for place in range(1, min(len(workers), n)):
            unclaimed, running = [place], _thread.allocate_lock()
            running.acquire()
            try:
                _thread.start_new_thread(run, (place, unclaimed, running))
            except (RuntimeError, MemoryError):  # no more threads
                break
            started.append((place, unclaimed, running))
        work(workers[0])
    except BaseException as error:
        stopped[0] = True
        failed.append((n, error))
    for place, unclaimed, running in started:
        if unclaimed and _claimed(unclaimed):
            continue  # the thread has not begun, or died before it did
        while not ended[place]:
            try:
                running.acquire()
            except BaseException as error:
                stopped[0] = True
                failed.append((n, error))
        if died[place]:
            failed.append((n, MemoryError("no memory left in a thread")))
    if failed:
        raise min(failed, key=lambda item: (isinstance(item[1], Exception), item[0]))[1]


def _claimed(unclaimed: list[int]) -> bool:
    """Claim a task; only one of several threads can."""
    try:
        unclaimed.pop()
    except IndexError:
        return False
    return True


def map_in_turns(task: Callable[[int], T], numbers: Sequence[int], threads: int) -> list[T]:
    """Return the results of a task for each number, in order."""
    if threads == 1 or len(numbers) < 2:
        return [task(number) for number in numbers]
    results: list[T | None] = [None] * len(numbers)

    def work(place: int) -> None:
        results[place] = task(numbers[place])

    in_turns(len(numbers), [work] * min(threads, len(numbers)))
    return cast(list[T], results)


def when_free(task: Callable[[int], None], numbers: Iterable[int], locks: Sequence[Lock]) -> None:
    """Run a task for each number under that number's lock, free locks first; no locks if unshared."""
    left = list(numbers)
    while left:
        number = next((number for number in left if locks and not locks[number].locked()), left[0])
        with locks[number] if locks else contextlib.nullcontext():
            task(number)
        left.remove(number)
