"""An update or a merge counts all rows or none, with interrupts and from several threads."""

import copy
import itertools
import pickle
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import (
    METRICS,
    N_ROWS,
    RESOURCES,
    SCORES,
    STATES,
    TRUTH,
    bytes_of,
    counting,
    empty,
)
from tests.limits import small_limits
from xmleval import Evaluator, Running, evaluate
from xmleval.states import label_table
from xmleval.states.state import state_class


class Alarm:
    """A signal handler that raises an error, but only while a method runs.

    It raises nothing in callbacks of weak references and of the garbage collector (Hypothesis has
    one) or in finalizers of objects of other tests, where Python drops errors, nor where coverage
    traces, which would keep its lock for ever.
    """

    def __init__(self, error: type[BaseException], method: Callable[..., Any]) -> None:
        self.error = error
        self.code = method.__code__
        self.has_raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not self.code:
            path = Path(frame.f_code.co_filename)
            if path.name in ("weakref.py", "_weakrefset.py"):
                return
            if frame.f_code.co_name == "__del__":
                return
            if {"coverage", "hypothesis"} & {*path.parts}:
                return
            frame = frame.f_back
        if frame is not None:
            self.has_raised = True
            raise self.error

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        before = signal.signal(signal.SIGALRM, self)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@cache
def other() -> Evaluator:
    return counting()


OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[[Evaluator], Any]]] = {
    "update": (Evaluator.update, lambda evaluator: evaluator.update(TRUTH, SCORES)),
    "small update": (
        Evaluator.update,
        lambda evaluator: evaluator.update(TRUTH[:3], SCORES[:3]),
    ),  # waits
    "merge": (Evaluator.merge, lambda evaluator: evaluator.merge(other())),
}


@pytest.mark.slow
@pytest.mark.parametrize("resources", RESOURCES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_interrupted_operation_counts_nothing(error: Any, operation: str, resources: str) -> None:
    original = counting(**RESOURCES[resources])
    method, change = OPERATIONS[operation]
    durations = []
    for _ in range(3):  # the first may compile
        evaluator = copy.copy(original)
        start = time.perf_counter()
        change(evaluator)
        durations.append(time.perf_counter() - start)
    expected = [bytes_of(evaluator), bytes_of(original)]
    moments = random.Random(resources)
    n_raised = 0
    for _ in range(1000):
        evaluator = copy.copy(original)
        alarm = Alarm(error, method)
        has_raised = False
        try:
            with alarm.after(moments.uniform(1e-6, min(durations))):
                change(evaluator)
        except error:
            has_raised = True
        assert has_raised == alarm.has_raised
        assert bytes_of(evaluator) == expected[has_raised]
        n_raised += has_raised
        if n_raised == 8:
            break
    assert n_raised == 8
    reader = threading.Thread(target=evaluator.compute, daemon=True)  # nobody holds the lock
    reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert bytes_of(original) == expected[1]


@pytest.mark.parametrize("place", [*STATES, "_added"])
def test_operation_that_fails_half_way_counts_nothing(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a state, or in a function that joins tables of frequent labels."""
    evaluators = [counting(**RESOURCES[name]) for name in ("inline", "workers")]
    new = empty()
    before = bytes_of(other())
    methods: tuple[str, ...] = (place,)
    holder: Any = label_table
    if place in STATES:
        methods = ("update", "merge")
        holder = state_class(place)
    for method, error in itertools.product(methods, (MemoryError, KeyboardInterrupt)):

        def fail(*arguments: Any, whole: Any = holder.__dict__[method], error: Any = error) -> None:
            whole(*arguments)
            raise error

        with small_limits(), monkeypatch.context() as patch:
            patch.setattr(holder, method, fail)
            for evaluator in evaluators:
                with pytest.raises(error):
                    evaluator.update(TRUTH, SCORES)
                if method != "update":
                    with pytest.raises(error):
                        evaluator.merge(other())
            if method == "merge":
                with pytest.raises(error):
                    new.merge(other())
    assert [bytes_of(evaluator) for evaluator in evaluators] == [before] * 2
    assert (evaluators[0].n_rows, new.n_rows) == (N_ROWS, 0)
    new.update(TRUTH, SCORES)
    rows = (np.tile(array, (2, 1)) for array in (TRUTH, SCORES))
    twice = evaluate(*rows, metrics=METRICS, inverse_propensity=np.full(9, 2.0))
    for evaluator in (*evaluators, new):
        assert bytes_of(evaluator.merge(counting())) == twice.to_json()


def test_threads_count_in_one_evaluator() -> None:
    evaluator = empty(threads=1)
    n = 12
    start = threading.Barrier(4)

    def count(place: int) -> None:
        start.wait(60)
        for number in range(place, n, 4):
            rows = slice(number % 5, None)
            if number % 3:
                evaluator.update(TRUTH[rows], SCORES[rows])
            else:
                evaluator.merge(counting(rows, threads=1))
            evaluator.compute()

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(count, range(4))]
    expected = empty()
    for number in range(n):
        expected.update(TRUTH[number % 5 :], SCORES[number % 5 :])
    assert bytes_of(evaluator) == bytes_of(expected)


def test_evaluator_shows_measures_rows_and_labels_and_merges_only_evaluators() -> None:
    evaluator = Evaluator("p", n_labels=9, k=range(1, 8))
    assert repr(evaluator) == "<Evaluator: p@1, p@2, p@3, p@4, p@5 and 2 more; 0 rows x 9 labels>"
    path: Any = "state.npz"
    with pytest.raises(TypeError, match=r"^merge takes an Evaluator, not str; `load` reads"):
        evaluator.merge(path)
    evaluator.update(np.eye(9), np.eye(9))
    evaluator.reset()
    assert evaluator.n_rows == 0
    with pytest.raises(ValueError, match="nothing is counted yet"):
        evaluator.compute()


LISTED: dict[str, list[Any]] = {
    "lists": [[2, 0], [1], [0, 1]],
    "lists with scores": [[(2, 0.5), (0, 0.25)], [(1, 0.5)], [(0, 0.75), (1, 0.5)]],
}


@pytest.mark.parametrize("n_empty", [1, 2])
@pytest.mark.parametrize("form", LISTED)
def test_empty_lists_may_precede_lists_with_or_without_scores(
    form: str, n_empty: int, tmp_path: Path
) -> None:
    rows: list[Any] = [[]] * n_empty + LISTED[form]
    truth = [[0]] * n_empty + [[0], [1, 2], [2]]
    metrics = ["p@1", "r@2"]
    if form == "lists with scores":
        metrics.append("brier@2")
    expected = evaluate(truth, rows, metrics=metrics, n_labels=3)

    def counted(first: int, last: int) -> Evaluator:
        evaluator = Evaluator(metrics, n_labels=3)
        for place in range(first, last):
            evaluator.update(truth[place : place + 1], rows[place : place + 1], first_row=place)
        return evaluator

    whole = counted(0, len(rows))
    early = counted(0, n_empty)
    late = counted(n_empty, len(rows))
    assert whole.compute() == expected
    for first, second in ((early, late), (late, early)):
        merged = Evaluator(metrics, n_labels=3)
        merged.merge(first)
        merged.merge(second)
        assert merged.compute() == expected
    early.save(tmp_path / "early.npz")
    late.save(tmp_path / "late.npz")
    loaded_early = Evaluator.load(tmp_path / "early.npz")
    loaded_late = Evaluator.load(tmp_path / "late.npz")
    for evaluator in (early, loaded_early, pickle.loads(pickle.dumps(early))):
        evaluator.merge(loaded_late)
        assert evaluator.compute() == expected


@pytest.mark.parametrize("saved", [False, True])
def test_rows_that_list_nothing_merge_as_those_with_scores(saved: bool, tmp_path: Path) -> None:
    """A measure that reads the order alone counts both kinds alike; notes tell them apart."""
    truth = [[0], [1], [0, 1], [2]]
    lists: list[Any] = [[], [], [(0, 1.0)], []]
    options: dict[str, Any] = {"metrics": ["ndcg@3"], "n_labels": 3, "higher_is_better": False}
    expected = evaluate(truth, lists, **options).to_dict()
    for order in itertools.permutations([(0, 0), (0, 3), (3, 4)]):
        shards = []
        for start, stop in order:
            shard = Evaluator(**options)
            shard.update(truth[start:stop], lists[start:stop])
            if saved:
                shard.save(tmp_path / "shard")
                shard = Evaluator.load(tmp_path / "shard")
            shards.append(shard)
        first, *others = shards
        for other in others:
            first.merge(other)
        assert first.compute().to_dict() == expected


EYE = np.eye(3)


def counted_with(scores: Any = EYE, rows: Any = None, **options: Any) -> Evaluator:
    """Return an evaluator that has counted three rows, with further arguments of the rows."""
    usual: dict[str, Any] = {"metrics": "p@1", "n_labels": 3}
    evaluator = Evaluator(**usual | options)
    evaluator.update(EYE, scores, **(rows or {}))
    return evaluator


UNLISTED: dict[str, Any] = {"metrics": "lrap", "conventions": "unlisted=0.5"}
PSP: dict[str, Any] = {"metrics": "psp@1"}


@pytest.mark.parametrize(
    ("here", "there", "message"),
    [
        ({}, {"metrics": "p@2"}, "metrics differs: p@1 here, p@2 there"),
        (
            {"conventions": "ties=expected"},
            {},
            "ties differs: expected here, order there",
        ),
        (
            {},
            {"higher_is_better": False},
            "higher_is_better differs: True here, False there",
        ),
        (
            PSP | {"inverse_propensity": [1, 2, 3]},
            PSP | {"inverse_propensity": [1, 2, 4]},
            "propensity differs",
        ),
        (
            UNLISTED,
            UNLISTED | {"scores": EYE.astype(np.float32)},
            "scores are float64 here, float32 there",
        ),
        (
            {},
            {"rows": {"sample_weight": [1, 2, 1]}},
            "input differs: ['y_score'] here, ['sample_weight', 'y_score'] there",
        ),
        (
            {"rows": {"row_groups": [*"aba"]}},
            {},
            "input differs: ['row_groups', 'y_score'] here, ['y_score'] there",
        ),
    ],
)
def test_merge_refuses_other_settings_and_inputs(
    here: dict[str, Any], there: dict[str, Any], message: str
) -> None:
    evaluator = counted_with(**here)
    other = counted_with(**there)
    before = [bytes_of(evaluator), bytes_of(other)]
    with pytest.raises(ValueError, match=f"^merge: {re.escape(message)}$"):
        evaluator.merge(other)
    assert [bytes_of(evaluator), bytes_of(other)] == before
    evaluator.merge(counted_with(**here))  # which counts other rows
    assert evaluator.n_rows == 6


def test_merge_refuses_the_evaluator_itself() -> None:
    evaluator = counted_with()
    with pytest.raises(ValueError, match=r"^merge: 3 rows of both are counted already; count each"):
        evaluator.merge(evaluator)
    assert evaluator.n_rows == 3


def test_rows_of_files_and_of_updates_keep_their_values_in_order(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(EYE))
    sp.save_npz(tmp_path / "S.npz", sp.csr_array(EYE[[0, 2, 2]]))
    options: dict[str, Any] = {"metrics": "p@1", "per_row": True}
    paths = tmp_path / "Y.npz", tmp_path / "S.npz"
    evaluate(*paths, **options, running=Running(save=tmp_path / "state.npz"))
    in_memory = counted_with(EYE[[1, 0, 2]], **options)
    updated = Evaluator.load(tmp_path / "state.npz")
    updated.update(EYE, EYE[[1, 0, 2]])
    merged = Evaluator.load(tmp_path / "state.npz").merge(in_memory)
    for evaluator in (updated, merged):
        assert evaluator.compute().per_row()["p@1"].tolist() == [1, 0, 1, 0, 0, 1]
    message = "^merge: rows are kept by index here, but by file there$"
    with pytest.raises(ValueError, match=message):
        in_memory.merge(Evaluator.load(tmp_path / "state.npz"))


@pytest.mark.parametrize("unlisted", [0.1, 0.5])
def test_rows_that_list_nothing_take_the_type_of_earlier_scores(unlisted: float) -> None:
    """In float32, the score 0.1 of unlisted labels is that of a listed one."""
    options: dict[str, Any] = {
        "metrics": ["auc.micro", "lrap"],
        "conventions": {"unlisted": unlisted},
        "n_labels": 3,
    }
    listed = sp.csr_array(np.array([[unlisted, 0, 0.75], [0, 1, 0], [0, 0, unlisted]], np.float32))
    nothing = sp.csr_array((3, 3), dtype=np.float32)
    expected = evaluate(np.vstack([EYE, EYE]), sp.vstack([listed, nothing]), **options)
    evaluator = Evaluator(**options)
    evaluator.update(EYE, listed)
    evaluator.update(EYE, nothing.astype(np.float64))
    assert dict(evaluator.compute()) == dict(expected)
    with pytest.raises(ValueError, match=r"^y_score: scores are float64, unlike earlier scores; "):
        evaluator.update(EYE, listed.astype(np.float64))
    assert evaluator.n_rows == 6
