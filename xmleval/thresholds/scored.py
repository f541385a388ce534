"""Scores of relevant and irrelevant entries, counted as by an evaluator: enough for some rules."""

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
        Whether scores are collected by label.
    resources : Resources
        Memory and threads to use.
    cells : frozenset of str
        Arguments that say which labels of rows are judged.
    """

    state = "score_runs"
    missing = "missing; a rule is fitted to scores"
    bare = "thresholds need scores; this list has none"

    def __init__(
        self,
        n_labels: int,
        unlisted: float | None,
        by_label: bool,
        resources: Resources,
        cells: frozenset[str] = frozenset(),
    ) -> None:
        conventions = Conventions(unlisted="below" if unlisted is None else unlisted)
        peak = parse_spec("peak_f1.macro" if by_label else "peak_f1.micro")
        plan = make_plan(Settings(n_labels=n_labels, conventions=conventions), (peak,), cells)
        super().__init__(plan, resources)
        self.unlisted = unlisted

    def threshold(self, aim: int) -> float:
        """Return the best threshold for all entries.

        aim : as in `kernels.thresholds.is_better`
        """
        state = self.counted
        n_true = int(state.n_true.sum())
        floor, exact_floor = self._floors
        best = best_cut(
            state.store, f"{CELLS}.{GOOD}", f"{CELLS}.{BAD}", n_true, floor, aim, self.resources
        )
        return exact_floor if best == floor else best

    def label_thresholds(self, aim: int, fbr: float, fallback: str) -> Floats:
        """Return the best threshold per label; infinity for labels without a score.

        Labels whose best F1 is below ``fbr`` take the ``fallback``.
        """
        state = self.counted
        floor, exact_floor = self._floors
        good = state.store.piles[f"{COLUMNS}.{GOOD}"]
        bad = state.store.piles[f"{COLUMNS}.{BAD}"]
        cuts = best_label_cuts(good, bad, state.n_true, floor, aim, self.resources)
        hits, sizes = cuts.best.T
        highest, below = cuts.scores.T
        thresholds = np.where(np.isnan(below), exact_floor, below)
        f1 = np.divide(2.0 * hits, sizes + state.n_true, out=np.zeros(hits.size), where=hits > 0)
        is_rare = f1 < fbr
        if fallback == "never":
            thresholds[is_rare] = math.inf
        else:
            thresholds[is_rare] = highest[is_rare]
        return np.where(np.isnan(highest), math.inf, thresholds)

    @property
    def _floors(self) -> tuple[float, float]:
        """Score of unlisted labels, rounded to the type of the scores, and exact."""
        rounded = self.counted.level()
        if rounded is None or self.unlisted is None:
            return -math.inf, -math.inf
        return rounded, self.unlisted
