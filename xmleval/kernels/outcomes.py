"""Counts of paired rows by what two models have."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.records import Floats, Ints, Labels


@kernel
def count_outcomes(a: Floats, b: Floats) -> tuple[int, int, int]:
    """Count the rows on which a is above b, level with it and below; none where either is NaN."""
    above, level, below = 0, 0, 0
    for i in range(a.size):
        above += a[i] > b[i]
        level += a[i] == b[i]
        below += a[i] < b[i]
    return above, level, below


@kernel
def count_joint(a: Labels, b: Labels, n_b: int, table: Ints) -> None:
    """Count pairs of numbers of each row; a, b : (n,), b below ``n_b``; table : (n_a * n_b,), added to."""
    for i in range(a.size):
        table[np.uint64(np.int64(a[i]) * n_b + np.int64(b[i]))] += 1
