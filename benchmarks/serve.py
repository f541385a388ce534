"""One library on one case, in a process: python -m benchmarks.serve LIBRARY FAMILY WORKLOAD FOLDER.

Says that it is ready, then answers every line of standard input, a budget of seconds, with what the calls
took, and with the peak of memory since the inputs were ready. Runs in any interpreter that has the library,
NumPy and SciPy.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import json
import os
import sys
import time
import warnings
from pathlib import Path

from benchmarks.comparisons import FAMILIES, module_of, package_of
from benchmarks.ours import Prepared
from benchmarks.workloads import Workload, generate

MOST_RUNS = 25
WARMING = 0.0  # scale of the workload that warms up: as few rows and labels as there may be


def serve(library: str, family: str, name: str, folder: Path) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        # A small call first compiles, starts threads and loads what is loaded late: none of it is the memory
        # of a call. The workloads are not kept, so that only what the library was given counts as inputs.
        run(FAMILIES[family].libraries[library](generate(name, FAMILIES[family].depth, WARMING)), 0)
        prepared = FAMILIES[family].libraries[library](Workload.load(name, folder))
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in (module_of(library), "torch"):
            raise
        print(json.dumps({"absent": str(error)}), file=answers, flush=True)
        return
    base = start_peak()
    ready = {"version": version_of(package_of(library)), "inputs_bytes": prepared.n_bytes}
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        runs, values = run(prepared, float(line))
        above = status_bytes("VmHWM") - base
        print(json.dumps({"runs": runs, "values": values, "above_bytes": above}), file=answers, flush=True)


def run(prepared: Prepared, budget: float) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Time every step at least once, and again until the budget of seconds or the most runs are spent."""
    runs: list[dict[str, float]] = []
    spent = 0.0
    values: dict[str, float] = {}
    while True:
        seconds = {}
        for step, call in prepared.steps.items():
            start = time.perf_counter()
            values |= call()
            seconds[step] = time.perf_counter() - start
        runs.append(seconds)
        spent += sum(seconds.values())
        if spent >= budget or len(runs) == MOST_RUNS:
            return runs, values


def start_peak() -> float:
    """Let the peak of memory start from here, and return what is in use; once, before the first call.

    Later it would be wrong: memory that threads freed stays with the process, and would count as in use.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS")


def status_bytes(field: str) -> float:
    """Read a memory field of this process, NaN where there is no /proc.

    Not getrusage: its peak starts at the size of the process that launched this one.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return float("nan")


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version("numpy" if package == "np.sort" else package)
    except importlib.metadata.PackageNotFoundError:  # a source tree on the path
        return "source"


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of libraries, about one another
    serve(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
