"""Evaluators under faults, each with a twin without them: a call counts all of its rows, or raises.

`python -m tests.hunt.evaluators SETTINGS` runs trials in forked processes, so that a hang or a
crash ends few of them, and prints a line of JSON for each.
"""

import contextlib
import itertools
import json
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
from tests.hunt.forked import Ended, forked
from tests.hunt.triggers import KINDS
from tests.limits import small_limits
from xmleval import Evaluator

N_LABELS = 300
ROWS = (1500, 900, 1300, 700)  # of the batches
OPERATIONS = ("update", "update", "update", "compute", "save", "load", "merge")  # and how often
# seconds for a trial on a busy machine, and for what may compile
PATIENCE = 150.0
STARTING = 3000.0
# limits by which small batches are ordered and packed as large ones are
ORDERED = {"pooled.values": {"MANY": 1000, "CHUNK": 4000}, "pooled.store": {"LEAST_PACKED": 20_000}}
CUTS = ((1, None), (2, 200), (1, 200), (2, 150))  # threads, rows of a block
# memory; in the lesser, pooled scores go to disk
ENOUGH = "1GiB"
LITTLE = "300kB"
RANKED = ["p@5", "psp@5", "f1.macro@5", "lrap"]
POOLED = ["auc.micro", "auc.macro", "ap.micro", "label_diversity"]
LABELS = {"decision": "top3", "conventions": "unlisted=0"}
# options of evaluators, and what batches have
SCENARIOS: dict[str, tuple[dict[str, Any], str]] = {
    "pooled lists": ({"metrics": RANKED + POOLED}, "lists"),
    "completed scores": (
        {"metrics": [*RANKED, *POOLED, "margin.macro"], "conventions": "unlisted=0"},
        "",
    ),
    "every label": (
        {"metrics": ["f1.macro", "auc.macro", "margin.macro"], "per_label": True} | LABELS,
        "",
    ),
    "bounds": ({"metrics": ["lrap", "auc.samples", "ndcg@5"], "bounds": True}, "lists"),
    "weighted": ({"metrics": [*RANKED, "f1.macro", "margin.macro"]} | LABELS, "sample_weight"),
    "pooled intervals": (
        {"metrics": ["auc.micro", "ap.micro", "auc.macro"], "confidence": 0.95},
        "lists",
    ),
    "weighted curves": ({"metrics": POOLED}, "lists sample_weight"),
    "candidates": ({"metrics": ["p@5", "ndcg@5"]}, "lists candidates"),
    "groups": (
        {
            "metrics": ["p@5", "f1.macro@5", "auc.micro"],
            "confidence": 0.95,
            "label_groups": (np.arange(N_LABELS) % 3).tolist(),
        },
        "row_groups",
    ),
    "probabilities": (
        {
            "metrics": ["ece@5", "ace@5", "aurc@5", "rprec.micro", "h_f1.micro@5"],
            "hierarchy": [(1, 0), (2, 0)],
        },
        "lists",
    ),
    "kept rows": ({"metrics": ["p@5", "lrap", "auc.macro"], "per_row": True}, ""),
}
PACKAGE = str(Path(xmleval.__file__).parent)


class Trials:
    """An evaluator under faults and its twin without."""

    def __init__(self, scenario: str, folder: Path, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        options, inputs = SCENARIOS[scenario]
        threads, block_rows = CUTS[self.rng.integers(len(CUTS))]
        self.memory = ENOUGH
        if scenario != "groups":
            self.memory = str(self.rng.choice((ENOUGH, LITTLE)))
        q = self.rng.uniform(1, 9, N_LABELS)
        self.settings = options | {
            "threads": threads,
            "block_rows": block_rows,
            "memory": self.memory,
            "inverse_propensity": q,
            "n_labels": N_LABELS,
        }
        self.batches = [make_batch(self.rng, n_rows, inputs) for n_rows in ROWS]
        self.files = [folder / f"{number}.npz" for number in range(len(ROWS))]
        self.file = folder / "outputs" / "saved.npz"
        self.file.parent.mkdir()
        by_order = {"per_row", "confidence"} & {*options}  # of batches, which are then not merged
        self.operations = OPERATIONS[:-1] if by_order else OPERATIONS

    def evaluator_of(self, *batches: dict[str, Any]) -> Evaluator:
        evaluator = Evaluator(**self.settings)
        for batch in batches:
            evaluator.update(**batch)
        return evaluator

    def prepare(self) -> None:
        """Load the kernels, and make the evaluators that are merged and loaded."""
        self.parts = [self.evaluator_of(batch) for batch in self.batches]
        self.expected = [snapshot(part) for part in self.parts]
        for part, file in zip(self.parts, self.files, strict=True):
            part.save(file)
        self.parts[::2] = [Evaluator.load(file, memory=self.memory) for file in self.files[::2]]

    def begin(self, kind: str, number: int, sizes: dict[str, float]) -> None:
        """Start in a forked process."""
        trigger, fault = KINDS[kind]
        self.rng = np.random.default_rng([self.seed, number, [*KINDS].index(kind)])
        self.trigger = trigger(fault, self.rng, sizes)

    def update_first(self, sizes: dict[str, float]) -> Iterator[Any]:
        """Yield durations of the first update of a process, which loads kernels, and its report."""
        self.begin("alarm", len(sizes), sizes)
        self.tried = Evaluator(**self.settings)
        for _ in range(10):  # under faults, if the duration is there
            if not self.tried.n_rows:
                self.run_under_fault("update", 0)
        if not self.tried.n_rows:
            self.tried.update(**self.batches[0])
        yield self.trigger.sizes, snapshot(self.tried)

    def try_operations(self, kind: str, number: int) -> Iterator[Any]:
        self.begin(kind, number, {})
        self.renew()
        for _ in range(12):
            name = str(self.rng.choice(self.operations))
            yield name, *self.try_operation(name, int(self.rng.integers(len(ROWS))))

    def renew(self) -> None:
        """Start with new evaluators, empty or with one batch."""
        first = self.batches[: int(self.rng.integers(2))]
        self.tried = self.evaluator_of(*first)
        self.twin = self.evaluator_of(*first)
        self.before = snapshot(self.twin)
        self.merged = set[int]()

    def try_operation(self, name: str, number: int) -> tuple[bool, str]:
        """Run an operation under a fault; return whether the package raised, and an error found."""
        if name == "merge" and number in self.merged:
            self.renew()  # the same rows are not merged twice
        n_rows = self.tried.n_rows
        result, error = self.run_under_fault(name, number)
        if name == "merge" and error is None:
            self.merged.add(number)
        frames = traceback.walk_tb(error.__traceback__ if error else None)
        inside = any(frame.f_code.co_filename.startswith(PACKAGE) for frame, _ in frames)
        try:
            wrong = self.judge(name, number, n_rows, result, error is not None, inside)
        except Exception:
            wrong = f"cannot go on: {traceback.format_exc(-3)}"
        if wrong:
            self.renew()
            wrong += f", after {''.join(traceback.format_exception(error)[-3:])}"
        return inside, wrong

    def run_under_fault(self, name: str, number: int) -> tuple[Any, BaseException | None]:
        """Run an operation; return its result and its error."""
        try:
            try:
                return self.operate(name, number), None
            finally:
                self.trigger.disarm()
        except BaseException as error:
            return None, error
        finally:
            with contextlib.suppress(BaseException):  # raised while disarming
                self.trigger.disarm()
            self.trigger.disarm()

    def operate(self, name: str, number: int) -> Any:
        self.trigger.arm(name)
        if name == "update":
            return self.tried.update(**self.batches[number])
        if name == "merge":
            return self.tried.merge(self.parts[number])
        if name == "save":
            return self.tried.save(self.file)
        if name == "load":
            return Evaluator.load(self.files[number], memory=self.memory)
        if self.tried.n_rows:
            return self.tried.compute()
        return None

    def judge(
        self, name: str, number: int, n_rows: int, result: Any, raised: bool, inside: bool
    ) -> str:
        """Return the difference to the twin, which counts the batch if its rows were added."""
        saved = self.before
        n_added = self.tried.n_rows - n_rows
        if not self.may_be_added(name, number, n_added, raised):
            return f"{n_added} rows added"
        if n_added:
            self.twin.update(**self.batches[number])
        if not self.tried.n_rows:  # what a failed call left behind shows only with rows
            self.tried.update(**self.batches[0])
            self.twin.update(**self.batches[0])
        if self.tried.n_rows != n_rows:
            self.before = snapshot(self.twin)
        wrong = difference(snapshot(self.tried), self.before)
        if wrong:
            return wrong
        if inside and n_added:
            return "counted although it raised"
        if name == "save":
            return self.judge_file(raised, saved)
        if name == "merge":
            return self.judge_merged(number)
        if result is None:
            return ""
        return self.judge_result(name, number, result)

    def may_be_added(self, name: str, number: int, n_added: int, raised: bool) -> bool:
        """Return whether an operation may have added a number of rows."""
        if name not in ("update", "merge"):
            return n_added == 0
        if n_added == 0:
            return raised
        return n_added == ROWS[number]

    def judge_merged(self, number: int) -> str:
        """Return an error if the evaluator that was merged has changed."""
        if snapshot(self.parts[number]) == self.expected[number]:
            return ""
        self.parts[number] = self.evaluator_of(self.batches[number])
        return "the evaluator that was merged changed"

    def judge_result(self, name: str, number: int, result: Any) -> str:
        """Return the difference of a loaded evaluator or a report from the expected one."""
        if name == "load":
            return difference(snapshot(result), self.expected[number])
        if name == "compute":
            return difference(contents(result), self.before)
        return ""

    def judge_file(self, raised: bool, expected: list[str]) -> str:
        """Return the error of the saved file, if any, and remove all files."""
        files = {*self.file.parent.iterdir()}
        wrong = ""
        if self.file in files:
            wrong = difference(snapshot(Evaluator.load(self.file)), expected)
        elif not raised:
            wrong = "no file"
        for file in files:
            file.unlink()
        if not wrong and files - {self.file}:
            wrong = "a temporary file is left"
        return wrong


def make_batch(rng: np.random.Generator, n_rows: int, parts: str) -> dict[str, Any]:
    shape = n_rows, N_LABELS
    scores: Any = np.round(rng.random(shape, np.float32), 3)
    batch: dict[str, Any] = {"y_true": csr_array((rng.random(shape) < 0.02).astype(np.uint8))}
    if "lists" in parts:
        labels = np.argsort(-scores, axis=1)[:, :20]
        batch["y_score"] = labels.astype(np.int32), np.take_along_axis(scores, labels, 1)
    else:
        batch["y_score"] = csr_array(np.where(rng.random(shape) < 0.3, 1 + scores, 0))
    options = {
        "row_groups": rng.integers(0, 3, n_rows),
        "sample_weight": rng.uniform(0.5, 2, n_rows),
        "candidates": csr_array((rng.random(shape) < 0.2).astype(np.uint8)),
    }
    return batch | {name: value for name, value in options.items() if name in parts}


def snapshot(evaluator: Evaluator) -> list[str]:
    """Return all results of an evaluator, to the last bit."""
    if not evaluator.n_rows:
        return []
    return contents(evaluator.compute())


def contents(report: Any) -> list[str]:
    parts = [report.to_json()]
    for columns in (report.per_row, report.per_label):
        with contextlib.suppress(ValueError):  # not kept
            parts += [repr(column.tolist()) for column in columns().values()]
    return parts


def difference(actual: list[str], expected: list[str]) -> str:
    before, after = ("\n".join(parts).splitlines() for parts in (expected, actual))
    if after == before:
        return ""
    lines = ["differs:", *unified_diff(before, after, n=0)]
    return "\n".join(lines[:20])


def run_trials(
    scenario: str, folder: str, seed: int, seconds: float
) -> Iterator[tuple[str, str, bool, str]]:
    """Yield the kind and operation of trials, whether the package raised, and errors found."""
    until = time.monotonic() + seconds
    trials = Trials(scenario, Path(folder), seed)
    ((sizes, expected),) = forked(partial(trials.update_first, {}), STARTING)
    for line in forked(partial(trials.update_first, sizes), PATIENCE):
        if isinstance(line, Ended):
            yield "alarm", "first update", True, " ".join(line)
            continue
        _, actual = line
        yield "alarm", "first update", True, difference(actual, expected)
    trials.prepare()
    for number in itertools.count():
        for kind in KINDS:
            for line in forked(partial(trials.try_operations, kind, number), PATIENCE):
                if isinstance(line, Ended):
                    yield kind, "", False, " ".join(line)
                else:
                    yield kind, *line
        if time.monotonic() > until:
            return


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    with contextlib.ExitStack() as stack:
        if settings["seed"] % 2:
            stack.enter_context(small_limits(ORDERED))
        for trial in run_trials(**settings):
            print(json.dumps(trial), flush=True)
