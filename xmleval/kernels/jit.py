"""The one place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk where a cache can be written.

    A read-only installation without any writable cache folder still works: Numba refuses the cache
    when the function is decorated, and the kernel is then compiled once a process.
    """
    compiled: Any
    try:
        compiled = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = njit(nogil=True, error_model="numpy")(function)
    result: F = compiled
    return result
