"""Damaged files of every format through the command line: a result, or one line that names the file.

Unlike in `tests/input`, commands run in forked processes, where they may hang, crash or take memory, also on
larger files. The damaged files and the command of a failure stay in the temporary folder.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import damage
from tests.damage import CASES, CUT, KINDS, TOKENS, Case, Edit, complaint, contents, make_case, restore
from tests.hunt import SECONDS, SEED
from tests.hunt.forked import Ended, forked
from xmleval.budget import MEMORY, memory_bytes

SIZES = ((7, 9, 3), (300, 40, 8))  # rows, labels, scores in a row
PATIENCE, COMPILING = 10.0, 100.0  # seconds of a command, and of one that compiles
LEAST = "16MB"  # the least memory that users can give
GROWTH = (300 << 20) + memory_bytes("memory", MEMORY)  # bytes that a command may take
ROLES = sorted({role for role, _ in CASES})

# a forked process starts its own pool of threads
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.parametrize("role", ROLES)
def test_damaged_files_are_read_or_refused(role: str, tmp_path: Path) -> None:
    rng, until = random.Random(f"{SEED} {role}"), time.monotonic() + SECONDS / len(ROLES)
    made = [valid_files(tmp_path, *case, size) for case in CASES if case[0] == role for size in SIZES]
    failures: Counter[str] = Counter()
    for number in itertools.count():
        if number >= 2 * len(made) and time.monotonic() > until:
            break
        folder, case, whole = rng.choice(made)
        command = rng.choice(case.commands)
        try:
            with contextlib.chdir(folder):
                case.damage(rng.randrange(2), edits(rng), rng.random() < 0.6, rng.random())
            damaged = contents(folder)
            kind, note = run_on_damaged(folder, case, command)
            if kind:
                restore(folder, damaged)
                signature = f"{folder.name}: {kind}: " + re.sub(
                    r"'[^']*'|\"[^\"]*\"|-?\d[\d.e+]*", "0", note
                )  # alike in all such files
                failures[signature[:300]] += 1
                place = shutil.copytree(folder, tmp_path / "failures" / str(number))
                (place / "failure.json").write_text(json.dumps({"command": command, kind: note}, indent=1))
        finally:
            restore(folder, whole)
    assert not failures, f"XMLEVAL_HUNT_SEED={SEED}: {failures}; see {tmp_path / 'failures'}"


def valid_files(folder: Path, role: str, name: str, size: tuple[int, int, int]) -> tuple[Path, Case, Any]:
    """Write the files of a case, and run the commands on them, which loads the kernels."""
    place = folder / f"{role}-{name}-{size[0]}"
    place.mkdir()
    with contextlib.chdir(place):
        case = make_case(Path(), role, name, size)
        whole = contents(place)
        for command in case.commands:
            damage.run(command)
            restore(place, whole)
    return place, case, whole


def edits(rng: random.Random) -> list[Edit]:
    changes = []
    for _ in range(rng.randint(1, 3)):
        token = rng.choice(TOKENS) if rng.random() < 0.8 else rng.randbytes(rng.randint(1, 8))
        changes.append((rng.choice(KINDS), rng.random(), rng.random(), token))
    return changes


def run_on_damaged(folder: Path, case: Case, command: list[str]) -> tuple[str, str]:
    """Run a command on damaged files in a forked process; return the kind of what is wrong, and a note."""
    result = run(folder, command, PATIENCE)
    if isinstance(result, Ended) and result.how == "hang":
        result = run(folder, command, COMPILING)  # it may have compiled kernels, which are then kept
        if not isinstance(result, Ended):
            more = [LEAST if word == CUT and command[0] == "evaluate" else word for word in command]
            result = run(folder, more, PATIENCE)
    if isinstance(result, Ended):
        return result.how, result.note
    if "traceback" in result:
        return "traceback", result["traceback"]
    code, out, err = result["answer"]
    if result["growth"] > GROWTH:
        return "memory", f"{result['growth'] >> 20} MiB: {err}"
    wrong = complaint(case, command, code, out, err)
    if not wrong and code and not case.names_damage(err, command):
        wrong = "another file is named"
    return ("answer", f"{wrong}, exit code {code}: {out}{err}") if wrong else ("", "")


def run(folder: Path, command: list[str], patience: float) -> Any:
    """Return the answer to a command in a forked process, or how the process ended."""
    return [*forked(partial(answer_in, folder, command), patience)][-1]


def answer_in(folder: Path, command: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the answer to a command, and how much memory it took."""
    os.chdir(folder)
    before = peak_bytes()
    try:
        code, out, err = damage.answer(command)
    except BaseException:
        yield {"traceback": traceback.format_exc(-3)}
    else:
        yield {"answer": (code, out[:2000], err[:5000]), "growth": peak_bytes() - before}


def peak_bytes() -> int:
    """Return the most memory that this process has taken; a forked one begins with what it has."""
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert peak
    return 1024 * int(peak[1])


ANSWERS: dict[str, tuple[str, Callable[[list[str]], Any]]] = {
    "an exception": ("traceback", lambda command: command[99]),
    "a loop": ("hang", lambda command: sum(iter(int, 1))),
    "an abort": ("crash", lambda command: os.abort()),
    "memory": ("memory", lambda command: (0, str(np.ones(60 << 20)[0]), "")),
    "no file": ("answer", lambda command: (2, "", "xmleval: out of range\n")),
    "two lines": ("answer", lambda command: (2, "", "xmleval: pairs.txt: bad\nxmleval: worse\n")),
    "a refusal": ("", lambda command: (2, "", "xmleval: pairs.txt: line 1: bad\n")),
}


@pytest.mark.parametrize("fault", ANSWERS)
def test_a_planted_fault_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.chdir(tmp_path)
    kind, planted = ANSWERS[fault]
    case = make_case(Path(), "option", "pairs.txt")
    monkeypatch.setattr(damage, "answer", planted)
    monkeypatch.setitem(globals(), "GROWTH", 300 << 20)
    if kind == "hang":
        for name in ("PATIENCE", "COMPILING"):
            monkeypatch.setitem(globals(), name, 0.4)
    assert run_on_damaged(tmp_path, case, case.commands[0])[0] == kind
