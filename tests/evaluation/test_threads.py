"""Numbered tasks in threads: each runs once; the first failure is raised and ends the work."""

import _thread
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from xmleval.base.threads import Call, run_workers
from xmleval.base.work import WORK

# the function that `threading` starts threads with, by the version of Python
STARTER = next(
    name for name in ("_start_joinable_thread", "_start_new_thread") if hasattr(threading, name)
)


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled, or the calling thread would do all that is left for several."""
    monkeypatch.setattr(WORK, "is_small", False)


def refuse_threads(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, n_started: int = 0
) -> None:
    """Start so many threads, and then no more."""
    start = getattr(module, name)
    left = iter(range(n_started))

    def refusing(*arguments: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        return start(*arguments, **options)

    monkeypatch.setattr(module, name, refusing)


@pytest.mark.parametrize("n_started", [0, 1, 9])
@pytest.mark.parametrize("n_workers", [1, 4])
def test_run_workers_takes_each_number_once(
    n_workers: int, n_started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_threads(monkeypatch, _thread, "start_new_thread", n_started)
    taken: list[list[int]] = [[] for _ in range(n_workers)]
    all_begun = threading.Barrier(min(n_workers, 1 + n_started))

    def work(number: int, numbers: list[int]) -> None:
        numbers.append(number)
        assert numbers is not taken[0] or threading.current_thread() is threading.main_thread()
        if len(numbers) == 1:
            all_begun.wait(60)

    run_workers(100, [partial(work, numbers=numbers) for numbers in taken])
    assert sorted(itertools.chain(*taken)) == [*range(100)]
    for number, numbers in enumerate(taken):
        assert bool(numbers) == (number <= n_started)


INTERRUPTED = [(ValueError, KeyboardInterrupt), (KeyboardInterrupt, ValueError)]


@pytest.mark.parametrize("errors", [(ValueError, TypeError), *INTERRUPTED])
@pytest.mark.parametrize("slow", [0, 1])
def test_run_workers_raises_the_interrupt_or_the_failure_of_the_lowest_number(
    errors: Any, slow: int
) -> None:
    expected = errors[0]
    if KeyboardInterrupt in errors:
        expected = KeyboardInterrupt
    both = threading.Barrier(2)
    taken = list[int]()

    def work(number: int) -> None:
        taken.append(number)
        both.wait(60)
        if number == slow:
            time.sleep(0.05)
        raise errors[number]

    with pytest.raises(expected):
        run_workers(100, [work, work])
    assert sorted(taken) == [0, 1]


@pytest.fixture
def seen() -> Iterator[list[int]]:
    """Interrupts that reached a handler, which raises KeyboardInterrupt if the first entry is 0."""
    signals: list[int] = []

    def handler(number: int, frame: Any) -> None:
        signals.append(number)
        if signals[0] == 0:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    yield signals
    signal.signal(signal.SIGINT, before)


def test_interrupt_is_handled_at_once(seen: list[int]) -> None:
    seen.append(0)
    begun = list[int]()
    ended = list[int]()

    def work(number: int) -> None:
        begun.append(number)
        if len(begun) == 3:
            signal.raise_signal(signal.SIGINT)
        ended.append(number)

    workers: list[Callable[[int], None]] = [work, lambda number: time.sleep(0.01)]
    with pytest.raises(KeyboardInterrupt):
        run_workers(1000, workers)
    assert (begun[:-1], len(ended)) == (ended, 2)
    assert seen[-1] == signal.SIGINT


def test_threads_have_ended_when_an_interrupt_is_raised(seen: list[int]) -> None:
    """The handler raises several times while the threads are waited for."""
    seen.append(0)
    both = threading.Barrier(2)
    ended = list[int]()

    def work(number: int) -> None:
        both.wait(60)
        if threading.current_thread() is not threading.main_thread():
            for _ in range(3):
                time.sleep(0.03)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        run_workers(2, [work, work])
    assert sorted(ended) == [0, 1]
    assert len(seen) > 1


@pytest.mark.parametrize("n_started", [0, 1, 9])
def test_calls_are_made_once_with_few_threads(
    n_started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def divide(number: int) -> float:
        made.append(number)
        return 12 / number

    refuse_threads(monkeypatch, _thread, "start_new_thread", n_started)
    calls = [Call(divide, number) for number in (1, 2, 3, 0)]
    assert [call.has_thread for call in calls] == [place < n_started for place in range(4)]
    assert [call.result() for call in calls[:3]] == [12, 6, 4]
    with pytest.raises(ZeroDivisionError):
        calls[3].result()
    assert sorted(made) == [0, 1, 2, 3]


def test_cancelled_calls_are_not_made_or_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    begun = threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.05)
        ended.append("begun")

    call = Call(work)
    assert begun.wait(60)
    call.cancel()
    assert ended == ["begun"]
    late: list[Any] = []  # a thread that begins late
    monkeypatch.setattr(_thread, "start_new_thread", lambda function, _: late.append(function))
    call = Call(ended.append, "late")
    call.cancel()
    late[0]()
    assert ended == ["begun"]


def test_commands_need_no_second_thread(
    folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run("evaluate Y_test.npz m")
    refuse_threads(monkeypatch, threading, STARTER)
    refuse_threads(monkeypatch, _thread, "start_new_thread")
    assert run("evaluate Y_test.npz m") == expected
