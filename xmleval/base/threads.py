"""Run numbered tasks in several threads."""

from __future__ import annotations

import _thread
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
START_SECONDS = 2.0  # a thread begins within this time, unless there is no memory for it
THREAD_BYTES = 160 << 20  # address space of a thread: its stack, and its own arena of `malloc`


def start_thread(function: Callable[[], object]) -> bool:
    """Start a thread and return True, or False if there is no memory for it or no more are allowed.

    `threading.Thread` waits for its thread to begin, and forever if there is no memory for that.
    """
    if address_space_left() < THREAD_BYTES:
        return False
    try:
        _thread.start_new_thread(function, ())
    except (RuntimeError, MemoryError):
        return False
    return True


class Call(Generic[T]):
    """A call made by another thread, or by the thread that asks for its result, whichever is first.

    Nobody waits for a thread that has not begun: it may have ended for lack of memory. One thread
    asks for the result, once. The call has the memory limit of the thread that starts it.
    """

    threads_begin = True  # False once a thread did not: from then on, no call waits for one

    def __init__(self, function: Callable[..., T], *arguments: object) -> None:
        self._function = partial(contextvars.copy_context().run, function, *arguments)
        # the first claim decides; a deque takes a few items without more memory
        self._claims: deque[str] = deque()
        self._ended = False
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self._value: T | None = None
        self._error: BaseException | None = MemoryError("no memory left in a thread")
        self.has_thread = start_thread(self._run)

    def result(self, seconds: float = 0) -> T:
        """Return the result of the call, or raise its error; a thread has some seconds to begin."""
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
        """Make the call in the thread that was started for it."""
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
        """Claim the call, and return whether the claim is the first: its thread makes the call."""
        self._claims.append(name)
        return self._claims[0] == name

    def _wait(self) -> None:
        """Wait until the thread that makes the call has ended, even if interrupted many times."""
        while not self._ended:
            self._running.acquire()


def undisturbed(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function in another thread, where no signal handler can interrupt it halfway.

    Python drops what a handler raises while objects are freed, and a module that is not loaded to
    its end may never load again.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **named)
    return Call(partial(function, *arguments, **named)).result(START_SECONDS)


class _Turns:
    """The numbers that workers take in turn, and the failures so far.

    is_stopped : whether no more numbers are taken
    failures : a number and its error each; n for an interrupt or a thread that died
    """

    # an existing slot is set without memory, of which there may be none left
    __slots__ = ("_turn", "failures", "is_stopped", "n")

    def __init__(self, n: int) -> None:
        self.n = n
        self.is_stopped = False
        self.failures: list[tuple[int, BaseException]] = []
        self._turn = itertools.count()

    def work(self, worker: Callable[[int], None], while_small: bool = False) -> None:
        """Let a worker take numbers up to the last, or only while kernels are plain Python."""
        while not self.is_stopped:
            if while_small and not WORK.is_small:
                return
            number = next(self._turn)
            if number >= self.n:
                return
            try:
                worker(number)
            except BaseException as error:
                self.is_stopped = True
                self.failures.append((number, error))


class _WorkerThread:
    """A thread that makes a call, unless it begins so late that nobody waits for it.

    has_ended : whether the call was made, or the thread died in it
    has_died : whether the call did not return
    """

    __slots__ = ("_function", "has_died", "has_ended", "running", "unclaimed")

    def __init__(self, function: Callable[[], None]) -> None:
        self.unclaimed = [True]
        self.running = _thread.allocate_lock()
        self.running.acquire()
        self.has_ended = False
        self.has_died = True
        self._function = function

    def run(self) -> None:
        """Make the call in the thread that was started for it."""
        if not _claim(self.unclaimed):
            return  # this thread took so long to begin that nobody waits for it
        try:
            self._function()
            self.has_died = False
        finally:
            self.has_ended = True
            self.running.release()


def run_workers(n: int, workers: Sequence[Callable[[int], None]]) -> None:
    """Let workers take the numbers 0 to n - 1 in order, the first worker in the calling thread.

    While kernels run as plain Python, which gains nothing by threads, the first worker takes all of
    them. If a thread cannot be started, fewer workers run. If a signal handler raises, each thread
    stops after its current number. A thread pool is unsuitable: such an exception can leave its
    Python-level locks held.

    Raises
    ------
    BaseException
        An interrupt, or else the failure with the lowest number. No further numbers are taken after
        it.
    """
    turns = _Turns(n)
    threads: list[_WorkerThread] = []
    try:
        _start_and_work(turns, workers, threads)
    except BaseException as error:
        turns.is_stopped = True
        turns.failures.append((n, error))
    # not in a function of its own: handlers may raise as it is called, and nothing would wait then
    for thread in threads:
        if thread.unclaimed and _claim(thread.unclaimed):
            continue  # the thread has not begun, or died before it did
        while not thread.has_ended:
            try:
                thread.running.acquire()
            except BaseException as error:
                turns.is_stopped = True
                turns.failures.append((n, error))
        if thread.has_died:
            turns.failures.append((n, MemoryError("no memory left in a thread")))
    if turns.failures:
        _, failure = min(turns.failures, key=_rank_failure)
        raise failure


def _start_and_work(
    turns: _Turns, workers: Sequence[Callable[[int], None]], threads: list[_WorkerThread]
) -> None:
    """Append and start a thread for each further worker; the first works in this thread."""
    turns.work(workers[0], while_small=True)
    n_workers = 1 if WORK.is_small else min(len(workers), turns.n)
    for worker in workers[1:n_workers]:
        thread = _WorkerThread(partial(turns.work, worker))
        threads.append(thread)  # before it starts, or an interrupt in between would lose it
        if not start_thread(thread.run):
            break
    turns.work(workers[0])


def _claim(unclaimed: list[bool]) -> bool:
    """Claim a task; only one of several threads can."""
    try:
        unclaimed.pop()
    except IndexError:
        return False
    return True


def _rank_failure(failure: tuple[int, BaseException]) -> tuple[bool, int]:
    """Return a sort key: interrupts first, then the lowest number."""
    number, error = failure
    return isinstance(error, Exception), number


def map_in_turns(task: Callable[[int], T], numbers: Sequence[int], threads: int) -> list[T]:
    """Return the results of a task for each number, in order."""
    if threads == 1 or len(numbers) < 2:
        return [task(number) for number in numbers]
    results: list[T | None] = [None] * len(numbers)

    def work(place: int) -> None:
        results[place] = task(numbers[place])

    run_workers(len(numbers), [work] * min(threads, len(numbers)))
    return cast(list[T], results)


def run_locked(task: Callable[[int], None], numbers: Iterable[int], locks: Sequence[Lock]) -> None:
    """Run a task for each number under the lock of that number, free locks first.

    Without locks, tasks run in order: nothing is shared.
    """
    remaining = list(numbers)
    if not locks:
        for number in remaining:
            task(number)
        return
    while remaining:
        free = (number for number in remaining if not locks[number].locked())
        number = next(free, remaining[0])
        with locks[number]:
            task(number)
        remaining.remove(number)
