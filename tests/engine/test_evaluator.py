"""Evaluators in trouble: interrupts, failures half-way, saved files that were tampered with."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from xmleval import Evaluator, evaluate
from xmleval.states.rank_profile import RankProfile
from xmleval.threads import deferring_interrupts

RNG = np.random.default_rng(5)
TRUTH, SCORES = (RNG.random((30, 9)) < 0.3).astype(int), RNG.random((30, 9))
NAMES = ["p@1", "psp@3", "lrap", "f1.macro@3", "label_diversity"]


def counting(**more: Any) -> Evaluator:
    evaluator = Evaluator(NAMES, n_labels=9, inverse_propensity=np.full(9, 2.0), **more)
    evaluator.update(TRUTH, SCORES)
    return evaluator


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler: processes that a shell starts in the background ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupts_wait_for_what_must_not_be_cut() -> None:
    done = []

    def commit() -> None:
        with deferring_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        commit()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("block_rows", [7, 100])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_failing_half_way_counts_nothing(
    block_rows: int, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator, other = counting(block_rows=block_rows), counting()
    before = evaluator.compute().to_json()

    def fail(*arguments: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(RankProfile, "_take", fail)
        with pytest.raises(error):
            evaluator.update(TRUTH, SCORES)
        with pytest.raises(error):
            evaluator.merge(other)
        fresh = Evaluator(NAMES, n_labels=9, inverse_propensity=np.full(9, 2.0))
        with pytest.raises(error):
            fresh.merge(other)
    assert evaluator.compute().to_json() == before
    with pytest.raises(ValueError, match="nothing was counted yet"):
        fresh.compute()
    assert json.loads(evaluator.merge(other).compute().to_json())["n_rows"] == 60


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("totals-top3/totals", lambda a: a[:, :3]),
        ("totals-top3/rows", lambda a: a[:, :1]),
        ("rows/totals", lambda a: a[:, :, :1]),
        ("rows/n_defined", lambda a: a.astype(float)),
        ("profile/n_relevant", lambda a: a[::-1]),
        ("profile/hits", lambda a: a[:-1]),
        ("profile/gains", lambda a: a[..., :2]),
        ("sets/fingerprints", lambda a: a[:, :1]),
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
    names = [f"{name}@{depth}" for name in ("p", "r", "ndcg", "map", "psp", "psndcg", "mrr")] + ["one_error"]
    q = 1 + 9 * rng.random(n_labels)
    found = [
        evaluate(truth, scores, metrics=[*names, *more], inverse_propensity=q, keep_rows=True)
        for more in ([], ["coverage"], ["f1.micro@2"])  # the best alone, all in no order, the best in order
    ]
    for other in found[1:]:
        assert [found[0][name] for name in names] == [other[name] for name in names]
        assert found[0].rows
        assert other.rows
        for name in names:
            np.testing.assert_array_equal(found[0].rows[name], other.rows[name])


def test_propensities_below_one_are_remarked_on() -> None:
    report = evaluate(TRUTH, SCORES, metrics="psp", inverse_propensity=np.full(9, 0.5))
    assert "some below 1" in str(report)
