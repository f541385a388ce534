"""A process that times one library, or one version of xmleval, on request.

A request is a line of JSON: to prepare a case for a library, or to run it for some seconds. The
interpreter needs the library, NumPy and SciPy.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import json
import math
import os
import select
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import peers
from benchmarks.cases import CASES, Prepared, is_ours, prepare
from benchmarks.workloads import Workload, generate

ROOT = Path(__file__).resolve().parents[1]
MAX_RUNS = 25
WARMING = 0.0  # scale of the warm-up workload: the minimum number of rows and labels
TOO_LONG = 300.0  # timeout in seconds of a turn, and of preparing the inputs
Key = TypeVar("Key")


class Worker:
    """The process, as its parent sees it; `failed` is the reason why it returns no times."""

    def __init__(self, python: str = sys.executable, checkout: Path = ROOT) -> None:
        """Start the process, with the package of a checkout."""
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", str(checkout)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        self.failed = ""
        self.crashed = False  # whether the process ended by itself

    def prepare(self, name: str, library: str, workload: str, folder: Path) -> dict[str, Any]:
        """Prepare a case: its version and bytes of inputs, or why it is absent or refused."""
        return self._ask(prepare=[name, library, workload, str(folder)])

    def turn(self, budget: float) -> dict[str, Any]:
        """Return the seconds of runs, their values and the memory.

        There is at least one run, and others until the budget of seconds is spent.
        """
        return self._ask(seconds=budget)

    def seconds(self, budget: float) -> float:
        """Return the median seconds of a turn."""
        runs: list[dict[str, float]] = self.turn(budget)["runs"]
        return statistics.median(sum(run.values()) for run in runs)

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()

    def _ask(self, **request: Any) -> dict[str, Any]:
        if self.failed:
            return {}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the exit code is reported below
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], TOO_LONG)[0]:
            self.process.kill()
            self.failed = f"stopped after {TOO_LONG:.0f} s"
            return {}
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            if code < 0:
                self.failed = f"killed by signal {-code}"
            else:
                self.failed = f"ended with exit code {code}"
            self.crashed = True
            return {}
        return dict(json.loads(line))


def interleaved(
    calls: Mapping[Key, Callable[[], float]], rounds: tuple[int, int], budget: float = math.inf
) -> dict[Key, list[float]]:
    """Let calls take turns; return their seconds by name.

    ``rounds`` are the fewest and the most; after ``budget`` seconds no more rounds begin.
    """
    seconds: dict[Key, list[float]] = {name: [] for name in calls}
    until = time.perf_counter() + budget
    for number in range(rounds[1]):
        for name, call in calls.items():
            seconds[name].append(call())
        if number + 1 >= rounds[0] and time.perf_counter() > until:
            break
    return seconds


def main(checkout: str) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the library is not an answer
    sys.path.insert(0, checkout)  # of xmleval, as all modules of this folder are imported
    load = lru_cache(maxsize=1)(lambda name, folder: Workload.load(name, Path(folder)))
    prepared = Prepared({})
    base_bytes = 0.0
    for request in map(json.loads, sys.stdin):
        if "prepare" in request:
            name, library, *place = request["prepare"]
            prepared = Prepared({})  # the former inputs are freed first
            make = peers.prepare
            if is_ours(library):
                make = prepare
            try:
                # a first call that compiles, starts threads and loads modules: memory that is not
                # counted
                run(make(name, library, generate(place[0], CASES[name].depth, WARMING)), 0)
                prepared = make(name, library, load(*place))
                answer = {
                    "version": version_of(library.split()[0]),
                    "inputs_bytes": prepared.n_bytes,
                }
            except ModuleNotFoundError as error:
                if (error.name or "").split(".")[0] not in (peers.module_of(library), "torch"):
                    raise
                answer = {"absent": str(error)}
            except ValueError as error:
                if not is_ours(library):
                    raise
                answer = {"refused": str(error)}  # by a version without the measure
            base_bytes = start_peak()
        else:
            runs, values = run(prepared, request["seconds"])
            above_bytes = status_bytes("VmHWM") - base_bytes
            answer = {"runs": runs, "values": values, "above_bytes": above_bytes}
        print(json.dumps(answer), file=answers, flush=True)


def run(prepared: Prepared, budget: float) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Time all steps at least once, until the budget of seconds or `MAX_RUNS` is reached."""
    runs: list[dict[str, float]] = []
    values: dict[str, float] = {}
    while not runs or (sum(sum(run.values()) for run in runs) < budget and len(runs) < MAX_RUNS):
        seconds = {}
        for step, call in prepared.steps.items():
            start = time.perf_counter()
            values |= call()
            seconds[step] = time.perf_counter() - start
        runs.append(seconds)
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
    main(sys.argv[1])
