"""Inject faults at random moments: python -m benchmarks.torture [CHECKOUT] --help.

Memory errors and signal handlers that raise interrupt `update`, `merge`, `compute` and `save`, with metrics
of every state, one thread or two, one block or several. After each fault the evaluator must equal a reference
evaluator in which the interrupted call did not happen, or refuse to continue. Each batch of trials runs in
its own process, and failures are printed with its settings. The exit code is 1 if there are failures.

raised : a call of the package raised. swallowed : a handler raised, but the call did not. refused : the
evaluator refused to continue. torn, wrong : its state is wrong, after an exception or without one.
counted : the call raised although its rows were counted. left : `save` left other files behind.
hangs, crashes : of processes.
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

from benchmarks.checkout import ROOT, command_with
from benchmarks.faults import SCENARIOS

TARGETS = {
    "alarm": 2000,
    "other thread": 1000,
    "limit": 500,
    "allocation": 500,
}  # number of faults
CUTTINGS = ((1, None), (2, 200), (1, 200), (2, 150))  # threads, block_rows
MEMORY = ("1GiB", "1MB")
MIN_TRIALS = 10  # per process
PATIENCE, STARTING = 10.0, 180.0  # timeouts in seconds of a trial, and of the start, which may compile
COLUMNS = {
    "trials": "trials", "raised": "raised", "torn": "torn", "wrong": "wrong", "refused": "refused",
    "counted": "raised although counted", "left": "left over", "swallowed": "swallowed", "hangs": "hang",
    "crashes": "crash",
}  # fmt: skip
HARMLESS = ("trials", "raised", "refused", "swallowed")
SHOWN = 25
SHOWN_SETTINGS = ("seed", "scenario", "threads", "block_rows", "memory", "trials")


def main(arguments: list[str] | None = None) -> int:
    """Run the trials and print the failures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="default this one")
    parser.add_argument("--share", type=float, default=1.0, help="fraction of the 4,000 faults")
    parser.add_argument("--kinds", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--jobs", type=int, default=2, help="parallel processes")
    parser.add_argument("--minutes", type=float, default=10.0, help="start no trials after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="JSON file for counts and failures")
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
    """Run batches of trials until ``target`` faults were raised or time is up; return counts and failures."""
    counts: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    product = list(itertools.product(MEMORY, CUTTINGS, scenarios))
    trials_each = max(MIN_TRIALS, 2 * target // len(product))  # so that every setting is tried
    random.Random(seed).shuffle(product)
    cases = itertools.cycle(product)
    with ThreadPoolExecutor(jobs) as pool:
        while counts["raised"] < target and time.perf_counter() < until:
            batches = []
            for memory, (threads, block_rows), scenario in itertools.islice(cases, jobs):
                settings = {"kind": kind, "scenario": scenario, "threads": threads, "block_rows": block_rows}
                settings |= {"memory": memory, "seed": seed, "trials": trials_each, "patience": PATIENCE}
                batches.append(settings)
                seed += 1
            for settings, trials in zip(batches, pool.map(partial(run, checkout), batches), strict=True):
                for trial in trials:
                    counts.update(counted(trial))
                    if trial["outcome"]:
                        found.append(settings | trial)
    return counts, found


def counted(trial: dict[str, Any]) -> dict[str, int]:
    """Return the counts of one trial."""
    adds = {"trials": 1, "raised": bool(trial["raised"]), "swallowed": trial["swallowed"]}
    adds |= {name: trial["outcome"] == outcome for name, outcome in COLUMNS.items() if name not in adds}
    return {name: int(value) for name, value in adds.items()}


def run(checkout: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one batch; a hang or crash ends it and is returned as a trial."""
    command = command_with(checkout, "faults", json.dumps(settings))
    trials: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command, env=os.environ | {"TMPDIR": folder}, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
        outcome = ""
        assert process.stdout is not None
        for line in lines_of(process.stdout.fileno()):
            if line is None:
                outcome = "hang"
                process.kill()
                break
            if isinstance(line, dict):
                trials.append(line)
        code = process.wait()
        process.stdout.close()
        if outcome or code:
            errors.seek(0)
            note = f"exit code {code}; {last_words(errors.read())}"
            none = {"operation": "", "raised": "", "swallowed": False}
            trials.append(none | {"outcome": outcome or "crash", "note": note})
    return trials


def lines_of(file: int) -> Any:
    """Yield the lines that a process prints, and None after a timeout."""
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
    """Return the innermost calls of each thread, or the end of the error output."""
    lines = errors.splitlines()
    stacks = [i for i, line in enumerate(lines) if line.endswith("(most recent call first):")]
    if not stacks:
        return " ".join(lines[-4:])
    return " | ".join(" ".join(lines[i + 1 : i + 5]) for i in stacks)


def report(counts: dict[str, Counter[str]], found: list[dict[str, Any]]) -> str:
    """Return a table of the counts, and the first failures."""
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
