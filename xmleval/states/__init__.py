"""Mergeable statistics of blocks; every measure is a function of these."""

from __future__ import annotations

from xmleval.states.facts import Counts, Decision, Facts, TieFacts
from xmleval.states.label_sets import LabelSets
from xmleval.states.label_totals import LabelTotals, totals_bytes
from xmleval.states.limbs import Commit
from xmleval.states.rank_profile import Profile, RankProfile
from xmleval.states.row_sums import RowSums
from xmleval.states.score_runs import Curve, ScoreRuns

__all__ = [
    "Commit",
    "Counts",
    "Curve",
    "Decision",
    "Facts",
    "LabelSets",
    "LabelTotals",
    "Profile",
    "RankProfile",
    "RowSums",
    "ScoreRuns",
    "TieFacts",
    "totals_bytes",
]
