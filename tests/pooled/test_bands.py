"""Pairs counted in bands of scores: the same as by sorting, whatever the scores and the blocks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.pooled.problems import runs_of
from xmleval import Evaluator, evaluate
from xmleval.kernels.bands import CHUNK
from xmleval.pooled import cells
from xmleval.pooled.bands import Banded, Shared, choose_bands
from xmleval.pooled.piles import Pile
from xmleval.states import score_runs
from xmleval.states.score_runs import ScoreRuns

AUC = ["auc.micro"]
ODD = [0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 1e-38, 3.4e38, 0.5, np.nextafter(np.float32(0.5), 1), 1.0]


def some_scores(rng: np.random.Generator, n: int) -> Any:
    """Return float32 scores: of any size, odd ones, few different ones, or close together."""
    kinds = [
        rng.standard_normal(n) * 10.0 ** rng.integers(-30, 30, n),
        rng.choice(ODD, n),
        rng.integers(-3, 4, n) / 4,
        0.5 + rng.random(n) * 1e-4,
    ]
    which = rng.integers(0, len(kinds), n) if rng.random() < 0.5 else np.full(n, rng.integers(len(kinds)))
    return np.choose(which, kinds).astype(np.float32)


def counted(relevant: Any, irrelevant: Any) -> float:
    """Return the AUC by the definition, from exact counts."""
    ordered = np.sort(irrelevant)
    below: int = sum(np.searchsorted(ordered, relevant, "left").tolist())
    up_to: int = sum(np.searchsorted(ordered, relevant, "right").tolist())
    return (below + up_to) / (2 * int(relevant.size) * int(irrelevant.size))


@example(seed=0, n=CHUNK)
@example(seed=1, n=CHUNK + 6)
@given(seed=seeds, n=st.sampled_from([1, 2, 3, 5, 1000, 5001]))
def test_scores_are_brought_into_bands(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores, flags = some_scores(rng, n), rng.random(n) < rng.random()
    given_scores = scores.copy()
    found = Shared().part(flags, scores, n)
    assert found is not None
    assert scores.tobytes() == given_scores.tobytes()
    for part, want in zip(found, (scores[flags], scores[~flags]), strict=True):
        assert part.size == want.size
        keys = np.concatenate(part.keys())
        assert np.sort(keys).tolist() == np.sort(want).tolist()
        assert not (np.signbit(keys) & (keys == 0)).any()
        assert part.starts.shape == (-(-n // CHUNK), part.bands.first.size)
        bits = keys.view(np.int32).astype(np.int64)
        rank = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits) + (1 << 31)
        band = np.searchsorted(part.bands.first, rank, "right") - 1
        sizes = np.diff(part.starts, axis=1)
        assert band.tolist() == np.tile(np.arange(sizes.shape[1]), len(sizes)).repeat(sizes.ravel()).tolist()


def test_bands_hold_about_as_many_scores_each() -> None:
    scores = np.random.default_rng(0).random(300_000, np.float32)
    flags = np.zeros(scores.size, np.bool_)
    found = Shared().part(flags, scores, scores.size)
    assert found is not None
    sizes = np.diff(found[1].starts, axis=1).sum(axis=0)
    assert sizes.max() < 4 * scores.size / 128
    assert choose_bands(np.full(9, 0.25, np.float32)).first.tolist() == [0, 0xBE800000, 0xBE810000, 1 << 32]


@pytest.fixture
def bands_pay_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_runs, "SPREAD", 0)
    monkeypatch.setattr(score_runs, "SPREAD_IN_BLOCK", 0)


@pytest.mark.usefixtures("bands_pay_always")
@pytest.mark.parametrize("unlisted", ["below", 0.5, -0.0])
@pytest.mark.parametrize("seed", range(40))
def test_auc_does_not_depend_on_bands(seed: int, unlisted: Any) -> None:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 9))
    truth = (rng.random(shape) < rng.choice([0.1, 0.4])).astype(int)
    stored = rng.random(shape) < rng.choice([0.5, 1.0])
    sparse = sp.csr_array((some_scores(rng, int(stored.sum())), np.nonzero(stored)), shape=shape)
    settings: dict[str, Any] = {"metrics": AUC, "unlisted": unlisted}
    stream = Evaluator(n_labels=shape[1], **settings)
    stream.update(truth, sparse)
    for threads, rows in ((1, 7), (2, 5), (3, 1)):
        report = evaluate(truth, sparse, threads=threads, block_rows=rows, **settings)
        assert report.to_json() == stream.compute().to_json()


@pytest.mark.usefixtures("bands_pay_always")
@pytest.mark.parametrize("spread", [1e-5, 1e-3])
def test_dense_and_sparse_bands_count_the_same(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    labels = np.tile(np.arange(100, dtype=np.int32), (3000, 1))
    scores = (0.5 + rng.random(labels.shape) * spread).astype(np.float32)
    scores[rng.random(labels.shape) < 0.01] = 1e-30
    hits = rng.random(labels.shape) < 0.1
    truth = sp.csr_array(hits.astype(np.float32))
    want = counted(scores[hits], scores[~hits])
    used: list[str] = []
    for name in ("count_bands", "gather_band"):
        kernel = getattr(cells, name)

        def noting(*args: Any, name: str = name, kernel: Any = kernel) -> Any:
            used.append(name if name != "count_bands" or args[6].any() else "nothing")
            return kernel(*args)

        monkeypatch.setattr(cells, name, noting)
    for sparse_from in (cells.SPARSE, 0):
        monkeypatch.setattr(cells, "SPARSE", sparse_from)
        used.clear()
        found = evaluate(truth, (labels, scores), metrics=AUC, threads=2, block_rows=700)["auc.micro"]
        assert found == pytest.approx(want, rel=1e-15)
        assert ("count_bands" in used) == (sparse_from > 0)
        assert "gather_band" in used


@pytest.mark.usefixtures("bands_pay_always")
@pytest.mark.parametrize("memory", ["1GiB", "100kB"])
def test_more_scores_than_the_first_block_tells(memory: str) -> None:
    rng = np.random.default_rng(8)
    stored = rng.random((400, 300)) < np.linspace(0.01, 1, 400)[:, None]  # later rows have more
    sparse = sp.csr_array((some_scores(rng, int(stored.sum())), np.nonzero(stored)), shape=stored.shape)
    truth = (rng.random(stored.shape) < 0.2).astype(int)
    stream = Evaluator(AUC, n_labels=300)
    stream.update(truth, sparse)
    report = evaluate(truth, sparse, metrics=AUC, block_rows=20, threads=2, memory=memory)
    assert report.to_json() == stream.compute().to_json()


@pytest.mark.usefixtures("bands_pay_always")
@pytest.mark.parametrize(
    "later", [lambda rng, n: rng.random(n) * 0.05 + 0.56, lambda rng, n: rng.random(n) ** 60]
)
def test_memory_is_bounded_where_the_first_block_tells_nothing(
    later: Callable[[Any, int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    labels = np.tile(np.arange(100, dtype=np.int32), (4000, 1))
    scores = later(rng, labels.size).reshape(labels.shape).astype(np.float32)
    scores[:200] = np.where(labels[:200] % 2, 0.55, 0.62)
    hits = rng.random(labels.shape) < 0.05
    sizes: list[int] = []
    in_order = cells._sorted

    def noting(*args: Any) -> Any:
        found = in_order(*args)
        sizes.append(found.nbytes)
        return found

    count_bands, memory = getattr(cells, "count_bands"), 4 << 20  # noqa: B009

    def refusing_large_tables(*args: Any) -> None:
        first, dense = args[5:7]
        assert 4 * np.diff(first)[dense].max(initial=0) <= memory // 8
        count_bands(*args)

    monkeypatch.setattr(cells, "_sorted", noting)
    monkeypatch.setattr(cells, "count_bands", refusing_large_tables)
    settings: dict[str, Any] = {"metrics": AUC, "threads": 2, "block_rows": 200, "memory": memory}
    found = evaluate(sp.csr_array(hits.astype(np.float32)), (labels, scores), **settings)["auc.micro"]
    assert found == pytest.approx(counted(scores[hits], scores[~hits]), rel=1e-15)
    assert max(sizes) <= memory // 8 + 4 * 200 * 100  # and the scores of a block


def test_scores_leave_bands_without_a_copy() -> None:
    scores = np.random.default_rng(6).random(CHUNK + 10).astype(np.float32)
    found = Shared().part(scores > 0.5, scores, 2 * scores.size)
    assert found is not None
    pile = Pile()
    pile.add(found)
    pile.ungroup()
    assert pile.size == scores.size
    assert all(np.shares_memory(keys, found[0].scores) for keys in pile.held())


def last_runs(memory: str, *sizes: int) -> list[ScoreRuns]:
    """Return the scores of an evaluator whose compute is the last to read them, after updates of rows."""
    rng = np.random.default_rng(2)
    evaluator = Evaluator(AUC, n_labels=50, memory=memory, threads=1, block_rows=10)
    evaluator._counting.work = evaluator._counting.work._replace(last=True)
    found = []
    for rows in sizes:
        truth = (rng.random((rows, 50)) < 0.2).astype(int)
        evaluator.update(truth, some_scores(rng, truth.size).reshape(truth.shape))
        found.append(runs_of(evaluator))
    return found


def held_in_bands(runs: ScoreRuns) -> list[bool]:
    return [isinstance(part, Banded) for part in runs.piles["cells.irrelevant"].held()]


def test_bands_do_not_pay_for_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_runs, "SPREAD", 0)
    assert not any(held_in_bands(last_runs("1GiB", 900)[0]))
    monkeypatch.setattr(score_runs, "SPREAD_IN_BLOCK", 0)
    assert all(held_in_bands(last_runs("1GiB", 900)[0]))


@pytest.mark.usefixtures("bands_pay_always")
def test_what_is_spilled_is_not_held_as_well() -> None:
    runs = last_runs("50kB", 20, 400)[-1]
    assert runs.memory.shared is not None
    assert runs.piles["cells.irrelevant"].runs
    assert runs.memory.shared._room.size == 0


@pytest.mark.usefixtures("bands_pay_always")
def test_a_worker_spills_where_another_did() -> None:
    (runs,) = last_runs("1GiB", 100)
    assert runs.memory.shared is not None
    assert all(held_in_bands(runs))
    worker = runs.empty()
    worker.merge(runs)
    assert not worker.piles["cells.irrelevant"].runs
    runs.memory.shared.close()  # as the other does
    worker.merge(runs)
    assert not held_in_bands(worker)
    assert worker.piles["cells.irrelevant"].runs


@pytest.mark.usefixtures("bands_pay_always")
def test_nothing_relevant_or_nothing_else() -> None:
    scores = np.random.default_rng(1).random((9, 4)).astype(np.float32)
    for truth in (np.zeros((9, 4), int), np.ones((9, 4), int)):
        assert np.isnan(evaluate(truth, scores, metrics=AUC, block_rows=2)["auc.micro"])


def test_a_copy_begins_anew() -> None:
    shared = Shared()
    scores = np.ones(5, np.float32)
    assert shared.part(np.ones(5, np.bool_), scores, 5)
    assert shared.part(np.ones(5, np.bool_), scores, 5) is None  # no room is left
    other = pickle.loads(pickle.dumps(shared))
    assert other.part(np.ones(5, np.bool_), scores, 9)
    other.close()
    assert other.part(np.ones(2, np.bool_), scores[:2], 9) is None
