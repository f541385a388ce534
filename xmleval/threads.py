"""Work that is taken in turns, by this thread and by others beside it."""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from types import FrameType
from typing import TypeVar, cast

T = TypeVar("T")


@contextlib.contextmanager
def deferring_interrupts() -> Iterator[Callable[[], None]]:
    """Let an interrupt wait until the block is over, so that it finds nothing half done.

    What the block is given lets one that waits act now, where nothing is half done.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
        return
    received: list[tuple[int, FrameType | None]] = []

    def act() -> None:
        if received:
            last = received[-1]
            received.clear()
            handler(*last)

    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield act
    finally:
        signal.signal(signal.SIGINT, handler)
        act()


def in_turns(n: int, workers: Sequence[Callable[[int], None]]) -> None:
    """Let workers take the numbers 0 to n - 1 in turns, the first of them in this thread.

    A thread that only waits for the others would take the processor from them each time it looks.

    Raises
    ------
    BaseException
        What failed first by number, for numbers are taken in order; but an interrupt before any failure. No
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

    if len(workers) == 1:
        work(workers[0])
    else:
        # an interrupt right after a lock of the pool is taken would leave others waiting for it for ever
        with deferring_interrupts() as act, ThreadPoolExecutor(len(workers) - 1) as pool:

            def own(number: int) -> None:
                workers[0](number)
                act()

            try:
                others = [pool.submit(work, worker) for worker in workers[1:]]
                work(own)
                for other in others:
                    other.result()
            except BaseException as error:  # of the pool itself
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

    locks : by number, or none where nobody else is at the same work
    """
    left = list(numbers)
    while left:
        number = next((number for number in left if locks and not locks[number].locked()), left[0])
        with locks[number] if locks else contextlib.nullcontext():
            task(number)
        left.remove(number)
