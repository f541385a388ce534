"""Evaluators survive signals and refused memory at random moments of every operation."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.hunt import SECONDS, SEED
from tests.hunt.evaluators import SCENARIOS, Trials
from tests.hunt.triggers import preloaded


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_operation_counts_all_rows_or_raises(scenario: str, tmp_path: Path) -> None:
    seconds = SECONDS / len(SCENARIOS)
    settings = {"scenario": scenario, "folder": str(tmp_path), "seed": SEED, "seconds": seconds}
    command = [sys.executable, "-m", "tests.hunt.evaluators", json.dumps(settings)]
    done = subprocess.run(
        command, env=os.environ | preloaded(tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, f"XMLEVAL_HUNT_SEED={SEED}: {done.stderr[-2000:]}"
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    raised = Counter(kind for kind, _, has_raised, _ in trials if has_raised)
    assert raised.total() >= 5, raised
    failures = Counter(
        f"{kind}, {operation}: {wrong}" for kind, operation, _, wrong in trials if wrong
    )
    assert not failures, f"XMLEVAL_HUNT_SEED={SEED}: {failures}"


def count_and_raise(update: Callable[..., None], **batch: Any) -> None:
    update(**batch)
    update(**{**batch, "y_true": batch["y_true"][:1]})


PLANTED: dict[str, tuple[Callable[..., None], str]] = {  # updates, and what is said of each
    "counts and raises": (count_and_raise, "counted although"),
    "reverses rows": (
        lambda update, **batch: update(**{**batch, "y_true": batch["y_true"][::-1]}),
        "differs",
    ),
    "counts nothing": (lambda update, **batch: None, "0 rows added"),
    "no fault": (lambda update, **batch: update(**batch), ""),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials("pooled lists", tmp_path, 0)
    planted, message = PLANTED[name]
    trials.begin("alarm", 0, {})
    trials.renew()
    monkeypatch.setattr(trials.tried, "update", partial(planted, trials.tried.update))
    raised, wrong = trials.try_operation("update", 1)
    assert raised == (planted is count_and_raise)
    assert wrong.startswith(message)
    assert bool(wrong) == bool(message)
