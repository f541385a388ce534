"""What an evaluation leaves out of rows, and the marks in a truth of cells that nobody judged."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

from xmleval.base.errors import InputError, shown
from xmleval.base.numerals import decimal_number

CANDIDATES = "candidates"
JUDGED = "judged"
UNJUDGED = "unjudged"
RESTRICTIONS = ("exclude", UNJUDGED, JUDGED, CANDIDATES)  # arguments that take labels out of rows
PAIRS_OF_ROWS = ("exclude", UNJUDGED, JUDGED)  # those that may be pairs, and of few rows
WITHIN = (JUDGED, CANDIDATES)  # those that name the labels that are kept
TRUTH = "truth"  # of ``judged``: the labels that the truth lists


WORDS = {UNJUDGED: '"nan", -1', JUDGED: '"truth"'}  # that arguments take in place of a file


class CellMarks(NamedTuple):
    """What a truth says about judged cells.

    unjudged : the mark of cells that nobody judged, -1 or NaN; None without one
    are_listed : whether the labels that the truth lists, relevant or not, are judged, and no others
    """

    unjudged: float | None = None
    are_listed: bool = False

    @property
    def by_argument(self) -> dict[str, str]:
        """The mark, or the word for what the truth lists, by argument."""
        marks = dict[str, str]()
        if self.unjudged is not None:
            marks[UNJUDGED] = f"{self.unjudged:g}"
        if self.are_listed:
            marks[JUDGED] = TRUTH
        return marks


NO_MARKS = CellMarks()
GRADES = "grades"  # a kind of rows: judgements, all of which are kept
WITH_MARK = " marked "  # within a kind of rows, before the mark


def marked_kind(mark: float, graded: bool) -> str:
    """Return a kind of rows: judgements, and marks of cells that nobody judged."""
    return f"{GRADES if graded else 'truth'}{WITH_MARK}{mark:g}"


def split_kind(kind: str) -> tuple[str, float | None]:
    """Return a kind of rows without a mark, and the mark of cells that nobody judged, if any."""
    plain, _, mark = kind.partition(WITH_MARK)
    return plain, float(mark) if mark else None


def keeps_values(kind: str | None) -> bool:
    """Return whether a kind of rows keeps the values of a truth, not only relevant labels."""
    return kind is not None and (kind == GRADES or WITH_MARK in kind)


def is_mark(unjudged: object) -> bool:
    """Return whether the argument ``unjudged`` is a number, which marks cells of the truth."""
    if isinstance(unjudged, str):
        return decimal_number(unjudged.strip()) is not None
    return isinstance(unjudged, Real) and not isinstance(unjudged, bool)


def is_truth(judged: object) -> bool:
    """Return whether the argument ``judged`` is the word for the labels that the truth lists."""
    return isinstance(judged, str) and judged.strip().lower() == TRUTH


def marks_of(unjudged: Any, judged: object) -> CellMarks:
    """Return the marks among the arguments of `evaluate`; another number may be a grade."""
    mark = None
    if is_mark(unjudged):
        mark = float(unjudged)
        if mark != -1 and not math.isnan(mark):
            text = f'{shown(unjudged)} may be a grade; give "nan" or -1'
            raise InputError("unjudged", text)
    return CellMarks(mark, is_truth(judged))
