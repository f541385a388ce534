"""How kernels are compiled, decided once."""

from __future__ import annotations

import errno
import logging
import math
import threading
import warnings
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from typing import Any, TypeVar

from numba import config, njit
from numba.core import caching
from numba.np.linalg import ensure_blas, ensure_lapack

from xmleval.base.address_space import address_space_left, limit_of_address_space
from xmleval.base.threads import Call

F = TypeVar("F", bound=Callable[..., object])
# Python prints its warnings to stderr where no handler is set
LOG = logging.getLogger("xmleval.kernels")
N_QUIET = 3  # kernels that are compiled, each in about 0.3 s, before a message says so
COMPILING_BYTES = 64 << 20  # of address space, without which LLVM ends the process
START_SECONDS = 2.0  # within which a thread begins, unless there is no memory for it
folders: set[str] = set()  # that hold compiled kernels

if limit_of_address_space() < math.inf:  # SciPy's BLAS never returns where it finds none left
    ensure_blas()
    ensure_lapack()


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk where possible; not where JIT is disabled."""
    if config.DISABLE_JIT:
        return function
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher._cache = Cache(function)
        folders.add(dispatcher._cache.cache_path)
    except (OSError, RuntimeError):
        Cache.warn("no cache of kernels can be written; set NUMBA_CACHE_DIR to a folder for it")
    dispatcher._compile_for_args = partial(_compile_undisturbed, dispatcher._compile_for_args)
    result: F = dispatcher
    return result


def _compile_undisturbed(compile_it: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compile in another thread, where no signal handler runs: what one raises in Numba may be lost.

    Python drops it while objects are freed, and elsewhere it is taken for a fault of the cache.
    """
    if threading.current_thread() is not threading.main_thread():
        return compile_it(*args, **kwargs)
    return Call(partial(compile_it, *args, **kwargs)).result(START_SECONDS)


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


class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files, named by what they hold: it numbers them, and two processes may take one number.

    One of them would then run what the other compiled for values of another type. Each file holds the
    stamp of its sources, too: a process that began before they changed may still save what it compiles.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save a compiled kernel, and then its name in the index."""
        name = self._data_name(int.from_bytes(sha256(repr(key).encode()).digest()[:8]))
        self._save_data(name, (self._source_stamp, data))
        self._save_index({**self._load_index(), key: name})

    def load(self, key: Any) -> Any:
        """Return a compiled kernel, or None if it is not saved or of other sources."""
        saved = super().load(key)
        if saved is None:
            return None
        stamp, data = saved
        return data if stamp == self._source_stamp else None


class Cache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk; where it fails, a kernel is compiled, and one warning says so."""

    n_compiled = 0  # kernels of this process
    warned = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), hash_of_sources()
        self._cache_file = Files(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled kernel, or None; log that kernels are compiled once there are several."""
        compiled = self._tried(super().load_overload, sig, target_context)
        if compiled is None:
            if address_space_left() < COMPILING_BYTES:
                raise MemoryError("none is left in the address space to compile a kernel")
            Cache.n_compiled += 1
            if Cache.n_compiled == N_QUIET + 1:
                LOG.warning("xmleval: compiling kernels, once")
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel."""
        self._tried(super().save_overload, sig, data)

    def _tried(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Return what loading or saving returns, or None if it fails."""
        try:
            return action(*arguments)
        except OSError as error:
            if error.errno is None:  # raised by a signal handler, such as TimeoutError
                raise
            if error.errno == errno.ENOMEM:
                raise MemoryError(f"no memory to read compiled kernels of {self.cache_path}") from None
            why = f"cannot be used ({error.strerror}); mend it, or set NUMBA_CACHE_DIR"
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
