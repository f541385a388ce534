"""Evaluators of every kind survive signals and refused memory at random moments of every operation."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.hunt import SECONDS, SEED
from tests.hunt.evaluators import SCENARIOS, Trials
from tests.hunt.triggers import preloaded
from xmleval import Evaluator, states


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_operation_counts_all_rows_or_raises(scenario: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"scenario": scenario, "folder": str(tmp_path), "seed": SEED}
    settings["seconds"] = SECONDS / len(SCENARIOS)
    command = [sys.executable, "-m", "tests.hunt.evaluators", json.dumps(settings)]
    environment = os.environ | preloaded(tmp_path) | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"XMLEVAL_HUNT_SEED={SEED}: {done.stderr[-2000:]}"
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    raised = Counter(kind for kind, _, has_raised, _ in trials if has_raised)
    assert raised.total() >= 5, raised
    failures = Counter(f"{kind}, {operation}: {wrong}" for kind, operation, _, wrong in trials if wrong)
    assert not failures, f"XMLEVAL_HUNT_SEED={SEED}: {failures}"


def test_scenarios_meet_every_state(tmp_path: Path) -> None:
    met: set[str] = set()
    for number, scenario in enumerate(SCENARIOS):
        (tmp_path / str(number)).mkdir()
        trials = Trials(scenario, tmp_path / str(number), 0)
        plan = trials.evaluator_of(trials.batches[0])._counted.plan
        assert plan
        met |= set(plan.states)
    modules = {module.name for module in pkgutil.iter_modules(states.__path__)}
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
    ("fault", "message"),
    [(counts_and_raises, "counted although"), (tears, "differs"), (forgets, "not counted"), (None, "")],
)
def test_a_planted_fault_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Any, message: str
) -> None:
    trials = Trials("ranked lists", tmp_path, 0)
    trials.begin("alarm", 0, {})
    trials.renew()
    run = trials.operate

    def operate(name: str, number: int) -> Any:
        with monkeypatch.context() as patch:
            if fault:
                patch.setattr(Evaluator, "_replace", fault)
            return run(name, number)

    monkeypatch.setattr(trials, "operate", operate)
    raised, wrong = trials.try_operation("update", 1)
    assert raised == (fault in (counts_and_raises, tears))
    assert wrong.startswith(message)
    assert bool(wrong) == bool(message)
