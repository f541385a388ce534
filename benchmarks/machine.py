"""What the machine can do at best, so that seconds of different machines can be told apart."""

from __future__ import annotations

import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.cli.bench import read_bandwidth
from xmleval.threads import available_processors

SORT_KEYS = 30_000_000


class Machine:
    """Rates of reading and sorting, the best of measurements before, between and after what is timed.

    What the machine can do is its best moment: a neighbour on another core only ever takes from it.
    """

    def __init__(self, scale: float = 1.0) -> None:
        """Measure once; `scale` shrinks what is sorted."""
        self.n_keys = max(1000, int(SORT_KEYS * scale))
        self.threads = sorted({1, available_processors()})
        self.reading = dict.fromkeys(self.threads, 0.0)
        self.sorting = dict.fromkeys(self.threads, 0.0)
        self.read()
        self.sort()

    def read(self) -> None:
        """Measure reading once more."""
        for threads in self.threads:
            self.reading[threads] = max(self.reading[threads], read_bandwidth(threads))

    def sort(self) -> None:
        """Measure sorting once more."""
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


def sort_rate(threads: int, n_keys: int = SORT_KEYS, repeats: int = 3) -> float:
    """Return the keys a second that `np.sort` sorts of random float32, each thread a part, at best."""
    parts = np.array_split(np.random.default_rng(0).random(n_keys, np.float32), threads)
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(np.sort, parts))
            seconds.append(time.perf_counter() - start)
    return n_keys / min(seconds)


def processor() -> str:
    """Return the name of the processor, as far as it is known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
