"""Rows of truth and scores in parts of different types, and what the tests of pooled scores ask of them."""

from __future__ import annotations

import contextlib
import itertools
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from xmleval import Evaluator, Report
from xmleval.states.score_runs import ScoreRuns

EVERY: dict[str, Any] = {"metrics": "curves", "per_label": True, "curve_points": 7}
LEVELS = [-np.inf, -2.5, -0.0, 0.0, 0.25, 0.5, 1.0, 3.0, np.inf]
KINDS: list[tuple[str, Any]] = [
    ("mixed", "below"), *itertools.product(["float32", "float64"], ["below", 0.0, 0.25, -1e30])
]  # fmt: skip


class Problem:
    """Rows of truth and scores, in parts of different types; scores are exact in float32."""

    def __init__(self, seed: int, kind: str, unlisted: str | float, most_rows: int = 30) -> None:
        self.rng = np.random.default_rng(seed)
        self.n_rows, self.n_labels = int(self.rng.integers(1, most_rows)), int(self.rng.integers(1, 12))
        shape = self.n_rows, self.n_labels
        self.truth = (self.rng.random(shape) < self.rng.choice([0.1, 0.5])).astype(int)
        scores = self.rng.choice(LEVELS, shape)
        if self.rng.random() < 0.5:
            scores = self.rng.normal(size=shape).astype(np.float32).astype(np.float64)
        stored = self.rng.random(shape) < self.rng.choice([0.0, 0.3, 0.9], p=[0.1, 0.5, 0.4])
        self.scores = sp.csr_array((scores[stored], np.nonzero(stored)), shape=shape)
        self.kind = kind
        self.more: dict[str, Any] = {"bounds": unlisted == "below", "unlisted": unlisted, **EVERY}

    def part(self, lo: int, hi: int) -> tuple[Any, Any]:
        dtype = str(self.rng.choice(["float32", "float64"])) if self.kind == "mixed" else self.kind
        return self.truth[lo:hi], self.scores[lo:hi].astype(dtype)

    def whole(self) -> tuple[Any, Any]:
        return self.truth, self.scores.astype("float64" if self.kind == "mixed" else self.kind)

    def evaluator(self, **more: Any) -> Evaluator:
        return Evaluator(n_labels=self.n_labels, **self.more, **more)

    def cuts(self) -> list[tuple[int, int]]:
        cuts = sorted(self.rng.integers(0, self.n_rows + 1, self.rng.integers(0, 4)).tolist())
        return list(itertools.pairwise([0, *cuts, self.n_rows]))


def problems() -> st.SearchStrategy[Problem]:
    kinds = st.sampled_from(KINDS)
    return st.builds(lambda seed, kind: Problem(seed, *kind), st.integers(0, 2**32), kinds)


def bits(report: Report) -> list[Any]:
    """Everything a report says, to the last bit."""
    arrays = [*report.per_label().values(), *report.roc_curve(), *report.pr_curve()]
    return [report.to_json(), *report.per_label(), *((a.shape, a.tobytes()) for a in arrays)]


def runs_of(evaluator: Evaluator) -> ScoreRuns:
    """Return the scores that an evaluator has counted."""
    states = evaluator._counted.states
    assert states is not None
    found = states._states["score_runs"]
    assert isinstance(found, ScoreRuns)
    return found


@contextlib.contextmanager
def ending_within(seconds: int) -> Iterator[None]:
    def late(*arguments: Any) -> None:
        raise TimeoutError("this does not end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
