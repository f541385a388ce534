"""Interleaved runs of libraries, each in its own process, on the same workload."""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, is_ours
from benchmarks.peers import PEERS, interpreter_of
from benchmarks.worker import Worker, interleaved
from benchmarks.workloads import Workload, generate

TURN = 0.3  # seconds of calls in a turn, at least one call
# seconds of the first call, above which there is one more call, or none
SLOW = 5.0
VERY_SLOW = 60.0
LARGE = 10**7  # number of scores above which only one other library at a time is in memory


class Library(Worker):
    """The process of a library that is compared, and its runs."""

    def __init__(self, python: str, library: str, name: str, workload: str, folder: Path) -> None:
        """Prepare a case, and call it once, or twice if that may have compiled."""
        super().__init__(python)
        self.library = library
        self.runs = list[dict[str, float]]()
        self.last_answer: dict[str, Any] = {}
        self.inputs = self.prepare(name, library, workload, folder)
        first_seconds = self.time(0)
        self.is_slow = first_seconds > SLOW and not is_ours(library)
        if not self.is_slow or first_seconds <= VERY_SLOW:
            self.runs.clear()
        if self.is_slow and not self.runs:
            self.time(0)

    def time(self, budget: float = TURN) -> float:
        """Time calls until the budget of seconds is spent; return the seconds of the first one."""
        if "absent" in self.inputs:
            return 0.0
        answer = self.turn(budget)
        if not answer:
            return 0.0
        self.last_answer = answer
        self.runs += answer["runs"]
        return total_seconds(answer["runs"][0])

    def record(self, expected: dict[str, float]) -> dict[str, Any]:
        """Return the medians, the memory and the values, or why the library has no result."""
        if "absent" in self.inputs:
            return {"absent": self.inputs["absent"]}
        if self.failed:
            return {"failed": self.failed, "crashed": self.crashed}
        seconds = [total_seconds(run) for run in self.runs]
        step_seconds = {
            step: statistics.median(run[step] for run in self.runs) for step in self.runs[0]
        }
        values = self.last_answer["values"]
        return {
            **self.inputs,
            "seconds": statistics.median(seconds),
            "runs": len(seconds),
            "steps": step_seconds,
            "above_bytes": self.last_answer["above_bytes"],  # peak since the inputs were ready
            "values": values,
            "difference": difference(values, expected),
        }


def compare(name: str, workload: Workload, peers: str, rounds: int) -> list[dict[str, Any]]:
    """Time the libraries of a case on one workload and return their records."""
    ours = ["xmleval", "xmleval threads=1"]
    if name == "micro_auc":
        ours += ["np.sort", "np.sort threads=1"]
    theirs = list(PEERS[name])
    batches = [theirs]
    if workload.scores.size >= LARGE:
        batches = [[library] for library in theirs]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        workload.save(Path(folder))

        def start(python: str, library: str) -> Library:
            process = Library(python, library, name, workload.name, Path(folder))
            stack.callback(process.close)
            return process

        processes = [start(sys.executable, library) for library in ours]
        if processes[0].failed:
            raise SystemExit(f"{ours[0]} {processes[0].failed}")
        for batch in batches:
            peer_processes = [start(interpreter_of(library, peers), library) for library in batch]
            candidates = processes[: len(ours)] + peer_processes
            calls = {process.library: process.time for process in candidates if not process.is_slow}
            interleaved(calls, (rounds, rounds))
            for process in peer_processes:
                process.close()
            processes += peer_processes
        expected = processes[0].last_answer["values"]
    case = {"family": name, "workload": workload.name}
    return [case | {"library": process.library} | process.record(expected) for process in processes]


def total_seconds(run: dict[str, float]) -> float:
    """Return the seconds of all steps."""
    return sum(run.values())


def difference(values: dict[str, float], expected: dict[str, float]) -> float:
    """Return the largest absolute difference of a library's values from ours.

    Equal or both undefined values differ by 0; a non-finite difference is infinite.
    """
    gaps = [0.0]
    for name, value in values.items():
        ours = expected[name]
        if value != ours and not (math.isnan(value) and math.isnan(ours)):
            gap = abs(value - ours)
            gaps.append(gap if math.isfinite(gap) else math.inf)
    return max(gaps)


def measure_comparison(
    names: list[str], workloads: list[str], peers: str, rounds: int, scale: float
) -> Any:
    """Compare libraries on one workload after another."""
    records: list[dict[str, Any]] = []
    for title in workloads:
        cases = [name for name in names if title in CASES[name].libraries]
        for depth in sorted({CASES[name].depth for name in cases}):
            workload = generate(title, depth, scale)
            for name in cases:
                if CASES[name].depth != depth:
                    continue
                start = time.perf_counter()
                records += compare(name, workload, peers, rounds)
                print(f"{name} {title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return {"records": records}
