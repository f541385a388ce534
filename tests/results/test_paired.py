"""Paired tests: SciPy's values where it has the test, and laws where they are random."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from xmleval.statistics.paired import paired_t_p, sign_flip_p, wilcoxon_p

Floats = npt.NDArray[np.float64]
SEVEN_TENTHS = np.array([0.1 + 0.2 + 0.4, 0.7, 1.4 / 2, 0.8 - 0.1])


def noise(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=n)


def hits(n: int, seed: int = 0) -> Floats:
    """Differences of P@5, each side rounded."""
    a, b = np.random.default_rng(seed).integers(0, 6, (2, n)) / 5
    return np.asarray(a - b, np.float64)


both_kinds = pytest.mark.parametrize("kind", [noise, hits])
every_test = pytest.mark.parametrize("test", [sign_flip_p, paired_t_p, wilcoxon_p])


def by_all_signs(differences: Floats) -> float:
    """Return the share of all signs whose sum is as far from 0, in integers."""
    values = [round(1e9 * value) for value in differences]
    observed = abs(sum(values))
    are_far = []
    for signs in itertools.product((1, -1), repeat=len(values)):
        total = sum(sign * value for sign, value in zip(signs, values, strict=True))
        are_far.append(abs(total) >= observed)
    return float(np.mean(are_far))


@both_kinds
@pytest.mark.parametrize("n", [2, 7, 12])
def test_sign_flip_p_tries_all_signs_of_few_rows(kind: Callable[..., Floats], n: int) -> None:
    differences = np.round(kind(n, n), 6)
    every: Any = {"permutation_type": "samples", "n_resamples": np.inf}
    expected = scipy.stats.permutation_test((differences,), np.sum, **every).pvalue
    assert sign_flip_p(differences) == by_all_signs(differences) == expected
    assert sign_flip_p(differences[:1]) == 1.0


def test_sign_flip_p_tries_all_signs_of_up_to_sixteen_rows() -> None:
    differences = np.round(noise(16), 3)
    signs = np.array([*itertools.product((1, -1), repeat=16)])
    thousandths = np.round(1000 * differences).astype(np.int64)
    expected = np.mean(np.abs(signs @ thousandths) >= abs(thousandths.sum()))
    assert [sign_flip_p(differences, seed=seed) for seed in range(3)] == [expected] * 3
    more = np.r_[differences, 0.5]
    assert sign_flip_p(more, seed=0) != sign_flip_p(more, seed=1)


def test_sign_flip_p_and_wilcoxon_p_take_rounded_values_for_ties() -> None:
    assert len({*SEVEN_TENTHS}) > 1
    differences = np.r_[SEVEN_TENTHS, -SEVEN_TENTHS[:2]]
    signs = np.sign(differences)
    assert sign_flip_p(differences) == sign_flip_p(signs) == by_all_signs(differences)
    assert wilcoxon_p(differences) == wilcoxon_p(signs)
    many = np.tile(differences, 50)
    assert sign_flip_p(many) == sign_flip_p(np.sign(many))


def test_wilcoxon_p_ties_differences_in_neighbouring_units_alone() -> None:
    """Below 1, units are of 2^-40, and both differences of a pair are rounded to whole ones."""
    unit = 2.0**-40
    near = 0.75 + unit * np.array([-0.01, 1.01])
    apart = 0.625 + unit * np.array([0.49, 1.51])
    differences = np.r_[0.25, -0.3, 0.5, apart * [1, -1], near * [1, -1], 0.875]
    expected = scipy.stats.wilcoxon([1, -2, 3, 4, -5, 6, -6, 7]).pvalue
    assert wilcoxon_p(differences) == expected


@both_kinds
def test_sign_flip_p_of_random_signs_is_near_that_of_all_signs(kind: Callable[..., Floats]) -> None:
    differences = kind(20, 3) + 0.3
    exact = sign_flip_p(differences, 1 << 20)
    p_values = {sign_flip_p(differences, 40_000, seed) for seed in range(5)}
    assert len(p_values) > 1
    standard_error = math.sqrt(exact * (1 - exact) / 40_000)
    assert max(abs(p - exact) for p in p_values) < 4 * standard_error
    many = kind(20_000, 4) + 0.01
    assert sign_flip_p(many, 20_000) == pytest.approx(paired_t_p(many), abs=0.015)


@every_test
@both_kinds
@pytest.mark.parametrize("n", [14, 700])
def test_p_depends_on_neither_order_nor_sides_nor_undefined_rows(
    test: Any, kind: Any, n: int
) -> None:
    differences = kind(n, 5) + 1.5 / math.sqrt(n)
    before = differences.copy()
    p = test(differences)
    assert 0 < p < 1
    assert test(-differences) == p
    permuted = np.random.default_rng(6).permutation(differences)
    assert test(permuted) == p
    with_undefined = np.insert(differences, [0, 3, 9], np.nan)
    assert test(with_undefined) == p
    assert test(differences * 2.0**600) == p
    assert (differences == before).all()
    if test is not paired_t_p:  # whose mean is over all rows
        assert test(np.insert(differences, [0, 3, 9], 0.0)) == p


@every_test
def test_p_without_a_difference_or_rows(test: Any) -> None:
    assert test(np.zeros(5)) == 1.0
    assert math.isnan(test(np.full(3, np.nan)))
    assert math.isnan(test(np.array([])))
    assert math.isnan(test(np.array([1.0, 2.0, np.inf])))


@both_kinds
@pytest.mark.parametrize("n", [2, 5, 30, 3000])
def test_paired_t_p_and_wilcoxon_p_are_those_of_scipy(kind: Callable[..., Floats], n: int) -> None:
    a = kind(n, 8)
    b = kind(n, 9)
    expected = scipy.stats.ttest_rel(a, b).pvalue
    assert paired_t_p(a - b) == pytest.approx(expected, rel=1e-9)
    rounded = np.round(kind(n, 10) + 0.1, 9)
    expected = scipy.stats.wilcoxon(rounded).pvalue
    assert wilcoxon_p(rounded) == pytest.approx(expected, rel=1e-12)
    assert math.isnan(paired_t_p(np.array([0.5])))
    assert paired_t_p(np.full(4, 0.5)) == 0.0


def test_sign_flip_p_tries_all_signs_if_there_are_at_most_as_many_as_draws() -> None:
    n = 17
    differences = hits(60, 2)
    differences = differences[differences != 0][:n] + 0.01
    exact = by_all_signs(differences)
    assert sign_flip_p(differences, 1 << n, seed=3) == exact
    drawn = {sign_flip_p(differences, (1 << n) - 1, seed) for seed in range(4)}
    assert len(drawn) > 1
    assert [*drawn] == pytest.approx([exact] * len(drawn), abs=0.01)
