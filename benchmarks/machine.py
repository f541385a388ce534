"""Speed of the machine, to compare times of different machines."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import available_processors

SORT_KEYS = 30_000_000
READ_BYTES = 1 << 28  # of an array that is larger than caches


def machine(scale: float = 1.0) -> dict[str, Any]:
    """Return the processor, and the rates of reading and of sorting.

    ``scale`` shrinks the sorted array.
    """
    read = np.ones(READ_BYTES // 8)
    keys = max(1000, int(SORT_KEYS * scale))
    sort = np.random.default_rng(0).random(keys, np.float32)
    threads = sorted({1, available_processors()})
    return {
        **identity(),
        "read_bytes_per_second": {
            str(n): READ_BYTES / fastest(np.sum, read, n, 8) for n in threads
        },
        "sort_keys_per_second": {str(n): keys / fastest(np.sort, sort, n, 3) for n in threads},
    }


def identity() -> dict[str, Any]:
    """Return the processor, the system, and the versions of Python and NumPy."""
    return {
        "processor": processor(),
        "cores": available_processors(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def fastest(function: Callable[..., Any], values: Any, threads: int, repeats: int) -> float:
    """Return the seconds of applying a function to the values, a part on each thread.

    It is the minimum of the repetitions, because other load slows them down.
    """
    parts = np.array_split(values, threads)
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(function, parts))
            seconds.append(time.perf_counter() - start)
    return min(seconds)


def processor() -> str:
    """Return the name of the processor; empty if the system does not report it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), ""
    )
