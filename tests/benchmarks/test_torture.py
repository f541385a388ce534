"""The programs that look for faults run, and find faults that are planted."""

from __future__ import annotations

import json
import pkgutil
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from benchmarks import faults, fuzz, torture
from benchmarks.snapshots import snapshot
from benchmarks.triggers import Trigger
from tests.damage import make_case
from xmleval import Evaluator, states


class Quiet(Trigger):
    """Causes no faults."""

    def arm(self, name: str) -> None:
        self.armed = True


def made_trials(scenario: str) -> faults.Trials:
    settings = {"seed": 0, "scenario": scenario, "threads": 1, "block_rows": None, "memory": "1GiB"}
    return faults.Trials({**settings, "former": {}})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_faults_are_raised_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "torture.json"
    kinds = ["alarm", "interrupt", "allocation"]
    torture.main(
        ["--share", "0.004", "--kinds", *kinds, "--scenarios", "ranked lists", "--output", str(file)]
    )
    counts = json.loads(file.read_text())["counts"]
    for kind in kinds:
        assert sum(each["raised"] for each in counts if each["kind"] == kind) >= 3
    for name in ("torn", "wrong", "counted", "hang", "crash"):
        assert sum(each[name] for each in counts) == 0, name
    assert {each["threads"] for each in counts} <= {1, 2}
    assert {each["operation"] for each in counts} <= set(faults.OPERATIONS)


def test_faults_meet_every_state() -> None:
    met = set()
    for scenario in faults.SCENARIOS:
        trials = made_trials(scenario)
        plan = trials.counted(trials.batches[0])._counted.plan
        assert plan
        met |= set(plan.states)
    modules = {found.name for found in pkgutil.iter_modules(states.__path__)}
    assert met == {name for name in modules if hasattr(import_module(f"xmleval.states.{name}"), "STATE")}


def counts_and_raises(self: Evaluator, change: Callable[[Any], Any]) -> NoReturn:
    self._counted = change(self._counted)
    raise MemoryError


def tears(self: Evaluator, change: Callable[[Any], Any]) -> NoReturn:
    self._counted = replace(change(self._counted), n_rows=self._counted.n_rows)
    raise MemoryError


def forgets(self: Evaluator, change: Callable[[Any], Any]) -> Any:
    return change(self._counted)


@pytest.mark.parametrize(
    ("planted", "outcome"),
    [(counts_and_raises, "raised although counted"), (tears, "torn"), (forgets, "wrong"), (None, "")],
)
def test_planted_faults_of_updates_are_found(
    monkeypatch: pytest.MonkeyPatch, planted: Any, outcome: str
) -> None:
    trials = made_trials("ranked lists")
    trials.trigger, trials.done = Quiet(np.random.default_rng(0)), [True]
    trials.tried, trials.twin = trials.counted(trials.batches[0]), trials.counted(trials.batches[0])
    trials.before, trials.n_operations = snapshot(trials.twin), 0
    trials.renew = lambda: None  # type: ignore[method-assign]
    run = trials.under_fault

    def under_fault(name: str, number: int) -> Any:
        with monkeypatch.context() as patch:
            if planted:
                patch.setattr(Evaluator, "_replace", planted)
            return run(name, number)

    trials.under_fault = under_fault  # type: ignore[method-assign]
    found = trials.trial("update", 1)
    assert found["outcome"] == outcome, found["note"]
    assert found["raised"] == ("MemoryError" if planted in (counts_and_raises, tears) else "")


def raises(command: list[str]) -> NoReturn:
    raise KeyError(command[0])


def hangs(command: list[str]) -> NoReturn:
    while True:
        pass


def waits(command: list[str]) -> NoReturn:
    while True:
        time.sleep(1)


def takes_memory(command: list[str]) -> tuple[int, str, str]:
    np.ones(50 << 20)
    return 0, "", ""


ANSWERS = {
    "traceback": raises,
    "hang": hangs,
    "hang: waiting": waits,
    "memory": takes_memory,
    "answer": lambda command: (2, "", "xmleval: out of range\n"),
    "answer: two": lambda command: (2, "", "xmleval: pairs.txt: bad\nxmleval: worse\n"),
    "answer: code": lambda command: (1, "", ""),
    "": lambda command: (2, "", "xmleval: pairs.txt: line 1: bad\n"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_planted_faults_of_commands_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    case = make_case(Path(), "pairs", "txt")
    monkeypatch.setattr(fuzz, "answer", ANSWERS[kind])
    monkeypatch.setattr(fuzz, "PATIENCE", 0.4 if kind.startswith("hang") else 60.0)
    monkeypatch.setattr(fuzz, "COMPILING", 0.4)
    found = fuzz.tried(tmp_path, case, case.commands[0], Counter())
    assert (found.kind if found else "") == kind.split(":")[0]


@pytest.mark.slow
def test_damaged_files_are_tried(tmp_path: Path) -> None:
    fuzz.main(["--minutes", "0.05", "--roles", "pairs", "--output", str(tmp_path)])
    counts = (tmp_path / "findings.txt").read_text().splitlines()[0]
    assert "refused" in counts
    assert "hang" not in counts
