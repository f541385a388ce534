"""Sweeps end even if scores are NaN."""

import numpy as np
import pytest

from xmleval.kernels.sweeps import CurveSums, count_down, sweep, trace

NAN = np.full(3, np.nan)
NUMBERS = np.array([1.0, 2.0, 3.0])


TOTALS = np.array([3, 3])


def new_sums() -> CurveSums:
    return CurveSums(
        totals=TOTALS,
        pairs=np.zeros((2, 2), np.int64),
        precision=np.zeros(4, np.int64),
        peak=np.array([0.0, np.nan]),
        queries=np.empty((0, 2)),
        areas=np.empty((0, 4), np.int64),
        cuts=np.empty((0, 2)),
        envelope=np.empty((0, 2)),
        n_envelope=np.zeros(1, np.int64),
    )


@pytest.mark.parametrize(
    ("relevant", "irrelevant"),
    [
        (NAN, NUMBERS),
        (NUMBERS, NAN),
        (NAN, NAN),
    ],
)
def test_sweeps_end_on_nan(relevant: np.ndarray, irrelevant: np.ndarray) -> None:
    ones = np.ones(3, np.int64)
    above = np.zeros(2, np.int64)
    strides = np.array([1, 1])
    points = np.empty((6, 3))
    n_points = trace(relevant, ones, irrelevant, ones, above, TOTALS, strides, points)
    assert 0 < n_points <= 6
    sweep(relevant, irrelevant, above, new_sums())
    count_down(relevant, irrelevant, above, np.nan, new_sums())
