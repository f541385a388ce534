"""Micro-AUC of more scores than fit in memory: python -m benchmarks.spilling [MILLIONS [MEMORY [NAMES]]].

Generates scores block by block for one evaluator, and prints the values, the time and the peak memory of the
whole process.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmleval import Evaluator

ROWS, DEPTH, N_LABELS, N_RELEVANT = 10_000, 100, 500_000, 5


def make_block(number: int) -> tuple[Any, Any]:
    """Return the truth and the lists of a block, with its number as the seed."""
    rng = np.random.default_rng([7, number])
    start = rng.integers(0, N_LABELS, (ROWS, 1))
    labels = (start + 4999 * np.arange(DEPTH)) % N_LABELS  # distinct, because the numbers are coprime
    scores = np.sort(rng.gamma(2.0, 1.0, (ROWS, DEPTH)).astype(np.float32), axis=1)[:, ::-1]
    places = np.sort(rng.integers(0, 2 * DEPTH, (ROWS, N_RELEVANT)) ** 2 // (2 * DEPTH), axis=1)
    listed = np.where(places < DEPTH, places, DEPTH - 1 - np.arange(N_RELEVANT))
    relevant = np.take_along_axis(labels, listed, axis=1)
    rows = np.repeat(np.arange(ROWS), N_RELEVANT)
    truth = sp.csr_array((np.ones(rows.size), (rows, relevant.ravel())), shape=(ROWS, N_LABELS))
    truth.sum_duplicates()
    truth.data[:] = 1
    return truth, (labels.astype(np.int32), np.ascontiguousarray(scores))


def run(n_blocks: int, memory: str, metrics: list[str]) -> dict[str, float]:
    """Evaluate blocks, and print time and memory."""
    evaluator = Evaluator(metrics, n_labels=N_LABELS, memory=memory)
    seconds = 0.0
    for number in range(n_blocks):
        block = make_block(number)
        start = time.perf_counter()
        evaluator.update(*block)
        seconds += time.perf_counter() - start
    start = time.perf_counter()
    values = dict(evaluator.compute())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n_blocks * ROWS * DEPTH / 1e6:g} million scores, memory {memory}")
    print(f"updates {seconds:.1f} s, compute {time.perf_counter() - start:.1f} s, peak {peak:.0f} MiB")
    print(*(f"{name} {value!r}" for name, value in values.items()), sep="\n")
    return values


if __name__ == "__main__":
    defaults = ["400", "256MB", "auc.micro,ap.micro"]
    millions, memory, names = [*sys.argv[1:], *defaults[len(sys.argv) - 1 :]]
    run(max(1, int(float(millions) * 1e6) // (ROWS * DEPTH)), memory, names.split(","))
