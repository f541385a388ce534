"""Pooled measures of more scores than fit in memory: python -m benchmarks.streams --help.

Generates scores block by block for one evaluator. Prints the values, the seconds of updates and of computing,
the peak memory of the process, the size of temporary files, and that of the saved state.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from xmleval import Evaluator

ROWS, N_LABELS, N_RELEVANT = 10_000, 1000, 10
Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[Any]]


def logits(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[Any]:
    """Draw Gaussian logits."""
    return rng.standard_normal(shape, np.float32)


def uniform(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[Any]:
    """Draw probabilities that are all as likely."""
    return rng.random(shape, np.float32)


def beta(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[Any]:
    """Draw from Beta(0.5, 0.5), most of it near 0 and 1."""
    return np.sin(uniform(rng, shape) * np.float32(np.pi / 2)) ** 2


DISTRIBUTIONS: dict[str, Draw] = {
    "uniform": uniform,
    "beta": beta,
    "logits": logits,
    "rounded": lambda rng, shape: uniform(rng, shape).round(3),
    "equal": lambda rng, shape: np.full(shape, 0.5, np.float32),
    "float16": lambda rng, shape: uniform(rng, shape).astype(np.float16).astype(np.float32),
}


def make_truth(rng: np.random.Generator) -> Any:
    """Draw the relevant labels of a block."""
    labels = np.sort(rng.integers(0, N_LABELS // N_RELEVANT, (ROWS, N_RELEVANT)), axis=1)
    labels += np.arange(N_RELEVANT) * (N_LABELS // N_RELEVANT)
    ptr = np.arange(ROWS + 1) * N_RELEVANT
    return sp.csr_array((np.ones(labels.size, np.uint8), labels.ravel(), ptr), shape=(ROWS, N_LABELS))


def run(n_blocks: int, distribution: str, memory: str, threads: int, metrics: list[str]) -> dict[str, float]:
    """Evaluate blocks, and print what it takes."""
    draw = DISTRIBUTIONS[distribution]
    evaluator = Evaluator(metrics, n_labels=N_LABELS, memory=memory, threads=threads)
    seconds, spilled = 0.0, 0
    for number in range(n_blocks):
        rng = np.random.default_rng([7, number])
        block = make_truth(rng), draw(rng, (ROWS, N_LABELS))
        start = time.perf_counter()
        evaluator.update(*block)
        seconds += time.perf_counter() - start
        spilled = max(spilled, temporary_bytes())
    start = time.perf_counter()
    values = dict(evaluator.compute())
    computing = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        evaluator.save(path)
        size = path.stat().st_size
    print(f"{distribution}: {n_blocks * ROWS * N_LABELS:.3g} scores, memory {memory}, threads {threads}")
    print(f"updates {seconds:.1f} s, compute {computing:.1f} s, peak {peak:.0f} MiB")
    print(f"temporary files {spilled / 2**20:.1f} MiB, state {size / 2**20:.1f} MiB")
    print(*(f"{name} {value!r}" for name, value in values.items()), sep="\n", flush=True)
    return values


def temporary_bytes() -> int:
    """Return the size of the unlinked files that this process has open."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if os.readlink(entry).endswith("(deleted)"):
                total += entry.stat().st_size
        except OSError:
            continue
    return total


def main(arguments: list[str] | None = None) -> None:
    """Run the streams that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", type=float, default=1e8)
    parser.add_argument("--distributions", nargs="+", choices=[*DISTRIBUTIONS], default=[*DISTRIBUTIONS])
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--metrics", default="auc.micro,ap.micro,peak_f1.micro")
    args = parser.parse_args(arguments)
    for name in args.distributions:
        n_blocks = max(1, int(args.scores) // (ROWS * N_LABELS))
        run(n_blocks, name, args.memory, args.threads, args.metrics.split(","))


if __name__ == "__main__":
    main()
