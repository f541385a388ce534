"""Sweeps end whatever the scores are."""

import numpy as np
import pytest

from xmleval.kernels.sweeps import CurveSums, count_down, sweep, trace

NAN = np.full(3, np.nan)
NUMBERS = np.array([1.0, 2.0, 3.0])


def new_sums() -> CurveSums:
    pairs, precision, peak = np.zeros((2, 2), np.int64), np.zeros(4, np.int64), np.array([0.0, np.nan])
    nothing = np.empty((0, 2)), np.empty((0, 4), np.int64), np.empty((0, 2))
    return CurveSums(np.array([3, 3]), pairs, precision, peak, *nothing)


@pytest.mark.parametrize(("relevant", "irrelevant"), [(NAN, NUMBERS), (NUMBERS, NAN), (NAN, NAN)])
def test_sweeps_end_on_what_is_no_number(relevant: np.ndarray, irrelevant: np.ndarray) -> None:
    none, ones, points = np.zeros(2, np.int64), np.ones(3, np.int64), np.empty((6, 3))
    n = trace(relevant, ones, irrelevant, ones, none, np.array([3, 3]), np.array([1, 1]), points)
    assert 0 < n <= 6
    sweep(relevant, irrelevant, none, new_sums())
    count_down(relevant, irrelevant, none, np.nan, new_sums())
