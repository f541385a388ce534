"""Evaluate files larger than memory: python -m benchmarks.streaming FOLDER [MILLIONS_OF_ROWS [MEMORY]].

Writes missing shards of top-100 lists over 3 million labels (0.8 GB per million rows), then times `dd` and
`xmleval evaluate` on all of them, and `evaluate` in memory on one shard.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from xmleval import evaluate
from xmleval.io import read_scores, read_truth

SHARD_ROWS, DEPTH, N_LABELS, N_RELEVANT = 500_000, 100, 3_000_000, 5


def write_shard(folder: Path, number: int) -> None:
    """Write the truth and the lists of a shard, with its number as the seed."""
    rng = np.random.default_rng([11, number])
    start = rng.integers(0, N_LABELS, (SHARD_ROWS, 1), np.int32)
    labels = (start + 29_989 * np.arange(DEPTH, dtype=np.int32)) % N_LABELS  # distinct: coprime
    scores = np.sort(rng.random((SHARD_ROWS, DEPTH), np.float32), axis=1)[:, ::-1]
    places = np.sort(rng.integers(0, 2 * DEPTH, (SHARD_ROWS, N_RELEVANT)), axis=1)
    relevant = (start + 29_989 * np.minimum(places + np.arange(N_RELEVANT), 2 * DEPTH)) % N_LABELS
    rows = np.repeat(np.arange(SHARD_ROWS), N_RELEVANT)
    truth = sp.csr_array((np.ones(rows.size, np.uint8), (rows, relevant.ravel())), (SHARD_ROWS, N_LABELS))
    truth.sum_duplicates()
    truth.data[:] = 1
    sp.save_npz(folder / "truth" / f"part_{number}.npz", truth, compressed=False)
    np.save(folder / "scores" / f"part_{number}_indices.npy", labels)
    np.save(folder / "scores" / f"part_{number}_scores.npy", np.ascontiguousarray(scores))


def main() -> None:
    """Write missing shards, then time."""
    folder, millions, memory = [*sys.argv[1:], *[".", "8", "512MB"][len(sys.argv) - 1 :]]
    root, n_shards = Path(folder), max(1, int(float(millions) * 1e6) // SHARD_ROWS)
    for kind in ("truth", "scores"):
        (root / kind).mkdir(parents=True, exist_ok=True)
    for number in range(n_shards):
        if not (root / "scores" / f"part_{number}_scores.npy").exists():
            write_shard(root, number)
    files = sorted((root / "scores").iterdir())
    n_bytes = sum(path.stat().st_size for path in files)
    rows = n_shards * SHARD_ROWS

    start = time.perf_counter()
    for path in files:
        subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4M", "status=none"], check=True)
    seconds = time.perf_counter() - start
    print(f"dd of {n_bytes / 1e9:.1f} GB: {seconds:.1f} s, {n_bytes / 1e6 / seconds:.0f} MB/s")

    words = ["evaluate", str(root / "truth"), str(root / "scores"), "--memory", memory, "--format", "json"]
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "xmleval", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # prevents a second wait
    assert process.returncode == 0
    speed = f"{rows / seconds:,.0f} rows/s, {n_bytes / 1e6 / seconds:.0f} MB/s"
    print(f"xmleval evaluate: {seconds:.1f} s, {speed}, peak {usage.ru_maxrss / 1024:.0f} MiB")

    y_true = read_truth(root / "truth" / "part_0.npz")
    labels, scores = read_scores(root / "scores" / "part_0")
    held = np.array(labels), None if scores is None else np.array(scores)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        evaluate(y_true, held)
        times.append(time.perf_counter() - start)
    best = float(np.median(times[1:]))
    print(f"evaluate in memory: {SHARD_ROWS / best:,.0f} rows/s")


if __name__ == "__main__":
    main()
