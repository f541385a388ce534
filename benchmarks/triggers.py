"""Triggers of faults at random moments of an operation: signals and failing allocations."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LIBRARY = Path(__file__).with_name("failing_malloc.c")
LARGE = 1024  # bytes; most smaller allocations are Python objects, most larger ones data of arrays
LATE = 1.3  # of the measured duration, since operations take longer in a forked process


FIRST = "first call"  # kind and operation: the first update of a process, which loads the kernels


class FaultError(Exception):
    """Raised by signal handlers."""


class Trigger:
    """Causes one fault at a random moment while armed."""

    fault: type[BaseException] = MemoryError

    def __init__(self, rng: np.random.Generator, heights: dict[str, float] | None = None) -> None:
        self.rng, self.armed, self.fired = rng, False, False
        self.heights = {} if heights is None else heights  # by operation, upper limit of the random moment

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        """Measure the duration or size of an operation from the moment it calls its argument."""
        raise NotImplementedError

    def arm(self, name: str) -> None:
        """Schedule the fault."""
        raise NotImplementedError

    def disarm(self) -> None:
        """Cancel the fault."""
        self.armed = False

    def ring(self, *_: object) -> None:
        """Signal handler: raise if armed."""
        if self.armed:
            self.armed, self.fired = False, True
            raise self.fault


class Alarm(Trigger):
    """SIGALRM from a timer."""

    fault: type[BaseException] = FaultError

    def __init__(self, rng: np.random.Generator, heights: dict[str, float] | None = None) -> None:
        super().__init__(rng, heights)
        signal.signal(signal.SIGALRM, self.ring)

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        spent = []
        for _ in range(3):
            operation(lambda: spent.append(time.perf_counter()))
            spent[-1] = time.perf_counter() - spent[-1]
        self.heights[name] = LATE * float(np.median(spent))

    def moment(self, name: str) -> float:
        """Return the seconds until the signal."""
        return float(max(1e-6, self.rng.uniform(0, self.heights[name])))

    def arm(self, name: str) -> None:
        self.armed, self.fired = True, False
        signal.setitimer(signal.ITIMER_REAL, self.moment(name))

    def disarm(self) -> None:
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)


class Terminate(Alarm):
    """SIGTERM to the process, whose handler exits."""

    number = signal.SIGTERM
    fault: type[BaseException] = SystemExit

    def __init__(self, rng: np.random.Generator, heights: dict[str, float] | None = None) -> None:
        super().__init__(rng, heights)
        signal.signal(self.number, self.ring)
        self.sender = threading.Thread()
        self.interval = sys.getswitchinterval()

    def arm(self, name: str) -> None:
        def send(seconds: float) -> None:
            time.sleep(seconds)
            os.kill(os.getpid(), self.number)

        sys.setswitchinterval(1e-5)
        self.sender = threading.Thread(target=send, args=(self.moment(name),))
        self.sender.start()
        self.armed, self.fired = True, False

    def disarm(self) -> None:
        self.armed = False
        while self.sender.is_alive():
            with contextlib.suppress(self.fault):  # raised before the first line
                self.sender.join()
        sys.setswitchinterval(self.interval)


class Interrupt(Terminate):
    """SIGINT to the process."""

    number = signal.SIGINT
    fault = KeyboardInterrupt


class AddressLimit(Trigger):
    """RLIMIT_AS, a random amount above current use, in a process started as `preloaded` says."""

    def __init__(self, rng: np.random.Generator, heights: dict[str, float] | None = None) -> None:
        super().__init__(rng, heights)
        self.libc = ctypes.CDLL(None)
        threading.stack_size(1 << 20)
        self.unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        low, high = 0, 1 << 14
        while not self.suffices(high, operation):
            low, high = high, 2 * high
        for _ in range(5):
            middle = (low + high) // 2
            low, high = (low, middle) if self.suffices(middle, operation) else (middle, high)
        self.heights[name] = high

    def suffices(self, height: int, operation: Callable[[Callable[[], None]], None]) -> bool:
        """Return whether an operation succeeds under a limit."""
        try:
            operation(lambda: self.limit(height))
        except Exception:  # whatever the lack of memory was taken for
            return False
        finally:
            self.disarm()
        return True

    def limit(self, height: int) -> None:
        self.libc.malloc_trim(0)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + height, resource.RLIM_INFINITY))

    def arm(self, name: str) -> None:
        self.armed = True
        share = self.rng.random() ** self.rng.choice((1, 0.1))  # often just too little
        self.limit(int(share * self.heights[name]))

    def disarm(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self.unlimited)
        self.armed = False


class Allocation(Trigger):
    """Failure of the n-th allocation of any library and thread, alone or with some later ones.

    Half of the time only large allocations count. `preloaded` says how the process must be started.
    """

    def __init__(self, rng: np.random.Generator, heights: dict[str, float] | None = None) -> None:
        super().__init__(rng, heights)
        self.state = (ctypes.c_int64 * 5).in_dll(ctypes.CDLL(None), "failing")

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        started = []
        for least in (0, LARGE):
            self.state[4] = least
            operation(lambda: started.append(self.state[0]))
            self.heights[f"{name} {least}"] = self.state[0] - started[-1]

    def arm(self, name: str) -> None:
        least = int(self.rng.choice((0, LARGE)))
        self.armed, self.fired, self.state[3], self.state[4] = True, False, 0, least
        later = int(self.rng.choice((0, 0, 0, 1, 5))) if least == 0 else int(self.rng.choice((0, 1 << 40)))
        first = self.state[0] + 1 + int(self.rng.integers(1 + int(self.heights[f"{name} {least}"])))
        self.state[2] = first + later
        self.state[1] = first

    def disarm(self) -> None:
        self.state[1] = sys.maxsize
        self.armed = False
        self.fired = self.state[3] > 0


def preloaded(folder: Path) -> dict[str, str]:
    """Compile the failing allocator into a folder; return the environment of processes that are to fail.

    Their Python allocates all memory by malloc, and malloc keeps no freed memory that a limit does not see.
    """
    library = folder / "failing_malloc.so"
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", str(library), str(LIBRARY)]
    subprocess.run(command, check=True)
    kept = {"MALLOC_MMAP_THRESHOLD_": f"{1 << 14}", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_ARENA_MAX": "1"}
    return {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc", **kept}


TRIGGERS: dict[str, type[Trigger]] = {
    FIRST: Alarm, "alarm": Alarm, "terminate": Terminate, "interrupt": Interrupt, "limit": AddressLimit,
    "allocation": Allocation,
}  # fmt: skip
