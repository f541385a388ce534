"""Time one library on one case: python -m benchmarks.serve LIBRARY FAMILY WORKLOAD FOLDER.

Prints a line when ready. Each line of standard input is a budget of seconds, answered with the times of the
calls and the peak memory since the inputs were ready. The interpreter needs the library, NumPy and SciPy.
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

MAX_RUNS = 25
WARMING = 0.0  # scale of the warm-up workload: the minimum number of rows and labels


def serve(library: str, family: str, name: str, folder: Path) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the library is not an answer
    try:
        # A small first call compiles, starts threads and loads modules, so that this memory is not counted.
        # Workloads are not kept, so that only the inputs of the library count as inputs.
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
    """Time all steps at least once, until the budget of seconds or `MAX_RUNS` is reached."""
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
        if spent >= budget or len(runs) == MAX_RUNS:
            return runs, values


def start_peak() -> float:
    """Reset the peak of memory, and return the memory in use.

    Correct only before the first call: memory that threads free later stays with the process.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS")


def status_bytes(field: str) -> float:
    """Return a memory field of this process, NaN without /proc.

    The peak of getrusage would include the memory of the parent process.
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
    except importlib.metadata.PackageNotFoundError:  # imported from a source tree
        return "source"


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of other libraries
    serve(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
