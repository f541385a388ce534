"""Pooled measures of more scores than fit in memory: python -m benchmarks.streams --help.

Generates scores block by block for one evaluator, or counts a workload several times. Prints the values, the
seconds of updates and of computing, the memory of the process with the first rows and at its peak, the size
of temporary files, and that of the saved state.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.serve import start_peak, status_bytes
from benchmarks.workloads import SIZES, generate
from xmleval import Evaluator

ROWS, N_LABELS, N_RELEVANT = 10_000, 1000, 10
MIB = 1 << 20
KEYS = ("stream", "scores", "memory", "threads")
Block = tuple[Any, Any]
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


def drawn_blocks(name: str, n_scores: int) -> Iterator[Block]:
    """Yield blocks of rows, and at least one."""
    for number in range(max(1, n_scores // (ROWS * N_LABELS))):
        rng = np.random.default_rng([7, number])
        yield make_truth(rng), DISTRIBUTIONS[name](rng, (ROWS, N_LABELS))


def passes(name: str, n_passes: int, scale: float) -> Iterator[Block]:
    """Yield all rows of a workload several times, each time with lists of 100 labels."""
    workload = generate(name, 100, scale)
    for _ in range(n_passes):
        yield workload.truth, (workload.labels, workload.scores)


def run(title: str, blocks: Iterator[Block], memory: str, threads: int, metrics: list[str]) -> dict[str, Any]:
    """Evaluate blocks; return what it takes, in seconds and bytes, and the values."""
    evaluator: Evaluator | None = None
    seconds, n_scores, spilled, before = 0.0, 0, 0, 0.0
    for truth, scores in blocks:
        if evaluator is None:
            before = start_peak()
            evaluator = Evaluator(metrics, n_labels=truth.shape[1], memory=memory, threads=threads)
        start = time.perf_counter()
        evaluator.update(truth, scores)
        seconds += time.perf_counter() - start
        n_scores += scores[1].size if isinstance(scores, tuple) else scores.size
        spilled = max(spilled, temporary_bytes())
    assert evaluator is not None
    start = time.perf_counter()
    values = dict(evaluator.compute())
    computing, peak = time.perf_counter() - start, status_bytes("VmHWM")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        start = time.perf_counter()
        evaluator.save(path)
        saving, size = time.perf_counter() - start, path.stat().st_size
    return {
        "stream": title, "scores": n_scores, "memory": memory, "threads": threads, "updates": seconds,
        "compute": computing, "save": saving, "start_bytes": before, "peak_bytes": peak,
        "temporary_bytes": spilled, "state_bytes": size, "values": values,
    }  # fmt: skip


def run_named(
    name: str, n_scores: int, n_passes: int, scale: float, memory: str, threads: int, metrics: list[str]
) -> dict[str, Any]:
    """Run one stream."""
    if name in SIZES:
        return run(f"{name}, {n_passes} times", passes(name, n_passes, scale), memory, threads, metrics)
    return run(name, drawn_blocks(name, n_scores), memory, threads, metrics)


def printed(record: dict[str, Any]) -> str:
    """Return a record in lines."""
    kinds = "start", "peak", "temporary", "state"
    before, peak, spilled, size = (record[f"{kind}_bytes"] / MIB for kind in kinds)
    lines = [
        f"{record['stream']}: {record['scores']:.3g} scores, memory {record['memory']}, "
        f"threads {record['threads']}",
        f"updates {record['updates']:.1f} s, compute {record['compute']:.1f} s, peak {peak:.0f} MiB "
        f"from {before:.0f}",
        f"temporary files {spilled:.1f} MiB, state {size:.1f} MiB, saved in {record['save']:.1f} s",
    ]
    return "\n".join([*lines, *(f"{name} {value!r}" for name, value in record["values"].items())])


def table_of(records: list[dict[str, Any]]) -> str:
    """Return a table of records."""
    sizes = "MiB before", "MiB at the peak", "MiB of temporary files", "MiB of the state file"
    rows = [f"| {' | '.join(('stream', 'scores', 'updates, s', 'compute, s', *sizes))} |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for one in records:
        before = (
            "" if one["start_bytes"] is None else f"{one['start_bytes'] / MIB:.0f}"
        )  # not in early records
        spent = (f"{one[kind]:.1f}" for kind in ("updates", "compute"))
        most, spilled = (f"{one[f'{kind}_bytes'] / MIB:.0f}" for kind in ("peak", "temporary"))
        state = f"{one['state_bytes'] / MIB:.1f}"
        cells = [one["stream"], f"{one['scores']:.3g}", *spent, before, most, spilled, state]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def keep(record: dict[str, Any], path: Path) -> None:
    """Put a record into a file of records, in place of the one of the same stream."""
    records = json.loads(path.read_text()) if path.exists() else []
    same = [record[key] for key in KEYS]
    records = [one for one in records if [one[key] for key in KEYS] != same]
    lines = ",\n".join(map(json.dumps, [*records, record]))
    path.write_text(f"[\n{lines}\n]\n")


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
    parser.add_argument("--distributions", nargs="*", choices=[*DISTRIBUTIONS], default=[*DISTRIBUTIONS])
    parser.add_argument("--workloads", nargs="*", choices=SIZES, default=[], help="counted several times")
    parser.add_argument("--passes", type=int, default=6, help="over each workload")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the workloads")
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--metrics", default="auc.micro,ap.micro,peak_f1.micro")
    parser.add_argument("--output", type=Path, help="file of records to add to, as JSON")
    args = parser.parse_args(arguments)
    how = args.memory, args.threads, args.metrics.split(",")
    for name in (*args.distributions, *args.workloads):
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # whose peak is that of one stream
            given = name, int(args.scores), args.passes, args.scale
            record = alone.submit(run_named, *given, *how).result()
        print(printed(record), flush=True)
        if args.output:
            keep(record, args.output)


if __name__ == "__main__":
    main()
