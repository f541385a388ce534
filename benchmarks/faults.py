"""One process of `benchmarks.torture`: inject faults into one evaluator.

Settings are a JSON argument; a line of JSON is printed before each trial and after it, with its outcome.
"""

from __future__ import annotations

import contextlib
import faulthandler
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
from benchmarks.checkout import renamed
from benchmarks.triggers import TRIGGERS, FaultError
from xmleval import Evaluator

N_LABELS, DEPTH, LISTED = 300, 20, 0.3
ROWS = (1500, 900, 1300, 700)  # of the batches; different batches have different sums
OPERATIONS = ("update", "merge", "compute", "save")
CHANCES = (0.55, 0.15, 0.15, 0.15)
MAX_OPERATIONS = 20  # per evaluator
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
INPUTS = ("lists", "weighted")  # settings of the batches, not of the evaluator
Snapshot = tuple[str, ...]


class Trials:
    """An evaluator under faults and its twin, a reference evaluator without faults."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.rng = np.random.default_rng(settings["seed"])
        scenario = SCENARIOS[settings["scenario"]]
        self.arguments = {name: value for name, value in scenario.items() if name not in INPUTS}
        self.arguments |= {name: settings[name] for name in ("threads", "block_rows", "memory")}
        self.arguments |= {"inverse_propensity": self.rng.uniform(1, 9, N_LABELS), "n_labels": N_LABELS}
        self.arguments = renamed(self.arguments, settings["former"])
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
        """Return the arguments of `update`."""
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
        """Return an evaluator updated with batches."""
        evaluator = Evaluator(**self.arguments)
        for batch in batches:
            evaluator.update(**batch)
        return evaluator

    def renew(self) -> None:
        """Start with new evaluators, empty or with one batch."""
        first = self.batches[: int(self.rng.integers(2))]
        self.tried, self.twin = self.counted(*first), self.counted(*first)
        self.before, self.n_operations = snapshot(self.twin), 0

    def operate(self, name: str, number: int) -> Any:
        """Run an operation on the evaluator under faults."""
        if name == "update":
            return self.tried.update(**self.batches[number])
        if name == "merge":
            return self.tried.merge(self.others[number])
        if name == "save":
            return self.tried.save(self.file)
        return self.tried.compute() if self.tried.n_rows else None

    def measured(self, name: str, arm: Callable[[], None]) -> None:
        """Run an operation for a trigger that measures it."""
        self.tried = self.counted(self.batches[0])
        arm()
        self.operate(name, 0)

    def trial(self) -> dict[str, Any]:
        """Run one operation under a fault and return the outcome."""
        name, number = str(self.rng.choice(self.names, p=self.chances)), int(self.rng.integers(len(ROWS)))
        if self.n_operations == MAX_OPERATIONS:
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
        with contextlib.suppress(FaultError):  # raised while disarming
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
        """Compare with the twin, updated according to ``n_rows`` of the evaluator."""
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
        elif not n_rows:  # leftover state shows only with rows
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
        """Compare the saved file with the expected state, and remove all files."""
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
    """Return all results of an evaluator, to the last bit."""
    return printed(evaluator.compute()) if evaluator.n_rows else ()


def printed(report: Any) -> Snapshot:
    """Return the contents of a report."""
    rows: list[str] = []
    with contextlib.suppress(ValueError):  # rows are not kept
        rows += [values.tobytes().hex() for values in report.per_row().values()]
    return (report.to_json(), *rows)


def difference(found: Snapshot, expected: Snapshot) -> str:
    """Return the names of differing values."""
    if not found or not expected:
        return "rows" if found else "no rows"
    both = json.loads(found[0]), json.loads(expected[0])
    return ", ".join(key for key in both[0] if both[0][key] != both[1].get(key)) or "values of rows"


def refusal(error: Exception) -> tuple[str, str]:
    """Return "refused" for a deliberate refusal, "torn" for any other error."""
    named = isinstance(error, RuntimeError | ValueError) and not isinstance(error, np.exceptions.AxisError)
    return ("refused" if named else "torn"), f"{type(error).__name__}: {error}"


def comes_from_package(error: BaseException) -> bool:
    """Return whether an exception was raised inside the package."""
    return any(
        frame.f_code.co_filename.startswith(PACKAGE) for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def main() -> None:
    """Run the trials and print a line before and after each."""
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
    os._exit(0)  # arrays must not outlive their allocator
