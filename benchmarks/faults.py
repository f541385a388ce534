"""One process of `benchmarks.torture`: inject faults into evaluators, in forked processes.

Settings are a JSON argument; a line of JSON is printed for each trial. Each forked process runs some trials
on evaluators of its own, so that a hang or a crash ends these alone.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.checkout import renamed
from benchmarks.forked import Ended, forked
from benchmarks.snapshots import Snapshot, comes_from_package, described, difference, printed, snapshot
from benchmarks.triggers import FIRST, LATE, TRIGGERS
from xmleval import Evaluator

N_LABELS, DEPTH, LISTED = 300, 20, 0.3
ROWS = (1500, 900, 1300, 700)  # of the batches; different batches have different sums
OPERATIONS = ("update", "two updates", "merge", "compute", "save", "load")
CHANCES = (0.4, 0.12, 0.12, 0.12, 0.12, 0.12)
MAX_OPERATIONS = 20  # per evaluator
OWN_TRIALS = 40  # of a forked process
FIRST_FAULTS = 10  # while the first update does not succeed
PATIENCE, STARTING = 30.0, 600.0  # seconds for a trial on a busy machine, and for what may compile
RANKED = ["p@5", "psp@5", "f1.macro@5", "lrap"]
POOLED = ["auc.micro", "auc.macro", "ap.micro", "label_diversity", "auc.micro(bits=16)"]
SCENARIOS: dict[str, dict[str, Any]] = {
    "ranked lists": {"metrics": RANKED, "lists": True},
    "pooled lists": {"metrics": RANKED + POOLED, "lists": True},
    "completed scores": {"metrics": [*RANKED, *POOLED, "margin.macro"], "unlisted": 0.0},
    "every label": {"metrics": ["f1.macro", "auc.macro", "margin.macro"], "decision": "top3",
                    "unlisted": 0.0, "per_label": True},
    "bounds": {"metrics": ["lrap", "auc.samples", "ndcg@5"], "bounds": True, "lists": True},
    "complete scores": {"metrics": ["margin.macro", "lrap", "auc.micro"], "complete": True},
    "weighted": {"metrics": [*RANKED, "f1.macro", "margin.macro", "label_diversity"], "decision": "top3",
                 "unlisted": 0.0, "weighted": True},
    "pooled intervals": {"metrics": ["auc.micro", "ap.micro", "auc.macro"], "lists": True,
                         "confidence": 0.95},
    "weighted curves": {"metrics": POOLED, "lists": True, "weighted": True},
    "candidates": {"metrics": ["p@5", "ndcg@5"], "lists": True, "candidates": True},
    "groups": {"metrics": ["p@5", "f1.macro@5", "auc.micro"], "groups": True, "confidence": 0.95,
               "label_groups": (np.arange(N_LABELS) % 3).tolist()},
    "probabilities": {"metrics": ["ece@5", "ace@5", "aurc@5", "rprec.micro", "h_f1.micro@5"], "lists": True,
                      "hierarchy": [(1, 0), (2, 0)]},
    "kept rows": {"metrics": ["p@5", "lrap", "auc.macro"], "per_row": True},
}  # fmt: skip
INPUTS = ("lists", "complete", "weighted", "candidates", "groups")  # of batches, not of evaluators
SMALLER = {
    "xmleval.pooled.values": {"MANY": 1000, "CHUNK": 4000},
    "xmleval.pooled.store": {"LEAST_PACKED": 20_000},
}  # limits of every other process, so that small batches are ordered and packed as large ones are
Trial = dict[str, Any]


def shrink() -> None:
    """Set the smaller limits, where a version has them."""
    for name, limits in SMALLER.items():
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            for limit, value in limits.items():
                if hasattr(module, limit):
                    setattr(module, limit, value)


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
        self.expected: list[Snapshot] = []
        self.others: list[Evaluator] = []
        self.shards = Path(tempfile.mkdtemp(prefix="shards"))
        self.folder = Path(tempfile.mkdtemp(prefix="faults"))
        self.file = self.folder / "saved.npz"
        by_row = "per_row" in scenario or "confidence" in scenario  # kept, or in groups, by their numbers
        ordered = ("two updates", "merge") if by_row else ()
        self.names = [name for name in OPERATIONS if name not in ordered]
        chances = np.array([CHANCES[OPERATIONS.index(name)] for name in self.names])
        self.chances = chances / chances.sum()

    def made_batch(self, rows: int, scenario: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `update`."""
        truth = csr_array((self.rng.random((rows, N_LABELS)) < 0.02).astype(np.uint8))
        scores = np.round(self.rng.random((rows, N_LABELS), np.float32), 3)
        batch: dict[str, Any] = {"y_true": truth, "y_score": None}
        if scenario.get("lists"):
            labels = np.argsort(-scores, axis=1)[:, :DEPTH]
            batch["y_score"] = labels.astype(np.int32), np.take_along_axis(scores, labels, 1)
        else:
            share = 1 if scenario.get("complete") else LISTED
            batch["y_score"] = csr_array(np.where(self.rng.random(scores.shape) < share, 1 + scores, 0))
        if scenario.get("candidates"):
            batch["candidates"] = csr_array((self.rng.random((rows, N_LABELS)) < 0.2).astype(np.uint8))
        if scenario.get("groups"):
            batch["row_groups"] = self.rng.integers(0, 3, rows)
        if scenario.get("weighted"):
            batch["sample_weight"] = self.rng.uniform(0.5, 2, rows)
        return batch

    def counted(self, *batches: dict[str, Any]) -> Evaluator:
        """Return an evaluator updated with batches."""
        evaluator = Evaluator(**self.arguments)
        for batch in batches:
            evaluator.update(**batch)
        return evaluator

    def loaded(self, number: int) -> Evaluator:
        """Return an evaluator of one batch from its saved file."""
        return Evaluator.load(self.shards / f"{number}.npz", memory=self.arguments["memory"])

    def prepare(self) -> None:
        """Load the kernels of all operations, and make what merging and loading needs."""
        self.others = [self.counted(batch) for batch in self.batches]
        self.expected = [snapshot(other) for other in self.others]
        for number, other in enumerate(self.others):
            other.save(self.shards / f"{number}.npz")
        self.others[::2] = [self.loaded(number) for number in range(0, len(ROWS), 2)]
        for name in self.names:
            self.operate_once(name, lambda: None)

    def operate_once(self, name: str, arm: Callable[[], None]) -> None:
        """Run an operation on a new evaluator."""
        self.tried = self.counted(self.batches[0])
        elsewhere: list[BaseException | None] = [None]
        self.operate(name, 0, arm, elsewhere)
        self.file.unlink(missing_ok=True)
        if elsewhere[0] is not None:
            raise elsewhere[0]

    def operate(
        self, name: str, number: int, arm: Callable[[], None], elsewhere: list[BaseException | None]
    ) -> Any:
        """Arm, and run an operation; ``elsewhere`` takes the error of another thread."""
        if name == "two updates":
            return self.update_twice(number, arm, elsewhere)
        arm()
        if name == "update":
            return self.tried.update(**self.batches[number])
        if name == "merge":
            return self.tried.merge(self.others[number])
        if name == "save":
            return self.tried.save(self.file)
        if name == "load":
            return self.loaded(number)
        if name == FIRST:
            self.tried.update(**self.batches[number])
        return self.tried.compute() if self.tried.n_rows else None

    def update_twice(
        self, number: int, arm: Callable[[], None], elsewhere: list[BaseException | None]
    ) -> None:
        """Update in this thread and in another at the same time."""
        ready, begins, self.done = [False], [False], [False]

        def update(done: list[bool]) -> None:
            try:
                ready[0] = True
                wait_for(begins)
                self.tried.update(**self.batches[following(number)])
            except BaseException as error:
                elsewhere[0] = error
            finally:
                done[0] = True

        _thread.start_new_thread(update, (self.done,))
        wait_for(ready)
        try:
            arm()
            begins[0] = True
            self.tried.update(**self.batches[number])
        finally:
            begins[0] = True
            wait_for(self.done)

    def begin(self, kind: str, heights: dict[str, float], seed: list[int]) -> None:
        """Start in a forked process."""
        self.rng = np.random.default_rng(seed)
        self.trigger = TRIGGERS[kind](self.rng, heights)
        self.done = [True]

    def measured(self, kind: str) -> Iterator[dict[str, float]]:
        """Yield what the trigger measures of every operation."""
        self.begin(kind, {}, [0])
        for name in self.names:
            self.trigger.measure(name, lambda arm: self.operate_once(name, arm))  # noqa: B023
        yield self.trigger.heights

    def measured_first(self) -> Iterator[Any]:
        """Yield how long the first update and its report take, and what it should give."""
        self.tried, start = Evaluator(**self.arguments), time.perf_counter()
        self.operate(FIRST, 0, lambda: None, [])
        yield {FIRST: LATE * (time.perf_counter() - start)}, snapshot(self.tried)

    def renew(self) -> None:
        """Start with new evaluators, empty or with one batch."""
        first = self.batches[: int(self.rng.integers(2))]
        self.tried, self.twin = self.counted(*first), self.counted(*first)
        self.before, self.n_operations = snapshot(self.twin), 0
        self.merged: set[int] = set()

    def some(self, kind: str, heights: dict[str, float], seed: list[int], n: int) -> Iterator[Any]:
        """Yield the name of the operation before each trial, and its outcome after."""
        self.begin(kind, heights, seed)
        if kind == FIRST:
            yield FIRST
            yield self.first_trial()
            return
        self.renew()
        for _ in range(n):
            name = str(self.rng.choice(self.names, p=self.chances))
            yield name
            yield self.trial(name, int(self.rng.integers(len(ROWS))))

    def trial(self, name: str, number: int) -> Trial:
        """Run one operation under a fault and return the outcome."""
        if self.n_operations == MAX_OPERATIONS or (name == "merge" and number in self.merged):
            self.renew()  # the same rows are not merged twice
        self.n_operations += 1
        n_rows = self.tried.n_rows
        given, error, elsewhere = self.under_fault(name, number)
        if name == "merge" and error is None:
            self.merged.add(number)
        inside = error is not None and comes_from_package(error)
        raised = ({number} if error else set()) | ({following(number)} if elsewhere else set())
        try:
            outcome, note = self.judged(name, number, n_rows, given, raised, inside)
        except Exception as broken:
            outcome, note = "torn", f"cannot go on: {described(broken)}"
        if outcome:
            self.renew()
        return self.told(name, error if inside else elsewhere, error or elsewhere, outcome, note)

    def first_trial(self) -> Trial:
        """Run the first update of a process, which loads the kernels, under a fault and then without."""
        self.tried, outcome, note = Evaluator(**self.arguments), "", ""
        errors: list[BaseException] = []
        while len(errors) < FIRST_FAULTS and not self.tried.n_rows:
            _, error, _ = self.under_fault(FIRST, 0)
            if error:
                errors.append(error)
        try:
            if not self.tried.n_rows:
                self.tried.update(**self.batches[0])
            found = snapshot(self.tried)
            if found != self.expected[0]:
                outcome, note = "torn", difference(found, self.expected[0])
        except Exception as broken:
            outcome, note = "torn", f"cannot go on: {described(broken)}"
        raised = next(iter(errors), None)
        return self.told(FIRST, raised, raised, outcome, note)

    def under_fault(self, name: str, number: int) -> tuple[Any, BaseException | None, BaseException | None]:
        """Run an operation under a fault; return its result, its error and that of another thread."""
        given, error, elsewhere = None, None, list[BaseException | None]([None])
        try:
            try:
                given = self.operate(name, number, lambda: self.trigger.arm(name), elsewhere)
            finally:
                self.trigger.disarm()
        except BaseException as caught:
            given, error = None, caught
        with contextlib.suppress(BaseException):  # raised while disarming
            self.trigger.disarm()
        self.trigger.disarm()
        wait_for(self.done)  # a fault may have ended the wait for the other thread
        return given, error, elsewhere[0]

    def told(
        self, name: str, raised: BaseException | None, error: BaseException | None, outcome: str, note: str
    ) -> Trial:
        """Return the outcome of a trial; ``raised`` left a call of the package, ``error`` any call."""
        if error is not None and not isinstance(error, (self.trigger.fault, MemoryError, OSError)):
            outcome, note = outcome or "odd", f"{note} {described(error)}"
        return {
            "operation": name,
            "raised": type(raised).__name__ if raised else "",
            "swallowed": error is None and self.trigger.fired,
            "outcome": outcome,
            "note": note and f"{name}: {note}",
        }

    def judged(
        self, name: str, number: int, n_rows: int, given: Any, raised: set[int], inside: bool
    ) -> tuple[str, str]:
        """Compare with the twin, updated with the batches that the number of rows says are counted."""
        adds = {"update": [number], "merge": [number], "two updates": [number, following(number)]}
        added, saved, bad = adds.get(name, []), self.before, "torn" if raised else "wrong"
        counted = counted_batches(added, self.tried.n_rows - n_rows)
        if counted is None:
            return bad, f"{self.tried.n_rows} rows, {n_rows} before"
        if set(added) - raised - counted:
            return "wrong", "not counted, no exception"
        for one in counted:
            self.twin.update(**self.batches[one])
        if not self.tried.n_rows:  # leftover state shows only with rows
            self.tried.update(**self.batches[0])
            self.twin.update(**self.batches[0])
        if self.tried.n_rows != n_rows:
            self.before = snapshot(self.twin)
        found = snapshot(self.tried)
        if found != self.before:
            return bad, difference(found, self.before)
        if (raised if inside else raised - {number}) & counted:
            return "raised although counted", "the rows"
        if name == "merge" and snapshot(self.others[number]) != self.expected[number]:
            self.others[number] = self.counted(self.batches[number])
            return bad, "the other evaluator changed"
        if name == "load" and given is not None and snapshot(given) != self.expected[number]:
            return "wrong", f"{difference(snapshot(given), self.expected[number])} of the loaded evaluator"
        if name == "compute" and given is not None and printed(given) != self.before:
            return "wrong", "its report"
        return self.judged_file(bool(raised), saved) if name == "save" else ("", "")

    def judged_file(self, raised: bool, expected: Snapshot) -> tuple[str, str]:
        """Compare the saved file with the expected state, and remove all files."""
        files = list(self.folder.iterdir())
        try:
            found = snapshot(Evaluator.load(self.file)) if self.file in files else expected
            if found != expected:
                return "wrong", f"{difference(found, expected)} in the file"
            if not raised and self.file not in files:
                return "wrong", "no file"
            left = [file for file in files if file != self.file]
            return ("left over", "a temporary file") if left else ("", "")
        finally:
            for file in files:
                file.unlink()


def wait_for(flag: list[bool]) -> None:
    """Wait until another thread sets a flag; locks could be left held by a fault."""
    while not flag[0]:
        time.sleep(1e-5)


def following(number: int) -> int:
    """Return the batch of the other of two updates."""
    return (number + 1) % len(ROWS)


def counted_batches(added: list[int], n_rows: int) -> set[int] | None:
    """Return which batches have so many rows, None if none have."""
    sizes = itertools.chain.from_iterable(itertools.combinations(added, n) for n in range(len(added) + 1))
    return next((set(some) for some in sizes if sum(ROWS[one] for one in some) == n_rows), None)


def outcomes(lines: Iterator[Any]) -> Iterator[Trial]:
    """Yield the outcomes of trials, and at the end that of a hang or a crash."""
    name, none = "", {"raised": "", "swallowed": False}
    for line in lines:
        if isinstance(line, Ended):
            yield {"operation": name, **none, "outcome": line.how, "note": f"{name}: {line.note}"}
        elif isinstance(line, str):
            name = line
        else:
            yield line


def only(lines: Iterator[Any]) -> Any:
    """Return the line of a process that is to write one."""
    first, *more = lines
    for line in (first, *more):
        if isinstance(line, Ended):
            raise RuntimeError(line.note)
    return first


def run(settings: dict[str, Any]) -> Iterator[Trial]:
    """Yield the outcomes of some trials of every kind."""
    if settings["seed"] % 2:
        shrink()
    trials = Trials(settings)
    for kind in sorted(settings["trials"], key=list(TRIGGERS).index):
        if kind == FIRST:
            heights, expected = only(forked(trials.measured_first, STARTING))
            trials.expected = [tuple(expected)]
        else:
            if not trials.others:
                trials.prepare()
            heights = only(forked(partial(trials.measured, kind), STARTING))
        n, left = 0, settings["trials"][kind]
        while left > 0:
            seed = [settings["seed"], list(TRIGGERS).index(kind), n]
            work = partial(trials.some, kind, heights, seed, min(left, OWN_TRIALS))
            found = [{"kind": kind, **trial} for trial in outcomes(forked(work, settings["patience"]))]
            yield from found
            n, left = n + 1, left - max(1, len(found))
    shutil.rmtree(trials.folder)
    shutil.rmtree(trials.shards)


def main() -> None:
    """Run the trials and print a line for each."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for trial in run(json.loads(sys.argv[1])):
        print(json.dumps(trial), file=lines, flush=True)
