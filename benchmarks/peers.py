"""Time xmleval beside other libraries on the same workloads: `python benchmarks/peers.py --help`.

Every library runs in a process of its own, and the processes take turns, so that a busy moment of the machine
falls on all of them. A library that is not installed is skipped by name. The rate of `np.sort` in the same
run tells how fast the machine was: compare it before comparing seconds between runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from comparisons import COMPARISONS, INPUTS, module_of
from workloads import SIZES, Workload, generate

HERE = Path(__file__).resolve().parent
SORT_KEYS = 30_000_000
TOLERANCE = 1e-9


class Peer:
    """One library in a process of its own, timed when asked."""

    def __init__(self, python: str, library: str, arguments: list[str]) -> None:
        """Start the process and wait until its inputs are ready."""
        command = [python, str(HERE / "comparisons.py"), library, *arguments]
        self.library, self.seconds = library, list[float]()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self._answer()
        self.last: dict[str, Any] = {}

    def run(self, budget: float) -> list[float]:
        """Time calls until the budget of seconds is spent, at least one."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{budget}\n")
        self.process.stdin.flush()
        self.last = self._answer()
        return list(self.last["seconds"])

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.library} ended with exit code {self.process.wait()}")
        return dict(json.loads(line))


def compare(
    case: str, workload: Workload, form: str, pythons: dict[str, str], rounds: int
) -> list[dict[str, Any]]:
    """Time every library of a case on one workload and return a record for each."""
    peers: list[Peer] = []
    records = []
    with tempfile.TemporaryDirectory() as folder:
        workload.save(Path(folder))
        try:
            for library in COMPARISONS[case]:
                python = pythons.get(module_of(library), pythons[""])
                peer = Peer(python, library, [case, form, workload.name, folder])
                peers.append(peer)
                if "absent" in peer.ready:
                    print(f"skipped {library}: {peer.ready['absent']}", file=sys.stderr)
            present = [peer for peer in peers if "absent" not in peer.ready]
            first = {peer.library: peer.run(0)[0] for peer in present}
            for _ in range(rounds):
                for peer in present:
                    peer.seconds += peer.run(0.3)
        finally:
            for peer in peers:
                peer.close()
    for peer in present:
        values, base = peer.last["values"], present[0].last["values"]
        records.append(
            {
                "workload": workload.name,
                "input": form,
                "library": peer.library,
                "version": peer.ready["version"],
                "median_seconds": statistics.median(peer.seconds),
                "fastest_seconds": min(peer.seconds),
                "first_seconds": first[peer.library],
                "seconds": peer.seconds,
                "inputs_mib": peer.ready["inputs_mib"],
                "peak_mib": peer.last["peak_mib"],
                "values": values,
                "difference": float(np.max(np.abs([values[metric] - base[metric] for metric in base]))),
            }
        )
    return records


def sort_rates(repeats: int = 7) -> dict[str, float]:
    """Measure the keys a second that `np.sort` sorts of random float32, on one thread and as halves on two.

    The second figure shows a neighbour on the other core, which one thread alone does not notice.
    """
    keys = np.random.default_rng(0).random(SORT_KEYS, np.float32)
    rates = {}
    with ThreadPoolExecutor(2) as pool:
        for name, parts in ("one_thread", [keys]), ("two_threads", np.split(keys, 2)):
            seconds = []
            for _ in range(repeats + 1):
                start = time.perf_counter()
                list(pool.map(np.sort, parts))
                seconds.append(time.perf_counter() - start)
            rates[name] = SORT_KEYS / statistics.median(seconds[1:])  # the first pays for fresh memory
    return rates


def table(records: list[dict[str, Any]]) -> str:
    """Lay the records out as a Markdown table; ratios are to the first library on the same input."""
    head = ["workload", "input", "library", "median s", "fastest s", "runs", "ratio", "first call s"]
    head += ["peak MiB", "of it inputs", "largest difference"]
    rows = ["| " + " | ".join(head) + " |", "|---|---|---|" + "---:|" * (len(head) - 3)]
    base: dict[tuple[str, str], float] = {}
    for record in records:
        seconds = record["median_seconds"]
        ratio = seconds / base.setdefault((record["workload"], record["input"]), seconds)
        cells = (
            record["workload"],
            record["input"],
            f"{record['library']} ({record['version']})",
            f"{seconds:.4g}",
            f"{record['fastest_seconds']:.4g}",
            str(len(record["seconds"])),
            f"{ratio:.3g}",
            f"{record['first_seconds']:.3g}",
            f"{record['peak_mib']:.0f}",
            f"{record['inputs_mib']:.0f}",
            f"{record['difference']:.1g}",
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> int:
    """Compare, print a Markdown table, and return 1 where libraries disagree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", choices=COMPARISONS, default="combined")
    parser.add_argument("--workloads", nargs="+", choices=SIZES, default=["W2", "W3"])
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=["top5"])
    parser.add_argument(
        "--peer-python", default=sys.executable, help="interpreter that has the other libraries"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of every library after its warm-up")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the workloads")
    parser.add_argument("--output", type=Path, help="write everything measured as JSON")
    args = parser.parse_args()

    pythons = {"xmleval": sys.executable, "": args.peer_python}
    records: list[dict[str, Any]] = []
    rates: dict[str, dict[str, float]] = {}
    for name in args.workloads:
        rates[name] = sort_rates()
        workload = generate(name, max(INPUTS[form] for form in args.inputs), args.scale)
        for form in args.inputs:
            records += compare(args.case, workload, form, pythons, args.rounds)
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "numpy": np.__version__}
    print(table(records))
    print("\n`np.sort` of 30 million float32, million keys a second, median:")
    for name, rate in rates.items():
        one, two = rate["one_thread"] / 1e6, rate["two_threads"] / 1e6
        print(f"- before {name}: {one:.0f} on one thread, {two:.0f} as halves on two")
    if args.output:
        result = {"case": args.case, "scale": args.scale, "machine": machine, "sort_keys_per_second": rates}
        args.output.write_text(json.dumps(result | {"records": records}, indent=1) + "\n")
    wrong = [record for record in records if not record["difference"] <= TOLERANCE]
    for record in wrong:
        print(f"{record['library']} disagrees on {record['workload']} {record['input']}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
