"""Address space: what a limit on it, such as that of ``ulimit -v``, leaves to this process."""

from __future__ import annotations

import math
import resource

LEAST_BYTES = 768 << 20  # within which the libraries load, kernels compile and one thread counts
SIZES = "/proc/self/statm"  # the first number is that of mapped pages


def limit_of_address_space() -> float:
    """Return the bytes that this process may map, infinite if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def address_space_left() -> float:
    """Return the bytes that this process may still map, infinite if there is no limit or none is known."""
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
    """Refuse a limit under which libraries would not load, or end or block the process as they do."""
    limit = limit_of_address_space()
    if limit < LEAST_BYTES:
        allowed, needed = (f"{n_bytes / 2**20:.4g} MiB" for n_bytes in (limit, LEAST_BYTES))
        text = f"the limit of address space is {allowed}; at least {needed} are needed"
        raise MemoryError(f"{text} (ulimit -v {LEAST_BYTES >> 10})")
