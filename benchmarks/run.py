"""Time xmleval and other libraries on the same workloads: python -m benchmarks.run --help.

Each library runs in its own process, and the runs are interleaved, so that other load affects all of them.
Missing libraries are reported as absent. A library whose first call takes longer than 5 s is timed once more
(after 60 s, not again), and one that takes longer than five minutes is stopped. The parts threads, growth and
startup need no other library. Results are JSON, tables.md and growth.svg in the output folder. The exit code
is 1 if values differ or a library crashes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.comparisons import FAMILIES, tolerance_of
from benchmarks.growth import measure_growth
from benchmarks.machine import Machine
from benchmarks.side_by_side import ROOT, compare_all
from benchmarks.startup import measure_startup
from benchmarks.tables import over_memory, write_report
from benchmarks.threads import measure_threads
from benchmarks.workloads import SIZES

PARTS = ("comparison", "threads", "growth", "startup")


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--workloads", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--peers", default=sys.executable, help="Python interpreter with the other libraries")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each library after its first call")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the workloads")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results")
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    peers = str(Path(args.peers).absolute())  # not resolved: the link selects the environment
    wrong, crashed, over = [], [], list[str]()
    for part in args.parts:
        machine = Machine(args.scale)
        found: dict[str, Any] = {"scale": args.scale}
        if part == "comparison":
            records = compare_all(args.families, args.workloads, peers, args.rounds, args.scale, machine.read)
            found["records"] = records
            over = over_memory(records)
            crashed = [r for r in records if r.get("crashed")]
            wrong = [r for r in records if not r.get("difference", 0.0) <= tolerance_of(r["library"])]
        elif part == "threads":
            found |= measure_threads(args.scale)
        elif part == "growth":
            found |= measure_growth(args.scale)
        else:
            found |= measure_startup(args.rounds)
        found["machine"] = machine.describe()
        (args.output / f"{part}.json").write_text(compact(found))
    print(write_report(args.output))
    for line in over:
        print(line, file=sys.stderr)
    for record in wrong:
        case = f"{record['family']} of {record['workload']}"
        print(f"{record['library']} differs by {record['difference']:.2g} in {case}", file=sys.stderr)
    for record in crashed:
        case = f"{record['family']} of {record['workload']}"
        print(f"{record['library']} {record['failed']} in {case}", file=sys.stderr)
    return 1 if wrong or crashed else 0


def compact(found: dict[str, Any]) -> str:
    """Return JSON with one line per key, and per item of lists."""
    lines = []
    for name, value in found.items():
        listed = isinstance(value, list)
        text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]" if listed else json.dumps(value)
        lines.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
