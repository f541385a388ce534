"""Canonical rows: label sets and rankings as inputs give them and all rooms above read them.

Labels are in CSR order, ``ptr`` starting at 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from xmleval.base.arrays import Floats, Ints, Labels, Scores
from xmleval.kernels.ties import has_equal_neighbours

LEAST_STEPS = 6  # from a score of a row to the next, fewer of which may all rise by chance


class Truth(NamedTuple):
    """Label sets of rows, relevant or predicted.

    ptr : int64 (n + 1,); labels : int32 or int64 (t,), strictly increasing within a row.
    gains : float64 (t,), 0 or `LEAST_GAIN`..`MOST_GAIN` of judged labels, of which those with a positive gain
    are relevant; None where all are.
    """

    ptr: Ints
    labels: Labels
    gains: Floats | None = None


class RawScores(NamedTuple):
    """What was seen of scores before they were ranked and cut to a depth.

    n_listed : number of entries; binary : whether every score is 0 or 1; rises, falls : whether scores of
    some row rise or fall in a list, whose order the caller chose; missing, highest : what `look_at_ids`
    returns, of all cells of a matrix that id 0 is there; ties : whether any row may have equal scores.
    """

    n_listed: int
    binary: bool
    rises: bool = False
    falls: bool = False
    missing: int = 0
    highest: int = -1
    ties: bool = True


class Ranking(NamedTuple):
    """Listed labels of rows, best first, or in any order if ``ordered`` is False.

    ptr : int64 (n + 1,); labels : (s,); scores : (s,) nonincreasing within a row, or None;
    n_above : int64 (n,), number of leading entries that rank above the unlisted labels.
    If not ordered, earlier entries of equal scores rank first.
    raw : what was seen, where it was
    cut_ties : labels that were cut from the end of each row and score as its last one, None if there are none
    tie_order : (n_labels,), place of each label among unlisted ones, where they compete; None: by id
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
        """Whether any row has equal scores; false alarms are possible, at the border of two rows."""
        if self.scores is None or (self.raw is not None and not self.raw.ties):
            return False
        return has_equal_neighbours(self.scores)


class Facts(NamedTuple):
    """The truth of some rows, and what is known of it by name, for all models that are compared on them."""

    truth: Truth
    shared: dict[str, Any]
