"""Address space that a limit, such as that of ``ulimit -v``, leaves to this process."""

from __future__ import annotations

import math
import resource

LEAST_BYTES = 768 << 20  # enough to load the libraries, compile kernels and count in one thread
SIZES = "/proc/self/statm"  # the first number counts mapped pages


def limit_of_address_space() -> float:
    """Return the bytes that this process may map, infinite if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def address_space_left() -> float:
    """Return the bytes that this process may still map; infinite without a known limit."""
    limit = limit_of_address_space()
    if limit == math.inf:
        return math.inf
    try:
        with open(SIZES, "rb") as file:
            n_pages = int(file.read().split()[0])
    except OSError as error:
        if error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise
        return math.inf
    return max(limit - n_pages * resource.getpagesize(), 0)


def refuse_little_address_space() -> None:
    """Refuse a limit under which loading the libraries would fail, or end or block the process."""
    limit = limit_of_address_space()
    if limit < LEAST_BYTES:
        allowed = f"{limit / 2**20:.4g} MiB"
        needed = f"{LEAST_BYTES / 2**20:.4g} MiB"
        raise MemoryError(
            f"the limit of address space is {allowed}; at least {needed} are needed"
            f" (ulimit -v {LEAST_BYTES >> 10})"
        )
