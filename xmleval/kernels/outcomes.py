"""Counts of paired rows by what two models have."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.records import Ints, Labels


@kernel
def count_joint(a: Labels, b: Labels, n_b: int, table: Ints) -> None:
    """Count pairs of numbers of each row; a, b : (n,), b below ``n_b``; table : (n_a * n_b,), added to."""
    for i in range(a.size):
        table[np.uint64(np.int64(a[i]) * n_b + np.int64(b[i]))] += 1
