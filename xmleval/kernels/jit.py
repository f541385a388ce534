"""How kernels are compiled, decided once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk where a cache can be written.

    Without a writable cache folder Numba refuses ``cache=True`` at decoration: the kernel is then compiled
    once in each process.
    """
    compiled: Any
    try:
        compiled = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = njit(nogil=True, error_model="numpy")(function)
    result: F = compiled
    return result
