"""Powers of a number; see `xmleval.kernels.powers`."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.powers import write_powers


def powers_of(base: float, exponents: Ints) -> Floats:
    """Return the powers of a number for integers that are not negative, float64 (n,)."""
    powers = np.empty(exponents.size)
    write_powers(base, exponents, powers)
    return powers
