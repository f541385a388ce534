"""What is predicted: extremes, training counts by name, exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.exact import ONE_EXACT, exact_product

RNG = np.random.default_rng(5)


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
    values = np.concatenate([RNG.random(50), RNG.random(50) * 1e12, [2.0**52 - 1, 0.0, 2.0**-50]])
    times = RNG.integers(-(1 << 60), 1 << 60, values.size)
    total = sum(Fraction(v) * t for v, t in zip(values.tolist(), times.tolist(), strict=True))
    assert Fraction(exact_product(values, times), ONE_EXACT) == total
