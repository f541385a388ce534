"""Sums over tables that several labels share, in each fold."""

from __future__ import annotations

import numpy as np
import pytest

from xmleval.exact import as_integer, scaled_sum
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.fold_tables import PART_BITS, Parted, fill_cells, sum_tables, sum_times
from xmleval.kernels.folds import N_FOLDS
from xmleval.records import Ints

NO_KEYS = Parted(np.empty(0, np.uint16), np.zeros((0, 2), np.int64))
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


def test_nothing_is_written_behind_a_part_whose_cells_are_all_filled() -> None:
    n_cells = 1 << PART_BITS
    keys = Parted(np.tile(np.arange(n_cells), 2).astype(np.uint16), np.array([[0, 2 * n_cells]]))
    cells, filled = np.zeros((n_cells, 3), np.int64), np.full(n_cells + 2, 7, np.uint16)
    held: Ints = np.empty((3, 0), np.int64)
    assert fill_cells(NO_KEYS, keys, NO_KEYS, held, 0, 0, cells, filled[: n_cells + 1]) == n_cells
    assert (filled[:n_cells] == np.arange(n_cells)).all()
    assert filled[-1] == 7
    assert (cells == [0, 2, 0]).all()
