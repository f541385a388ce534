"""Evaluators under faults, each beside a twin without: a call counts all of its rows, or raises.

`python -m tests.hunt.evaluators SETTINGS` runs trials in forked processes, so that a hang or a crash ends few
of them, and prints a line of JSON for each.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import xmleval
from tests.hunt.forked import Ended, forked, only
from tests.hunt.triggers import KINDS
from tests.limits import small_limits
from xmleval import Evaluator

N_LABELS, DEPTH, LISTED = 300, 20, 0.3
ROWS = (1500, 900, 1300, 700)  # of the batches
CHANCES = {"update": 0.4, "merge": 0.15, "compute": 0.15, "save": 0.15, "load": 0.15}
OPERATIONS = 20  # in a row on one evaluator
LEAST_TRIALS, TRIALS = 10, 40  # of a forked process, once time is over and before
FIRST_FAULTS = 10  # of the first update of a process, which loads the kernels
PATIENCE, STARTING = 30.0, 600.0  # seconds for a trial on a busy machine, and for what may compile
ORDERED = {  # limits by which small batches are ordered and packed as large ones are
    "pooled.values": {"MANY": 1000, "CHUNK": 4000},
    "pooled.store": {"LEAST_PACKED": 20_000},
}
CUTS = ((1, None), (2, 200), (1, 200), (2, 150))  # threads, rows of a block
ENOUGH, LITTLE = "1GiB", "300kB"  # memory; in the lesser, pooled scores go to disk
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
OF_BATCHES = ("lists", "complete", "weighted", "candidates", "groups")  # settings that are not of evaluators
PACKAGE = str(Path(xmleval.__file__).parent)
Snapshot = tuple[str, ...]


class Trials:
    """An evaluator under faults and its twin without."""

    def __init__(self, scenario: str, folder: Path, seed: int) -> None:
        self.rng, self.seed = np.random.default_rng(seed), seed
        threads, block_rows = CUTS[self.rng.integers(len(CUTS))]
        self.memory = ENOUGH if scenario == "groups" else str(self.rng.choice((ENOUGH, LITTLE)))
        settings = SCENARIOS[scenario]
        self.settings = {name: value for name, value in settings.items() if name not in OF_BATCHES}
        self.settings |= {"threads": threads, "block_rows": block_rows, "memory": self.memory}
        self.settings |= {"inverse_propensity": self.rng.uniform(1, 9, N_LABELS), "n_labels": N_LABELS}
        self.batches = [make_batch(self.rng, n, settings) for n in ROWS]
        self.folder, self.outputs = folder, folder / "outputs"
        self.outputs.mkdir()
        self.file = self.outputs / "saved.npz"
        chances = dict(CHANCES)
        if "per_row" in settings or "confidence" in settings:  # which are by the order of batches
            del chances["merge"]
        self.names, self.chances = [*chances], np.array([*chances.values()]) / sum(chances.values())

    def evaluator_of(self, *batches: dict[str, Any]) -> Evaluator:
        evaluator = Evaluator(**self.settings)
        for batch in batches:
            evaluator.update(**batch)
        return evaluator

    def load(self, number: int) -> Evaluator:
        return Evaluator.load(self.folder / f"{number}.npz", memory=self.memory)

    def prepare(self) -> None:
        """Load the kernels, and make the evaluators that are merged and loaded."""
        self.others = [self.evaluator_of(batch) for batch in self.batches]
        self.expected = [snapshot(other) for other in self.others]
        for number, other in enumerate(self.others):
            other.save(self.folder / f"{number}.npz")
        self.others[::2] = [self.load(number) for number in range(0, len(ROWS), 2)]

    def begin(self, kind: str, number: int, sizes: dict[str, float]) -> None:
        """Start in a forked process."""
        trigger, fault = KINDS[kind]
        self.rng = np.random.default_rng([self.seed, number, [*KINDS].index(kind)])
        self.trigger = trigger(fault, self.rng, sizes)

    def update_first(self, number: int, sizes: dict[str, float]) -> Iterator[Any]:
        """Yield the duration and the report of a process's first update, under faults if `sizes` has it."""
        self.begin("alarm", number, sizes)
        self.tried, n_errors = Evaluator(**self.settings), 0
        while not self.tried.n_rows and n_errors < FIRST_FAULTS:
            n_errors += self.run_under_fault("update", 0)[1] is not None
        if not self.tried.n_rows:
            self.tried.update(**self.batches[0])
        yield self.trigger.sizes, snapshot(self.tried)

    def try_operations(self, kind: str, number: int, until: float) -> Iterator[Any]:
        self.begin(kind, number, {})
        self.renew()
        for n in range(TRIALS):
            if n >= LEAST_TRIALS and time.monotonic() > until:
                return
            name = str(self.rng.choice(self.names, p=self.chances))
            yield name, *self.try_operation(name, int(self.rng.integers(len(ROWS))))

    def renew(self) -> None:
        """Start with new evaluators, empty or with one batch."""
        first = self.batches[: int(self.rng.integers(2))]
        self.tried, self.twin = self.evaluator_of(*first), self.evaluator_of(*first)
        self.before, self.n_operations = snapshot(self.twin), 0
        self.merged: set[int] = set()

    def try_operation(self, name: str, number: int) -> tuple[bool, str]:
        """Run an operation under a fault; return whether it raised and what is wrong."""
        if self.n_operations == OPERATIONS or (name == "merge" and number in self.merged):
            self.renew()  # the same rows are not merged twice
        self.n_operations += 1
        n_rows = self.tried.n_rows
        result, error = self.run_under_fault(name, number)
        if name == "merge" and error is None:
            self.merged.add(number)
        inside = error is not None and comes_from_package(error)
        try:
            wrong = self.judge(name, number, n_rows, result, error is not None, inside)
        except Exception:
            wrong = f"cannot go on: {traceback.format_exc(-3)}"
        if wrong:
            self.renew()
            cause = "".join(traceback.format_exception(error)[-3:]) if error else "no exception"
            wrong += f", after {cause}"
        return inside, wrong

    def run_under_fault(self, name: str, number: int) -> tuple[Any, BaseException | None]:
        """Run an operation; return its result and its error."""
        result, error = None, None
        try:
            try:
                result = self.operate(name, number)
            finally:
                self.trigger.disarm()
        except BaseException as caught:
            result, error = None, caught
        with contextlib.suppress(BaseException):  # raised while disarming
            self.trigger.disarm()
        self.trigger.disarm()
        return result, error

    def operate(self, name: str, number: int) -> Any:
        self.trigger.arm(name)
        if name == "update":
            return self.tried.update(**self.batches[number])
        if name == "merge":
            return self.tried.merge(self.others[number])
        if name == "save":
            return self.tried.save(self.file)
        if name == "load":
            return self.load(number)
        return self.tried.compute() if self.tried.n_rows else None

    def judge(self, name: str, number: int, n_rows: int, result: Any, raised: bool, inside: bool) -> str:
        """Return what is wrong beside the twin, which counts the batch if the number of rows shows it."""
        adds, saved = name in ("update", "merge"), self.before
        n_added = self.tried.n_rows - n_rows
        if n_added not in (0, ROWS[number] * adds):
            return f"{self.tried.n_rows} rows, {n_rows} before"
        if adds and not raised and not n_added:
            return "not counted"
        if n_added:
            self.twin.update(**self.batches[number])
        if not self.tried.n_rows:  # what a failed call left behind shows only with rows
            self.tried.update(**self.batches[0])
            self.twin.update(**self.batches[0])
        if self.tried.n_rows != n_rows:
            self.before = snapshot(self.twin)
        if wrong := difference(snapshot(self.tried), self.before):
            return wrong
        if inside and n_added:
            return "counted although it raised"
        if name == "merge" and snapshot(self.others[number]) != self.expected[number]:
            self.others[number] = self.evaluator_of(self.batches[number])
            return "the other evaluator changed"
        if name == "load" and result is not None:
            return difference(snapshot(result), self.expected[number])
        if name == "compute" and result is not None:
            return difference(contents(result), self.before)
        return self.judge_file(raised, saved) if name == "save" else ""

    def judge_file(self, raised: bool, expected: Snapshot) -> str:
        """Return what is wrong with the saved file, and remove all files."""
        files = {*self.outputs.iterdir()}
        try:
            if self.file in files and (wrong := difference(snapshot(Evaluator.load(self.file)), expected)):
                return f"{wrong} in the file"
            if self.file not in files and not raised:
                return "no file"
            return "a temporary file is left" if files - {self.file} else ""
        finally:
            for file in files:
                file.unlink()


def make_batch(rng: np.random.Generator, n_rows: int, settings: dict[str, Any]) -> dict[str, Any]:
    shape = n_rows, N_LABELS
    scores: Any = np.round(rng.random(shape, np.float32), 3)
    batch: dict[str, Any] = {"y_true": csr_array((rng.random(shape) < 0.02).astype(np.uint8))}
    if "lists" in settings:
        labels = np.argsort(-scores, axis=1)[:, :DEPTH]
        batch["y_score"] = labels.astype(np.int32), np.take_along_axis(scores, labels, 1)
    else:
        share = 1 if "complete" in settings else LISTED
        batch["y_score"] = csr_array(np.where(rng.random(shape) < share, 1 + scores, 0))
    if "candidates" in settings:
        batch["candidates"] = csr_array((rng.random(shape) < 0.2).astype(np.uint8))
    if "groups" in settings:
        batch["row_groups"] = rng.integers(0, 3, n_rows)
    if "weighted" in settings:
        batch["sample_weight"] = rng.uniform(0.5, 2, n_rows)
    return batch


def snapshot(evaluator: Evaluator) -> Snapshot:
    """Return all results of an evaluator, to the last bit."""
    return contents(evaluator.compute()) if evaluator.n_rows else ()


def contents(report: Any) -> Snapshot:
    parts: list[str] = [report.to_json()]
    for columns in (report.per_row, report.per_label):
        with contextlib.suppress(ValueError):  # not kept
            parts += [hashlib.sha256(column.tobytes()).hexdigest() for column in columns().values()]
    return tuple(parts)


def difference(actual: Snapshot, expected: Snapshot) -> str:
    lines, others = ("\n".join(parts).splitlines() for parts in (actual, expected))
    return "\n".join(["differs:", *unified_diff(others, lines, n=0)][:20]) if lines != others else ""


def comes_from_package(error: BaseException) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename.startswith(PACKAGE) for frame, _ in frames)


def run_trials(scenario: str, folder: str, seed: int, seconds: float) -> Iterator[tuple[str, str, bool, str]]:
    """Yield the kind and the operation of trials of every kind, whether they raised, and what is wrong."""
    until = time.monotonic() + seconds
    trials = Trials(scenario, Path(folder), seed)
    sizes, expected = only(forked(partial(trials.update_first, 0, {}), STARTING))
    for line in forked(partial(trials.update_first, 1, sizes), PATIENCE):
        wrong = " ".join(line) if isinstance(line, Ended) else difference(line[1], expected)
        yield "alarm", "first update", True, wrong
    trials.prepare()
    for number in itertools.count():
        for kind in KINDS:
            for line in forked(partial(trials.try_operations, kind, number, until), PATIENCE):
                yield kind, *(("", False, " ".join(line)) if isinstance(line, Ended) else line)
        if time.monotonic() > until:
            return


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as lines:
        os.dup2(2, 1)
        settings = json.loads(sys.argv[1])
        with small_limits(ORDERED) if settings["seed"] % 2 else contextlib.nullcontext():
            for trial in run_trials(**settings):
                print(json.dumps(trial), file=lines, flush=True)
