"""What the machine can do at best, so that seconds of different machines can be told apart."""

from __future__ import annotations

import os
import platform
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.cli.bench import read_bandwidth

SORT_KEYS = 30_000_000
THREADS = (1, 2)


def sort_rate(threads: int, n_keys: int = SORT_KEYS, repeats: int = 7) -> float:
    """Return the keys a second that `np.sort` sorts of random float32, the median of several runs.

    Each thread has its part. Two of them show a neighbour on the other core, which one does not notice.
    """
    parts = np.array_split(np.random.default_rng(0).random(n_keys, np.float32), threads)
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats + 1):
            start = time.perf_counter()
            list(pool.map(np.sort, parts))
            seconds.append(time.perf_counter() - start)
    return n_keys / statistics.median(seconds[1:])  # the first pays for fresh memory


def describe_machine(scale: float = 1.0) -> dict[str, Any]:
    """Return the processor, and its rates of reading and sorting; `scale` shrinks what is sorted."""
    n_keys = max(1000, int(SORT_KEYS * scale))
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "read_bytes_per_second": {str(threads): read_bandwidth(threads) for threads in THREADS},
        "sort_keys_per_second": {str(threads): sort_rate(threads, n_keys) for threads in THREADS},
    }


def processor() -> str:
    """Return the name of the processor, as far as it is known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
