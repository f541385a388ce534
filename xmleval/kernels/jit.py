"""When kernels run as plain Python, and when they are compiled: decided here alone.

A kernel is a Python function. It gives the same bits either way, so that small work needs no
compiler, and not even the time to load it. The outermost call decides for all kernels within it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from functools import cache, partial, update_wrapper
from types import FunctionType, ModuleType
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from xmleval.base.threads import undisturbed
from xmleval.base.work import WORK
from xmleval.kernels.kept import is_kept

F = TypeVar("F", bound=Callable[..., object])
Work = Callable[..., int]
Whole = int | np.int64  # a number in a kernel, which is of NumPy where an array held it
COMPILING_SECONDS = 0.26  # to compile a kernel
LOADING_SECONDS = 0.01  # to load a compiled one
# of plain Python for an entry of an array: twice that of a kernel, as others follow
ENTRY_SECONDS = 4e-6
lock = threading.RLock()  # while kernels are made
# a child would find the lock taken, and what it guards half done
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def kernel(function: F) -> F:
    """Make a kernel of a function, whose work is as large as its arrays."""
    return cast(F, Kernel(function))


class Decorator(Protocol):
    """What makes a kernel of a function of any type."""

    def __call__(self, function: F, /) -> F:
        """Make it, and keep the type."""
        ...


def kernel_with_work(work: Work) -> Decorator:
    """Make a kernel of a function that reads more or less than its arrays, see ``work``."""

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, work))

    return decorate


def n_rows(ptr: Sized, *_: object) -> int:
    """Return the number of rows, for kernels that read little of a row."""
    return len(ptr)


def size_of_arrays(*arguments: object) -> int:
    """Return the number of entries of all arrays."""
    return sum([argument.size for argument in arguments if isinstance(argument, np.ndarray)])


def slow_entries(times: int) -> Work:
    """Return the work of kernels that take so many times as long as others for an entry."""
    return lambda *arguments: times * size_of_arrays(*arguments)


class Kernel:
    """A kernel, in plain Python and compiled."""

    def __init__(self, function: Callable[..., Any], work: Work = size_of_arrays) -> None:
        update_wrapper(self, function)
        self.function = function
        self.work = work
        self._plain: Callable[..., Any] | None = None
        self._compiled: Callable[..., Any] | None = None

    def __reduce__(self) -> str:
        """Pickle the kernel as functions are, by its name."""
        return self.function.__qualname__

    def made_plain(self) -> Callable[..., Any]:
        """Return the function as it stands, which calls others that do."""
        if self._plain is None:
            WORK.compiler_seconds += self.seconds_to_compile()
            self._plain = linked(self.function, Kernel.made_plain)
        return self._plain

    def seconds_to_compile(self) -> float:
        """Return about how long it takes to compile the kernel, or to load it."""
        return LOADING_SECONDS if is_kept(self.function) else COMPILING_SECONDS

    def made_compiled(self) -> Callable[..., Any]:
        """Return the compiled function, which calls compiled ones; the plain one without JIT."""
        with lock:
            if self._compiled is None:
                self._compiled = partial(run_plain, self) if is_disabled() else self._compile()
            return self._compiled

    def __call__(self, *arguments: object) -> Any:
        """Run the kernel; the values are the same in both ways."""
        if WORK.is_small and stays_small(self, arguments):
            start = time.perf_counter()
            try:
                return run_plain(self, *arguments)
            finally:
                WORK.seconds += time.perf_counter() - start
        compiled = self._compiled or self.made_compiled()
        return compiled(*arguments)

    def _compile(self) -> Callable[..., Any]:
        """Return the compiled function."""
        function = linked(self.function, Kernel.made_compiled)
        compiled: Callable[..., Any] = compiler().compiled(function)
        return compiled


@contextlib.contextmanager
def in_compiled_kernels() -> Iterator[None]:
    """Compile kernels, however small the work, for tests."""
    before = WORK.is_small
    WORK.is_small = False
    try:
        yield
    finally:
        WORK.is_small = before


def run_plain(called: Kernel, *arguments: object) -> object:
    """Return what a kernel returns as plain Python."""
    with np.errstate(all="ignore"):  # hashes wrap around on purpose, and 0/0 is NaN
        return as_python(called.made_plain()(*arguments))


@cache
def compiler() -> ModuleType:
    """Return the module of the compiler, which loads Numba."""
    return undisturbed(importlib.import_module, f"{__package__}.compiling")


def is_disabled() -> bool:
    """Whether Numba is configured to compile nothing."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def stays_small(called: Kernel, arguments: Sequence[object]) -> bool:
    """Tell whether plain Python, with one more call, has taken no longer than the compiler would.

    Once it has, kernels are compiled for good. No run takes more than about twice as long as the
    better way.
    """
    called.made_plain()  # which adds what compiling the kernel, and those it calls, would take
    if WORK.seconds + ENTRY_SECONDS * called.work(*arguments) > WORK.compiler_seconds:
        WORK.is_small = False
    return WORK.is_small


def linked(
    function: Callable[..., Any], form: Callable[[Kernel], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a function that calls the same form of other kernels."""
    names = function.__globals__
    called = {
        name: names[name]
        for name in function.__code__.co_names
        if isinstance(names.get(name), Kernel)
    }
    forms = {name: form(callee) for name, callee in called.items()}
    if not forms:
        return function
    return FunctionType(
        function.__code__,
        {**names, **forms},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def as_python(result: object) -> object:
    """Return what a compiled kernel returns: numbers of Python, for those of NumPy."""
    if isinstance(result, tuple):
        return tuple([as_python(part) for part in result])
    return result.item() if isinstance(result, np.generic) else result
