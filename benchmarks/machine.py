"""Speed of the machine, to compare times of different machines."""

from __future__ import annotations

import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.threads import available_processors

SORT_KEYS = 30_000_000
READ_BYTES = 1 << 28  # of an array that is larger than caches


class Machine:
    """Rates of reading and sorting: the best of several measurements, because other load only slows them."""

    def __init__(self, scale: float = 1.0) -> None:
        """Measure once; ``scale`` shrinks the sorted array."""
        self.n_keys = max(1000, int(SORT_KEYS * scale))
        self.threads = sorted({1, available_processors()})
        self.reading = dict.fromkeys(self.threads, 0.0)
        self.sorting = dict.fromkeys(self.threads, 0.0)
        self.read()
        self.sort()

    def read(self) -> None:
        """Measure reading again."""
        for threads in self.threads:
            self.reading[threads] = max(self.reading[threads], read_bandwidth(threads))

    def sort(self) -> None:
        """Measure sorting again."""
        for threads in self.threads:
            self.sorting[threads] = max(self.sorting[threads], sort_rate(threads, self.n_keys))

    def describe(self) -> dict[str, Any]:
        """Return the processor and the rates, after a last measurement."""
        self.read()
        self.sort()
        return {
            "processor": processor(),
            "cores": available_processors(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "read_bytes_per_second": {str(threads): rate for threads, rate in self.reading.items()},
            "sort_keys_per_second": {str(threads): rate for threads, rate in self.sorting.items()},
        }


def read_bandwidth(threads: int) -> float:
    """Return the bytes a second at which threads sum an array, the best of several runs."""
    parts, seconds = np.array_split(np.ones(READ_BYTES // 8), threads), []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(8):
            start = time.perf_counter()
            list(pool.map(np.sum, parts))
            seconds.append(time.perf_counter() - start)
    return READ_BYTES / min(seconds)


def sort_rate(threads: int, n_keys: int = SORT_KEYS, repeats: int = 3) -> float:
    """Return how many random float32 keys `np.sort` sorts per second, a part per thread."""
    parts = np.array_split(np.random.default_rng(0).random(n_keys, np.float32), threads)
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(np.sort, parts))
            seconds.append(time.perf_counter() - start)
    return n_keys / min(seconds)


def processor() -> str:
    """Return the name of the processor, if known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
