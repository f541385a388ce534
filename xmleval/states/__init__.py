"""Mergeable statistics of blocks; every measure is a function of these."""

from __future__ import annotations

from xmleval.states.curves import Curve, Curves, Work
from xmleval.states.decisions import (
    Decision,
    choose,
    cut_rows,
    leading_scores,
    refuse_infinite,
    refuse_infinite_leading,
)
from xmleval.states.extremes import LabelExtremes
from xmleval.states.facts import Completion, Counts, Extremes, Facts, TieFacts
from xmleval.states.key_counts import MOST_BITS, Bracket, KeyCounts
from xmleval.states.label_sets import LabelSets
from xmleval.states.label_totals import LabelTotals
from xmleval.states.limbs import Commit, exact_mean
from xmleval.states.rank_profile import Profile, RankProfile
from xmleval.states.row_sums import RowSums
from xmleval.states.score_runs import Needs, ScoreRuns
from xmleval.states.spill import Memory, SpillFile
from xmleval.states.turns import deferring_interrupts, in_turns

__all__ = [
    "MOST_BITS",
    "Bracket",
    "Commit",
    "Completion",
    "Counts",
    "Curve",
    "Curves",
    "Decision",
    "Extremes",
    "Facts",
    "KeyCounts",
    "LabelExtremes",
    "LabelSets",
    "LabelTotals",
    "Memory",
    "Needs",
    "Profile",
    "RankProfile",
    "RowSums",
    "ScoreRuns",
    "SpillFile",
    "TieFacts",
    "Work",
    "choose",
    "cut_rows",
    "deferring_interrupts",
    "exact_mean",
    "in_turns",
    "leading_scores",
    "refuse_infinite",
    "refuse_infinite_leading",
]
