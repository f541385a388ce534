"""Sums over tables that labels or rows share, at their limits and without rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from xmleval.exact import as_integer, scaled_sum
from xmleval.kernels import hit_tables
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.fold_tables import PART_BITS, Parted, fill_cells, sum_tables, sum_times
from xmleval.kernels.folds import N_FOLDS
from xmleval.records import Ints

N_TABLES = 1500  # more than are added between carries


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("most", [1, 1 << 20, 1 << 40])
def test_sums_of_shared_tables_are_exact(most: int, same: bool) -> None:
    rng = np.random.default_rng(most)
    values = rng.random((N_TABLES, 1 if same else N_FOLDS)) * 1000 - 1
    values[rng.random(values.shape) < 0.1] = np.nan
    times = rng.integers(0, most, (N_TABLES, N_FOLDS), endpoint=True)
    sums, n = np.zeros((N_FOLDS, LIMBS), np.int64), np.zeros(N_FOLDS, np.int64)
    sum_times(values, times, sums, n)
    once, n_once = np.zeros_like(sums), np.zeros_like(n)
    if not same:
        for half in (values[:700], values[700:]):
            sum_tables(half, once, n_once)
    for fold in range(N_FOLDS):
        column = values[:, 0 if same else fold]
        assert as_integer(sums[fold]) == scaled_sum(column, times[:, fold])
        assert n[fold] == times[~np.isnan(column), fold].sum()
        assert same or as_integer(once[fold]) == scaled_sum(column)
        assert same or n_once[fold] == np.count_nonzero(~np.isnan(column))


def test_nothing_is_written_behind_a_part_whose_cells_are_all_filled() -> None:
    n_cells, no_keys = 1 << PART_BITS, Parted(np.empty(0, np.uint16), np.zeros((0, 2), np.int64))
    keys = Parted(np.tile(np.arange(n_cells), 2).astype(np.uint16), np.array([[0, 2 * n_cells]]))
    cells, filled = np.zeros((n_cells, 3), np.int64), np.full(n_cells + 2, 7, np.uint16)
    counts: Ints = np.empty((3, 0), np.int64)
    args: Any = (no_keys, keys, no_keys, counts, 0, 0, cells, filled[: n_cells + 1])
    assert fill_cells(*args) == n_cells
    assert (filled[:n_cells] == np.arange(n_cells)).all()
    assert filled[-1] == 7
    assert (cells == [0, 2, 0]).all()


def fraction_of(pair: Any) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


def test_split_sums_are_exact_at_their_limits() -> None:
    ptr, ids, ranks, slots = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, int), np.zeros(2, int)
    for q in (1.0, 1.5 - 2.0**-52, 2.0 - 2.0**-21, 2.0**30 - 2.0**-22, 2.0**30):
        most = [hit_tables.LARGEST_SUM - q - 1, 1.0 - 2.0**-21 - 2.0**-52]
        gains = np.array([[[0.0, 0.0], most]])
        ideals, before = gains[:, 1:].copy(), fraction_of(most)
        hit_tables.sum_exact_gains(ptr, ids, ranks, slots, np.array([q]), gains, ideals)
        assert fraction_of(gains[0, 1]) == fraction_of(ideals[0, 0]) == before + Fraction(q)
