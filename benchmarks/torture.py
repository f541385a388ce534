"""Faults at random moments: python -m benchmarks.torture [CHECKOUT] --help.

Memory that is refused and signals whose handlers raise, during `update`, `merge`, `compute` and `save`, on
one thread and two, in one block and several, over metrics of every state. After each fault the evaluator must
hold what an untouched twin holds, where an exception means that nothing was counted; or it must refuse to go
on. Each batch of trials is a process of its own, whose settings are printed with whatever it found. The exit
code is 1 where something was found.

raised : an exception left a call of the package. swallowed : a handler raised, and no exception came out.
refused : the evaluator says that it cannot go on. torn, wrong : it does not hold what it should, after an
exception, and without one. counted : an exception from inside, although the rows were counted. left : `save`
left other files behind. hangs, crashes : of processes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import select
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
from benchmarks.faults import SCENARIOS

TARGETS = {
    "alarm": 2000,
    "other thread": 1000,
    "limit": 500,
    "allocation": 500,
}  # faults to raise
CUTTINGS = ((1, None), (2, 200), (1, 200), (2, 150))  # threads, rows of a block
MEMORY = ("1GiB", "1MB")
LEAST_TRIALS = 10  # of a process
PATIENCE, STARTING = 10.0, 600.0  # seconds for a trial, and until the first, which may compile
COLUMNS = {
    "trials": "trials", "raised": "raised", "torn": "torn", "wrong": "wrong", "refused": "refused",
    "counted": "raised although counted", "left": "left over", "swallowed": "swallowed", "hangs": "hang",
    "crashes": "crash",
}  # fmt: skip
HARMLESS = ("trials", "raised", "refused", "swallowed")
SHOWN = 25
SHOWN_SETTINGS = ("seed", "scenario", "threads", "block_rows", "memory", "trials")


def main(arguments: list[str] | None = None) -> int:
    """Torture a version and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="default this one")
    parser.add_argument("--share", type=float, default=1.0, help="of the faults: 4,000")
    parser.add_argument("--kinds", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=10.0, help="after which no trials begin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="file for the counts and all that was found, as JSON")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    checkout, counts, found = args.checkout.resolve(), {}, []
    for number, kind in enumerate(args.kinds, 1):
        target = max(1, round(TARGETS[kind] * args.share))
        until = start + 60 * args.minutes * number / len(args.kinds)
        counts[kind], more = torture(checkout, kind, target, args.scenarios, args.jobs, args.seed, until)
        found += more
        print(f"{kind}: {dict(counts[kind])}", file=sys.stderr)
    print(report(counts, found))
    print(f"{time.perf_counter() - start:.0f} s")
    if args.output:
        args.output.write_text(json.dumps({"counts": counts, "found": found}, indent=1) + "\n")
    return int(any(counts[kind][name] for kind in counts for name in COLUMNS if name not in HARMLESS))


def torture(
    checkout: Path, kind: str, target: int, scenarios: list[str], jobs: int, seed: int, until: float
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Run batches of trials until so many faults were raised or time is over; return counts, and findings."""
    counts: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    product = list(itertools.product(MEMORY, CUTTINGS, scenarios))
    former = former_names(checkout)
    trials_each = max(LEAST_TRIALS, 2 * target // len(product))  # so that all have their turn
    random.Random(seed).shuffle(product)
    cases = itertools.cycle(product)
    with ThreadPoolExecutor(jobs) as pool:
        while counts["raised"] < target and time.perf_counter() < until:
            batches = []
            for memory, (threads, block_rows), scenario in itertools.islice(cases, jobs):
                settings = {"kind": kind, "scenario": scenario, "threads": threads, "block_rows": block_rows}
                settings |= {"memory": memory, "seed": seed, "trials": trials_each, "patience": PATIENCE}
                settings |= {"former": former}
                batches.append(settings)
                seed += 1
            for settings, trials in zip(batches, pool.map(partial(run, checkout), batches), strict=True):
                for trial in trials:
                    counts.update(counted(trial))
                    if trial["outcome"]:
                        found.append(settings | trial)
    return counts, found


def counted(trial: dict[str, Any]) -> dict[str, int]:
    """Return what a trial adds to the counts."""
    adds = {"trials": 1, "raised": bool(trial["raised"]), "swallowed": trial["swallowed"]}
    adds |= {name: trial["outcome"] == outcome for name, outcome in COLUMNS.items() if name not in adds}
    return {name: int(value) for name, value in adds.items()}


def run(checkout: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one batch; a process that hangs or crashes ends it with a trial that says so."""
    command = command_with(checkout, "faults", json.dumps(settings))
    trials: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command, env=os.environ | {"TMPDIR": folder}, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
        outcome, ready = "", False
        assert process.stdout is not None
        for line in lines_of(process.stdout.fileno()):
            if line is None:
                outcome = "hang"
                process.kill()
                break
            ready = True
            if isinstance(line, dict):
                trials.append(line)
        code = process.wait()
        process.stdout.close()
        if outcome or code:
            errors.seek(0)
            note = f"exit code {code}; {last_words(errors.read())}"
            if not ready:
                raise SystemExit(f"no trial began: {note}")
            none = {"operation": "", "raised": "", "swallowed": False}
            trials.append(none | {"outcome": outcome or "crash", "note": note})
    return trials


def lines_of(file: int) -> Any:
    """Yield what a process prints, and None where it has been silent for too long."""
    text, patience = b"", STARTING
    while select.select([file], [], [], patience)[0]:
        read = os.read(file, 1 << 16)
        if not read:
            return
        *whole, text = (text + read).split(b"\n")
        for line in whole:
            yield json.loads(line)
            patience = PATIENCE
    yield None


def last_words(errors: str) -> str:
    """Return where a process stood: the innermost calls of its threads, or the end of what it said."""
    lines = errors.splitlines()
    stacks = [i for i, line in enumerate(lines) if line.endswith("(most recent call first):")]
    if not stacks:
        return " ".join(lines[-4:])
    return " | ".join(" ".join(lines[i + 1 : i + 5]) for i in stacks)


def report(counts: dict[str, Counter[str]], found: list[dict[str, Any]]) -> str:
    """Lay out the counts, and the first of what was found."""
    rows = [f"{'':14}" + "".join(f"{name:>10}" for name in COLUMNS)]
    total = sum(counts.values(), Counter())
    for kind, each in [*counts.items(), ("all", total)]:
        rows.append(f"{kind:14}" + "".join(f"{each[name]:>10}" for name in COLUMNS))
    alike: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        alike.setdefault(f"{one['kind']}: {one['outcome']}: {one['note'][:300]}", []).append(one)
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
