"""Reading fixed-point sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xmleval.arrays import Floats, Ints
from xmleval.kernels.fixed import BITS, LIMBS

# What preparing an update or a merge gives: all that could fail is done, calling it changes the state.
Commit = Callable[[], None]
NO_WEIGHT: Floats = np.empty(0)  # what kernels take where every instance weighs one


def saved(arrays: dict[str, Ints | Floats], name: str, *shape: int | None) -> Ints:
    """Return a saved array of integers, its shape (None for any length) checked."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype != np.int64:
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def as_floats(limbs: Ints) -> Floats:
    """Return fixed-point sums, int64 (..., 4), as float64 (...)."""
    total = np.zeros(limbs.shape[:-1])
    for limb in range(LIMBS - 1, -1, -1):
        total += np.ldexp(limbs[..., limb].astype(np.float64), -BITS * limb)
    return total


def as_integer(limbs: Ints) -> int:
    """Return one fixed-point sum, int64 (4,), as an integer multiple of its last bit."""
    total = 0
    for limb in limbs:
        total = (total << BITS) + int(limb)
    return total
