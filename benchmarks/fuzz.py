"""Damaged files through the command line, for hours: python -m benchmarks.fuzz --help.

Files of every format, lists of pairs and names, saved states, rules and checkpoints are damaged at random, an
archive also below its right checksums, and read in a forked process. Each must give a result or be refused in
one line that names the file, in little time and memory. The files and the command of each finding are saved.
The exit code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.forked import Ended, forked
from tests.damage import (
    CASES,
    CUT,
    KINDS,
    TOKENS,
    Case,
    Edit,
    answer,
    complaint,
    contents,
    make_case,
    restore,
)
from xmleval.budget import MEMORY, memory_bytes
from xmleval.cli import evaluation

SIZES = ((7, 9, 3), (300, 40, 8))  # rows, labels, scores in a row
PATIENCE, COMPILING = 10.0, 100.0  # seconds of a command, and of one that compiles
LEAST = "16MB"  # the least memory that can be given
GIVEN, MORE = 64 << 20, 300 << 20  # bytes given to a command, and those it may take beside
USUAL = memory_bytes("memory", MEMORY)  # of a command to which none is given
SHOWN = 1000  # damaged files of a line of progress
SAVED = 3  # findings saved of each signature


class Finding(NamedTuple):
    """What is wrong with a command on damaged files; findings of one fault share a signature."""

    kind: str
    signature: str
    note: str


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="after preparation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--roles", nargs="+", choices=sorted({role for role, _ in CASES}), help="of the files"
    )
    parser.add_argument("--output", type=Path, default=Path("fuzz"), help="folder for findings")
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if args.roles is None or case[0] in args.roles]
    work = partial(fuzz, cases, args.minutes, args.output.resolve())
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        done = pool.map(work, range(args.seed, args.seed + args.processes), 1)
    counts = sum((one for one, _ in done), Counter[str]())
    found: dict[str, list[str]] = {}
    for _, several in done:
        for text, folders in several.items():
            found.setdefault(text, []).extend(folders)
    text = report(counts, found)
    print(text)
    (args.output / "findings.txt").write_text(text + "\n")
    return int(bool(found))


def fuzz(
    cases: list[tuple[str, str]], minutes: float, output: Path, seed: int
) -> tuple[Counter[str], dict[str, list[str]]]:
    """Try damaged files for so long; return counts, and the folders of findings by signature."""
    evaluation.LEAST_MEMORY = 1  # so that small files are cut, too
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="fuzz") as name:
        made = prepare(Path(name), cases)
        number, until = 0, time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            number += 1
            folder, case, whole = rng.choice(made)
            command = rng.choice(case.commands)
            if number % SHOWN == 0:
                print(f"{number:,} damaged files, {sum(map(len, found.values()))} findings", flush=True)
            try:
                with contextlib.chdir(folder):
                    case.damage(rng.randrange(2), edits(rng), rng.random() < 0.6, rng.random())
                damaged = contents(folder)
                try:
                    finding = tried(folder, case, command, counts)
                except Exception:  # of this program, which goes on with other files
                    finding = Finding("program", traceback.format_exc(limit=-1), traceback.format_exc())
                if finding:
                    restore(folder, damaged)
                    key = f"{folder.name[:-2]}: {finding.kind}: {finding.signature}"
                    folders = found.setdefault(key, [])
                    place = output / f"{seed}-{number}-{finding.kind}" if len(folders) < SAVED else None
                    folders.append(place.name if place else "")
                    if place:
                        save(place, folder, command, finding)
            finally:
                restore(folder, whole)
    return counts, found


def prepare(folder: Path, cases: list[tuple[str, str]]) -> list[tuple[Path, Case, dict[Path, bytes]]]:
    """Write the files of all cases, and run the commands on them, which loads the kernels."""
    made = []
    for role, name in cases:
        for number, size in enumerate(SIZES):
            place = folder / f"{role}-{name}-{number}"
            place.mkdir()
            with contextlib.chdir(place):
                case = make_case(Path(), role, name, size)
                whole = contents(place)
                for command in case.commands:
                    if answer(command)[0]:
                        raise RuntimeError(f"{place.name}: {command} fails on valid files")
                    restore(place, whole)
            made.append((place, case, whole))
    return made


def edits(rng: random.Random) -> list[Edit]:
    """Draw some changes."""
    return [
        (
            rng.choice(KINDS),
            rng.random(),
            rng.random(),
            rng.choice(TOKENS) if rng.random() < 0.8 else rng.randbytes(rng.randint(1, 8)),
        )
        for _ in range(rng.randint(1, 3))
    ]


def tried(folder: Path, case: Case, command: list[str], counts: Counter[str]) -> Finding | None:
    """Run a command on damaged files in a forked process, and return what is wrong."""
    line = only(folder, command, PATIENCE)
    if isinstance(line, Ended) and line.how == "hang":
        again = only(folder, command, COMPILING)  # it may have compiled kernels, which are then kept
        if command[0] == "evaluate":  # to which less cannot be given
            command = [LEAST if word == CUT else word for word in command]
        line = only(folder, command, PATIENCE) if not isinstance(again, Ended) else again
    if isinstance(line, Ended):
        counts[line.how] += 1
        return Finding(line.how, where(line.note), line.note)
    if "traceback" in line:
        counts["traceback"] += 1
        return Finding("traceback", f"{line['error']} in {where(line['traceback'])}", line["traceback"])
    code, out, err = line["answer"]
    counts["refused" if code else "read"] += 1
    if line["grown"] > MORE + (GIVEN if "--memory" in command else USUAL):
        return Finding("memory", "", f"{line['grown'] >> 20} MiB\n{err}")
    wrong = complaint(case, command, code, out, err)
    if not wrong and code and not case.names_damage(err, command):
        wrong = "another file is named"
    if wrong:
        return Finding("answer", f"{wrong}: {alike(err)}", f"{wrong}, exit code {code}\n{out}\n{err}")
    return None


def only(folder: Path, command: list[str], patience: float) -> Any:
    """Return the answer to a command in a forked process, or how the process ended."""
    return list(forked(partial(answered, folder, command), patience))[-1]


def answered(folder: Path, command: list[str]) -> Iterator[dict[str, Any]]:
    """Run a command in a forked process; yield its answer and how much memory it took."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.chdir(folder)
    before = peak()
    try:
        code, out, err = answer(command)
    except BaseException as error:
        yield {"traceback": traceback.format_exc(), "error": type(error).__name__}
    else:
        yield {"answer": (code, out[:2000], err[:5000]), "grown": peak() - before}


def peak() -> int:
    """Return the most memory that this process has taken, in bytes; a forked one begins with what it has."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return 1024 * int(found[1])


def where(stack: str) -> str:
    """Return the innermost call of the package in a stack, whichever way it is printed."""
    calls = re.findall(r'/(xmleval/[\w/]+\.py)", line \d+,? in (\w+)', stack)
    if not calls:
        return " ".join(stack.split())[-100:]
    file, function = calls[0] if "exit code" in stack else calls[-1]
    return f"{file} {function}"


def alike(text: str) -> str:
    """Return a message without what differs from file to file."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", text.strip())
    return re.sub(r"-?\d[\d.e+]*", "0", text)[:160]


def save(place: Path, folder: Path, command: list[str], finding: Finding) -> None:
    """Save the damaged files, the command and what is wrong."""
    shutil.copytree(folder, place, dirs_exist_ok=True)
    told = {"command": command, "kind": finding.kind, "note": finding.note}
    (place / "finding.json").write_text(json.dumps(told, indent=1) + "\n")


def report(counts: Counter[str], found: dict[str, list[str]]) -> str:
    """Lay out the counts, and what was found."""
    rows = [", ".join(f"{n} {name}" for name, n in sorted(counts.items()))]
    for text, folders in sorted(found.items()):
        rows.append(f"{len(folders)} x {text}; in {', '.join(filter(None, folders))}")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
