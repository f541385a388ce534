"""What is predicted: beside SciPy and the formula of recommenders."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from xmleval import evaluate
from xmleval.exact import ONE_EXACT, exact_product

M, L, K = 300, 500, 4
RNG = np.random.default_rng(5)
TRUTH = np.zeros((M, L), np.int8)
SHARES = np.arange(1, L + 1) ** 2
LABELS = np.array([RNG.choice(L, K, replace=False, p=SHARES / SHARES.sum()) for _ in range(M)])
SCORES = np.tile(np.arange(K, 0, -1.0), (M, 1))
TRAIN = (RNG.random((60, L)) < np.linspace(0, 0.4, L)).astype(np.int8)
WEIGHT = RNG.integers(1, 9, M) / 8
NAMES = ["pred_coverage@3", "gini@3", "entropy@3", "popularity@3", "tail_share(count=5)@3"]


def by_hand(n: Any) -> dict[str, float]:
    """Return the measures as SciPy and RecBole compute them from the number of slots of each label."""
    counts, total = TRAIN.sum(axis=0), n.sum()
    ascending = np.arange(1, L + 1)
    return {
        "pred_coverage@3": np.count_nonzero(n) / L,
        "gini@3": ((2 * ascending - L - 1) * np.sort(n)).sum() / (L * total),
        "entropy@3": scipy.stats.entropy(n) / np.log(L),
        "popularity@3": (n * counts).sum() / total,
        "tail_share(count=5)@3": n[(counts >= 1) & (counts <= 5)].sum() / total,
    }


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_values_are_those_of_others_(weight: Any) -> None:
    options: dict[str, Any] = {"metrics": NAMES, "y_train": TRAIN, "sample_weight": weight, "confidence": 0.9}
    whole = evaluate(TRUTH, (LABELS, SCORES), **options)
    own = np.repeat(np.ones(M) if weight is None else weight, 3)
    expected = by_hand(np.bincount(LABELS[:, :3].reshape(-1), own, L))
    assert dict(whole) == pytest.approx(expected, rel=1e-13)
    assert whole.standard_errors.keys() == {*NAMES[1:]}


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
