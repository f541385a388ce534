"""Pooled measures of more scores than fit in memory: python -m benchmarks.streams --help.

Generates scores block by block for one evaluator. Prints the seconds of updates and of computing,
the memory of the process with the first rows and at its peak, and the size of the saved state.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.tables import MIB, table
from benchmarks.worker import start_peak, status_bytes
from xmleval import Evaluator

ROWS = 10_000
N_LABELS = 1000
N_RELEVANT = 10
SHAPE = (ROWS, N_LABELS)
KEYS = ("stream", "scores", "memory", "threads")  # a file has one record for each combination
METRICS = ["auc.micro", "ap.micro", "peak_f1.micro"]
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator], Any]] = {
    "uniform": lambda rng: rng.random(SHAPE, np.float32),
    # Beta(.5, .5)
    "beta": lambda rng: np.sin(rng.random(SHAPE, np.float32) * np.float32(np.pi / 2)) ** 2,
    "logits": lambda rng: rng.standard_normal(SHAPE, np.float32),
    "rounded": lambda rng: rng.random(SHAPE, np.float32).round(3),
    "equal": lambda rng: np.full(SHAPE, 0.5, np.float32),
    "float16": lambda rng: rng.random(SHAPE, np.float32).astype(np.float16).astype(np.float32),
}


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate a stream; return its record of seconds, bytes and values."""
    rng = np.random.default_rng(7)
    evaluator = Evaluator(METRICS, n_labels=N_LABELS, memory=args.memory, threads=args.threads)
    seconds = 0.0
    before = 0.0
    n_blocks = max(1, int(args.scores) // (ROWS * N_LABELS))
    for number in range(n_blocks):
        labels = np.sort(rng.integers(0, N_LABELS // N_RELEVANT, (ROWS, N_RELEVANT)), axis=1)
        labels += np.arange(N_RELEVANT) * (N_LABELS // N_RELEVANT)
        ptr = np.arange(ROWS + 1) * N_RELEVANT
        truth = sp.csr_array((np.ones(labels.size, np.uint8), labels.ravel(), ptr), shape=SHAPE)
        scores = DISTRIBUTIONS[name](rng)
        if number == 0:
            before = start_peak()
        start = time.perf_counter()
        evaluator.update(truth, scores)
        seconds += time.perf_counter() - start
    start = time.perf_counter()
    values = dict(evaluator.compute())
    computing = time.perf_counter() - start
    peak = status_bytes("VmHWM")
    with tempfile.TemporaryDirectory() as folder:
        evaluator.save(Path(folder) / "state.npz")
        size = (Path(folder) / "state.npz").stat().st_size
    return {
        "stream": name,
        "scores": n_blocks * ROWS * N_LABELS,
        "memory": args.memory,
        "threads": args.threads,
        "updates": seconds,
        "compute": computing,
        "start_bytes": before,
        "peak_bytes": peak,
        "state_bytes": size,
        "values": values,
    }


def table_of(records: list[dict[str, Any]]) -> str:
    """Return a table of records."""
    rows = []
    for record in records:
        spent = (f"{record[kind]:.1f}" for kind in ("updates", "compute"))
        before, peak, state = (record[f"{kind}_bytes"] / MIB for kind in ("start", "peak", "state"))
        sizes = f"{before:.0f}", f"{peak:.0f}", f"{state:.1f}"
        rows.append([record["stream"], f"{record['scores']:.3g}", *spent, *sizes])
    header = ["stream", "scores", "updates, s", "compute, s", "MiB before", "MiB at the peak"]
    return table([*header, "MiB of the state file"], "lrrrrrr", rows)


def main(arguments: list[str] | None = None) -> None:
    """Run the streams that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--distributions", nargs="+", choices=DISTRIBUTIONS, default=list(DISTRIBUTIONS))
    add("--scores", type=float, default=1e8)
    add("--memory", default="1GiB")
    add("--threads", type=int, default=1)
    add("--output", type=Path, help="file of records to add to, as JSON")
    args = parser.parse_args(arguments)
    for name in args.distributions:
        # in a new process, whose peak of memory is that of one stream
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            record = pool.submit(measure, name, args).result()
        print(table_of([record]), record["values"], sep="\n", flush=True)
        if args.output:
            add_record(args.output, record)


def add_record(path: Path, record: dict[str, Any]) -> None:
    """Add a record to a file, in place of an earlier one with the same `KEYS`."""
    records = []
    if path.exists():
        records = json.loads(path.read_text())
    records = [former for former in records if any(former[key] != record[key] for key in KEYS)]
    records.append(record)
    path.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n")


if __name__ == "__main__":
    main()
