"""Integer columns of an unusual name that can only be the ids of rows, not a label."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from xmleval.base.errors import Keyword, Message, shown
from xmleval.input.further_columns import judgement_of

SAMPLED_ROWS = 1000
FEWEST_ROWS = 10  # fewer do not show whether integers are ids
NUMBERED_COLUMN = re.compile(r"(column_)?\d+")  # a label without a name
WHOLE_NUMBER = re.compile(r"\d{1,18}")


def may_name_rows(column: object) -> bool:
    """Return whether a column has a name, not the number of a label."""
    return isinstance(column, str) and NUMBERED_COLUMN.fullmatch(column) is None


def are_ids(first: Sequence[int], largest: float, *, has_fractions: bool) -> bool:
    """Return whether a first column of integers can only be ids of rows, next to labels.

    All of them differ. Labels are numbers with a decimal point, or zeros and ones or grades up to
    ``largest``: some of the integers are then larger, and there are more rows than grades.
    """
    distinct = {*first}
    if len(first) < FEWEST_ROWS or len(distinct) < len(first):
        return False
    return has_fractions or (len(first) > largest + 1 and max(first) > largest)


def begins_with_ids(rows: Iterable[Sequence[object]]) -> bool:
    """Return whether the first cells of rows are ids, by the first `SAMPLED_ROWS`; see `are_ids`.

    Integers in a text are numbers without a decimal point.
    """
    first = list[int]()
    seen = set[int]()
    largest = 0.0
    has_fractions = False
    for cell, *label_cells in islice(rows, SAMPLED_ROWS):
        number = _whole_number(cell)
        if number is None or number in seen or not label_cells:
            return False
        first.append(number)
        seen.add(number)
        has_fractions |= any(map(_has_decimal_point, label_cells))
        largest = max(largest, *(judgement_of(cell) or 0 for cell in label_cells))
    return are_ids(first, largest, has_fractions=has_fractions)


def _whole_number(cell: object) -> int | None:
    """Return an integer from 0 up; None for other cells."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell if cell >= 0 else None
    if isinstance(cell, str):
        text = cell.strip()
        return int(text) if text.isascii() and WHOLE_NUMBER.fullmatch(text) else None
    return None


def _has_decimal_point(cell: object) -> bool:
    """Return whether a cell is a number with a decimal point, as floating-point numbers are."""
    if isinstance(cell, str):
        return "." in cell and judgement_of(cell) is not None
    return isinstance(cell, float) and not math.isnan(cell)


def note_on_ids(column: object) -> Message:
    """Return the note on a column that is read as ids of rows for its contents."""
    text = f"ids in {shown(column)}, as its integers all differ ("
    return Message(text, "choose the columns of labels with ", Keyword("labels"), ")")
