"""Faults at random moments of an operation: signals whose handlers raise, and allocations that fail."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("failing_malloc.c")
LARGE = 1024  # bytes; most smaller allocations are Python objects, most larger ones data of arrays
LATE = 1.3  # of the measured duration, since operations do not always take as long


class HandlerError(Exception):
    """Raised by a signal handler."""


class Trigger:
    """Causes a fault at a random moment after it is armed; measures each operation when it is first met."""

    def __init__(self, fault: type[BaseException], rng: np.random.Generator, sizes: dict[str, float]) -> None:
        self.fault, self.rng, self.sizes = fault, rng, sizes  # of operations, in seconds or allocations
        self.name, self.start = "", 0.0

    def arm(self, name: str) -> None:
        """Schedule the fault."""

    def disarm(self) -> None:
        """Cancel the fault."""


class Signal(Trigger):
    """A signal from a timer, whose handler raises."""

    armed = False
    interval = sys.getswitchinterval()

    def arm(self, name: str) -> None:
        signal.signal(signal.SIGALRM, self.handle)
        self.name, self.start = name, time.perf_counter()
        if name in self.sizes:
            sys.setswitchinterval(self.rng.choice((1e-5, self.interval)))
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, self.rng.uniform(0, self.sizes[name])))

    def disarm(self) -> None:
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setswitchinterval(self.interval)
        self.sizes.setdefault(self.name, LATE * (time.perf_counter() - self.start))

    def handle(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise self.fault


class Allocation(Trigger):
    """Failure of the n-th allocation of any library and thread, alone or with some later ones.

    Processes count all allocations or only large ones. They must start in a `preloaded` environment.
    """

    @cached_property
    def state(self) -> ctypes.Array[ctypes.c_int64]:
        return (ctypes.c_int64 * 4).in_dll(ctypes.CDLL(None), "failing")

    @cached_property
    def least(self) -> int:
        return int(self.rng.choice((0, LARGE)))

    def arm(self, name: str) -> None:
        self.state[3] = self.least
        self.name, self.start = name, self.state[0]
        if name in self.sizes:
            further = int(self.rng.choice((0, 0, 0, 1, 5) if self.least == 0 else (0, 1 << 40)))
            first = self.state[0] + 1 + int(self.rng.integers(1 + int(self.sizes[name])))
            self.state[2] = first + further
            self.state[1] = first

    def disarm(self) -> None:
        self.state[1] = sys.maxsize
        self.sizes.setdefault(self.name, self.state[0] - self.start)


KINDS: dict[str, tuple[type[Trigger], type[BaseException]]] = {
    "alarm": (Signal, HandlerError),
    "interrupt": (Signal, KeyboardInterrupt),
    "terminate": (Signal, SystemExit),
    "allocation": (Allocation, MemoryError),
}


def preloaded(folder: Path) -> dict[str, str]:
    """Compile the failing allocator into a folder; return the environment of processes that use it.

    Their Python allocates all memory by malloc, so that every allocation can fail.
    """
    library = folder / "failing_malloc.so"
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}
