"""Evaluators in trouble: signals, failures half-way, several threads, copies, rows that wait."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_matrix

from tests.strategies import indicator
from xmleval import Evaluator, evaluate
from xmleval.states import label_table
from xmleval.states.state import State, States

RNG = np.random.default_rng(5)
N_ROWS = 60
TRUTH, SCORES = (RNG.random((N_ROWS, 9)) < 0.3).astype(int), RNG.random((N_ROWS, 9))
NAMES = [
    "p@1",
    "psp@3",
    "lrap",
    "f1.macro@3",
    "label_diversity",
    "margin.macro",
    "auc.micro",
    "auc.micro(bits=8)",
]
STATES = [
    "rank_profile", "row_sums", "label_totals", "score_runs", "key_counts", "label_extremes", "label_sets",
    "gaps",
]  # fmt: skip
INLINE, WORKERS = {"threads": 1}, {"threads": 2, "block_rows": 7}


def empty(**more: Any) -> Evaluator:
    return Evaluator(NAMES, n_labels=9, inverse_propensity=np.full(9, 2.0), **more)


def counting(**more: Any) -> Evaluator:
    evaluator = empty(**more)
    evaluator.update(TRUTH, SCORES)
    return evaluator


def states_of(evaluator: Evaluator) -> dict[str, State]:
    assert evaluator._counted.states is not None
    return evaluator._counted.states._states


def fail(*arguments: object) -> None:
    raise MemoryError


# ------------------------------------------------------------------------------------------------- signals


class Alarm:
    """A handler that raises what handlers of a signal raise, but only while some method runs.

    It does not in callbacks of weak references, where Python drops what is raised.
    """

    def __init__(self, number: int, method: Callable[..., Any]) -> None:
        self.number = number
        self.code = method.__code__
        self.raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not self.code:
            if frame.f_code.co_filename.endswith(("weakref.py", "_weakrefset.py")):
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


OTHER = counting()


def update(evaluator: Evaluator) -> None:
    evaluator.update(TRUTH, SCORES)


def update_few(evaluator: Evaluator) -> None:  # which wait
    evaluator.update(TRUTH[:3], SCORES[:3])


def merge(evaluator: Evaluator) -> None:
    evaluator.merge(OTHER)


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
    start = time.perf_counter()
    change(evaluator)
    duration = time.perf_counter() - start
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
            evaluator.merge(evaluator) if merging else evaluator.update(truth, y_pred=truth)
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


COPIES: dict[str, Callable[[Evaluator], Evaluator]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda evaluator: pickle.loads(pickle.dumps(evaluator)),
}


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
    assert json.loads(one.merge(other).compute().to_json())["n_rows"] == 3 * N_ROWS
    assert other.compute().to_json() == wanted[1]


@pytest.mark.parametrize("how", COPIES)
def test_what_a_copy_leaves_out_stays_with_the_others(how: str) -> None:
    one = empty()
    other = COPIES[how](one)
    other.leave_out(NAMES[1:])
    assert [spec.name for spec in other.asked] == NAMES[:1]
    assert [spec.name for spec in one.asked] == NAMES


# --------------------------------------------------------------------------------------- rows that wait


N_WIDE = 5000
WIDE = ["f1.macro@3", "f1.macro", "p@3"]
MATRICES = ("y_true", "y_score", "y_pred")


def some_rows(n_labels: int, weighted: bool, n_updates: int = 40) -> list[dict[str, Any]]:
    """Return updates of a few rows each."""
    rng = np.random.default_rng(11)

    def matrix(n_rows: int, scored: bool = False) -> Any:
        """In types that are taken as they are."""
        sets = [set(rng.permutation(n_labels)[: 4 + scored].tolist()) for _ in range(n_rows)]
        found = indicator(sets, n_labels)
        data = (rng.random(found.nnz) if scored else np.ones(found.nnz)).astype(np.float32)
        return sp.csr_array((data, *(x.astype(np.int32) for x in (found.indices, found.indptr))), found.shape)

    return [
        {
            "y_true": matrix(n_rows),
            "y_score": matrix(n_rows, scored=True),
            "y_pred": matrix(n_rows),
            "sample_weight": rng.random(n_rows) if weighted else None,
        }
        for n_rows in rng.integers(0, 4, n_updates).tolist()
    ]


def joined(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all rows of some updates."""
    found = {name: sp.vstack([update[name] for update in updates]) for name in MATRICES}
    weights = [update["sample_weight"] for update in updates]
    weight = None if weights[0] is None else np.concatenate(weights)
    return {**found, "sample_weight": weight}


def wide(**more: Any) -> Evaluator:
    return Evaluator(WIDE, n_labels=N_WIDE, **more)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_wait_are_counted_when_they_are_asked_for(weighted: bool, tmp_path: Path) -> None:
    updates = some_rows(N_WIDE, weighted)
    want = evaluate(**joined(updates), metrics=WIDE).to_json()
    plain, asked, saved, copied, merged = (wide() for _ in range(5))
    for number, rows in enumerate(updates):
        plain.update(**rows)
        assert asked.n_rows == plain.n_rows - rows["y_true"].shape[0]
        asked.update(**rows)
        if number % 5 == 2:
            assert json.loads(asked.compute().to_json())["n_rows"] == asked.n_rows
        saved.update(**rows)
        if number % 7 == 3:
            saved.save(tmp_path / "state.npz")
            saved = Evaluator.load(tmp_path / "state.npz")
        copied.update(**rows)
        if number % 3 == 1:
            copied = [*COPIES.values()][number % len(COPIES)](copied)
        other = wide()
        other.update(**rows)
        other.update(**rows)  # waits
        before = other.n_rows
        if number % 2:
            merged.merge(other)
        else:
            merged = other.merge(merged)
        assert other.n_rows == before or other is merged
    assert plain._counted.waiting
    assert plain.compute().to_json() == want
    assert not plain._counted.waiting
    assert [e.compute().to_json() for e in (asked, saved, copied)] == [want] * 3
    assert merged.compute().to_json() == evaluate(**joined(updates * 2), metrics=WIDE).to_json()


def test_rows_that_wait_are_refused_at_once() -> None:
    evaluator = wide()
    rows = some_rows(N_WIDE, weighted=True)
    for one in rows[:9]:
        evaluator.update(**one)
    before = evaluator._counted
    assert before.waiting
    wrong = joined(rows)
    wrong["sample_weight"][-1] = -1.0
    with pytest.raises(ValueError, match="sample_weight"):
        evaluator.update(**wrong)
    wrong = {**joined(rows[:5]), "sample_weight": None}
    with pytest.raises(ValueError, match="sample_weight: given earlier, but not now"):
        evaluator.update(**wrong)
    assert evaluator._counted is before


@pytest.mark.parametrize("keep_rows", [False, True])
@pytest.mark.parametrize(("n_labels", "weighted"), [(9, False), (9, True), (N_WIDE, False), (N_WIDE, True)])
def test_callers_may_write_over_what_they_gave(n_labels: int, weighted: bool, keep_rows: bool) -> None:
    updates = some_rows(n_labels, weighted, 12)
    settings: dict[str, Any] = {
        "n_labels": n_labels,
        "keep_rows": keep_rows,
        "conventions": {"unlisted": 0.0},
    }
    whole, evaluator = (Evaluator(["all", *WIDE], **settings) for _ in range(2))
    whole.update(**copy.deepcopy(joined(updates)))
    for rows in updates:
        evaluator.update(**rows)
        for name in MATRICES:
            rows[name].data[:], rows[name].indices[:], rows[name].indptr[:] = np.nan, 0, 0
        if weighted:
            rows["sample_weight"][:] = -1
    found, want = evaluator.compute(), whole.compute()
    assert found.to_json() == want.to_json()
    if keep_rows:
        np.testing.assert_equal(found.per_row(), want.per_row())


# ---------------------------------------------------------------------------------------- tampered files


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label_totals/top3/totals", lambda a: a[:, :3]),
        ("label_totals/top3/rows", lambda a: a[:, :1]),
        ("row_sums/totals", lambda a: a[:, :, :1]),
        ("row_sums/n_defined", lambda a: a.astype(float)),
        ("rank_profile/n_relevant", lambda a: a[::-1]),
        ("rank_profile/hits", lambda a: a[:-1]),
        ("rank_profile/gains", lambda a: a[..., :2]),
        ("label_sets/fingerprints", lambda a: a[:, :1]),
        ("label_extremes/ends", lambda a: a[:, :8]),
        ("key_counts/counts8", lambda a: a[:, :8]),
        ("gaps/n_short", lambda a: a[:1]),
        ("score_runs/n_true", lambda a: a.astype(float)),
    ],
)
def test_tampered_arrays_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    counting().save(path)
    with np.load(path) as arrays:
        held = dict(arrays)
    held[name] = change(held[name])
    np.savez(path, **held)
    with pytest.raises(ValueError, match=r"state\.npz: not a saved evaluator, or damaged"):
        Evaluator.load(path)


def test_perfect_gains_are_no_more_than_the_best() -> None:
    q = 1 + 9 * np.random.default_rng(4).random(6)
    truth = np.array([[1, 1, 1, 1, 1, 0]])
    for seed in range(20):
        scores = np.where(truth, np.random.default_rng(seed).random((1, 6)) + 1, 0)
        report = evaluate(truth, scores, metrics="ps", inverse_propensity=q)
        assert all(report[name] <= 1 for name in ("psp@5", "psr@5", "psdcg@5", "psndcg@5"))


@pytest.mark.parametrize("depth", [1, 3, 5, 8, 13, 18, 19, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_ranks_are_those_of_the_whole_ranking(depth: int, dtype: Any) -> None:
    rng = np.random.default_rng(depth)
    n_labels, n_relevant, n_scored = 200, rng.integers(0, 60, 80), rng.choice([0, 2, 17, 60, 99, 200], 80)

    def matrix(sizes: Any, values: Any) -> Any:
        ids = [np.sort(rng.permutation(n_labels)[:size]) for size in sizes]
        ptr = np.cumsum([0, *sizes])
        return csr_matrix((values(ptr[-1]), np.concatenate(ids), ptr), (len(sizes), n_labels))

    truth = matrix(n_relevant, lambda n: np.ones(n, int))
    levels = rng.choice([-np.inf, 0.0, 0.5, np.inf], 2000)
    scores = matrix(n_scored, lambda n: rng.choice([*rng.random(2000), *levels], n).astype(dtype))
    by_row = [f"{name}@{depth}" for name in ("p", "r", "ndcg", "map", "psp_raw", "mrr")] + ["one_error"]
    names = [*by_row, f"psp@{depth}", f"psndcg@{depth}"]
    q = 1 + 9 * rng.random(n_labels)
    found = [
        evaluate(truth, scores, metrics=[*names, *more], inverse_propensity=q, keep_rows=True)
        for more in ([], ["coverage"], ["f1.micro@2"])  # the best alone, all in no order, the best in order
    ]
    for other in found[1:]:
        assert [found[0][name] for name in names] == [other[name] for name in names]
        for name in by_row:
            np.testing.assert_array_equal(found[0].per_row()[name], other.per_row()[name])


def test_propensities_below_one_are_remarked_on() -> None:
    report = evaluate(TRUTH, SCORES, metrics="psp", inverse_propensity=np.full(9, 0.5))
    assert "values below 1" in str(report)
