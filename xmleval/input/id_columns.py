"""Integer columns of an unusual name that can only be the ids of rows, not a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from xmleval.base.errors import Keyword, Message, shown

SAMPLED_ROWS = 1000
FEWEST_ROWS = 3  # fewer do not show whether integers are ids
NUMBERED_COLUMN = re.compile(r"(column_)?\d+")  # a label without a name
WHOLE_NUMBER = re.compile(r"\d{1,18}")


def may_name_rows(column: object) -> bool:
    """Return whether a column has a name, not the number of a label."""
    return isinstance(column, str) and NUMBERED_COLUMN.fullmatch(column) is None


def are_ids(first: Sequence[int], largest: int, *, has_fractions: bool) -> bool:
    """Return whether a first column of integers can only be ids of rows, next to labels.

    All of them differ and are not just 0 and 1, where the labels are floating-point numbers, or
    integers up to ``largest``, of which so many rows cannot all have another one.
    """
    distinct = {*first}
    if len(first) < FEWEST_ROWS or len(distinct) < len(first):
        return False
    return has_fractions or len(first) > largest + 1


def begins_with_ids(rows: Iterable[Sequence[object]]) -> bool:
    """Return whether the first cells of rows are ids, by the first `SAMPLED_ROWS`; see `are_ids`.

    Integers in a text are numbers without a decimal point.
    """
    first = list[int]()
    seen = set[int]()
    largest = 0
    has_fractions = False
    for cell, *label_cells in islice(rows, SAMPLED_ROWS):
        number = _whole_number(cell)
        if number is None or number in seen or not label_cells:
            return False
        first.append(number)
        seen.add(number)
        numbers = [*map(_whole_number, label_cells)]
        has_fractions |= None in numbers
        largest = max(largest, *(number or 0 for number in numbers))
    return are_ids(first, largest, has_fractions=has_fractions)


def _whole_number(cell: object) -> int | None:
    """Return an integer from 0 up, true and false as 1 and 0; None for other cells."""
    if isinstance(cell, int):
        return cell if cell >= 0 else None
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in ("true", "false"):
            return int(text.lower() == "true")
        return int(text) if text.isascii() and WHOLE_NUMBER.fullmatch(text) else None
    return None


def note_on_ids(column: object) -> Message:
    """Return the note on a column that is read as ids of rows for its contents."""
    text = f"ids in {shown(column)}, as its integers all differ ("
    return Message(text, Keyword("labels"), " says which columns are labels)")
