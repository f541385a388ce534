"""Work in turns: everything once, the first failure by number, and nothing after it."""

from __future__ import annotations

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

from xmleval.threads import Pool, in_turns, map_in_turns, when_free

# what `threading` starts threads with, by the version of Python
STARTER = next(name for name in ("_start_joinable_thread", "_start_new_thread") if hasattr(threading, name))


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_every_number_is_taken_once(n_workers: int) -> None:
    taken: list[list[int]] = [[] for _ in range(n_workers)]
    in_turns(1000, [own.append for own in taken])
    assert sorted(itertools.chain(*taken)) == list(range(1000))


def test_the_first_worker_is_this_thread() -> None:
    seen: list[threading.Thread] = []

    def worker(number: int) -> None:
        seen.append(threading.current_thread())

    in_turns(3, [worker])
    assert set(seen) == {threading.current_thread()}


@pytest.mark.parametrize("slow", [0, 1])
def test_the_failure_of_the_lowest_number_is_raised(slow: int) -> None:
    both = threading.Barrier(2)
    taken: list[int] = []

    def worker(number: int) -> None:
        taken.append(number)
        both.wait(10)
        if number == slow:
            time.sleep(0.05)
        raise ValueError(f"number {number}")

    with pytest.raises(ValueError, match="number 0"):
        in_turns(100, [worker, worker])
    assert sorted(taken) == [0, 1]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_no_number_is_taken_after_a_failure(n_workers: int) -> None:
    taken: list[int] = []

    def failing(number: int) -> None:
        taken.append(number)
        if number == 7:
            raise KeyboardInterrupt
        time.sleep(0.001)

    workers: list[Callable[[int], None]] = [failing] * n_workers
    with pytest.raises(KeyboardInterrupt):
        in_turns(1000, workers)
    assert max(taken) < 7 + 2 * n_workers


def test_an_interrupt_comes_before_any_failure() -> None:
    both = threading.Barrier(2)

    def worker(number: int) -> None:
        both.wait(10)
        raise KeyboardInterrupt if number else ValueError

    with pytest.raises(KeyboardInterrupt):
        in_turns(2, [worker, worker])


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """Interrupts that reached a handler, which raises KeyboardInterrupt if told to by a first entry of 0."""
    seen: list[int] = []

    def handler(number: int, frame: Any) -> None:
        seen.append(number)
        if seen[0] == 0:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    yield seen
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("raising", [False, True])
def test_interrupts_are_handled_at_once(handled: list[int], raising: bool) -> None:
    handled += [0] if raising else []
    taken: list[int] = []
    whole: list[int] = []

    def own(number: int) -> None:
        taken.append(number)
        if len(taken) == 3:
            signal.raise_signal(signal.SIGINT)
        whole.append(number)

    def other(number: int) -> None:
        time.sleep(0.01)

    if raising:
        with pytest.raises(KeyboardInterrupt):
            in_turns(1000, [own, other])
        assert taken[:-1] == whole
        assert len(whole) == 2
    else:
        in_turns(1000, [own, other])
        assert len(whole) > 500
        assert taken == whole
    assert handled[-1] == signal.SIGINT


def test_an_interrupt_while_others_are_waited_for_comes_last(handled: list[int]) -> None:
    handled.append(0)
    both = threading.Barrier(2)
    whole: list[int] = []

    def worker(number: int) -> None:
        both.wait(10)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.05)
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.05)
        whole.append(number)

    with pytest.raises(KeyboardInterrupt):
        in_turns(2, [worker, worker])
    assert sorted(whole) == [0, 1]
    assert len(handled) == 2


@pytest.mark.parametrize("n_started", [0, 1])
def test_fewer_threads_do_the_work_where_no_more_can_be_started(
    n_started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = _thread.start_new_thread
    left = iter(range(n_started))

    def refusing(*arguments: Any) -> int:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        return start(*arguments)

    taken: list[list[int]] = [[] for _ in range(4)]

    def work(number: int, own: list[int]) -> None:
        own.append(number)
        time.sleep(0.001)

    monkeypatch.setattr(_thread, "start_new_thread", refusing)
    in_turns(100, [partial(work, own=own) for own in taken])
    assert sorted(itertools.chain(*taken)) == list(range(100))
    assert [bool(own) for own in taken] == [True, *(place < n_started for place in range(3))]


def test_no_more_threads_are_started_than_there_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda *arguments: started.append(arguments))
    in_turns(1, [lambda number: None] * 3)
    in_turns(0, [lambda number: None] * 3)
    assert started == []


def test_results_come_in_the_order_of_the_numbers() -> None:
    def doubled(number: int) -> int:
        time.sleep(number / 1000)
        return 2 * number

    for threads in (1, 2, 9):
        assert map_in_turns(doubled, [5, 3, 8, 1], threads) == [10, 6, 16, 2]
        assert map_in_turns(doubled, [], threads) == []


def test_threads_have_ended_when_an_interrupt_is_raised() -> None:
    """However often a handler raises while they are waited for."""
    ended: list[int] = []
    both = threading.Barrier(2)

    def handler(number: int, frame: Any) -> None:
        raise TimeoutError

    def worker(number: int) -> None:
        both.wait(10)
        if threading.current_thread() is not threading.main_thread():
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.02)
            ended.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(TimeoutError):
            in_turns(2, [worker, worker])
        assert len(ended) == 1
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_free_is_done_first() -> None:
    locks = [threading.Lock() for _ in range(3)]
    done: list[int] = []
    locks[0].acquire()

    def task(number: int) -> None:
        assert locks[number].locked()
        done.append(number)
        if number == 2:
            locks[0].release()

    when_free(task, range(3), locks)
    assert done == [1, 2, 0]
    assert not any(lock.locked() for lock in locks)
    when_free(done.append, range(2), [])
    assert done == [1, 2, 0, 0, 1]


def test_what_is_taken_is_waited_for() -> None:
    lock = threading.Lock()
    done: list[int] = []
    lock.acquire()

    def release() -> None:
        done.append(-1)
        lock.release()

    threading.Timer(0.05, release).start()
    when_free(done.append, [0], [lock])
    assert done == [-1, 0]


def test_locks_are_released_when_a_task_fails() -> None:
    locks = [threading.Lock(), threading.Lock()]

    def task(number: int) -> None:
        if number:
            raise MemoryError

    with pytest.raises(MemoryError):
        when_free(task, range(2), locks)
    assert not any(lock.locked() for lock in locks)


@pytest.mark.parametrize("n_started", [0, 1])
def test_a_pool_does_all_tasks_where_no_more_threads_can_be_started(
    n_started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = getattr(threading, STARTER)
    left = iter(range(n_started))

    def refusing(*arguments: Any, **more: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        return start(*arguments, **more)

    def task(number: int) -> float:
        time.sleep(0.001)  # so that a pool with a thread wants another
        return 12 / number

    monkeypatch.setattr(threading, STARTER, refusing)
    with Pool(3) as pool:
        under_way = [pool.submit(task, number) for number in (1, 2, 0, 3)]
        assert [one.result() for one in under_way if one is not under_way[2]] == [12, 6, 4]
        with pytest.raises(ZeroDivisionError):
            under_way[2].result()
        assert list(pool.map(task, [4, 6])) == [3, 2]


@pytest.mark.parametrize(
    "command", ["evaluate Y_test.npz m", "stats Y.txt", "bench Y_test.npz m --metrics p@1"]
)
def test_commands_need_no_second_thread(
    command: str, folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **more: Any) -> int:
        raise RuntimeError("can't start new thread")

    run("convert Y_test.npz Y.txt --kind truth")
    expected = run(command)
    monkeypatch.setattr(threading, STARTER, refuse)
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    found = run(command)
    assert found == expected or command.startswith("bench")
