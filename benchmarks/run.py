"""Time xmleval and other libraries on the same workloads: python -m benchmarks.run --help.

Each library runs in its own process, and the runs are interleaved, so that other load affects all
of them. Missing libraries are reported as absent. A library whose first call takes longer than 5 s
is timed once more (after 60 s, not again), and one that takes longer than five minutes is stopped.
The other parts need no other library: one thread beside all, growth with the size of the data,
intervals beside none, start-up and files with names. Results are JSON and tables.md in the output
folder. The exit code is 1 if values differ or a library crashes.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cases import CASES, Call, available_processors, prepare, prepare_evaluation
from benchmarks.comparison import measure_comparison
from benchmarks.files import measure_files
from benchmarks.machine import machine
from benchmarks.peers import PEERS, tolerance_of
from benchmarks.startup import measure_startup
from benchmarks.tables import write_report
from benchmarks.worker import ROOT, interleaved, run
from benchmarks.workloads import SIZES, Size, generate, generate_size

# seconds per case
THREADS_BUDGET = 8.0
GROWTH_BUDGET = 2.0
MAX_ROUNDS = 25
INTERVALS = ("W2", "W3", "W4")
GROWTH_DEPTH = 100
FIXED_LABELS = 100_000
FIXED_ROWS = 10**5
ROWS = (10**3, 10**4, 10**5, 10**6)
LABELS = (10**3, 10**4, 10**5, 10**6, 3 * 10**6)


def seconds_of(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of a call."""
    gc.collect()
    start = clock()
    call()
    return clock() - start


def measure_threads(scale: float) -> dict[str, Any]:
    """Return median seconds by number of threads; values must be bit-identical."""
    cases = []
    for name, case in sorted(CASES.items(), key=lambda item: (item[1].threads, item[1].depth)):
        if not case.threads:
            continue
        workload = generate(case.threads, case.depth, scale)
        calls: dict[int, Call] = {
            threads: prepare(name, f"xmleval threads={threads}", workload).steps["all"]
            for threads in (1, available_processors())
        }
        values = {repr(call()) for call in calls.values()}  # compiles
        assert len(values) == 1, f"{name}: {values}"
        timed = {threads: partial(seconds_of, call) for threads, call in calls.items()}
        runs = interleaved(timed, (2, MAX_ROUNDS), THREADS_BUDGET)
        medians = {str(threads): median(seconds) for threads, seconds in runs.items()}
        cases.append({"case": name, "workload": case.threads, "seconds": medians})
    return {"cases": cases}


def measure_growth(scale: float) -> dict[str, Any]:
    """Return seconds by case, number of rows and number of labels."""
    by_rows: list[dict[str, Any]] = []
    for rows in ROWS:
        by_rows += growth_points(max(10, int(rows * scale)), FIXED_LABELS)
    by_labels: list[dict[str, Any]] = []
    for n_labels in LABELS:
        by_labels += growth_points(max(10, int(FIXED_ROWS * scale)), n_labels)
    return {"by_rows": by_rows, "by_labels": by_labels}


def growth_points(rows: int, n_labels: int) -> Iterator[dict[str, Any]]:
    """Time each case on a workload of a size."""
    workload = generate_size("growth", Size(rows, n_labels, 5.0, 0.05, 4 * rows), GROWTH_DEPTH)
    for name, case in CASES.items():
        if not case.growth:
            continue
        prepared = prepare(name, "xmleval", workload)
        run(prepared, 0)  # compiles, or loads compiled kernels
        runs, _ = run(prepared, GROWTH_BUDGET)
        seconds = median(seconds["all"] for seconds in runs)
        yield {"case": name, "rows": rows, "labels": n_labels, "seconds": seconds}


def measure_intervals(scale: float, rounds: int) -> dict[str, Any]:
    """Return the median seconds of the processor, without and with intervals, on one thread."""
    cases: list[dict[str, Any]] = []
    for title in INTERVALS:
        for depth in (5, 100):
            cases += interval_cases(title, depth, scale, rounds)
    return {"cases": cases}


def interval_cases(title: str, depth: int, scale: float, rounds: int) -> list[dict[str, Any]]:
    """Time the cases of one depth on a workload, without and with intervals."""
    workload = generate(title, depth, scale)
    timed: dict[tuple[str, str], Callable[[], float]] = {}
    for name, case in CASES.items():
        if not case.intervals or case.depth != depth:
            continue
        for kind, level in (("alone", None), ("intervals", 0.95)):
            prepared = prepare_evaluation(
                case, workload, confidence=level, threads=1, memory="8GiB"
            )
            timed[name, kind] = partial(seconds_of, prepared.steps["all"], time.process_time)
    interleaved(timed, (1, 1))  # compiles, or loads compiled kernels
    runs = interleaved(timed, (rounds, rounds))
    medians = {key: median(seconds) for key, seconds in runs.items()}
    return [
        {"case": name, "workload": title, "alone": medians[name, "alone"], "intervals": seconds}
        for (name, kind), seconds in medians.items()
        if kind == "intervals"
    ]


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    parts: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "comparison": lambda args: measure_comparison(
            args.families, args.workloads, str(args.peers.absolute()), args.rounds, args.scale
        ),  # not resolved: the link selects the environment
        "threads": lambda args: measure_threads(args.scale),
        "growth": lambda args: measure_growth(args.scale),
        "intervals": lambda args: measure_intervals(args.scale, args.rounds),
        "startup": lambda args: measure_startup(args.rounds),
        "files": lambda args: measure_files(args.rounds, args.scale),
    }
    add("--parts", nargs="+", choices=parts, default=list(parts))
    add("--workloads", nargs="+", choices=SIZES, default=list(SIZES), help="of the comparison")
    add("--families", nargs="+", choices=PEERS, default=list(PEERS), help="of the comparison")
    add(
        "--peers",
        type=Path,
        default=sys.executable,
        help="Python interpreter with the other libraries",
    )
    add("--rounds", type=int, default=7, help="turns of each library after its first call")
    add("--scale", type=float, default=1.0, help="shrink the workloads")
    add("--output", type=Path, default=ROOT / "benchmarks" / "results")
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    for part in args.parts:
        results = {"scale": args.scale, **parts[part](args), "machine": machine(args.scale)}
        (args.output / f"{part}.json").write_text(compact(results))
        faults += find_faults(results.get("records", []))
    print(write_report(args.output))
    print(*faults, sep="\n", end="", file=sys.stderr)
    return int(bool(faults))


def find_faults(records: list[dict[str, Any]]) -> list[str]:
    """Describe the libraries that crash or whose values differ."""
    faults = []
    for record in records:
        fault = ""
        if record.get("crashed"):
            fault = record["failed"]
        # also if the difference is NaN
        if not record.get("difference", 0.0) <= tolerance_of(record["library"]):
            fault = f"differs by {record['difference']:.2g}"
        if fault:
            case = f"{record['family']} of {record['workload']}"
            faults.append(f"{record['library']} {fault} in {case}")
    return faults


def compact(results: dict[str, Any]) -> str:
    """Return JSON with one line per key, and per item of lists."""
    lines = []
    for name, value in results.items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        else:
            text = json.dumps(value)
        lines.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
