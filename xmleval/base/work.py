"""Work: how long kernels have run as plain Python, which decides from when on they are compiled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Work:
    """What the kernels of this process have done.

    seconds : of plain Python so far
    n_kernels : kernels that have run as plain Python
    kernel_seconds : what each of them would take compiled; None before a kernel is called
    is_small : whether kernels run as plain Python; once they do not, they never do again
    """

    seconds: float = 0.0
    n_kernels: int = 0
    kernel_seconds: float | None = None
    is_small: bool = True


WORK = Work()
