"""Canonical rows: checked label sets and rankings, the form in which all other code reads them.

Labels are in CSR order, ``ptr`` starting at 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from xmleval.base.arrays import Floats, Ints, Labels, Scores
from xmleval.kernels.ties import has_equal_neighbours

LEAST_STEPS = 6  # steps from score to score within rows; fewer may all rise by chance


class Truth(NamedTuple):
    """Label sets of rows, relevant or predicted.

    ptr : int64 (n + 1,)
    labels : int32 or int64 (t,), strictly increasing within a row
    gains : float64 (t,), 0 or `LEAST_GAIN`..`MOST_GAIN` for judged labels, which are relevant if
        their gain is positive; None if all labels are relevant
    """

    ptr: Ints
    labels: Labels
    gains: Floats | None = None


class RawScores(NamedTuple):
    """Properties of scores before they are ranked and cut to a depth.

    n_listed : number of entries
    binary : whether every score is 0 or 1
    rises, falls : whether scores of some row rise or fall in a list, whose order the caller chose
    missing, highest : results of `look_at_ids`; for all cells of a matrix, as if id 0 occurred
    ties : whether any row may have equal scores
    """

    n_listed: int
    binary: bool
    rises: bool = False
    falls: bool = False
    missing: int = 0
    highest: int = -1
    ties: bool = True


class RankedRows(NamedTuple):
    """Listed labels of rows, best first, or in any order if ``ordered`` is False.

    ptr : int64 (n + 1,)
    labels : (s,)
    scores : (s,), nonincreasing within a row if ordered; or None
    n_above : int64 (n,), number of leading entries that rank above the unlisted labels
    ordered : whether entries are best first; if not, earlier entries of equal scores rank first
    raw : properties of the scores before ranking, if known
    cut_ties : labels that were cut from the end of each row and have the score of its last entry;
        None if there are none
    tie_order : (n_labels,), place of each label among unlisted ones, where they compete; None: by
        id
    """

    ptr: Ints
    labels: Labels
    scores: Scores | None
    n_above: Ints
    ordered: bool = True
    raw: RawScores | None = None
    cut_ties: Truth | None = None
    tie_order: Labels | None = None

    @property
    def has_ties(self) -> bool:
        """Whether any row has equal scores; wrongly true if two rows meet at equal scores."""
        if self.scores is None or (self.raw is not None and not self.raw.ties):
            return False
        return has_equal_neighbours(self.scores)


class Facts(NamedTuple):
    """The truth of some rows, and values computed from it that all compared models share."""

    truth: Truth
    shared: dict[str, Any]
