"""Work: how long kernels have run as plain Python, which decides from when on they are compiled."""

from __future__ import annotations

from dataclasses import dataclass

NUMBA_SECONDS = 0.6  # to load Numba


@dataclass
class Work:
    """What the kernels of this process have done.

    seconds : of plain Python so far
    compiler_seconds : that loading Numba, and having the kernels compiled that have run, would take
    is_small : whether kernels run as plain Python; once they do not, they never do again
    """

    seconds: float = 0.0
    compiler_seconds: float = NUMBA_SECONDS
    is_small: bool = True


WORK = Work()
