"""Scores counted by value: the same curves as by sorting, whatever the scores and how they come."""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.pooled.problems import runs_of
from xmleval import Evaluator, evaluate
from xmleval.kernels.packing import FEW, check_packed
from xmleval.pooled import store as pooled
from xmleval.pooled import values as counted
from xmleval.pooled.curves import Found, Last, Unlisted, sweep_piles
from xmleval.pooled.piles import Pile
from xmleval.pooled.spill import SpillFile
from xmleval.pooled.store import Store
from xmleval.pooled.value_curves import sweep_values
from xmleval.pooled.values import Packed, Values, as_buckets, distinct, order
from xmleval.records import Chunks, Scores
from xmleval.states.contents import Contents
from xmleval.states.saved_keys import checked_counts
from xmleval.states.score_runs import _parted
from xmleval.threads import Work

METRICS = ["auc.micro", "ap.micro", "peak_f1.micro"]
TINY = float(np.finfo(np.float32).smallest_subnormal)
SPECIAL = [0.0, -0.0, TINY, -TINY, 2 * TINY, 1.0, 1 + 2**-23, -1.0, np.inf, -np.inf, 3e38, -3e38, 2.0**-126]
ONE, TWO = Work(1 << 20, 1), Work(1 << 20, 2)


def scores_of(kind: str, n: int, rng: np.random.Generator) -> Scores:
    """Draw scores: of few values, of one bucket, of all finite numbers, or of special ones."""
    if kind == "few":
        return rng.integers(-3, 4, n).astype(np.float32)
    if kind == "one bucket":
        return (1 + rng.integers(0, 1 << 16, n) * 2.0**-23).astype(np.float32)
    if kind == "any":
        scores = rng.integers(0, 1 << 32, n, np.uint64).astype(np.uint32).view(np.float32)
        return np.where(np.isnan(scores), np.float32(0), scores)
    return rng.choice(np.array(SPECIAL, np.float32), n)


KINDS = ["few", "one bucket", "any", "special"]


def made(scores: Scores, rng: np.random.Generator, work: Work = ONE) -> Values:
    """Return scores in several forms, in random parts."""
    values = Values()
    for part in np.split(scores, np.sort(rng.integers(0, scores.size + 1, 3))):
        own = Values()
        match rng.integers(3):
            case 0:
                own.few = [part + np.float32(0)] if part.size else []
            case 1:
                own.ordered = order(part)
            case _:
                own.ordered = order(part)
                own.pack(work)
        values.merge(own)
    return values


def pile_of(*scores: Scores) -> Pile:
    pile = Pile()
    pile.add([array + np.float32(0) for array in scores])
    return pile


def as_told(found: Found) -> list[Any]:
    return [found.pairs, found.precision.tolist(), *map(str, found.peak), found.open_pairs]


@pytest.mark.parametrize("kind", KINDS)
@given(
    level=st.sampled_from([None, 0.0, 1.0, math.inf, 0.3]),
    seed=seeds,
    n_good=st.integers(0, 40),
    n_bad=st.integers(0, 90),
    threads=st.integers(1, 3),
)
def test_curves_are_those_of_sorted_scores(
    kind: str, level: float | None, seed: int, n_good: int, n_bad: int, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    good, bad, more = (scores_of(kind, n, rng) for n in (n_good, n_bad, 5))
    level = None if level is None else float(np.float32(level))
    unlisted = Unlisted(int(rng.integers(1 << 40)), int(rng.integers(1 << 40)), level)
    last = Last(np.sort(scores_of(kind, 7, rng)), np.arange(0, 80, 10))
    strides = np.array([3, 5])
    work = Work(1 << 20, threads)
    found = sweep_values([made(good, rng)], made(bad, rng), unlisted, work, strides=strides, last=last)
    wanted = sweep_piles([pile_of(good)], pile_of(bad), unlisted, ONE, strides=strides, last=last)
    assert as_told(found) == as_told(wanted)
    assert found.points.tolist() == wanted.points.tolist()
    alone = sweep_values([made(good, rng)], made(bad, rng), unlisted, work, pairs_alone=True)
    assert alone.pairs == wanted.pairs
    found = sweep_values([made(good, rng), made(more, rng)], made(bad, rng), unlisted, work)
    assert as_told(found) == as_told(sweep_piles([pile_of(good, more)], pile_of(bad), unlisted, ONE))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_good", [50, 3 * FEW])
@pytest.mark.parametrize("level", [None, 1.0])
def test_buckets_with_many_scores(kind: str, n_good: int, level: float | None) -> None:
    rng = np.random.default_rng(3)
    good, bad = scores_of(kind, n_good, rng), scores_of(kind, 200_000, rng)
    unlisted, strides = Unlisted(5, 1 << 50, level), np.array([100, 3000])
    found = sweep_values([made(good, rng)], made(bad, rng, TWO), unlisted, TWO, strides=strides)
    wanted = sweep_piles([pile_of(good)], pile_of(bad), unlisted, ONE, strides=strides)
    assert as_told(found) == as_told(wanted)
    assert found.points.tolist() == wanted.points.tolist()
    alone = sweep_values([made(good, rng)], made(bad, rng, TWO), unlisted, TWO, pairs_alone=True)
    assert alone.pairs == wanted.pairs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 1000, 100_000])
def test_all_forms_hold_the_same_scores(kind: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "CHUNK", 300)
    monkeypatch.setattr(counted, "EXPORTED", 700)
    rng = np.random.default_rng(n)
    scores = scores_of(kind, n, rng)
    values = made(scores, rng)
    wanted, counts = np.unique(scores + np.float32(0), return_counts=True)
    for _ in range(2):
        runs = [*distinct(as_buckets([values]))]
        assert np.array_equal(np.concatenate([part for part, _ in runs]), wanted)
        assert np.concatenate([part for _, part in runs]).tolist() == counts.tolist()
        chunks = [*values.chunks()]
        assert np.array_equal(np.concatenate([np.empty(0), *chunks]), np.sort(scores))
        assert max(map(len, chunks), default=0) <= 700
        assert values.size == n
        values.pack(TWO)
        sizes = [check_packed(part.first, part.starts, part.places) for part in values.packed]
        assert sizes == [part.size for part in values.packed]


def doubled(scores: Sequence[float], times: int) -> Values:
    """Return scores that each occur 2^times times."""
    values = Values()
    values.ordered = order(np.array(scores, np.float32))
    for _ in range(times):
        values.merge(values)
        values.pack(ONE)
    return values


@pytest.mark.parametrize("times", [7, 8, 15, 16, 31, 32, 33, 40])
def test_scores_that_occur_thousands_of_millions_of_times(times: int) -> None:
    good, bad = doubled([0.5, 0.75, 0.5], times), doubled([0.5, 0.25, 0.25, 0.75], times)
    relevant, irrelevant = (np.array(x, np.float32) for x in ([0.5, 0.75, 0.5], [0.5, 0.25, 0.25, 0.75]))
    few = sweep_piles([pile_of(relevant)], pile_of(irrelevant), Unlisted(0, 0, None), ONE)
    found = sweep_values([good], bad, Unlisted(0, 0, None), TWO)
    assert found.pairs == tuple(n << 2 * times for n in few.pairs)
    assert found.peak.tolist() == few.peak.tolist()
    assert sweep_values([good], bad, Unlisted(0, 0, None), ONE, pairs_alone=True).pairs == found.pairs
    assert good.size == 3 << times
    assert good.n_bytes < 100_000


@pytest.mark.parametrize("bits", [0, 1])
def test_damaged_counts_are_refused_or_counted(bits: int) -> None:
    rng = np.random.default_rng(bits)
    values = Values()
    values.ordered = order(scores_of("any" if bits else "one bucket", 9000, rng))
    values.pack(ONE)
    n_refused = 0
    for part in values.packed:
        for _ in range(300):
            data, starts = part.places.copy(), part.starts.copy()
            array = data if rng.random() < 0.8 else starts
            array[rng.integers(array.size)] ^= np.int64(1) << rng.integers(0, 63)
            rises = starts[0] == 0 and (starts[1:] >= starts[:-1]).all() and not (starts % 8).any()
            if not rises or starts[-1] != data.nbytes:
                continue
            size = check_packed(part.first, starts, data)
            n_refused += size < 0
            if size >= 0:
                whole = Values([Packed(part.first, starts, data, size)])
                assert sum(int(counts.sum()) for _, counts in distinct(as_buckets([whole]))) == size
    assert n_refused


@pytest.mark.parametrize("most", [0, 5_000, 40_000, 4_000_000])
def test_memory_is_bounded(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "CHUNK", 1000)
    monkeypatch.setattr(pooled, "LEAST_PACKED", 20_000)
    rng = np.random.default_rng(5)
    store = Store(["good", "bad"], [], SpillFile())
    good, bad = scores_of("few", 20_000, rng), scores_of("any", 20_000, rng)
    for start in range(0, 20_000, 500):
        found: dict[str, Any] = {}
        for name, scores in (("good", good), ("bad", bad)):
            found[name] = Values()
            found[name].add(scores[start : start + 500])
        store.add(found, most, ONE)
        assert store.n_bytes <= most
    assert store.by_value(["good", "bad"]) == (most == 4_000_000)
    piles = [store.as_pile(name) for name in ("good", "bad")]
    unlisted = Unlisted(0, 0, None)
    assert as_told(sweep_piles(piles[:1], piles[1], unlisted, ONE)) == as_told(
        sweep_piles([pile_of(good)], pile_of(bad), unlisted, ONE)
    )


def test_few_counts_of_more_scores_than_the_disk_holds_are_refused_at_once() -> None:
    store = Store(["good"], [], SpillFile())
    many = doubled([0.5], 58)
    store.add({"good": many}, many.n_bytes, ONE)
    with pytest.raises(OSError, match="No space left"):
        store.as_pile("good")
    with pytest.raises(OSError, match="No space left"):
        store.add({"good": doubled([0.25], 10)}, 1, ONE)


def test_saved_counts_are_not_more_than_can_be_told() -> None:
    bucket = np.array([(1 << 8) + 3, 1 << 61, 0, 1 << 61])  # one place, 2^61 times

    def pieces(words: Any, starts: Any) -> list[Packed]:
        parts = {"first.a": np.array([40_000]), "starts.a": np.array(starts), "a.places": words}
        return [*checked_counts("a", Contents(parts, 1))]

    assert [part.size for part in pieces(bucket, [0, 32])] == [1 << 61]
    assert pieces(np.empty(0, np.int64), [0, 0, 0]) == []
    with pytest.raises(ValueError, match="out of range"):  # their number passes 64 bits
        pieces(Chunks(np.dtype(np.int64), 32, lambda: iter([bucket] * 8)), np.arange(9) * 32)


def test_computing_gives_back_the_disk_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "CHUNK", 100)
    mixed = Evaluator(METRICS, n_labels=5, threads=1)
    truth = np.eye(5, dtype=int)[np.arange(200) % 5]
    mixed.update(truth, np.linspace(0, 1, 1000, dtype=np.float32).reshape(200, 5))
    mixed.update(truth, np.linspace(0, 1, 1000).reshape(200, 5))
    assert len({as_bits(mixed.compute())[0] for _ in range(5)}) == 1
    assert runs_of(mixed).store.file._end == 0


def as_bits(found: Any) -> list[str]:
    return [float(found[name]).hex() for name in METRICS]


@pytest.mark.parametrize("memory", ["1GiB", "3MB", "100kB"])
@pytest.mark.parametrize("threads", [1, 2])
def test_all_ways_to_count_give_the_same_bits(
    memory: str, threads: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    truth = (rng.random((3000, 40)) < 0.1).astype(int)
    scores = rng.normal(size=truth.shape).astype(np.float32).round(3)
    wanted = as_bits(evaluate(truth, scores.astype(np.float64), metrics=METRICS))
    monkeypatch.setattr(counted, "MANY", 1000)  # irrelevant scores of a block, not relevant ones
    monkeypatch.setattr(pooled, "LEAST_PACKED", 20_000)
    monkeypatch.setattr(counted, "CHUNK", 4000)
    more: dict[str, Any] = {"memory": memory, "threads": threads, "block_rows": 100}
    assert as_bits(evaluate(truth, scores, metrics=METRICS, **more)) == wanted
    evaluator = Evaluator(METRICS, n_labels=40, **more)
    for start in range(0, 3000, 700):
        evaluator.update(truth[start : start + 700], scores[start : start + 700])
        evaluator.save(tmp_path / "state.npz")
        evaluator = Evaluator.load(tmp_path / "state.npz", memory=memory)
    assert as_bits(evaluator.compute()) == wanted
    assert runs_of(evaluator).store.by_value(["cells.irrelevant"]) == (memory != "100kB")
    mixed = Evaluator(METRICS, n_labels=40, **more)
    mixed.update(truth[:1500], scores[:1500])
    mixed.update(truth[1500:], scores[1500:].astype(np.float64))
    assert as_bits(mixed.compute()) == wanted


def test_a_state_holds_each_value_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(counted, "CHUNK", 2000)
    rng = np.random.default_rng(7)
    evaluator = Evaluator(METRICS, n_labels=50, threads=1)
    sizes = []
    for _ in range(4):
        truth = (rng.random((4000, 50)) < 0.1).astype(int)
        evaluator.update(truth, rng.integers(0, 1000, truth.shape).astype(np.float32))
        evaluator.save(tmp_path / "state.npz")
        sizes.append((tmp_path / "state.npz").stat().st_size)
    assert max(sizes) < 1.2 * sizes[0]
    assert Evaluator.load(tmp_path / "state.npz").compute() == evaluator.compute()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parted_scores_keep_their_bits_except_minus_zero(dtype: type) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    scores: Scores = np.array([0.0, -0.0, tiny, -tiny, 1.0, -1.0, np.inf, -np.inf] * 2, dtype)
    flags = np.arange(scores.size) % 3 == 0
    wanted = np.where(scores == 0, dtype(0), scores)
    for found, own in zip(_parted(flags, scores), (wanted[flags], wanted[~flags]), strict=True):
        assert found.tobytes() == own.tobytes()


def test_long_arrays_are_ordered_as_they_come_and_short_ones_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counted, "MANY", 10)
    monkeypatch.setattr(counted, "CHUNK", 25)
    values = Values()
    values.add(np.arange(10, dtype=np.float32))
    assert [part.size for part in values.ordered] == [10]
    for _ in range(2):
        values.add(np.arange(9, dtype=np.float32))
    assert len(values.ordered) == 1
    values.add(np.arange(9, dtype=np.float32))
    assert [part.size for part in values.ordered] == [10, 25, 2]
    assert values.size == 37
    assert not values.few


def test_a_signal_handler_may_order_scores() -> None:
    rng = np.random.default_rng(0)
    mine, other = (rng.random(n).astype(np.float32) for n in (70_000, 90_000))
    alone = order(mine)[0]
    expected, calls, wrong = (alone.starts.tolist(), alone.places.tolist()), 0, 0

    def handler(*_: Any) -> None:
        nonlocal calls
        calls += 1
        order(other)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-3)
    try:
        while calls < 20:
            found = order(mine)[0]
            wrong += (found.starts.tolist(), found.places.tolist()) != expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert wrong == 0
