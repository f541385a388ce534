"""One process of `benchmarks.versions`: time the lines of the published tables with one version.

Each line of standard input is a request, to prepare a line of the tables or to time a turn of it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import ours
from benchmarks.checkout import renamed
from benchmarks.comparisons import FAMILIES
from benchmarks.serve import run
from benchmarks.threads import CASES, Case
from benchmarks.workloads import Workload


class Line(NamedTuple):
    """A case and its number of threads."""

    case: Case
    threads: int | None


def published() -> dict[str, Line]:
    """Return all lines by title, without duplicates."""
    cases: dict[str, Case] = {}
    for family, each in FAMILIES.items():
        given = each.libraries["xmleval"].keywords["given"]  # type: ignore[attr-defined]
        for workload in each.workloads:
            cases[f"{family} {workload}"] = Case(each.metrics, given, workload, each.depth)
    for title, case in CASES.items():
        if case.metrics and case not in cases.values():
            cases[f"{title}, {case.workload}"] = case
    return {
        f"{title}{words}": Line(case, threads)
        for title, case in cases.items()
        for words, threads in (("", None), (", 1 thread", 1))
    }


def prepare(line: Line, workload: Workload, former: dict[str, str]) -> ours.Prepared:
    """Return the call of a line, with the names that this version of the package has."""

    def given(workload: Workload) -> dict[str, Any]:
        return renamed(line.case.given(workload), former)

    return ours.evaluated(workload, given, line.case.metrics, line.threads)


def folder_of(folder: Path, workload: str, depth: int) -> Path:
    """Return where a workload is saved."""
    return folder / f"{workload}_{depth}"


def main() -> None:
    """Answer until standard input ends: its arguments are the folder of workloads and former names."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    lines, folder, former = published(), Path(sys.argv[1]), json.loads(sys.argv[2])
    kept: tuple[str, int] | None = None
    workload: Workload | None = None
    prepared: ours.Prepared | None = None
    for request in map(json.loads, sys.stdin):
        if "line" in request:
            line, prepared = lines[request["line"]], None
            if kept != line.case[2:]:
                kept, workload = line.case[2:], None  # the last one is freed first
                workload = Workload.load(kept[0], folder_of(folder, *kept))
            assert workload is not None
            prepared = prepare(line, workload, former)
            try:
                run(prepared, 0)  # compiles, or loads compiled kernels
            except ValueError as error:  # this version has no such measure
                print(json.dumps([None, {"refused": str(error)}]), file=answers, flush=True)
                continue
        assert prepared is not None
        runs, values = run(prepared, request["seconds"])
        found = {name: value.hex() for name, value in values.items()}
        print(json.dumps([statistics.median(one["all"] for one in runs), found]), file=answers, flush=True)
