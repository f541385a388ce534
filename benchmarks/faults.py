"""Faults at random moments of one evaluator, in a process of its own that `benchmarks.torture` starts.

Its settings are given as JSON, and it prints a line of JSON as each trial begins, and what became of it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import xmleval
from benchmarks.triggers import TRIGGERS, FaultError
from xmleval import Evaluator

N_LABELS, DEPTH, LISTED = 300, 20, 0.3
ROWS = (1500, 900, 1300, 700)  # of the batches; no sum of some is that of others soon
OPERATIONS = ("update", "merge", "compute", "save")
CHANCES = (0.55, 0.15, 0.15, 0.15)
MOST_OPERATIONS = 20  # on one evaluator
PACKAGE = str(Path(xmleval.__file__).parent)
RANKED = ["p@5", "psp@5", "f1.macro@5", "lrap"]
POOLED = ["auc.micro", "auc.macro", "ap.micro", "label_diversity", "auc.micro(bits=16)"]
SCENARIOS: dict[str, dict[str, Any]] = {
    "ranked lists": {"metrics": RANKED, "lists": True},
    "pooled lists": {"metrics": RANKED + POOLED, "lists": True},
    "completed scores": {"metrics": [*RANKED, *POOLED, "margin.macro"], "unlisted": 0.0},
    "weighted sets": {"metrics": [*RANKED, "f1.macro"], "decision": "top3", "weighted": True},
    "kept rows": {"metrics": ["p@5", "lrap", "auc.macro"], "keep_rows": True},
}
INPUTS = ("lists", "weighted")  # what a scenario says of its batches, not of its evaluators
Snapshot = tuple[str, ...]


class Trials:
    """An evaluator under faults beside an untouched twin, and what becomes of them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.rng = np.random.default_rng(settings["seed"])
        scenario = SCENARIOS[settings["scenario"]]
        known = inspect.signature(Evaluator).parameters
        weights = "inverse_propensity" if "inverse_propensity" in known else "propensity"
        self.arguments = {name: value for name, value in scenario.items() if name not in INPUTS}
        self.arguments |= {name: settings[name] for name in ("threads", "block_rows", "memory")}
        self.arguments |= {weights: self.rng.uniform(1, 9, N_LABELS), "n_labels": N_LABELS}
        self.batches = [self.made_batch(rows, scenario) for rows in ROWS]
        self.others = [self.counted(batch) for batch in self.batches]
        self.expected = [snapshot(other) for other in self.others]
        self.folder = Path(tempfile.mkdtemp(prefix="faults"))
        self.file = self.folder / "saved.npz"
        self.names = [name for name in OPERATIONS if name != "merge" or "keep_rows" not in scenario]
        chances = np.array([CHANCES[OPERATIONS.index(name)] for name in self.names])
        self.chances = chances / chances.sum()
        self.renew()
        self.trigger = TRIGGERS[settings["kind"]](self.rng)
        for name in self.names:
            self.tried = self.counted(self.batches[0])
            self.operate(name, 0)  # compiles, or loads compiled kernels
            self.trigger.measure(name, lambda arm: self.measured(name, arm))  # noqa: B023
        self.renew()
        self.file.unlink()

    def made_batch(self, rows: int, scenario: dict[str, Any]) -> dict[str, Any]:
        """Return what `update` is given."""
        truth = csr_array((self.rng.random((rows, N_LABELS)) < 0.02).astype(np.uint8))
        scores = np.round(self.rng.random((rows, N_LABELS), np.float32), 3)
        batch: dict[str, Any] = {"y_true": truth, "y_score": None}
        if scenario.get("lists"):
            labels = np.argsort(-scores, axis=1)[:, :DEPTH]
            batch["y_score"] = labels.astype(np.int32), np.take_along_axis(scores, labels, 1)
        else:
            batch["y_score"] = csr_array(np.where(self.rng.random(scores.shape) < LISTED, scores, 0))
        if scenario.get("weighted"):
            batch["sample_weight"] = self.rng.uniform(0.5, 2, rows)
        return batch

    def counted(self, *batches: dict[str, Any]) -> Evaluator:
        """Return an evaluator that has counted batches."""
        evaluator = Evaluator(**self.arguments)
        for batch in batches:
            evaluator.update(**batch)
        return evaluator

    def renew(self) -> None:
        """Begin with new evaluators, half of the time with empty ones."""
        first = self.batches[: int(self.rng.integers(2))]
        self.tried, self.twin = self.counted(*first), self.counted(*first)
        self.before, self.n_operations = snapshot(self.twin), 0

    def operate(self, name: str, number: int) -> Any:
        """Do an operation on the evaluator under faults."""
        if name == "update":
            return self.tried.update(**self.batches[number])
        if name == "merge":
            return self.tried.merge(self.others[number])
        if name == "save":
            return self.tried.save(self.file)
        return self.tried.compute() if self.tried.n_rows else None

    def measured(self, name: str, arm: Callable[[], None]) -> None:
        """Do an operation for a trigger that measures it."""
        self.tried = self.counted(self.batches[0])
        arm()
        self.operate(name, 0)

    def trial(self) -> dict[str, Any]:
        """Do one operation under a fault and return what became of it."""
        name, number = str(self.rng.choice(self.names, p=self.chances)), int(self.rng.integers(len(ROWS)))
        if self.n_operations == MOST_OPERATIONS:
            self.renew()
        self.n_operations += 1
        n_rows, given, error = self.tried.n_rows, None, None
        try:
            try:
                self.trigger.arm(name)
                given = self.operate(name, number)
            finally:
                self.trigger.disarm()
        except BaseException as caught:
            error = caught
        with contextlib.suppress(FaultError):  # one that came while it was disarmed
            self.trigger.disarm()
        self.trigger.disarm()
        inside = error is not None and comes_from_package(error)
        found = {
            "operation": name,
            "raised": type(error).__name__ if inside else "",
            "swallowed": error is None and self.trigger.fired,
        }
        outcome, note = self.judged(name, number, n_rows, given if error is None else None, inside)
        if error is not None and not inside and not isinstance(error, FaultError | MemoryError):
            outcome, note = "wrong", "".join(traceback.format_exception(error))
        if outcome:
            self.renew()
        return {**found, "outcome": outcome, "note": note}

    def judged(self, name: str, number: int, n_rows: int, given: Any, inside: bool) -> tuple[str, str]:
        """Compare with the twin, after it has counted what n_rows says is counted."""
        adds, saved = name in ("update", "merge"), self.before
        bad = "torn" if inside else "wrong"
        counted = self.tried.n_rows != n_rows
        if counted and (not adds or self.tried.n_rows != n_rows + ROWS[number]):
            return bad, f"{name}: {self.tried.n_rows} rows, {n_rows} before"
        if adds and not counted and not inside and not self.trigger.fired:
            return "wrong", f"{name}: not counted, no exception"
        if counted:
            self.twin.update(**self.batches[number])
            self.before = snapshot(self.twin)
        elif not n_rows:  # whether something is left shows only with rows
            try:
                self.tried.update(**self.batches[0])
            except Exception as error:
                return refusal(error)
            self.twin.update(**self.batches[0])
            self.before = snapshot(self.twin)
        try:
            after = snapshot(self.tried)
        except Exception as error:
            return refusal(error)
        if after != self.before:
            return bad, f"{name}: {difference(after, self.before)}"
        if counted and inside:
            return "raised although counted", name
        if name == "merge" and snapshot(self.others[number]) != self.expected[number]:
            self.others[number] = self.counted(self.batches[number])
            return bad, "merge: the other evaluator changed"
        if name == "compute" and given is not None and printed(given) != self.before:
            return "wrong", "compute: its report"
        if name == "save":
            return self.judged_file(inside, saved)
        return "", ""

    def judged_file(self, inside: bool, expected: Snapshot) -> tuple[str, str]:
        """Compare what is on the disk with what was to be saved, and remove it."""
        files = list(self.folder.iterdir())
        try:
            loaded = snapshot(Evaluator.load(self.file)) if self.file in files else expected
            if loaded != expected:
                return "wrong", f"save: {difference(loaded, expected)} in the file"
            if not inside and self.file not in files and not self.trigger.fired:
                return "wrong", "save: no file"
            return ("left over", f"save: {files}") if set(files) - {self.file} else ("", "")
        except Exception as error:
            return "wrong", f"save: {error!r}"
        finally:
            for file in files:
                file.unlink()


def snapshot(evaluator: Evaluator) -> Snapshot:
    """Return all that an evaluator tells, to the last bit."""
    return printed(evaluator.compute()) if evaluator.n_rows else ()


def printed(report: Any) -> Snapshot:
    """Return what a report holds."""
    rows = [values.tobytes().hex() for values in report.per_row().values()] if report.rows is not None else []
    return (report.to_json(), *rows)


def difference(found: Snapshot, expected: Snapshot) -> str:
    """Return the names of values that differ."""
    if not found or not expected:
        return "rows" if found else "no rows"
    both = json.loads(found[0]), json.loads(expected[0])
    return ", ".join(key for key in both[0] if both[0][key] != both[1].get(key)) or "values of rows"


def refusal(error: Exception) -> tuple[str, str]:
    """Tell a refusal in words from an evaluator that broke."""
    named = isinstance(error, RuntimeError | ValueError) and not isinstance(error, np.exceptions.AxisError)
    return ("refused" if named else "torn"), f"{type(error).__name__}: {error}"


def comes_from_package(error: BaseException) -> bool:
    """Tell whether an exception was raised within a call of the package."""
    return any(
        frame.f_code.co_filename.startswith(PACKAGE) for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def main() -> None:
    """Do the trials and print a line before and after each."""
    settings = json.loads(sys.argv[1])
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(line: object) -> None:
        print(json.dumps(line), file=lines, flush=True)

    faulthandler.enable()
    trials = Trials(settings)
    say("ready")
    for _ in range(settings["trials"]):
        faulthandler.dump_traceback_later(settings["patience"] * 0.8)
        say("begins")
        say(trials.trial())
        faulthandler.cancel_dump_traceback_later()
    with contextlib.suppress(OSError):
        trials.folder.rmdir()
    lines.flush()
    os._exit(0)  # arrays of a handler of allocations must not outlive it
