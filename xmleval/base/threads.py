"""Run numbered tasks in several threads."""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import Generic, ParamSpec, TypeVar, cast

from xmleval.base.address_space import address_space_left
from xmleval.base.work import WORK

T = TypeVar("T")
P = ParamSpec("P")
MOST_THREADS = 1024  # more would only wait for one another
START_SECONDS = 2.0  # within which a thread begins, unless there is no memory for it
THREAD_BYTES = 160 << 20  # of address space for a thread: its stack and what `malloc` sets apart for it


def start_thread(function: Callable[[], object]) -> bool:
    """Start a thread and return True, or False if there is no memory for it or no more are allowed.

    `threading.Thread` waits for a thread to begin, without an end if that thread finds no memory for it.
    """
    if address_space_left() < THREAD_BYTES:
        return False
    try:
        _thread.start_new_thread(function, ())
    except (RuntimeError, MemoryError):
        return False
    return True


class Call(Generic[T]):
    """A call made by another thread, or by the thread that asks for its result if the other has not begun.

    Nobody waits for a thread that has not begun: it may have ended for lack of memory. One thread asks for
    the result, once. The call has the memory limit of the thread that starts it.
    """

    threads_begin = True  # as far as is known; else no call waits for one to begin

    def __init__(self, function: Callable[..., T], *arguments: object) -> None:
        self._function = partial(contextvars.copy_context().run, function, *arguments)
        self._claims: deque[str] = deque()  # the first decides; a deque takes a few without more memory
        self._ended = False
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self._value: T | None = None
        self._error: BaseException | None = MemoryError("no memory left in a thread")
        self.has_thread = start_thread(self._run)

    def result(self, seconds: float = 0) -> T:
        """Return what the call returns, or raise its error; a thread has some seconds to begin."""
        if self.has_thread and Call.threads_begin and not self._ended:
            self._running.acquire(timeout=seconds)
        if self._is_first("asking"):
            if seconds:
                Call.threads_begin = False
            return self._function()
        self._wait()
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    def cancel(self) -> None:
        """Let no thread begin the call, and wait for one that has."""
        if not self._is_first("asking"):
            self._wait()

    def _run(self) -> None:
        """Make the call in this thread, which was started for it."""
        if not self._is_first("thread"):
            return
        try:
            self._value = self._function()
            self._error = None
        except BaseException as error:
            self._error = error
        finally:
            self._ended = True
            self._running.release()

    def _is_first(self, name: str) -> bool:
        """Claim the call for the thread that was started, or for the one that asks; the first makes it."""
        self._claims.append(name)
        return self._claims[0] == name

    def _wait(self) -> None:
        """Wait until the thread has ended that makes the call, however often this is interrupted."""
        while not self._ended:
            self._running.acquire()


def undisturbed(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function in another thread, where no signal handler runs that would leave it half done.

    Python drops what a handler raises while objects are freed, and a module that is not loaded to its end
    may never load again.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **named)
    return Call(partial(function, *arguments, **named)).result(START_SECONDS)


def in_turns(n: int, workers: Sequence[Callable[[int], None]]) -> None:
    """Let workers take the numbers 0 to n - 1 in order, the first worker in the calling thread.

    While kernels run as plain Python, which gains nothing by threads, the first worker takes all of them.
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

    def work(worker: Callable[[int], None], alone: bool = False) -> None:
        while not stopped[0]:
            if alone and not WORK.is_small:
                return
            number = next(turn)
            if number >= n:
                return
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
        work(workers[0], alone=True)
        n_workers = 1 if WORK.is_small else min(len(workers), n)
        for place in range(1, n_workers):
            unclaimed, running = [place], _thread.allocate_lock()
            running.acquire()
            if not start_thread(partial(run, place, unclaimed, running)):
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
