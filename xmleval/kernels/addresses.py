"""Arrays in kernels by their address, for any number of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.kernels.jit import Kernel, compiler


class ArrayAt(Kernel):
    """A kernel whose compiled form is written separately, since only Numba can express it."""

    def _compile(self) -> Callable[..., Any]:
        """Return a function that does what `plain` does, compiled."""
        compiled: Callable[..., Any] = compiler().array_at
        return compiled


@ArrayAt
def array_at(address: int, n: int, dtype: Any) -> NDArray[Any]:
    """Return the n entries at an address as an array."""
    n_bytes = int(n) * np.dtype(dtype).itemsize
    memory = (ctypes.c_char * n_bytes).from_address(int(address))
    return np.ndarray(int(n), dtype, memory)
