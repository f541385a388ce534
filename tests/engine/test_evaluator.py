"""Evaluators in trouble: signals, failures half-way, several threads and copies."""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.engine.data import (
    COPIES,
    INLINE,
    N_ROWS,
    NAMES,
    SCORES,
    STATES,
    TRUTH,
    WORKERS,
    counting,
    empty,
    fail,
    states_of,
)
from tests.examples import as_other_rows
from xmleval import Evaluator, evaluate
from xmleval.notes import Note
from xmleval.states import label_table
from xmleval.states.state import States

# ------------------------------------------------------------------------------------------------- signals


class Alarm:
    """A handler that raises what handlers of a signal raise, but only while some method runs.

    It does not in callbacks of weak references and of the collector of garbage (Hypothesis has one), where
    Python drops what is raised, nor where coverage traces, which would keep its lock for ever.
    """

    def __init__(self, number: int, method: Callable[..., Any]) -> None:
        self.number = number
        self.code = method.__code__
        self.raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not self.code:
            path = Path(frame.f_code.co_filename)
            if path.name in ("weakref.py", "_weakrefset.py") or {"coverage", "hypothesis"} & {*path.parts}:
                return
            frame = frame.f_back
        if frame is not None:
            self.raised = True
            signal.raise_signal(self.number)


def time_out(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(1)


# what a process raises: on ctrl-C, in a test that may not take long, and when a scheduler ends it
HANDLERS: dict[int, tuple[Any, type[BaseException]]] = {
    signal.SIGINT: (signal.default_int_handler, KeyboardInterrupt),
    signal.SIGUSR1: (time_out, TimeoutError),
    signal.SIGTERM: (leave, SystemExit),
}


@pytest.fixture
def handled(request: pytest.FixtureRequest) -> Iterator[int]:
    """Handle one signal as programs do."""
    number: int = request.param
    before = [(n, signal.getsignal(n)) for n in (number, signal.SIGALRM)]
    signal.signal(number, HANDLERS[number][0])
    yield number
    signal.setitimer(signal.ITIMER_REAL, 0)
    for n, handler in before:
        signal.signal(n, handler)


@cache
def other() -> Evaluator:
    return counting()


def update(evaluator: Evaluator) -> None:
    evaluator.update(TRUTH, SCORES)


def update_few(evaluator: Evaluator) -> None:  # which wait
    evaluator.update(TRUTH[:3], SCORES[:3])


def merge(evaluator: Evaluator) -> None:
    evaluator.merge(other())


SIGNALS = 25  # of each kind


@pytest.mark.parametrize(
    "more", [INLINE, WORKERS, {**INLINE, "memory": 1}], ids=["inline", "workers", "spilling"]
)
@pytest.mark.parametrize("change", [update, update_few, merge])
@pytest.mark.parametrize("handled", HANDLERS, ids=["interrupt", "alarm", "termination"], indirect=True)
def test_what_a_signal_handler_raises_was_not_counted(
    handled: int, change: Callable[[Evaluator], None], more: dict[str, Any]
) -> None:
    evaluator = counting(**more)
    wanted = [evaluator.compute().to_json()]
    before = evaluator._counted
    durations = []
    for _ in range(3):  # the first may compile
        evaluator._counted = before
        start = time.perf_counter()
        change(evaluator)
        durations.append(time.perf_counter() - start)
    duration = min(durations)
    wanted.append(evaluator.compute().to_json())
    choice, n_raised = random.Random(handled), 0
    method = Evaluator.merge if change is merge else Evaluator.update
    for _ in range(100 * SIGNALS):
        evaluator._counted = before
        alarm = Alarm(handled, method)
        signal.signal(signal.SIGALRM, alarm)
        try:
            signal.setitimer(signal.ITIMER_REAL, choice.uniform(1e-6, duration))
            change(evaluator)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except HANDLERS[handled][1]:
            assert alarm.raised
            n_raised += 1
            assert evaluator._counted is before
        else:
            assert not alarm.raised
            assert evaluator._counted is not before
        assert evaluator.compute().to_json() == wanted[evaluator.n_rows > N_ROWS]
        if n_raised == SIGNALS:
            break
    assert n_raised == SIGNALS
    elsewhere = threading.Thread(target=evaluator.compute, daemon=True)  # nobody holds its lock
    elsewhere.start()
    elsewhere.join(10)
    assert not elsewhere.is_alive()


# ------------------------------------------------------------------------------------------------ failures


def failing_after(method: Callable[..., None], error: type[BaseException]) -> Callable[..., None]:
    def changed(*arguments: Any) -> None:
        method(*arguments)
        raise error

    return changed


@pytest.mark.parametrize("more", [INLINE, WORKERS], ids=["inline", "workers"])
@pytest.mark.parametrize("name", STATES)
def test_failing_half_way_counts_nothing(
    name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator, other, fresh = counting(**more), counting(), empty(**more)
    assert list(states_of(evaluator)) == STATES
    before = evaluator.compute().to_json()
    own = type(states_of(evaluator)[name])
    for method, error in itertools.product(("update", "merge"), (MemoryError, KeyboardInterrupt)):
        with monkeypatch.context() as patch:
            patch.setattr(own, method, failing_after(getattr(own, method), error))
            with pytest.raises(error):
                evaluator.update(TRUTH, SCORES)
            if method == "merge":
                with pytest.raises(error):
                    evaluator.merge(other)
                with pytest.raises(error):
                    fresh.merge(other)
        assert evaluator.compute().to_json() == before
        assert evaluator.n_rows == N_ROWS
    assert fresh.n_rows == 0
    with pytest.raises(ValueError, match="nothing was counted yet"):
        fresh.compute()
    fresh.update(TRUTH, SCORES)
    assert fresh.compute().to_json() == before
    twice = evaluate(
        np.tile(TRUTH, (2, 1)), np.tile(SCORES, (2, 1)), metrics=NAMES, inverse_propensity=np.full(9, 2.0)
    )
    assert evaluator.merge(other).compute().to_json() == twice.to_json()


@pytest.mark.parametrize("method", ["update", "merge"])
def test_states_that_cannot_be_joined_count_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, other = counting(), counting()
    before = evaluator.compute().to_json()
    with monkeypatch.context() as patch:
        patch.setattr(States, method, fail)
        with pytest.raises(MemoryError):
            evaluator.update(TRUTH, SCORES)
        if method == "merge":
            with pytest.raises(MemoryError):
                evaluator.merge(other)
    assert evaluator.compute().to_json() == before


@pytest.mark.parametrize("merging", [False, True])
def test_frequent_labels_that_cannot_be_joined_count_nothing(
    merging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = np.tile([1, 0, 1], (300, 1))
    evaluator = Evaluator(["f1.macro"], n_labels=3)
    evaluator.update(truth, y_pred=truth)
    before = evaluator.compute().to_json()
    for name in ("ENOUGH", "MANY"):
        monkeypatch.setattr(label_table, name, 0)
    with monkeypatch.context() as patch:
        patch.setattr(label_table, "_added", fail)
        with pytest.raises(MemoryError):
            evaluator.merge(as_other_rows(evaluator)) if merging else evaluator.update(truth, y_pred=truth)
    assert evaluator.compute().to_json() == before


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize("more", [INLINE, WORKERS], ids=["inline", "workers"])
def test_refused_rows_are_not_counted(more: dict[str, Any], memory: Any) -> None:
    evaluator = counting(memory=memory, **more)
    before, counted = evaluator.compute().to_json(), evaluator._counted
    scores = SCORES.copy()
    scores[-1, -1] = np.nan
    with pytest.raises(ValueError, match="row 59: score nan"):
        evaluator.update(TRUTH, scores)
    assert evaluator._counted is counted
    assert evaluator.compute().to_json() == before


# ------------------------------------------------------------------------------------- threads and copies


def test_threads_may_count_in_one_evaluator() -> None:
    evaluator, n = empty(threads=1), 12
    start = threading.Barrier(4)

    def count(place: int) -> None:
        start.wait(10)
        for number in range(place, n, 4):
            rows = slice(number % 5, None)
            if number % 3:
                evaluator.update(TRUTH[rows], SCORES[rows])
            else:
                other = empty(threads=1)
                other.update(TRUTH[rows], SCORES[rows])
                evaluator.merge(other)
            evaluator.compute()

    threads = [threading.Thread(target=count, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = empty()
    for number in range(n):
        whole.update(TRUTH[number % 5 :], SCORES[number % 5 :])
    assert evaluator.compute().to_json() == whole.compute().to_json()


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize("how", COPIES)
def test_copies_count_for_themselves(how: str, memory: Any) -> None:
    one = counting(memory=memory)
    wanted = [one.compute().to_json()]
    other = COPIES[how](one)
    other.update(TRUTH[:9], SCORES[:9])
    assert one.compute().to_json() == wanted[0]
    one.update(TRUTH[9:], SCORES[9:])
    for rows in (slice(0, 9), slice(9, None)):
        evaluator = counting()
        evaluator.update(TRUTH[rows], SCORES[rows])
        wanted.append(evaluator.compute().to_json())
    assert [other.compute().to_json(), one.compute().to_json()] == wanted[1:]
    assert json.loads(one.merge(as_other_rows(other)).compute().to_json())["n_rows"] == 3 * N_ROWS
    assert other.compute().to_json() == wanted[1]


@pytest.mark.parametrize("how", COPIES)
def test_notes_of_a_copy_are_its_own(how: str) -> None:
    one = counting()
    one.update(TRUTH, SCORES)
    one.add_notes([Note("m.run", "ignored rows", 3)])
    other = COPIES[how](one)
    other.add_notes([Note("m.run", "ignored rows", 4)])
    notes = [report.notes[0] for report in (one.compute(), other.compute())]
    assert notes == [f"m.run: {n} rows are not in the truth; they are ignored" for n in (3, 7)]


def test_reset_forgets_rows_and_keeps_settings() -> None:
    truth, scores = np.eye(4), np.eye(4)[::-1]
    ev = Evaluator(["p@1", "auc.micro", "f1.macro@2"], n_labels=4, per_row=True)
    ev.update(truth, scores)
    first = ev.compute().to_json()
    ev.reset()
    assert ev.n_rows == 0
    with pytest.raises(ValueError, match="nothing was counted yet"):
        ev.compute()
    ev.update(truth, scores)
    assert ev.compute().to_json() == first


def test_representation_names_measures_rows_and_labels() -> None:
    ev = Evaluator(["p@1", "lrap"], n_labels=4)
    ev.update(np.eye(4), np.eye(4))
    assert repr(ev) == "<Evaluator: p@1, lrap; 4 rows x 4 labels>"
    assert repr(Evaluator("p", n_labels=9, k=range(1, 8))).startswith(
        "<Evaluator: p@1, p@2, p@3, p@4, p@5 and 2 more;"
    )


@pytest.mark.parametrize("other", [{}, None, "state.npz", 3])
def test_only_evaluators_are_merged(other: Any) -> None:
    with pytest.raises(
        TypeError, match=f"^merge takes an Evaluator, not {type(other).__name__}; `load` reads"
    ):
        Evaluator("p", n_labels=4).merge(other)
