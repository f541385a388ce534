"""Sums over tables that several labels share, in each fold."""

from __future__ import annotations

import numpy as np
import pytest

from xmleval.exact import as_integer, scaled_sum
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.fold_tables import sum_tables, sum_times
from xmleval.kernels.folds import N_FOLDS

N_TABLES = 1500  # more than are added between carries


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("most", [1, 1 << 20, 1 << 40])
def test_sums_of_shared_tables_are_exact(most: int, same: bool) -> None:
    rng = np.random.default_rng(most)
    values = rng.random((N_TABLES, 1 if same else N_FOLDS)) * 2 - 1
    values[rng.random(values.shape) < 0.1] = np.nan
    times = rng.integers(0, most, (N_TABLES, N_FOLDS), endpoint=True)
    sums, n = np.zeros((N_FOLDS, LIMBS), np.int64), np.zeros(N_FOLDS, np.int64)
    sum_times(values, times, sums, n)
    for fold in range(N_FOLDS):
        own = values[:, 0 if same else fold]
        assert as_integer(sums[fold]) == scaled_sum(own, times[:, fold])
        assert n[fold] == times[~np.isnan(own), fold].sum()


def test_sums_of_tables_are_exact() -> None:
    values = np.random.default_rng(2).random((N_TABLES, N_FOLDS)) * 1000 - 1
    values[::7] = np.nan
    sums, n = np.zeros((N_FOLDS, LIMBS), np.int64), np.zeros(N_FOLDS, np.int64)
    for half in (values[:700], values[700:]):
        sum_tables(half, sums, n)
    for fold in range(N_FOLDS):
        assert as_integer(sums[fold]) == scaled_sum(values[:, fold])
    assert (n == np.count_nonzero(~np.isnan(values[:, 0]))).all()
