"""Weighted sums of pooled scores are exact: kernels against fractions, values against definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.definitions import case_of, value_of
from tests.problems import Problem
from xmleval import Evaluator, evaluate
from xmleval.kernels import weight_sums as kernels
from xmleval.pooled.weight_sums import ONE, as_units, from_units

NAMES = [f"{name}.{average}" for name in ("auc", "ap", "peak_f1") for average in ("micro", "macro")]
NAMES += ["auc.weighted", "ap.weighted"]
SCORES = [-2.5, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 0.25, 1.0, 3.0, math.inf]


@given(seed=seeds, level=st.sampled_from(["below", 0.0, 0.25]))
def test_values_of_wide_weights_are_those_of_fractions(seed: int, level: Any) -> None:
    rng = np.random.default_rng(seed)
    n_rows, n_labels = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    weight = 2.0 ** rng.integers(-30, 20, n_rows) * (1 + rng.random(n_rows)) * (rng.random(n_rows) < 0.9)
    truth = [dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for row in rng.random((n_rows, n_labels)) < 0.4]
    listed: list[list[tuple[int, float | None]]] = [
        [(j, float(rng.choice(SCORES))) for j in range(n_labels) if rng.random() < 0.7] for _ in range(n_rows)
    ]
    arguments = {"sample_weight": weight.tolist(), "unlisted": level}
    problem = Problem(n_labels, truth, listed, "list", "float64", False, arguments, (*NAMES,))
    report, case = problem.evaluate(), case_of(problem)
    for spec in problem.specs:
        assert report[spec.name] == pytest.approx(value_of(spec, case), rel=1e-15, nan_ok=True), spec.name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_of_unlisted_labels_is_rounded_as_all_scores_are(dtype: Any) -> None:
    evaluator = Evaluator(["auc.micro"], n_labels=2, unlisted=0.1)
    evaluator.update([[0]], (np.array([[0]]), np.array([[0.1]], dtype)), sample_weight=[0.3])
    assert evaluator.compute()["auc.micro"] == 0.5


def test_curves_of_light_weights_end_at_1() -> None:
    truth, scores = np.eye(3, dtype=int), np.array([[3.0, 1, 2], [1, 2, 3], [2, 3, 1]])
    light, heavy = (
        evaluate(truth, scores, metrics=["auc.micro"], curve_points=9, sample_weight=np.arange(1, 4) * unit)
        for unit in (1e-6, 1)
    )
    assert [curve[-1] for curve in (*light.roc_curve()[:2], light.pr_curve()[1])] == [1.0] * 3
    assert np.allclose(light.roc_curve(), heavy.roc_curve(), rtol=1e-12)


@given(st.integers(0, 2**62 - 1), st.integers(0, 2**52 - 1), st.integers(0, 2**52 - 1))
def test_sums_are_rounded_once(whole: int, first: int, second: int) -> None:
    for limbs in ([whole, first, second], [0, first, second], [0, 0, second], [whole >> 40, first, 0]):
        total = np.array(limbs, np.int64)
        assert kernels.round_sum(total) == float(Fraction(as_units(total), ONE))
        assert from_units(as_units(total)).tolist() == limbs


units = st.integers(0, 166).flatmap(lambda n: st.integers(0, (1 << n) - 1))


@given(st.lists(st.tuples(units, units), min_size=1, max_size=200))
def test_products_are_exact_and_rounded_once(pairs: list[tuple[int, int]]) -> None:
    total, digits = np.zeros(kernels.PRODUCTS, np.int64), np.zeros((2, kernels.N_DIGITS), np.int64)
    for number, pair in enumerate(pairs):
        for place, value in enumerate(pair):
            kernels.split_digits(from_units(value), digits[place])
        kernels.add_products(digits[0], digits[1], total)
        if number % kernels.UNCARRIED == kernels.UNCARRIED - 1:
            kernels.carry_products(total)
    kernels.carry_products(total)
    expected = sum(one * other for one, other in pairs)
    assert sum(digit << kernels.DIGIT * place for place, digit in enumerate(total.tolist())) == expected
    assert kernels.round_products(total) == float(Fraction(expected, ONE * ONE))


@given(st.integers(0, 2**53 - 1), st.integers(0, 50), st.integers(0, 2**41))
def test_weights_are_added_many_times(mantissa: int, down: int, times: int) -> None:
    weight = math.ldexp(mantissa, -53 - down)
    weight = weight if weight >= 2.0**-50 else 0.0
    total = from_units(3)
    kernels.add_times(total, weight, times)
    assert as_units(total) == 3 + Fraction(weight) * ONE * times
