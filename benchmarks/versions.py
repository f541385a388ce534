"""Compare the speed of two versions: python -m benchmarks.versions OLD_CHECKOUT --help.

Every line of the published tables, and start-up, is timed in interleaved runs, so that other load affects
both versions. "new/old" is the median ratio of the rounds. Values must be bit-identical. The exit code is 1
if values differ or a target is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import startup
from benchmarks.checkout import ROOT, command_with, former_names
from benchmarks.lines import Line, folder_of, published
from benchmarks.machine import Machine
from benchmarks.workloads import generate

TURN = 0.05  # seconds of calls in a turn, at least one call
MIN_ROUNDS, MAX_ROUNDS, BUDGET = 7, 25, 1.0  # rounds of a line, seconds after which no more begin
MAX_RATIO, MAX_RATIO_AT_K, MAX_MEAN = 1.2, 1.05, 1.05  # targets of new/old
AT_K = re.compile(r"at_k_\w+ W[234]")
VERSIONS = ("old", "new")


class Version:
    """The process that times one version."""

    def __init__(self, checkout: Path, folder: str) -> None:
        command = command_with(checkout, "lines", folder, json.dumps(former_names(checkout)))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def turn(self, **request: Any) -> tuple[Any, dict[str, str]]:
        """Return the median seconds of a turn, None if the line is refused, and the values."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"seconds": TURN, **request}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"a version ended with exit code {self.process.wait()}")
        seconds, values = json.loads(answer)
        return seconds, values

    def seconds(self) -> float:
        """Return the median seconds of a turn."""
        seconds: float = self.turn()[0]
        return seconds

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def main(arguments: list[str] | None = None) -> int:
    """Time two versions, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="checkout of the version to compare with")
    parser.add_argument("--lines", default="", help="regular expression of the lines to time")
    parser.add_argument("--list", action="store_true", help="only list the lines")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the workloads")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "versions.json")
    args = parser.parse_args(arguments)
    checkouts = {"old": args.old.resolve(), "new": ROOT}
    lines = {title: line for title, line in published().items() if re.search(args.lines, title)}
    processes = {title: case for title, case in startup.cases().items() if re.search(args.lines, title)}
    if args.list:
        print(*lines, *processes, sep="\n")
        return 0
    machine = Machine(args.scale)
    records = time_lines(checkouts, lines, args.scale)
    started = time_startup(checkouts, processes)
    found = {"machine": machine.describe(), "lines": records, "startup": started}
    args.output.write_text(json.dumps(found, indent=1) + "\n")
    text, missed = report(records, started)
    print(text)
    return int(missed)


def time_lines(checkouts: dict[str, Path], lines: dict[str, Line], scale: float) -> list[dict[str, Any]]:
    """Time lines, workload by workload."""
    records = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        versions = {name: Version(checkout, folder) for name, checkout in checkouts.items()}
        for version in versions.values():
            stack.callback(version.close)
        for workload, depth in dict.fromkeys(line.case[2:] for line in lines.values()):
            place = folder_of(Path(folder), workload, depth)
            place.mkdir()
            generate(workload, depth, scale).save(place)
            for title, line in lines.items():
                if line.case[2:] == (workload, depth):
                    found = time_line(versions, title)
                    records += [{"line": title, **found}] if found else []
            shutil.rmtree(place)
    return records


def time_line(versions: dict[str, Version], title: str) -> dict[str, Any] | None:
    """Time one line with both versions; None if one has no such measure."""
    (old_seconds, old), (new_seconds, new) = (versions[name].turn(line=title) for name in VERSIONS)
    if old_seconds is None or new_seconds is None:
        return None
    found = in_turns({name: version.seconds for name, version in versions.items()}, MIN_ROUNDS)
    return {**found, "differ": [name for name in old if old[name] != new[name]]}


def in_turns(calls: dict[str, Callable[[], float]], min_rounds: int) -> dict[str, Any]:
    """Return median seconds by version, their median ratio, and the seconds of each round."""
    rounds: dict[str, list[float]] = {name: [] for name in VERSIONS}
    until = time.perf_counter() + BUDGET
    for number in range(MAX_ROUNDS):
        for name in VERSIONS:
            rounds[name].append(calls[name]())
        if number + 1 >= min_rounds and time.perf_counter() > until:
            break
    found: dict[str, Any] = {name: statistics.median(seconds) for name, seconds in rounds.items()}
    found["ratio"] = statistics.median(new / old for old, new in zip(*rounds.values(), strict=True))
    print(".", end="", file=sys.stderr, flush=True)
    return {**found, "rounds": rounds}


def time_startup(checkouts: dict[str, Path], cases: dict[str, startup.Case]) -> list[dict[str, Any]]:
    """Time start-up of both versions."""
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for title, case in cases.items():
            calls: dict[str, Callable[[], float]] = {}
            for name, checkout in checkouts.items():
                own = case._replace(words=[spelled(word, checkout) for word in case.words])
                calls[name] = partial(startup.measure, own, f"{folder}/{name}", checkout)
                if not case.cold:
                    calls[name]()  # compiles
            records.append({"line": title, **in_turns(calls, startup.COLD_RUNS if case.cold else MIN_ROUNDS)})
    return records


def spelled(script: str, checkout: Path) -> str:
    """Return a script with the names of arguments that a version has."""
    for name, former in former_names(checkout).items():
        script = script.replace(f"{name}=", f"{former}=")
    return script


def report(records: list[dict[str, Any]], started: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return the results as text, and whether a target is missed."""
    rows, missed = [], False
    for record in [*records, *started]:
        differ = record.get("differ", [])  # start-up has no values
        notes = (
            ["over"]
            if record["ratio"] > (MAX_RATIO_AT_K if AT_K.match(record["line"]) else MAX_RATIO)
            else []
        )
        notes += [f"values differ: {', '.join(differ)}"] if differ else []
        missed |= bool(notes)
        seconds = "".join(f"{record[name]:>11.3g}" for name in VERSIONS)
        rows.append(f"{record['line']:62}{seconds}{record['ratio']:>9.3f}  {'; '.join(notes)}".rstrip())
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
