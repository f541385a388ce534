"""How long kernels have run as plain Python, which decides when they are compiled."""

from __future__ import annotations

from dataclasses import dataclass

NUMBA_SECONDS = 0.6  # to load Numba


@dataclass
class Work:
    """Work of the kernels in this process.

    seconds : time spent in plain Python so far
    compiler_seconds : estimate of loading Numba and compiling the kernels that have run
    is_small : whether kernels run as plain Python; once False, it stays False
    """

    seconds: float = 0.0
    compiler_seconds: float = NUMBA_SECONDS
    is_small: bool = True


WORK = Work()
