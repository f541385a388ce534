"""Scores of relevant and of irrelevant entries, for rules that need no more: counted as an evaluator does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xmleval.conventions import Conventions
from xmleval.engine.blocks import join_arguments
from xmleval.engine.run import count
from xmleval.input.errors import InputError
from xmleval.input.scores import has_scores
from xmleval.input.sets import set_rows
from xmleval.plan import Plan
from xmleval.pooled.cuts import best_cut, best_label_cuts
from xmleval.records import Floats
from xmleval.spec import parse_spec
from xmleval.states.score_runs import BAD, CELLS, COLUMNS, GOOD, ScoreRuns
from xmleval.states.state import States
from xmleval.threads import Work

STATE = "score_runs"


class ScoredEntries:
    """Scores collected so far, within memory; more of them are in temporary files.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of unlisted labels; None below all.
    by_label : bool
        Whether the scores of each label are kept apart.
    work : Work
        Memory and threads to use.
    """

    def __init__(self, n_labels: int, unlisted: float | None, by_label: bool, work: Work) -> None:
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.work = work
        self.n_rows = 0
        self._dtypes: set[str] = set()
        self._plan = Plan(
            specs=(parse_spec(f"peak_f1.{'macro' if by_label else 'micro'}"),),
            n_labels=n_labels,
            conventions=Conventions(unlisted="below" if unlisted is None else unlisted),
            propensity=None,
            decision=None,
            weighted=False,
            keep_rows=False,
        )
        self._states = States(self._plan, work, {STATE: ScoreRuns(self._plan, self._plan.specs, work)})

    def update(self, y_true: Any, y_score: Any = None, *, y_pred: Any = None) -> None:
        """Add rows; arguments are those of `xmleval.evaluate`, ``y_pred`` is unused."""
        self.add(set_rows("y_true", y_true, self.n_labels), y_score, self.n_labels)

    def add(self, truth: Any, y_score: Any, n_labels: int | None) -> None:
        """Add rows with checked truth; ``n_labels`` is the caller's argument."""
        if y_score is None:
            raise InputError("y_score", "missing; a rule is fitted to scores")
        if has_scores(y_score, n_labels) is False:
            raise InputError("y_score", "thresholds need scores; this list has none")
        rows = join_arguments(
            self._plan, truth, y_score, None, None, n_labels=n_labels, n_before=self.n_rows,
            first_row=0, score_dtypes=self._dtypes, threads=self.work.threads, block_rows=None,
        )  # fmt: skip
        self._states = count(self._plan, self.work, self._states, rows)
        self.n_rows += rows.n_rows

    def threshold(self, aim: int) -> float:
        """Return the best threshold for all entries; ``aim`` is that of `kernels.thresholds.is_better`."""
        state = self._state
        names = f"{CELLS}.{GOOD}", f"{CELLS}.{BAD}"
        floor, lowest = self._floors
        found = best_cut(state.store, *names, int(state.n_true.sum()), floor, aim, self.work)
        return lowest if found == floor else found

    def label_thresholds(self, aim: int, fbr: float, fallback: str) -> Floats:
        """Return the best threshold of each label; infinity for labels without a score.

        Labels whose best F1 is below ``fbr`` take the ``fallback``.
        """
        state, (floor, lowest) = self._state, self._floors
        good, bad = (state.store.piles[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD))
        found = best_label_cuts(good, bad, state.n_true, floor, aim, self.work)
        (hits, sizes), (highest, below) = found.best.T, found.scores.T
        thresholds = np.where(np.isnan(below), lowest, below)
        f1 = np.divide(2.0 * hits, sizes + state.n_true, out=np.zeros(hits.size), where=hits > 0)
        rare = f1 < fbr
        thresholds[rare] = math.inf if fallback == "never" else highest[rare]
        return np.where(np.isnan(highest), math.inf, thresholds)

    @property
    def _state(self) -> ScoreRuns:
        found = self._states[STATE]
        assert isinstance(found, ScoreRuns)
        return found

    @property
    def _floors(self) -> tuple[float, float]:
        """Return the score of unlisted labels, rounded to the type of the scores and not."""
        level = self._state.level()
        return (-math.inf, -math.inf) if level is None or self.unlisted is None else (level, self.unlisted)
