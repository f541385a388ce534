"""LIMO against its literal twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from scripts.limo.learner import fit_limo
from tests.scripts import limo_literal as literal


def problem(seed: int, m: int = 30, d: int = 12, n_labels: int = 6) -> tuple[Any, Any]:
    """Sparse features, and labels among which rows and columns are full, empty or neither."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.4)
    y = (rng.random((m, n_labels)) < rng.choice([0.1, 0.5, 0.9], (m, 1))).astype(int)
    y[0], y[1], y[:, 0] = 0, 1, rng.integers(2)
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["weighted", "uniform"])
@pytest.mark.parametrize(("lam1", "lam2"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (100.0, 3.0)])
@pytest.mark.parametrize("eta", [0.01, 0.3])
@pytest.mark.parametrize("idle", [False, True])
def test_steps_are_those_of_the_algorithm(
    sampling: str, lam1: float, lam2: float, eta: float, idle: bool
) -> None:
    seed = int(lam1 + 2 * lam2 + 10 * eta) + len(sampling)  # another problem in most cases
    x, y = problem(seed)
    found = fit_limo(
        sp.csr_array(x),
        sp.csr_array(y),
        lam1=lam1,
        lam2=lam2,
        eta=eta,
        epochs=40,
        sampling=sampling,
        idle=idle,
        seed=seed,
    )
    average, last = literal.limo(x, y, lam1, lam2, eta, 40, sampling == "uniform", seed, idle)
    size = np.abs(last).max()
    np.testing.assert_allclose(found.average, average, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(found.last, last, rtol=0, atol=1e-10 * size)


@pytest.mark.slow
def test_scales_that_shrink_for_long_keep_their_digits() -> None:
    """Thousands of touches of few labels: scales are multiplied out many times."""
    x, y = problem(5, m=20, d=4, n_labels=3)
    found = fit_limo(x, y, eta=0.05, epochs=200, seed=1)
    average, last = literal.limo(x, y, 1.0, 1.0, 0.05, 200, False, 1, False)
    np.testing.assert_allclose(found.average, average, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.last, last, rtol=0, atol=1e-10)


def test_a_seed_settles_everything() -> None:
    x, y = problem(7)
    once, again, other = (fit_limo(x, y, seed=seed).average for seed in (1, 1, 2))
    assert once.tobytes() == again.tobytes()
    assert not np.allclose(once, other)


def test_separable_labels_are_learnt() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    y = (x @ rng.normal(size=(5, 4)) > 0).astype(int)
    scores = x @ fit_limo(x, y, epochs=30).average
    wrong = [(scores[y[:, j] == 1, j][:, None] <= scores[y[:, j] == 0, j]).mean() for j in range(4)]
    assert max(wrong) < 0.05


@pytest.mark.parametrize(
    "bad", [{"eta": 1.0}, {"eta": 0.0}, {"epochs": 0}, {"lam1": 0.0, "lam2": 0.0}, {"sampling": "other"}]
)
def test_what_is_no_setting_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        fit_limo(*problem(1), **bad)


def test_rows_without_pairs_teach_nothing() -> None:
    with pytest.raises(ValueError, match="both"):
        fit_limo(np.ones((3, 2)), np.ones((3, 2)))
