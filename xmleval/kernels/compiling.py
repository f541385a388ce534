"""How kernels are compiled and kept, decided once: the one file that loads Numba."""

from __future__ import annotations

import errno
import logging
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numba import carray, config, njit
from numba.core import caching, cgutils, types
from numba.extending import intrinsic
from numba.np.linalg import ensure_blas, ensure_lapack

from xmleval.base.address_space import address_space_left, limit_of_address_space
from xmleval.base.threads import undisturbed
from xmleval.kernels.jit import lock
from xmleval.kernels.kept import hash_of_sources, index_name

# Python prints its warnings to stderr where no handler is set
LOG = logging.getLogger("xmleval.kernels")
# seconds of compiling before a message; another follows whenever they have doubled
QUIET_SECONDS = 1.0
REMEDY = "`xmleval warmup` compiles kernels beforehand, on all processors"
COMPILING_BYTES = 64 << 20  # of address space, without which LLVM ends the process
T = TypeVar("T")
folders: set[str] = set()  # that hold compiled kernels

if limit_of_address_space() < math.inf:  # SciPy's BLAS never returns where it finds none left
    ensure_blas()
    ensure_lapack()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call, without the GIL, cached on disk if possible; not with JIT disabled."""
    if config.DISABLE_JIT:
        return function
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher._cache = Cache(function)
        folders.add(dispatcher._cache.cache_path)
    except (OSError, RuntimeError):
        dispatcher._cache = Uncached()
        Cache.warn("the cache of kernels cannot be written; set NUMBA_CACHE_DIR to a folder for it")
    dispatcher._compile_for_args = partial(undisturbed, _compile, dispatcher._compile_for_args)
    result: Callable[..., Any] = dispatcher
    return result


def compiled_anew(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of a user on first call, without the GIL; it is not cached on disk."""
    dispatcher: Callable[..., Any] = njit(nogil=True, error_model="numpy", boundscheck=True)(
        function
    )
    return dispatcher


def _compile(compile_it: Callable[..., T], *arguments: object, **named: object) -> T:
    """Compile a kernel and those it calls, or load them; add the seconds if any was compiled."""
    with lock:
        COMPILED.begun = time.monotonic()
        n_before = COMPILED.n
        try:
            return compile_it(*arguments, **named)
        finally:
            if COMPILED.n > n_before:
                COMPILED.seconds += time.monotonic() - COMPILED.begun


@dataclass
class Compiled:
    """What this process has compiled.

    n : kernels
    seconds : that this took; begun : when the last of them was, by `time.monotonic`
    told : after how many seconds a message said so, if any did
    """

    n: int = 0
    seconds: float = 0.0
    begun: float = 0.0
    told: float = QUIET_SECONDS / 2

    def count(self) -> None:
        """Count a kernel that is about to be compiled; log the number and seconds now and then."""
        if address_space_left() < COMPILING_BYTES:
            raise MemoryError("none is left in the address space to compile a kernel")
        seconds = self.seconds + time.monotonic() - self.begun
        if self.n and seconds >= 2 * self.told:
            self.told = seconds
            so_far = f"{self.n} so far, in {seconds:.0f} s"
            LOG.warning("xmleval: compiling kernels, once: %s; %s", so_far, REMEDY)
        self.n += 1


COMPILED = Compiled()


class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
    """Numba's cache, with files named by content: Numba numbers them, and numbers can collide.

    Two processes may take one number, and one of them would then run what the other compiled for
    values of another type. Each file has the stamp of its sources, too: a process that began before
    they changed may still save what it compiles.
    """

    def save(self, key: object, data: object) -> None:
        """Save a compiled kernel, and then its name in the index."""
        name = self._data_name(int.from_bytes(sha256(repr(key).encode()).digest()[:8]))
        self._save_data(name, (self._source_stamp, data))
        self._save_index({**self._load_index(), key: name})

    def load(self, key: object) -> object:
        """Return a compiled kernel, or None if it is not saved or of other sources."""
        saved = super().load(key)
        if saved is None:
            return None
        stamp, data = saved
        return data if stamp == self._source_stamp else None


class Uncached(caching.NullCache):  # type: ignore[misc]
    """No cache: whatever is asked for is compiled."""

    def load_overload(self, sig: object, target_context: object) -> None:
        """Count a kernel that is compiled."""
        COMPILED.count()


class Cache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk; where it fails, a kernel is compiled, and one warning says so."""

    warned = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), hash_of_sources()
        self._cache_file = Files(self._cache_path, index_name(function), stamp)

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return a compiled kernel, or None; count kernels that are compiled."""
        compiled = self._tried(super().load_overload, sig, target_context)
        if compiled is None:
            COMPILED.count()
        return compiled

    def save_overload(self, sig: object, data: object) -> None:
        """Save a compiled kernel."""
        self._tried(super().save_overload, sig, data)

    def _tried(self, action: Callable[..., T], *arguments: object) -> T | None:
        """Return what loading or saving returns, or None if it fails."""
        try:
            return action(*arguments)
        except OSError as error:
            if error.errno is None:  # raised by a signal handler, such as TimeoutError
                raise
            if error.errno == errno.ENOMEM:
                raise MemoryError(
                    f"no memory to read compiled kernels of {self.cache_path}"
                ) from None
            why = f"cannot be used ({error.strerror}); repair it, or set NUMBA_CACHE_DIR"
        except MemoryError:
            raise
        except Exception as error:  # of any class, as files are pickled
            why = f"is damaged ({type(error).__name__}: {error}); remove it"
        self.warn(f"{self.cache_path}: this cache of kernels {why}")
        return None

    @staticmethod
    def warn(why: str) -> None:
        """Warn that kernels are compiled again, once."""
        if not Cache.warned:
            Cache.warned = True
            warnings.warn(f"{why}; kernels are compiled again", RuntimeWarning, stacklevel=2)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer_to(context: object, address: object) -> tuple[object, Callable[..., object]]:
    """Return the pointer to an address, int64."""

    def generate(_: object, builder: Any, __: object, arguments: Sequence[object]) -> object:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@compiled
def array_at(address: int, n: int, dtype: type[np.generic]) -> Any:
    """Return the n entries at an address as an array."""
    return carray(_pointer_to(address), (n,), dtype)
