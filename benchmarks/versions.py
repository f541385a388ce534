"""Compare the speed of two versions: python -m benchmarks.versions OLD_CHECKOUT --help.

Every line of the published tables, and start-up, is timed in interleaved runs, so that other load
affects both versions. "new/old" is the median ratio of the rounds. Values must be bit-identical.
The exit code is 1 if values differ or a target is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import startup
from benchmarks.cases import CASES
from benchmarks.machine import machine
from benchmarks.worker import ROOT, Worker, interleaved
from benchmarks.workloads import generate

TURN = 0.05  # seconds of calls in a turn, at least one call
# rounds of a line, seconds after which no more begin
MIN_ROUNDS = 7
MAX_ROUNDS = 25
BUDGET = 1.0
# targets of new/old
MAX_RATIO = 1.2
MAX_RATIO_AT_K = 1.05
MAX_MEAN = 1.05
AT_K = re.compile(r"at_k_\w+ W[234]")
Line = tuple[str, str, str]  # a case, a workload and a library


def published_lines() -> dict[str, Line]:
    """Return the lines of the published tables by title.

    They are the cases that are compared with other libraries, then those timed by threads only.
    """
    inputs: dict[str, tuple[str, str]] = {}  # case and workload
    for name, case in CASES.items():
        for workload in case.libraries:
            inputs[f"{name} {workload}"] = (name, workload)
    for name, case in CASES.items():
        if case.threads and case.metrics and not case.libraries:
            inputs[f"{name}, {case.threads}"] = (name, case.threads)
    lines: dict[str, Line] = {}
    for title, (name, workload) in inputs.items():
        lines[title] = (name, workload, "xmleval")
        lines[f"{title}, 1 thread"] = (name, workload, "xmleval threads=1")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Time two versions, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="checkout of the version to compare with")
    parser.add_argument("--lines", default="", help="regular expression of the lines to time")
    parser.add_argument("--list", action="store_true", help="only list the lines")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the workloads")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "benchmarks" / "results" / "versions.json"
    )
    args = parser.parse_args(arguments)
    if not (args.old / "xmleval" / "__init__.py").is_file():
        parser.error(f"{args.old}: holds no xmleval; give a checkout of the older version")
    checkouts = {"old": args.old.resolve(), "new": ROOT}
    pattern = re.compile(args.lines)
    lines = {title: line for title, line in published_lines().items() if pattern.search(title)}
    cases = {title: case for title, case in startup.cases().items() if pattern.search(title)}
    if args.list:
        print(*lines, *cases, sep="\n")
        return 0
    records = time_lines(checkouts, lines, args.scale)
    startup_records = time_startup(checkouts, cases)
    results = {"machine": machine(args.scale), "lines": records, "startup": startup_records}
    args.output.write_text(json.dumps(results, indent=1) + "\n")
    text, missed = report(records, startup_records)
    print(text)
    return int(missed)


def time_lines(
    checkouts: dict[str, Path], lines: dict[str, Line], scale: float
) -> list[dict[str, Any]]:
    """Time lines, workload by workload, that both versions have."""
    records = []
    with ExitStack() as stack:
        versions = {name: Worker(checkout=checkout) for name, checkout in checkouts.items()}
        for version in versions.values():
            stack.callback(version.close)
        for workload, depth in dict.fromkeys(
            (line[1], CASES[line[0]].depth) for line in lines.values()
        ):
            with tempfile.TemporaryDirectory() as folder:
                generate(workload, depth, scale).save(Path(folder))
                for title, (name, line_workload, library) in lines.items():
                    if (line_workload, CASES[name].depth) != (workload, depth):
                        continue
                    ready = [
                        version.prepare(name, library, workload, Path(folder))
                        for version in versions.values()
                    ]
                    if not any("refused" in answer for answer in ready):
                        records.append({"line": title, **time_line(versions)})
    return records


def time_line(versions: dict[str, Worker]) -> dict[str, Any]:
    """Time the line that is prepared with both versions, and name the values that differ."""
    # compiles, or loads compiled kernels
    answers = [version.turn(0) for version in versions.values()]
    for version in versions.values():
        if version.failed:
            raise SystemExit(f"a version {version.failed}")
    old, new = (answer["values"] for answer in answers)
    calls = {name: partial(version.seconds, TURN) for name, version in versions.items()}
    return {
        **run_workers(calls, MIN_ROUNDS),
        "differ": [name for name in old if repr(old[name]) != repr(new[name])],
    }


def run_workers(calls: Mapping[str, Callable[[], float]], min_rounds: int) -> dict[str, Any]:
    """Return median seconds by version, their median ratio, and the seconds of all rounds."""
    rounds = interleaved(calls, (min_rounds, MAX_ROUNDS), BUDGET)
    ratio = statistics.median(
        new / old for old, new in zip(rounds["old"], rounds["new"], strict=True)
    )
    print(".", end="", file=sys.stderr, flush=True)
    medians = {name: statistics.median(seconds) for name, seconds in rounds.items()}
    return {**medians, "ratio": ratio, "rounds": rounds}


def time_startup(
    checkouts: dict[str, Path], cases: dict[str, startup.Case]
) -> list[dict[str, Any]]:
    """Time start-up of both versions."""
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for title, case in cases.items():
            calls = {
                name: partial(startup.measure, case, f"{folder}/{name}", checkout)
                for name, checkout in checkouts.items()
            }
            if case.cold:
                min_rounds = startup.COLD_RUNS
            else:
                min_rounds = MIN_ROUNDS
                interleaved(calls, (1, 1))  # compiles
            records.append({"line": title, **run_workers(calls, min_rounds)})
    return records


def report(
    records: list[dict[str, Any]], startup_records: list[dict[str, Any]]
) -> tuple[str, bool]:
    """Return the results as text, and whether a target is missed."""
    rows = []
    missed = False
    for record in [*records, *startup_records]:
        is_at_k = AT_K.match(record["line"])
        target = MAX_RATIO_AT_K if is_at_k else MAX_RATIO
        notes = []
        if record["ratio"] > target:
            notes.append("over")
        differ = record.get("differ", [])  # start-up has no values
        if differ:
            notes.append(f"values differ: {', '.join(differ)}")
        missed |= bool(notes)
        seconds = "".join(f"{record[name]:>11.3g}" for name in ("old", "new"))
        rows.append(
            f"{record['line']:62}{seconds}{record['ratio']:>9.3f}  {'; '.join(notes)}".rstrip()
        )
    head = f"{'line':62}{'old, s':>11}{'new, s':>11}{'new/old':>9}"
    text = "\n".join([head, *rows])
    if records:
        mean = math.exp(statistics.fmean(math.log(record["ratio"]) for record in records))
        missed |= mean > MAX_MEAN
        text += f"\ngeometric mean without start-up: {mean:.3f}, at most {MAX_MEAN}"
    verdict = "missed" if missed else "met"
    text += f"\ntargets: at_k of W2 to W4 {MAX_RATIO_AT_K}, all others {MAX_RATIO}: {verdict}"
    return text, missed


if __name__ == "__main__":
    sys.exit(main())
