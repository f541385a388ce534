"""How kernels are compiled, decided once."""

from __future__ import annotations

import _thread
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from numba import njit
from numba.core import caching

F = TypeVar("F", bound=Callable[..., object])
DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, MemoryError,
    RuntimeError, TypeError, ValueError, caching.pickle.UnpicklingError,
)  # fmt: skip
_told: list[str] = []


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk where a cache can be read and written."""
    compiled: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        compiled._cache = _Cache(function)
    except (OSError, RuntimeError):
        _tell("no cache of kernels can be written; set NUMBA_CACHE_DIR to a folder for it")
    compiled._compile_for_args = partial(_compile_undisturbed, compiled._compile_for_args)
    result: F = compiled
    return result


def _compile_undisturbed(compile_it: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Compile in another thread, where no signal handler runs: one that raises would leave Numba broken."""
    if threading.current_thread() is not threading.main_thread():
        return compile_it(*args, **more)
    found: list[Any] = []
    failed: list[BaseException] = []
    running = _thread.allocate_lock()
    running.acquire()

    def compile_there() -> None:
        try:
            found.append(compile_it(*args, **more))
        except BaseException as error:
            failed.append(error)
        finally:
            running.release()

    try:
        _thread.start_new_thread(compile_there, ())  # a `Thread` whose start is interrupted may not run
    except RuntimeError:  # no more threads
        return compile_it(*args, **more)
    running.acquire()
    if failed:
        raise failed[0]
    return found[0]


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk; where it fails, a kernel is compiled, and that is told once."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled kernel, or None."""
        try:
            return super().load_overload(sig, target_context)
        except (OSError, *DAMAGE) as error:
            self._fail(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel."""
        try:
            super().save_overload(sig, data)
        except (OSError, *DAMAGE) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, OSError):
            why = f"is damaged ({type(error).__name__}: {error}); remove it"
        elif error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise error
        else:
            why = f"cannot be used ({error.strerror}); mend it, or set NUMBA_CACHE_DIR"
        _tell(f"{self.cache_path}: this cache of kernels {why}")


def _tell(why: str) -> None:
    if not _told:
        _told.append(why)
        warnings.warn(f"{why}; kernels are compiled again", RuntimeWarning, stacklevel=2)
