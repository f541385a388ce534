"""Totals of labels against plain Python, and what is predicted: extremes, training counts by name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import int_types, seeds
from xmleval import evaluate
from xmleval.exact import ONE_EXACT, exact_product
from xmleval.kernels import labels
from xmleval.kernels.labels import FULL
from xmleval.records import Ints


def random_weights(rng: np.random.Generator, n: int) -> Any:
    """Return weights of all sizes that blocks may have, and some of 0."""
    weight = np.minimum(2.0 ** rng.integers(-50, 1, n) * (1.0 + rng.random(n)), 1.0)
    return np.where(rng.random(n) < 0.2, 0.0, weight)


def sums_of(sums: Ints, times: Ints | None = None) -> list[Fraction]:
    """The sums that pairs of numbers hold, and so many times what was carried; each must be in order."""
    assert ((sums >= 0) & (sums < [FULL, 2**52])).all()
    carried = [0] * len(sums) if times is None else times.tolist()
    return [
        Fraction(high + FULL * k, 2**52) + Fraction(low, 2**104)
        for (high, low), k in zip(sums.tolist(), carried, strict=True)
    ]


@given(
    seed=seeds,
    n=st.one_of(st.integers(0, 30), st.integers(0, 3 * labels.BATCH)),
    first=st.integers(0, 4),
    cut=st.integers(0, 7),
    dtype=int_types,
)
def test_weights_add_up_by_label(seed: int, n: int, first: int, cut: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    entries, n_within = rng.choice(7, n).astype(dtype), np.bincount(rng.choice(5, n), minlength=5)
    weight = random_weights(rng, 5)
    each = np.repeat(weight, n_within)
    before = np.stack([rng.choice([0, FULL - 1], 7 + first), rng.integers(0, 2**52, 7 + first)], axis=1)
    sums, carried = before.copy(), np.full(n, -9, np.int64)
    n_carried = 0
    for ends in ((0, cut), (cut, 7)):
        n_carried += labels.add_weights(entries, n_within, weight, first, ends, sums, carried[n_carried:])
    times = np.bincount(carried[:n_carried], minlength=7 + first)
    expected = sums_of(before)
    for label, term in zip(entries.tolist(), each.tolist(), strict=True):
        expected[first + label] += Fraction(term)
    assert sums_of(sums, times) == expected


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[2], [2], [2]], {"pred_coverage@1": 0.25, "gini@1": 0.75, "entropy@1": 0.0}),
        ([[0], [1], [2], [3]], {"pred_coverage@1": 1.0, "gini@1": 0.0, "entropy@1": 1.0}),
        ([[], []], {"pred_coverage@1": 0.0, "gini@1": np.nan, "entropy@1": np.nan}),
    ],
)
def test_extremes_are_exact(lists: list[list[int]], expected: dict[str, float]) -> None:
    actual = evaluate([[0] for _ in lists], lists, metrics=[*expected], n_labels=4)
    assert repr(dict(actual)) == repr(expected)


def test_training_counts_follow_names() -> None:
    train = [["a", "b"], ["a"], ["a", "c"]]
    names = ["popularity@2", "tail_share(count=1)@2", "tail_share@2"]
    truth, scores = [["d"], ["b"]], [{"a": 0.9, "d": 0.5}, {"b": 0.7, "a": 0.2}]
    actual = evaluate(truth, scores, y_train=train, labels=["d", "b", "a", "c"], metrics=names)
    assert list(actual.values()) == [7 / 4, 0.25, 0.75]
    assert actual["tail_share@2"] == actual["tail_share(count=10)@2"]


def test_sums_of_products_are_exact() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.random(50), rng.random(50) * 1e12, [2.0**52 - 1, 0.0, 2.0**-50]])
    times = rng.integers(-(1 << 60), 1 << 60, values.size)
    total = sum(Fraction(v) * t for v, t in zip(values.tolist(), times.tolist(), strict=True))
    assert Fraction(exact_product(values, times), ONE_EXACT) == total
