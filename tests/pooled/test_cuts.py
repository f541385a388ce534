"""Cuts of pooled scores, exact and the same in memory, packed, on disk and by threads."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pooled.test_values import KINDS, scores_of
from xmleval.kernels.thresholds import ERRORS, F1, SIZE, is_larger_product
from xmleval.pooled import store as pooled
from xmleval.pooled import values as counted
from xmleval.pooled.cuts import best_cut
from xmleval.pooled.spill import SpillFile
from xmleval.pooled.store import Store
from xmleval.pooled.values import Values
from xmleval.threads import Work
from xmleval.thresholds import fit

WORK = Work(1 << 20, 1)
LARGE = st.integers(0, 2**62 - 1)
RULES = [
    ("constant", "f1.micro"), ("constant", "hamming_loss"), ("cardinality", None), ("label", "f1.macro"),
    ("label", "hamming_loss"),
]  # fmt: skip


@given(a=LARGE, b=LARGE, c=LARGE, d=LARGE)
@example(a=2**61, b=2**61 - 1, c=2**61 - 1, d=2**61)
@example(a=2**61 + 1, b=2**61 - 1, c=2**61, d=2**61)
@example(a=2**61, b=2**61, c=2**61 + 1, d=2**61 - 1)
@example(a=2**62 - 1, b=0, c=0, d=1)
def test_products_are_compared_exactly(a: int, b: int, c: int, d: int) -> None:
    assert is_larger_product(a, b, c, d) == (a * b > c * d)


def value_of(aim: int, hits: int, size: int, n_true: int) -> Fraction:
    """Return what the best cut has most of."""
    if aim == F1:
        return Fraction(hits, size + n_true) if hits else Fraction(0)
    return Fraction(2 * hits - size if aim == ERRORS else -abs(size - n_true))


def expected_cut(good: Any, bad: Any, n_true: int, floor: float, aim: int) -> float:
    """Try every cut."""
    every = np.concatenate([good, bad]).astype(np.float64)
    flags = np.arange(every.size) < good.size
    kept = every > floor
    scores = np.unique(every[kept])[::-1]
    if not scores.size:
        return math.inf
    best, found = value_of(aim, 0, 0, n_true), float(scores[0])
    for place, score in enumerate(scores):
        above = kept & (every >= score)
        value = value_of(aim, int((above & flags).sum()), int(above.sum()), n_true)
        if value > best:
            best, found = value, float(scores[place + 1]) if place + 1 < scores.size else floor
    return found


@pytest.mark.parametrize("aim", [F1, ERRORS, SIZE])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["values", "packed", "float64", "disk"])
def test_the_best_cut_is_that_of_all(aim: int, kind: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "CHUNK", 100)
    monkeypatch.setattr(counted, "EXPORTED", 50)
    rng = np.random.default_rng([aim, KINDS.index(kind)])
    work = Work(1 << 16, 2)
    for n in (3, 300):
        good, bad = (scores_of(kind, size, rng) + np.float32(0) for size in (n, 2 * n))
        store = Store(["good", "bad"], [], SpillFile())
        if how in ("float64", "disk"):
            keys: Any = {name: [own.astype(np.float64)] for name, own in (("good", good), ("bad", bad))}
            store.add(keys, 0 if how == "disk" else 1 << 20, work)
        else:
            for name, own in (("good", good), ("bad", bad)):
                values = Values()
                for part in np.array_split(own, 5):
                    values.add(part)
                store.add({name: values}, 1 << 20, work)
            if how == "packed":
                store.pack(work)
        for floor in (-math.inf, 0.5):
            n_true = good.size + n // 3
            found = best_cut(store, "good", "bad", n_true, floor, aim, work)
            assert found == expected_cut(good, bad, n_true, floor, aim)


def repeated(score: float, n: int) -> Values:
    """Return a score n times, counted."""
    found = Values()
    for bit in f"{n:b}":
        found.packed = [*found.packed, *found.packed]
        if bit == "1":
            found.few = [np.array([score], np.float32)]
        found.pack(WORK)
    return found


@pytest.mark.parametrize("less", [0, 1])
def test_equal_values_of_billions_of_scores_are_told_apart(less: int) -> None:
    n = 1 << 33
    store = Store(["good", "bad"], [], SpillFile())
    for name, counts in (("good", (n, n)), ("bad", (n, 3 * n - less))):
        for score, count in zip((2.0, 1.0), counts, strict=True):
            store.values[name].merge(repeated(score, count))
    # half of both sums after the first score, and after both, unless one irrelevant entry is missing
    found = best_cut(store, "good", "bad", 2 * n, -math.inf, F1, WORK)
    assert found == (-math.inf if less else 1.0)


@pytest.mark.parametrize(("rule", "measure"), RULES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rules_depend_neither_on_memory_nor_on_threads(
    rule: str, measure: str | None, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    truth = (rng.random((3000, 40)) < 0.1).astype(int)
    scores = (rng.normal(size=truth.shape) + truth).round(2).astype(dtype)
    found = fit(truth, scores, measure, rule=rule).decision
    monkeypatch.setattr(counted, "MANY", 1000)
    monkeypatch.setattr(counted, "CHUNK", 4000)
    monkeypatch.setattr(pooled, "LEAST_PACKED", 20_000)
    runs: list[Any] = []
    monkeypatch.setattr(SpillFile, "write", noted(SpillFile.write, runs))
    for memory, threads in (("1GiB", 1), ("30kB", 2)):
        assert fit(truth, scores, measure, rule=rule, memory=memory, threads=threads).decision == found
        assert bool(runs) == (memory == "30kB")


def noted(call: Any, calls: list[Any]) -> Any:
    """Return a function that notes its calls."""

    def called(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return call(*args, **more)

    return called


@pytest.mark.parametrize("memory", ["none", 0])
def test_memory_is_checked(memory: Any) -> None:
    with pytest.raises(ValueError, match=r"^memory: "):
        fit(np.eye(2, dtype=int), np.eye(2), "f1.micro", memory=memory)
