"""Damaged files of every format on the command line: a result, or a line that names the file.

Commands run in forked processes, where they may hang, crash or take memory, also on larger files.
The damaged files of a failure stay in the temporary folder.
"""

import itertools
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import damage
from tests.damage import CASES, KINDS, TOKENS, Case, Edit, complaint, contents, make_case, restore
from tests.hunt import SECONDS, SEED
from tests.hunt.forked import Ended, forked
from xmleval import Evaluator

SIZES = ((7, 9, 3), (300, 40, 8))  # rows, labels, scores in a row
PATIENCE = 200.0  # seconds of a command, which may compile kernels
GROWTH = (300 << 20) + Evaluator("p@1", n_labels=1).memory  # bytes that a command may take

# a forked process starts its own pool of threads
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("role", "name"), CASES)
def test_damaged_files_are_read_or_refused(
    role: str,
    name: str,
    size: tuple[int, int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    case = make_case(Path(), role, name, size)
    whole = contents(Path())
    rng = random.Random(f"{SEED} {role} {name} {size}")
    for command in case.commands:
        damage.run(command)  # which loads the kernels
        restore(Path(), whole)
    until = time.monotonic() + SECONDS / len(CASES) / len(SIZES)
    for number in itertools.count():
        if number > 1 and time.monotonic() > until:
            break
        command = rng.choice(case.commands)
        case.damage(rng.randrange(2), edits(rng), rng.random() < 0.6, rng.random())
        damaged = contents(Path())
        kind, note = run_on_damaged(case, command)
        restore(Path(), damaged if kind else whole)
        assert not kind, f"XMLEVAL_HUNT_SEED={SEED}: {command}: {kind}: {note}"


def edits(rng: random.Random) -> list[Edit]:
    tokens = [*rng.choices(TOKENS, k=4), rng.randbytes(rng.randint(1, 8))]
    n_edits = rng.randint(1, 3)
    return [
        (rng.choice(KINDS), rng.random(), rng.random(), rng.choice(tokens)) for _ in range(n_edits)
    ]


def run_on_damaged(case: Case, command: list[str]) -> tuple[str, str]:
    """Run a command on damaged files in a forked process; return the kind of error and a note."""
    *_, result = forked(partial(answer_of, command), PATIENCE)
    if isinstance(result, Ended):
        return result
    code, out, err, growth = result
    if growth > GROWTH:
        return "memory", f"{growth >> 20} MiB: {err}"
    wrong = complaint(case, command, code, out, err)
    if code and not case.names_damage(err, command):
        wrong = wrong or "another file is named"
    if wrong:
        return "answer", f"{wrong}, exit code {code}: {out}{err}"
    return "", ""


def answer_of(command: list[str]) -> Iterator[tuple[int, str, str, int]]:
    """Yield the answer to a command, and how much memory it took."""
    # a forked process begins with the memory of its parent
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, out, err = damage.answer(command)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    yield code, out[:2000], err[:5000], 1024 * growth


PLANTED: list[tuple[str, Callable[[list[str]], Any]]] = [
    ("crash", lambda command: command[99]),
    ("crash", lambda command: os.abort()),
    ("hang", lambda command: sum(iter(int, 1))),
    ("memory", lambda command: (0, str(np.ones(60 << 20)[0]), "")),
    ("answer", lambda command: (2, "", "xmleval: out of range\n")),
    ("", lambda command: (2, "", "xmleval: pairs.txt: line 1: bad\n")),
]


@pytest.mark.parametrize(("kind", "planted"), PLANTED)
def test_a_planted_fault_is_noticed(
    kind: str, planted: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(damage, "answer", planted)
    monkeypatch.setitem(globals(), "GROWTH", 300 << 20)
    monkeypatch.setitem(globals(), "PATIENCE", 2.0 if kind == "hang" else PATIENCE)
    case = make_case(Path(), "option", "pairs.txt")
    assert run_on_damaged(case, case.commands[0])[0] == kind
