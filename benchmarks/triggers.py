"""Triggers of faults at random moments of an operation: signals and memory errors."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class FaultError(Exception):
    """Raised by signal handlers."""


class Trigger:
    """Causes one fault at a random moment while armed."""

    heights: dict[str, float]  # by operation, upper limit of the random moment

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.armed, self.fired, self.heights = rng, False, False, {}

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
            raise FaultError


class Alarm(Trigger):
    """SIGALRM from a timer."""

    share = 1.0  # of the duration of an operation

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        signal.signal(signal.SIGALRM, self.ring)
        signal.signal(signal.SIGUSR1, self.ring)

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        spent = []
        for _ in range(3):
            operation(lambda: spent.append(time.perf_counter()))
            spent[-1] = time.perf_counter() - spent[-1]
        self.heights[name] = 1.1 * float(np.median(spent))

    def moment(self, name: str) -> float:
        return float(max(1e-6, self.rng.uniform(0, self.share * self.heights[name])))

    def arm(self, name: str) -> None:
        self.armed, self.fired = True, False
        signal.setitimer(signal.ITIMER_REAL, self.moment(name))

    def disarm(self) -> None:
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)


class OtherThread(Alarm):
    """SIGUSR1 from another thread of the process."""

    share = 0.6  # the signal arrives late

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.sender = threading.Thread()
        self.sender.start()
        sys.setswitchinterval(1e-5)

    def arm(self, name: str) -> None:
        def send(seconds: float) -> None:
            time.sleep(seconds)
            os.kill(os.getpid(), signal.SIGUSR1)

        self.sender = threading.Thread(target=send, args=(self.moment(name),))
        self.sender.start()
        self.armed, self.fired = True, False

    def disarm(self) -> None:
        self.armed = False
        self.sender.join()


class AddressLimit(Trigger):
    """RLIMIT_AS, a random amount above current use."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.libc = ctypes.CDLL(None)
        for option, value in ((-3, 1 << 14), (-1, 0), (-8, 1)):  # mmap large blocks, trim, one arena
            self.libc.mallopt(option, value)
        threading.stack_size(1 << 20)
        self.unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        height = 1 << 16
        while height < 1 << 30:
            try:
                operation(lambda: self.limit(height))  # noqa: B023
                break
            except (MemoryError, OSError, RuntimeError):
                height = height * 3 // 2
            finally:
                self.disarm()
        self.heights[name] = height

    def limit(self, height: int) -> None:
        self.libc.malloc_trim(0)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + height, resource.RLIM_INFINITY))

    def arm(self, name: str) -> None:
        self.armed = True
        self.limit(int(self.rng.uniform(0, self.heights[name])))

    def disarm(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self.unlimited)
        self.armed = False


SET_HANDLER = 304  # index of PyDataMem_SetHandler in NumPy's C API table


class Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C API."""

    _fields_ = (
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )  # fmt: skip


class Allocation(Trigger):
    """Failure of the n-th array allocation in this thread, alone or with all later ones.

    The allocator is compiled, because arrays are freed while exceptions propagate.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.state = (ctypes.c_int64 * 4)()  # allocations, first and last to fail, failures
        self.functions = allocator()  # kept alive until the process ends
        self.handler = Handler(
            b"failing", 1, ctypes.addressof(self.state), *(function.address for function in self.functions)
        )
        api, objects = ctypes.pythonapi, ctypes.py_object
        api.PyCapsule_GetPointer.restype, api.PyCapsule_New.restype = ctypes.c_void_p, objects
        api.PyCapsule_GetPointer.argtypes = [objects, ctypes.c_char_p]
        api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        numpy_api: Any = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
        table = api.PyCapsule_GetPointer(numpy_api, None)
        place = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[SET_HANDLER]
        capsule = api.PyCapsule_New(ctypes.addressof(self.handler), b"mem_handler", None)
        ctypes.PYFUNCTYPE(objects, objects)(place)(capsule)

    def measure(self, name: str, operation: Callable[[Callable[[], None]], None]) -> None:
        started = []
        operation(lambda: started.append(self.state[0]))
        self.heights[name] = self.state[0] - started[0] + 1

    def arm(self, name: str) -> None:
        first = self.state[0] + 1 + int(self.rng.integers(int(self.heights[name])))
        self.fired, self.state[3] = False, 0
        self.state[2] = first if self.rng.random() < 0.5 else sys.maxsize
        self.state[1] = first

    def disarm(self) -> None:
        self.state[1] = sys.maxsize
        self.fired = self.state[3] > 0


def allocator() -> list[Any]:
    """Return malloc, calloc, realloc and free that count calls, and fail according to the state."""
    from numba import carray, cfunc, njit, types

    libc = ctypes.CDLL(None)
    malloc, calloc, realloc, free = libc.malloc, libc.calloc, libc.realloc, libc.free
    word, state = types.uintp, types.CPointer(types.int64)
    for function, n_arguments in ((malloc, 1), (calloc, 2), (realloc, 2), (free, 1)):
        function.argtypes = [ctypes.c_size_t] * n_arguments
        function.restype = None if function is free else ctypes.c_size_t

    @njit  # type: ignore[untyped-decorator]
    def fails(context: Any) -> Any:
        held = carray(context, 4)
        held[0] += 1
        failed = held[1] <= held[0] <= held[2]
        held[3] += failed
        return failed

    def failing_malloc(context: Any, size: Any) -> Any:
        return np.uintp(0) if fails(context) else malloc(size)

    def failing_calloc(context: Any, count: Any, size: Any) -> Any:
        return np.uintp(0) if fails(context) else calloc(count, size)

    def failing_realloc(context: Any, old: Any, size: Any) -> Any:
        return np.uintp(0) if fails(context) else realloc(old, size)

    def counting_free(_: Any, old: Any, size: Any) -> None:
        free(old)

    return [
        cfunc(word(state, word))(failing_malloc),
        cfunc(word(state, word, word))(failing_calloc),
        cfunc(word(state, word, word))(failing_realloc),
        cfunc(types.void(state, word, word))(counting_free),
    ]


TRIGGERS: dict[str, type[Trigger]] = {
    "alarm": Alarm, "other thread": OtherThread, "limit": AddressLimit, "allocation": Allocation,
}  # fmt: skip
