"""When kernels run as plain Python, and when they are compiled: decided here alone.

A kernel is a Python function. It gives the same bits either way, so that small work needs no compiler, and
not even the time to load it. The outermost call decides for all kernels within it.
"""

from __future__ import annotations

import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from importlib import resources
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from xmleval.base.threads import undisturbed
from xmleval.base.work import WORK

F = TypeVar("F", bound=Callable[..., object])
Work = Callable[..., int]
NUMBA_SECONDS = 0.6  # to load Numba
COMPILING_SECONDS = 0.26  # to compile a kernel
LOADING_SECONDS = 0.01  # to load a compiled one
ENTRY_SECONDS = 4e-6  # of plain Python for an entry of an array: twice that of a kernel, as others follow
MARK = "xmleval-kernels"  # file in a cache of compiled kernels: the hash of their sources
lock = threading.RLock()  # while kernels are made


def kernel(function: F) -> F:
    """Make a kernel of a function, whose work is as large as its arrays."""
    return cast(F, Kernel(function))


class Decorator(Protocol):
    """What makes a kernel of a function of any type."""

    def __call__(self, function: F, /) -> F:
        """Make it, and keep the type."""
        ...


def kernel_with_work(work: Work) -> Decorator:
    """Make a kernel of a function that reads more than its arrays hold, or less, with how many entries."""

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, work))

    return decorate


def n_rows(ptr: Any, *_: Any) -> int:
    """Return the number of rows, for kernels that read little of each."""
    return len(ptr)


def size_of_arrays(*arguments: Any) -> int:
    """Return the number of entries of all arrays."""
    return sum([argument.size for argument in arguments if isinstance(argument, np.ndarray)])


class Kernel:
    """A kernel, in plain Python and compiled."""

    def __init__(self, function: Callable[..., Any], work: Work = size_of_arrays) -> None:
        update_wrapper(self, function)
        self.function = function
        self.work = work

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as it stands, which calls others that do."""
        WORK.n_kernels += 1
        return linked(self.function, lambda callee: callee.plain)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The compiled function, which calls compiled ones."""
        with lock:
            made: Callable[..., Any] | None = self.__dict__.get("compiled")  # by another thread, meanwhile
            return made or compile_linked(self.function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; the values are the same in both ways."""
        if WORK.is_small and stays_small(self, arguments):
            start = time.perf_counter()
            try:
                return run_plain(self, arguments)
            finally:
                WORK.seconds += time.perf_counter() - start
        return self.compiled(*arguments)


def run_plain(called: Kernel, arguments: Sequence[Any]) -> Any:
    """Return what a kernel returns as plain Python."""
    with np.errstate(all="ignore"):  # hashes wrap around on purpose, and 0/0 is NaN
        return as_python(called.plain(*arguments))


@cache
def compiler() -> Any:
    """Return the module of the compiler, which loads Numba."""
    return undisturbed(importlib.import_module, f"{__package__}.compiling")


def compile_linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function that calls compiled kernels."""
    compiled: Callable[..., Any] = compiler().compiled(linked(function, lambda callee: callee.compiled))
    return compiled


def stays_small(called: Kernel, arguments: Sequence[Any]) -> bool:
    """Tell whether plain Python, with one more call, has taken no longer than the compiler would.

    Once it has, kernels are compiled for good. No run takes more than about twice as long as the better way.
    """
    if WORK.kernel_seconds is None:
        WORK.kernel_seconds = seconds_of_kernel()
    limit = NUMBA_SECONDS + (WORK.n_kernels + 1) * WORK.kernel_seconds
    if WORK.seconds + ENTRY_SECONDS * called.work(*arguments) > limit:
        WORK.is_small = False
    return WORK.is_small


def seconds_of_kernel() -> float:
    """Return about how long it takes to have a compiled kernel, infinite if that is disabled."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return math.inf
    return LOADING_SECONDS if are_kept() else COMPILING_SECONDS


def are_kept() -> bool:
    """Tell whether compiled kernels of these sources are kept where Numba looks for them."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    own = Path(__file__).parent / "__pycache__" / MARK
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")
    folder = Path(named) if named else of_user
    try:
        marks = [*([] if named else [own]), *folder.glob(f"kernels_*/{MARK}")]
        return any(mark.is_file() and mark.read_bytes() == hash_of_sources() for mark in marks)
    except OSError as error:
        if error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise
        return False  # of another user, or just removed


def linked(function: Callable[..., Any], form: Callable[[Kernel], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that calls the same form of other kernels."""
    names = function.__globals__
    called = {name: names[name] for name in function.__code__.co_names if isinstance(names.get(name), Kernel)}
    forms = {name: form(callee) for name, callee in called.items()}
    if not forms:
        return function
    return FunctionType(
        function.__code__, {**names, **forms}, function.__name__, function.__defaults__, function.__closure__
    )


def as_python(result: Any) -> Any:
    """Return what a compiled kernel returns: numbers of Python, for those of NumPy."""
    if isinstance(result, tuple):
        return tuple([as_python(part) for part in result])
    return result.item() if isinstance(result, np.generic) else result


@cache
def hash_of_sources() -> bytes:
    """Return the hash of all files of kernels, since callees and constants of other files are compiled in."""
    digest = sha256()
    sources = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".py")]
    for source in sorted(sources, key=lambda file: file.name):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()
