"""Grades of relevance of judged labels, and the gains that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import Entries, Source, rows_of
from xmleval.input.errors import InputError
from xmleval.message import Keyword, Message
from xmleval.records import LEAST_GAIN, MOST_GAIN, Bools, Floats, Ints, Truth

GRADED = ("linear", "exp")  # conventions of a truth that holds grades
MOST_EXPONENT = 32  # of 2, which is the largest gain


def graded(argument: str, entries: Source[Entries], gains: str) -> Source[Truth]:
    """Return entries with grades as judged labels with their gains.

    Without values, the grade of each is 1. ``gains`` is the convention, "linear" or "exp".
    """

    def block(start: int, stop: int) -> Truth:
        ptr, labels, grades, _ = entries.block(start, stop)
        found = np.ones(labels.size) if grades is None else _gains_of(argument, ptr, grades, gains, start)
        return Truth(ptr, labels, found)

    return Source(entries.n_rows, entries.n_labels, entries.bytes_per_row, block)


def relevant_of(truth: Truth) -> Truth:
    """Return the labels with a positive gain, all of those without gains."""
    if truth.gains is None:
        return truth
    relevant = truth.gains > 0
    return Truth(np.concatenate(([0], np.cumsum(relevant)))[truth.ptr], truth.labels[relevant])


def _gains_of(argument: str, ptr: Ints, grades: NDArray[Any], gains: str, start: int) -> Floats:
    """Return the gains of grades, 0 of negative ones, or refuse the first that has none."""
    given = grades.astype(np.float64)

    def refuse(bad: Bools, reason: str, *more: object) -> None:
        if bad.any():
            place = int(bad.argmax())
            row, value = start + int(rows_of(ptr, np.array([place]))[0]), grades[place]
            raise InputError(argument, Message(f"grade {value} {reason}", *more), row=row, value=value)

    refuse(~np.isfinite(given), "is no number")
    found = np.maximum(given, 0.0)
    if gains == "exp":
        linear = Keyword("gains", "'linear'")
        exp = Keyword("gains", "'exp'")
        refuse(found != np.floor(found), "is not a whole number, as ", exp, " needs; ", linear, " takes any")
        refuse(found > MOST_EXPONENT, f"is above {MOST_EXPONENT}, the most that ", exp, " takes")
        return np.ldexp(1.0, found.astype(np.int32)) - 1.0
    outside = (found > MOST_GAIN) | ((found > 0) & (found < LEAST_GAIN))
    refuse(outside, "is neither 0 nor within 2^-30..2^32; scale the grades")
    return found
