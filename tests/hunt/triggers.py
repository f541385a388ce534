"""Faults at random moments of an operation: handlers of signals raise, allocations fail."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

LARGE = 1024  # bytes; most smaller allocations are Python objects, most larger ones data of arrays
LATE = 1.3  # of the measured duration, since operations do not always take as long
INTERVAL = sys.getswitchinterval()


@dataclass
class Signal:
    """A signal at a random moment after it is armed, whose handler raises."""

    fault: type[BaseException]
    rng: np.random.Generator
    sizes: dict[str, float]  # durations of operations, each measured when it is first met
    name = ""
    start = 0.0
    armed = False

    def arm(self, name: str) -> None:
        signal.signal(signal.SIGALRM, self.handle)
        self.name = name
        self.start = time.perf_counter()
        if name in self.sizes:
            sys.setswitchinterval(self.rng.choice((1e-5, INTERVAL)))
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, self.rng.uniform(0, self.sizes[name])))

    def disarm(self) -> None:
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setswitchinterval(INTERVAL)
        self.sizes.setdefault(self.name, LATE * (time.perf_counter() - self.start))

    def handle(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise self.fault


class Allocation(Signal):
    """Failure of the n-th (or n-th large) allocation, in a process that started `preloaded`."""

    @cached_property
    def state(self) -> ctypes.Array[ctypes.c_int64]:
        state = (ctypes.c_int64 * 4).in_dll(ctypes.CDLL(None), "failing")
        state[3] = int(self.rng.choice((0, LARGE)))
        return state

    def arm(self, name: str) -> None:
        self.name = name
        self.start = self.state[0]
        if name in self.sizes:
            numbers = (0, 1 << 40) if self.state[3] else (0, 0, 0, 1, 5)
            further = int(self.rng.choice(numbers))
            first = self.state[0] + 1 + int(self.rng.integers(1 + int(self.sizes[name])))
            self.state[2] = first + further
            self.state[1] = first

    def disarm(self) -> None:
        self.state[1] = sys.maxsize
        self.sizes.setdefault(self.name, self.state[0] - self.start)


KINDS: dict[str, tuple[type[Signal], type[BaseException]]] = {
    "alarm": (Signal, TimeoutError),
    "interrupt": (Signal, KeyboardInterrupt),
    "terminate": (Signal, SystemExit),
    "allocation": (Allocation, MemoryError),
}


def preloaded(folder: Path) -> dict[str, str]:
    """Compile the failing allocator; return the environment of processes that use it."""
    source = Path(__file__).with_name("failing_malloc.c")
    library = folder / "failing_malloc.so"
    command = [
        os.environ.get("CC", "cc"),
        "-shared",
        "-fPIC",
        "-O2",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}
