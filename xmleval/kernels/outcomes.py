"""Counts of paired rows by what two models have."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.records import Floats, Ints, Labels


@kernel
def count_outcomes(a: Floats, b: Floats, times: Ints) -> tuple[int, int, int]:
    """Count the rows on which a is above b, level with it and below; none where either is NaN.

    a, b : float64 (n,); times : int64 (n,), number of rows that have the values, or (0,) for one each
    """
    above, level, below = 0, 0, 0
    for i in range(a.size):
        n = times[i] if times.size else 1
        above += n * (a[i] > b[i])
        level += n * (a[i] == b[i])
        below += n * (a[i] < b[i])
    return above, level, below


@kernel
def count_joint(a: Labels, b: Labels, n_b: int, table: Ints) -> None:
    """Count pairs of numbers of each row; a, b : (n,), b below ``n_b``; table : (n_a * n_b,), added to."""
    for i in range(a.size):
        table[np.uint64(np.int64(a[i]) * n_b + np.int64(b[i]))] += 1
