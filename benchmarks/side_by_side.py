"""Interleaved runs of libraries, each in its own process, on the same workload."""

from __future__ import annotations

import contextlib
import json
import math
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.comparisons import FAMILIES, is_own
from benchmarks.workloads import Workload, generate
from xmleval.base.threads import available_processors

ROOT = Path(__file__).resolve().parents[1]
TURN = 0.3  # seconds of calls in a turn, at least one call
SLOW, VERY_SLOW = 5.0, 60.0  # seconds of the first call, above which there is one more call, or none
TOO_LONG = 300.0  # timeout in seconds of a turn, and of preparing the inputs
LARGE = 10**7  # number of scores above which only one other library at a time is in memory


class Server:
    """One library in its own process, timed on request."""

    def __init__(self, python: str, library: str, arguments: list[str]) -> None:
        """Start the process, wait until its inputs are ready, and call it once."""
        command = [python, "-m", "benchmarks.serve", library, *arguments]
        self.library = library
        self.absent = ""  # why it is not installed
        self.failed = ""  # why it failed
        self.crashed = False  # whether the process ended by itself
        self.runs: list[dict[str, float]] = []
        self.values: dict[str, float] = {}
        self.above = 0.0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self.ready = self._answer()
        self.absent = self.ready.get("absent", "")
        self.turn(0)
        self.first = total(self.runs[0]) if self.runs else 0.0
        self.once = self.first > SLOW and not is_own(library)
        if not self.once or self.first <= VERY_SLOW:
            self.runs.clear()  # the first call may compile
        if self.once and not self.runs:
            self.turn(0)

    def turn(self, budget: float) -> None:
        """Time calls, at least one, until the budget of seconds is spent."""
        if self.absent or self.failed:
            return
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the exit code tells more
            self.process.stdin.write(f"{budget}\n")
            self.process.stdin.flush()
        answer = self._answer()
        if answer:
            self.values = answer["values"]
            self.above = answer["above_bytes"]  # peak since the inputs were ready
            self.runs += answer["runs"]

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], TOO_LONG)[0]:
            self.process.kill()
            self.failed = f"stopped after {TOO_LONG:.0f} s"
            return {}
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.failed = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self.crashed = True
            return {}
        return dict(json.loads(line))


def compare(family: str, workload: Workload, peers: str, rounds: int) -> list[dict[str, Any]]:
    """Time the libraries of a family on one workload and return their records."""
    case = FAMILIES[family]
    own = [library for library in case.libraries if is_own(library)]
    others = [library for library in case.libraries if not is_own(library)]
    batches = [[library] for library in others] if workload.scores.size >= LARGE else [others]
    servers: list[Server] = []
    with tempfile.TemporaryDirectory() as folder:
        workload.save(Path(folder))

        def start(python: str, libraries: list[str]) -> list[Server]:
            started = []
            for library in libraries:
                started.append(Server(python, library, [family, workload.name, folder]))
                servers.append(started[-1])
            return started

        try:
            ours = start(sys.executable, own)
            if ours[0].failed:
                raise SystemExit(f"{ours[0].library} {ours[0].failed}")
            for batch in batches:
                theirs = start(peers, batch)
                for _ in range(rounds):
                    for server in ours + theirs:
                        if not server.once:
                            server.turn(TURN)
                for server in theirs:
                    server.close()
        finally:
            for server in servers:
                server.close()
    records = []
    for server in servers:
        record: dict[str, Any] = {"family": family, "workload": workload.name, "library": server.library}
        if server.absent:
            print(f"skipped {server.library} on {workload.name}: {server.absent}", file=sys.stderr)
            record["absent"] = server.absent
        elif server.failed:
            print(f"{server.library} failed on {workload.name}: {server.failed}", file=sys.stderr)
            record |= {"failed": server.failed, "crashed": server.crashed}
        else:
            record |= result(server)
            threads = 1 if server.library.endswith("threads=1") else available_processors()
            record |= {"threads": threads} if is_own(server.library) else {}
            record |= {"entries": case.entries(workload), "labels": workload.truth.shape[1]}
            record["difference"] = difference(server.values, servers[0].values)
        records.append(record)
    return records


def total(run: dict[str, float]) -> float:
    """Return the seconds of all steps."""
    return sum(run.values())


def result(server: Server) -> dict[str, Any]:
    """Return the medians of a library, its memory and its values."""
    return {
        "version": server.ready["version"],
        "seconds": statistics.median(map(total, server.runs)),
        "fastest_seconds": min(map(total, server.runs)),
        "first_seconds": server.first,
        "runs": len(server.runs),
        "steps": {step: statistics.median(run[step] for run in server.runs) for step in server.runs[0]},
        "inputs_bytes": server.ready["inputs_bytes"],
        "above_bytes": server.above,
        "values": server.values,
    }


def difference(found: dict[str, float], expected: dict[str, float]) -> float:
    """Return the largest absolute difference of a library's values from ours.

    Equal or both undefined values differ by 0; a non-finite difference is infinite.
    """
    return max((_apart(value, expected[name]) for name, value in found.items()), default=0.0)


def _apart(value: float, expected: float) -> float:
    if value == expected or (math.isnan(value) and math.isnan(expected)):
        return 0.0
    apart = abs(value - expected)
    return apart if math.isfinite(apart) else math.inf


def compare_all(
    families: list[str], names: list[str], peers: str, rounds: int, scale: float, between: Callable[[], None]
) -> list[dict[str, Any]]:
    """Compare on one workload after another; call ``between`` after each case."""
    records: list[dict[str, Any]] = []
    for name in names:
        cases = [family for family in families if name in FAMILIES[family].workloads]
        for depth in sorted({FAMILIES[family].depth for family in cases}):
            workload = generate(name, depth, scale)
            for family in cases:
                if FAMILIES[family].depth == depth:
                    start = time.perf_counter()
                    records += compare(family, workload, peers, rounds)
                    between()
                    print(f"{family} {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return records
