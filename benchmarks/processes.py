"""Two processes beside two threads, for scores in files: python -m benchmarks.processes --help.

Evaluates the 100 best scores a row of W4 by threads of one process, by as many processes that have
started and compiled before, and by new ones, as `--workers` starts them. Runs take turns. CPU
seconds are those of all processes together.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import compile_kernels
from benchmarks.machine import identity
from benchmarks.run import compact
from benchmarks.tables import machine_name, table
from benchmarks.worker import ROOT
from benchmarks.workloads import generate
from xmleval import Running, evaluate

MEASURES = ("p@5", "f1.macro@5", "auc.micro", "auc.macro")
WORKERS = 2
DEPTH = 100
WORKLOAD = "W4"
Call = Callable[[], Any]


def write_files(folder: Path, scale: float) -> int:
    """Write the truth and the lists of the workload; return the number of scores."""
    workload = generate(WORKLOAD, DEPTH, scale)
    truth = sp.csr_array(workload.truth.astype(np.uint8))
    sp.save_npz(folder / "Y.npz", truth, compressed=False)
    np.save(folder / "m_indices.npy", workload.labels)
    np.save(folder / "m_scores.npy", workload.scores)
    return workload.scores.size


def calls_of(folder: Path, measure: str, pool: Executor) -> dict[str, Call]:
    """Return the calls to compare by name; each returns its values."""

    def call(**options: Any) -> str:
        files = folder / "Y.npz", folder / "m_indices.npy"
        return json.dumps(dict(evaluate(*files, metrics=measure, **options)))

    return {
        "threads": lambda: call(threads=WORKERS),
        "processes": lambda: call(running=Running(executor=pool)),
        "new processes": lambda: call(running=Running(executor=WORKERS)),
    }


def cpu_seconds() -> float:
    """Return the seconds of the processor of this process and of its children, ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    for child in multiprocessing.active_children():
        clock = ctypes.c_int()
        ctypes.CDLL(None).clock_getcpuclockid(child.pid, ctypes.byref(clock))
        seconds += time.clock_gettime(clock.value)
    return seconds


def timed(call: Call) -> dict[str, float]:
    """Return the seconds of a call, and those of the processor."""
    cpu_start = cpu_seconds()
    start = time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    return {"wall": seconds, "cpu": cpu_seconds() - cpu_start}


def measure_processes(scale: float, rounds: int) -> dict[str, Any]:
    """Return median seconds by measure and kind of call; values must be bit-identical."""
    compile_kernels()
    records = []
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(WORKERS, context, compile_kernels) as pool,
    ):
        n_scores = write_files(Path(folder), scale)
        for measure in MEASURES:
            calls = calls_of(Path(folder), measure, pool)
            for _ in range(2):  # compiles, or loads compiled kernels, in each process
                values = {call() for call in calls.values()}
                assert len(values) == 1, f"{measure}: {values}"
            runs = [{kind: timed(call) for kind, call in calls.items()} for _ in range(rounds)]
            record: dict[str, Any] = {"measure": measure}
            for clock in ("wall", "cpu"):
                record[clock] = {
                    kind: statistics.median(run[kind][clock] for run in runs) for kind in calls
                }
            records.append(record)
    return {"scale": scale, "scores": n_scores, "records": records}


def table_of(results: dict[str, Any]) -> str:
    """Return the machine, and a table of seconds by measure."""
    rows = []
    for record in results["records"]:
        seconds = [*record["wall"].values(), *record["cpu"].values()]
        rows.append([record["measure"], *(f"{value:.2f}" for value in seconds)])
    first = results["records"][0]
    header = [f"{kind}, s" for kind in first["wall"]] + [f"{kind}, CPU s" for kind in first["cpu"]]
    text = table(["measure", *header], "l" + "r" * len(header), rows)
    return f"{machine_name(results['machine'])}; {results['scores']:,} scores.\n\n{text}"


def main(arguments: list[str] | None = None) -> None:
    """Time the calls and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rounds", type=int, default=7, help="turns of each call")
    add("--scale", type=float, default=1.0, help="shrink the workload")
    add("--output", type=Path, default=ROOT / "benchmarks" / "results" / "processes.json")
    args = parser.parse_args(arguments)
    results = {**measure_processes(args.scale, args.rounds), "machine": identity()}
    args.output.write_text(compact(results))
    print(table_of(results))


if __name__ == "__main__":
    main()
