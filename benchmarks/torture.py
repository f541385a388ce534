"""Faults at random moments: python -m benchmarks.torture [CHECKOUT] --help.

Signals whose handlers raise and memory that is refused, during `update` (also of two threads at once),
`merge`, `compute`, `save` and `load`, on one thread and two, in one block and several, with scores in memory
and on disk, over metrics of every state. After each fault the evaluator must hold what an untouched twin
holds, where an exception means that nothing was counted. The exit code is 1 if it did not. Needs Linux and a
C compiler. A finding is reproduced by `--kinds`, `--scenarios` and the seed printed with it.

raised : an exception left a call of the package. torn, wrong : it does not hold what it should, or cannot go
on, after an exception, and without one. counted : an exception, although the rows were counted. left : `save`
left other files behind. hang, crash : of a process. odd : an exception other than the handler's or
MemoryError. swallowed : a handler raised where Python ignores exceptions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.checkout import ROOT, command_with, former_names
from benchmarks.faults import PATIENCE, SCENARIOS
from benchmarks.triggers import FIRST, preloaded

TARGETS = {
    FIRST: 100,
    "alarm": 1500,
    "terminate": 700,
    "interrupt": 700,
    "limit": 500,
    "allocation": 1500,
}  # faults to raise, by kind
CUTTINGS = ((1, None), (2, 200), (1, 200), (2, 150))  # threads, rows of a block
LITTLE = "300kB"  # too little for pooled scores, which go to disk
MEMORY = ("1GiB", LITTLE)
LARGE_TABLES = ("groups",)  # scenarios that are refused with little memory
LEAST_TRIALS = 10  # of a kind in a process
OUTCOMES = {
    "torn": "torn", "wrong": "wrong", "counted": "raised although counted", "left": "left over",
    "hang": "hang", "crash": "crash", "odd": "odd",
}  # fmt: skip
COLUMNS = ("trials", "raised", "not raised", *OUTCOMES, "swallowed")
HARMLESS = ("trials", "raised", "not raised", "odd", "swallowed")
SHOWN = 25
Key = tuple[str, str, int]  # kind, operation, threads
Counts = dict[Key, Counter[str]]


def main(arguments: list[str] | None = None) -> int:
    """Torture a version and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="default this one")
    parser.add_argument("--share", type=float, default=1.0, help=f"of the {sum(TARGETS.values())} faults")
    parser.add_argument("--kinds", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=20.0, help="after which no trials begin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="file for the counts and all that was found, as JSON")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    targets = {kind: max(1, round(TARGETS[kind] * args.share)) for kind in args.kinds}
    counts, found = torture(
        args.checkout.resolve(), targets, args.scenarios, args.jobs, args.seed, start + 60 * args.minutes
    )
    print(report(counts, found))
    print(f"{time.perf_counter() - start:.0f} s")
    if args.output:
        rows = [
            {"kind": kind, "operation": operation, "threads": threads, **each}
            for (kind, operation, threads), each in sorted(counts.items())
        ]
        args.output.write_text(json.dumps({"counts": rows, "found": found}, indent=1) + "\n")
    total = sum(counts.values(), Counter[str]())
    return int(any(total[name] for name in COLUMNS if name not in HARMLESS))


def torture(
    checkout: Path, targets: dict[str, int], scenarios: list[str], jobs: int, seed: int, until: float
) -> tuple[Counts, list[dict[str, Any]]]:
    """Run trials until enough faults of each kind were raised or time is over; return counts and findings."""
    counts: Counts = {}
    found: list[dict[str, Any]] = []
    raised: Counter[str] = Counter()
    every = itertools.product(MEMORY, CUTTINGS, scenarios)
    product = [case for case in every if case[0] != LITTLE or case[2] not in LARGE_TABLES]
    random.Random(seed).shuffle(product)
    cases = itertools.cycle(product)
    fixed = {"former": former_names(checkout), "patience": PATIENCE}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        environment = preloaded(Path(folder))
        while (left := {kind: n - raised[kind] for kind, n in targets.items() if n > raised[kind]}) and (
            time.perf_counter() < until
        ):
            batches: list[dict[str, Any]] = []
            for memory, (threads, block_rows), scenario in itertools.islice(cases, jobs):
                seed += 1
                settings: dict[str, Any] = {
                    "scenario": scenario,
                    "threads": threads,
                    "block_rows": block_rows,
                }
                batches.append(settings | {"memory": memory, "seed": seed, **fixed})
                batches[-1]["trials"] = {kind: trials_of(kind, targets[kind], len(product)) for kind in left}
            done = pool.map(partial(run, checkout, environment, until), batches)
            for settings, trials in zip(batches, done, strict=True):
                for trial in trials:
                    key = trial["kind"], trial["operation"], settings["threads"]
                    counts.setdefault(key, Counter()).update(counted(trial))
                    raised[trial["kind"]] += bool(trial["raised"])
                    if trial["outcome"]:
                        found.append(settings | trial)
            print(dict(raised), file=sys.stderr)
    return counts, found


def trials_of(kind: str, target: int, n_cases: int) -> int:
    """Return how many trials of a kind a process runs, so that all cases have their turn."""
    return max(2 if kind == FIRST else LEAST_TRIALS, 2 * target // n_cases)


def counted(trial: dict[str, Any]) -> dict[str, int]:
    """Return what a trial adds to the counts."""
    adds = {"trials": True, "raised": bool(trial["raised"]), "not raised": not trial["raised"]}
    adds |= {name: trial["outcome"] == outcome for name, outcome in OUTCOMES.items()}
    return {name: int(value) for name, value in (adds | {"swallowed": trial["swallowed"]}).items()}


def run(
    checkout: Path, environment: dict[str, str], until: float, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """Run the trials of one case, in one process and those that it forks, until time is over."""
    command = command_with(checkout, "faults", json.dumps(settings))
    trials: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command,
            env=os.environ | environment | {"TMPDIR": folder},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                trials.append(json.loads(line))
                if time.perf_counter() > until:
                    process.terminate()
                    break
        if process.wait() and time.perf_counter() <= until:
            errors.seek(0)
            note = f"{settings}: {errors.read()[-2000:]}"
            kind = trials[-1]["kind"] if trials else next(iter(settings["trials"]))
            none = {"operation": "", "raised": "", "swallowed": False}
            trials.append({"kind": kind, **none, "outcome": "crash", "note": note})
    return trials


def report(counts: Counts, found: list[dict[str, Any]]) -> str:
    """Lay out the counts, and the first of what was found."""
    header = f"{'kind':12}{'operation':13}{'threads':>8}"
    rows = [header + "".join(f"{name:>11}" for name in COLUMNS)]
    totals = {("all", "", ""): sum(counts.values(), Counter[str]())}
    for (kind, operation, threads), each in [*sorted(counts.items()), *totals.items()]:
        rows.append(f"{kind:12}{operation:13}{threads:>8}" + "".join(f"{each[name]:>11}" for name in COLUMNS))
    alike: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        alike.setdefault(f"{one['kind']}: {one['outcome']}: {one['note'][:400]}", []).append(one)
    for text, several in list(alike.items())[:SHOWN]:
        settings = {
            name: several[0][name] for name in ("seed", "scenario", "threads", "block_rows", "memory")
        }
        rows.append(f"{len(several)} x {text}; first of {settings}")
    if len(alike) > SHOWN:
        rows.append(f"and {len(alike) - SHOWN} more")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
