"""Reading fixed-point sums."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Floats, Ints
from xmleval.kernels.fixed import BITS

NO_WEIGHT: Floats = np.empty(0)  # what kernels take where every instance weighs one


def as_floats(limbs: Ints) -> Floats:
    """Return fixed-point sums, int64 (..., 3), as float64 (...)."""
    fraction = np.ldexp(limbs[..., 1].astype(np.float64), -BITS)
    fraction += np.ldexp(limbs[..., 2].astype(np.float64), -2 * BITS)
    return limbs[..., 0].astype(np.float64) + fraction


def as_integer(limbs: Ints) -> int:
    """Return one fixed-point sum, int64 (3,), as an integer multiple of 2^-104."""
    return (int(limbs[0]) << 2 * BITS) + (int(limbs[1]) << BITS) + int(limbs[2])
