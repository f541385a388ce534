"""Pooled scores that evaluators share, or that threads read: nobody changes what another one has."""

from __future__ import annotations

import copy
import os
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import as_other_rows
from tests.pooled.problems import runs_of
from xmleval import Evaluator, evaluate
from xmleval.pooled import columns, curves, piles, values
from xmleval.states import score_runs
from xmleval.states.state import States

METRICS = ["auc.micro", "ap.micro", "peak_f1.micro", "auc.macro", "ap.macro"]


@pytest.fixture(autouse=True, params=["sorted", "by value"])
def cut_early(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Cut piles into ranges, on two threads, however small they are; or count few scores by value, too."""
    monkeypatch.setattr(curves, "LARGE", 8)
    monkeypatch.setattr(score_runs, "SMALL", 8)
    monkeypatch.setattr(columns, "GROUPED_RANGE", 20_000)
    if request.param == "by value":
        monkeypatch.setattr(values, "MANY", 8)
        monkeypatch.setattr(values, "CHUNK", 50)


def make_one(seed: int, dtype: type = np.float32) -> Evaluator:
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(METRICS, n_labels=4, threads=2)
    truth = (rng.random((6_000, 4)) < 0.2).astype(int)
    evaluator.update(truth, rng.random((6_000, 4)).astype(dtype))
    return evaluator


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_merging_one_evaluator_twice_leaves_both_right(dtype: type) -> None:
    one, other = make_one(0, dtype), make_one(1, dtype)
    alone = other.compute().to_json()
    one.merge(other).merge(as_other_rows(other))
    twice = [one.compute().to_json() for _ in range(3)]
    fresh = make_one(0, dtype).merge(make_one(1, dtype)).merge(make_one(1, dtype))
    assert twice == [fresh.compute().to_json()] * 3
    assert other.compute().to_json() == alone


@pytest.mark.parametrize(("n_labels", "threads"), [(4, 1), (10_000, 2)])
def test_scores_of_labels_are_not_held_twice(n_labels: int, threads: int) -> None:
    rng = np.random.default_rng(0)
    n, shape = 600_000, (100_000, n_labels)
    places = rng.integers(0, shape[0], n), rng.integers(0, n_labels, n)
    scores = sp.csr_array((rng.random(n, np.float32), places), shape=shape)
    evaluator = Evaluator(["auc.macro"], n_labels=n_labels, threads=threads)
    evaluator.update(scores > 0.7, scores)
    evaluator.compute()
    tracemalloc.start()
    try:
        evaluator.compute()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < scores.data.nbytes / 2


def test_computing_is_reading() -> None:
    one, other = make_one(0), make_one(1)
    one.merge(other)
    wanted = [one.compute().to_json(), other.compute().to_json()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda e: e.compute().to_json(), [one, other] * 6))
    assert found == wanted * 6


def test_types_of_scores_may_alternate() -> None:
    rng = np.random.default_rng(2)
    truth, scores = (rng.random((400, 5)) < 0.3).astype(int), rng.random((400, 5)).astype(np.float32)
    evaluator = Evaluator(METRICS, n_labels=5)
    for row in range(400):
        evaluator.update(
            truth[row : row + 1], scores[row : row + 1].astype([np.float32, np.float64][row % 2])
        )
    assert all(len(pile.parts()) < 40 for pile in runs_of(evaluator).store.piles.values())
    assert dict(evaluator.compute()) == dict(evaluate(truth, scores.astype(np.float64), metrics=METRICS))


def test_a_refused_update_gives_its_room_on_disk_back() -> None:
    rng = np.random.default_rng(3)
    truth, scores = (rng.random((2000, 5)) < 0.3).astype(int), rng.random((2000, 5))
    evaluator = Evaluator(["auc.micro"], n_labels=5, memory=1000, block_rows=100, threads=2)
    evaluator.update(truth, scores)
    file = runs_of(evaluator).store.file
    assert file._file is not None
    before = os.fstat(file._file.number).st_size
    assert before
    scores[-1, -1] = np.nan
    for _ in range(3):
        with pytest.raises(ValueError, match="row 1999: score nan"):
            evaluator.update(truth, scores)
        assert os.fstat(file._file.number).st_size == before


def test_a_failed_update_leaves_what_a_copy_spilled_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    truth, scores = (rng.random((200, 5)) < 0.3).astype(int), rng.random((200, 5))
    one = Evaluator(["auc.micro"], n_labels=5, memory=1, threads=1, block_rows=50)
    one.update(truth, scores)
    other = copy.copy(one)
    merge = States.merge

    def fail(states: States, earlier: States) -> None:
        merge(states, earlier)
        monkeypatch.undo()
        other.update(truth, scores)  # as another thread may do
        raise MemoryError

    monkeypatch.setattr(States, "merge", fail)
    with pytest.raises(MemoryError):
        one.update(truth, scores)
    one.update(truth[:90], -scores[:90])
    whole = Evaluator(["auc.micro"], n_labels=5)
    whole.update(np.tile(truth, (2, 1)), np.tile(scores, (2, 1)))
    assert other.compute() == whole.compute()


@pytest.mark.parametrize("n_relevant", [0, 1, 3, 4])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_where_all_or_no_cells_are_relevant(n_relevant: int, threads: int) -> None:
    rng = np.random.default_rng(n_relevant)
    truth = (rng.random((900, 4)) < 0.3).astype(int)
    truth[300:600] = np.arange(4) < n_relevant
    scores = rng.integers(-2, 3, (900, 4)).astype(np.float32)
    found = evaluate(truth, scores, metrics=METRICS, threads=threads, block_rows=100)
    assert found == evaluate(truth, scores, metrics=METRICS, threads=1)
    one = Evaluator(METRICS, n_labels=4)
    for row in range(0, 900, 100):
        one.update(truth[row : row + 100], scores[row : row + 100])
    assert one.compute() == found
    assert one.compute() == found  # what was read can be read again


@pytest.mark.parametrize("n_labels", [4, 100])
def test_merging_with_itself_counts_all_rows_twice(n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piles, "SMALL", 8)  # larger arrays stay where they are
    rng = np.random.default_rng(1)
    truth = (rng.random((600, n_labels)) < 0.3).astype(int)
    scores = rng.integers(-2, 3, truth.shape).astype(np.float32)
    one = Evaluator(METRICS, n_labels=n_labels, threads=1, block_rows=140)
    one.update(truth, scores)
    one.merge(as_other_rows(one))
    one.update(truth, scores)
    whole = evaluate(np.tile(truth, (3, 1)), np.tile(scores, (3, 1)), metrics=METRICS)
    assert one.compute() == whole


def test_what_was_merged_back_is_not_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piles, "SMALL", 8)
    rng = np.random.default_rng(2)
    truth = (rng.random((400, 2)) < 0.4).astype(int)
    scores = rng.integers(-9, 9, truth.shape).astype(np.float32)
    parts = [(truth[lo:hi], scores[lo:hi]) for lo, hi in ((0, 300), (300, 310), (310, 320))]
    one, other = (Evaluator(METRICS, n_labels=2, threads=1, block_rows=100) for _ in range(2))
    one.update(*parts[0])
    other.merge(one)
    one.update(*parts[1])
    one.merge(as_other_rows(other))
    one.update(*parts[2])
    whole = Evaluator(METRICS, n_labels=2, threads=1)
    for number in (0, 1, 0, 2):
        whole.update(*parts[number])
    assert one.compute() == whole.compute()


def test_interrupted_computing_loses_no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    one = make_one(3)
    one.update(np.array([[1, 0, 0, 1]]), np.zeros((1, 4), np.float32))  # so few are not kept by label
    want = make_one(3)
    want.update(np.array([[1, 0, 0, 1]]), np.zeros((1, 4), np.float32))
    turns = iter([True, False])
    keys = piles.Grouped.keys

    def fail_once(part: piles.Grouped) -> Any:
        if not next(turns, True):
            raise MemoryError
        return keys(part)

    with monkeypatch.context() as patch:
        patch.setattr(piles.Grouped, "keys", fail_once)
        with pytest.raises(MemoryError):
            one.compute()
    assert one.compute() == want.compute()


def test_spilled_blocks_without_relevant_labels_can_be_copied() -> None:
    one = Evaluator(["auc.macro"], n_labels=4, memory=64)
    one.update(np.zeros((40, 4), int), np.random.default_rng(0).random((40, 4)).astype(np.float32))
    one.update(np.eye(4, dtype=int), np.eye(4, dtype=np.float32))
    assert pickle.loads(pickle.dumps(one)).compute() == one.compute()


def test_one_tie_group_of_millions() -> None:
    truth = np.zeros((3000, 1000), np.int8)
    truth[:, :300] = 1  # so many pairs that whoever looks at each does not come to an end
    assert evaluate(truth, np.zeros(truth.shape, np.float32), metrics=["auc.micro"])["auc.micro"] == 0.5
