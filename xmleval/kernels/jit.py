"""How kernels are compiled, decided once."""

from __future__ import annotations

import _thread
import errno
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from numba import config, njit
from numba.core import caching

F = TypeVar("F", bound=Callable[..., object])
DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, RuntimeError,
    TypeError, ValueError, caching.pickle.UnpicklingError,
)  # fmt: skip
# Python prints its warnings to stderr where no handler is set
LOG = logging.getLogger("xmleval.kernels")
KERNEL_SECONDS = 0.3  # to compile a kernel, on average
PATIENCE, EAGER_PATIENCE = 1.0, 0.5  # seconds of compiling that need no word; where debugging is shown
START_SECONDS = 2.0  # within which a thread begins, unless there is no memory for it
_told: list[str] = []
_caches: list[_Cache] = []


class Compiled:
    """What this process has compiled, and the fewest and most kernels expected with an empty cache."""

    def __init__(self) -> None:
        self.n_kernels, self.seconds = 0, 0.0
        self.since: float | None = None  # when what is being compiled was begun
        self.from_empty_cache = False
        self.expected, self.told = (15, 46), False  # those of one measure, and of the demo

    @property
    def waited(self) -> float:
        """Seconds that compiling has taken up to now."""
        return self.seconds + (0.0 if self.since is None else time.monotonic() - self.since)


compiled = Compiled()


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk where possible; not if Numba is told not to."""
    if config.DISABLE_JIT:
        return function
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher._cache = _Cache(function)
        _caches.append(dispatcher._cache)
    except (OSError, RuntimeError):
        dispatcher._cache = _NoCache()
        _tell("no cache of kernels can be written; set NUMBA_CACHE_DIR to a folder for it")
    dispatcher._compile_for_args = partial(_compile_timed, dispatcher._compile_for_args)
    result: F = dispatcher
    return result


def cache_folders() -> list[str]:
    """Return the folders that hold compiled kernels."""
    return sorted({cache.cache_path for cache in _caches})


def _compile_timed(compile_it: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Compile, or load what is compiled, and note the time that compiling takes."""
    if compiled.since is not None:  # what the kernel calls
        return _compile_undisturbed(compile_it, *args, **more)
    compiled.since, n_before = time.monotonic(), compiled.n_kernels
    try:
        return _compile_undisturbed(compile_it, *args, **more)
    finally:
        if compiled.n_kernels > n_before:
            compiled.seconds = compiled.waited
        compiled.since = None


def _compile_undisturbed(compile_it: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Compile in another thread, where no signal handler runs: one that raises would leave Numba broken."""
    if threading.current_thread() is not threading.main_thread():
        return compile_it(*args, **more)
    begun: list[bool] = []
    abandoned: list[bool] = []
    found: list[Any] = []
    failed: list[BaseException] = []
    running = _thread.allocate_lock()
    running.acquire()

    def compile_there() -> None:
        try:
            begun.append(True)
            if not abandoned:
                found.append(compile_it(*args, **more))
        except BaseException as error:
            failed.append(error)
        finally:
            running.release()

    try:
        _thread.start_new_thread(compile_there, ())  # a `Thread` whose start is interrupted may not run
    except RuntimeError:  # no more threads
        return compile_it(*args, **more)
    while not running.acquire(timeout=START_SECONDS):
        if not begun:  # without memory, a thread ends before its first line
            abandoned.append(True)
            return compile_it(*args, **more)
    if failed:
        raise failed[0]
    if not found:
        raise MemoryError("no memory to compile a kernel")
    return found[0]


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk; where it fails, a kernel is compiled, and that is told once."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled kernel, or None."""
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except (OSError, *DAMAGE) as error:
            self._fail(error)
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel."""
        try:
            super().save_overload(sig, data)
        except (OSError, *DAMAGE) as error:
            self._fail(error)

    def holds_any(self) -> bool:
        """Return whether any compiled form of the kernel is on disk."""
        return os.path.exists(self._cache_file._index_path)

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, OSError):
            why = f"is damaged ({type(error).__name__}: {error}); remove it"
        elif error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise error
        elif error.errno == errno.ENOMEM:
            raise MemoryError(f"no memory to read compiled kernels of {self.cache_path}") from None
        else:
            why = f"cannot be used ({error.strerror}); mend it, or set NUMBA_CACHE_DIR"
        _tell(f"{self.cache_path}: this cache of kernels {why}")


class _NoCache(caching.NullCache):  # type: ignore[misc]
    """No cache: every process compiles."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Return None."""
        _announce()


def _announce() -> None:
    """Log once, before a wait of more than about a second, that kernels are compiled.

    Called before each that is compiled. Where the cache is empty, many will be; otherwise few or none may be
    missing. The command line, which shows messages for debugging, says so before the first of many; in
    Python, a warning is logged once a second has passed.
    """
    compiled.n_kernels += 1
    if compiled.told:
        return
    if compiled.n_kernels == 1:
        compiled.from_empty_cache = not any(map(_Cache.holds_any, _caches))
    eager = LOG.isEnabledFor(logging.DEBUG)
    patience = PATIENCE if not eager else 0.0 if compiled.from_empty_cache else EAGER_PATIENCE
    if compiled.waited < patience:
        return
    compiled.told = True
    once = "once, " if _caches else ""
    few, most = (f"{KERNEL_SECONDS * n:.0f}" for n in compiled.expected)
    about = f"about {few if few == most else f'{few} to {most}'} s"
    seconds = about if compiled.from_empty_cache else "a few seconds"
    LOG.log(logging.DEBUG if eager else logging.WARNING, "xmleval: compiling kernels, %s%s", once, seconds)


def _tell(why: str) -> None:
    if not _told:
        _told.append(why)
        warnings.warn(f"{why}; kernels are compiled again", RuntimeWarning, stacklevel=2)
