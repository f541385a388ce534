"""Scores of relevant and of irrelevant entries, for rules that need no more: counted as an evaluator does."""

from __future__ import annotations

import math

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.base.conventions import Conventions
from xmleval.evaluation.scored_rows import ScoredRows
from xmleval.metrics.spec import parse_spec
from xmleval.pooled.cuts import best_cut, best_label_cuts
from xmleval.states.plan import Settings, make_plan
from xmleval.states.score_runs import BAD, CELLS, COLUMNS, GOOD


class ScoredEntries(ScoredRows):
    """Scores collected so far, within memory; more of them are in temporary files.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of unlisted labels; None below all.
    by_label : bool
        Whether the scores of each label are kept apart.
    resources : Resources
        Memory and threads to use.
    """

    state = "score_runs"
    missing = "missing; a rule is fitted to scores"
    bare = "thresholds need scores; this list has none"

    def __init__(self, n_labels: int, unlisted: float | None, by_label: bool, resources: Resources) -> None:
        conventions = Conventions(unlisted="below" if unlisted is None else unlisted)
        peak = parse_spec("peak_f1.macro" if by_label else "peak_f1.micro")
        plan = make_plan(Settings(n_labels=n_labels, conventions=conventions), (peak,))
        super().__init__(plan, resources)
        self.unlisted = unlisted

    def threshold(self, aim: int) -> float:
        """Return the best threshold for all entries; ``aim`` is that of `kernels.thresholds.is_better`."""
        state = self.counted
        names = f"{CELLS}.{GOOD}", f"{CELLS}.{BAD}"
        floor, lowest = self._floors
        best = best_cut(state.store, *names, int(state.n_true.sum()), floor, aim, self.resources)
        return lowest if best == floor else best

    def label_thresholds(self, aim: int, fbr: float, fallback: str) -> Floats:
        """Return the best threshold of each label; infinity for labels without a score.

        Labels whose best F1 is below ``fbr`` take the ``fallback``.
        """
        state, (floor, lowest) = self.counted, self._floors
        good, bad = (state.store.piles[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD))
        best = best_label_cuts(good, bad, state.n_true, floor, aim, self.resources)
        (hits, sizes), (highest, below) = best.best.T, best.scores.T
        thresholds = np.where(np.isnan(below), lowest, below)
        f1 = np.divide(2.0 * hits, sizes + state.n_true, out=np.zeros(hits.size), where=hits > 0)
        rare = f1 < fbr
        thresholds[rare] = math.inf if fallback == "never" else highest[rare]
        return np.where(np.isnan(highest), math.inf, thresholds)

    @property
    def _floors(self) -> tuple[float, float]:
        """Return the score of unlisted labels, rounded to the type of the scores and not."""
        level = self.counted.level()
        return (-math.inf, -math.inf) if level is None or self.unlisted is None else (level, self.unlisted)
