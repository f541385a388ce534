"""Columns of a table that are not read, but tell the labels of a row apart: judgements, scores, models."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, NamedTuple

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.errors import Keyword, Message, shown
from xmleval.base.numerals import decimal_number
from xmleval.input.columns import (
    DOCUMENT,
    INSTANCE,
    JUDGEMENT,
    NO_VALUE,
    PRED,
    SCORE_COLUMNS,
    SECOND_SCORE_COLUMNS,
    TRUE,
    Column,
    DecidingColumnError,
    TableColumns,
    is_written_index,
    named_as,
)
from xmleval.input.rows import MISSING_WORDS, is_missing

MODELS = ("model", "model_name", "model_id", "system", "run", "run_id", "run_name", "split", "fold", "seed")
RANKS = ("rank", "ranks", "ranking", "position", "positions")
OTHER_NUMBERS = ("label_id", "label_ids", "label_idx", "label_index", "timestamp", "timestamps")
NO_JUDGEMENT = (*INSTANCE, *DOCUMENT, *SCORE_COLUMNS, *NO_VALUE, *MODELS, *OTHER_NUMBERS)
WORDS = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}
FEW_WORDS = 9  # values of a column of grades in words
MOST_WORDS = 1024  # values that are kept to see whether any repeats
MOST_NAMED = 9  # columns in a note


def notes_on_ranks(columns: TableColumns[Column], kind: str) -> list[Message]:
    """Return a note where scores are read from a column that is called like ranks."""
    if kind != "scores" or not named_as([columns.value], RANKS):
        return []
    unless = Keyword("higher_is_better", "False"), " is given"
    text = f"{shown(columns.value)} is read as scores, of which the highest is best unless "
    return [Message(text, *unless)]


def judgement_of(cell: object) -> float | None:
    """Return the number that a cell is, as a number, a text of one, or a word for true or false."""
    if isinstance(cell, bool | int | float | Decimal | np.number | np.bool_):
        return float(cell)
    if not isinstance(cell, str):
        return None
    text = cell.strip().lower()
    return WORDS.get(text, decimal_number(text))


def is_blank(cell: object) -> bool:
    """Tell whether a cell holds nothing."""
    return cell in ("", *MISSING_WORDS) if isinstance(cell, str) else is_missing(cell)


class Coded(NamedTuple):
    """Cells as places among their different values."""

    codes: Ints
    values: list[Any]


@dataclass
class _Seen:
    """What was seen of a column of a table with a row for each label.

    differs : whether labels of a row have different values
    lowest : the smallest number so far; None once a cell was no number
    words : hashes of different values, up to `MOST_WORDS`
    first : hash of the value of the first label of each row
    """

    differs: bool = False
    lowest: float | None = np.inf
    words: set[int] = field(default_factory=set)
    first: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def are_numbers(self) -> bool:
        return self.lowest is not None and self.lowest < np.inf

    def add(self, cells: Sequence[Any] | Coded, of_row: Ints, first_entries: Ints, n_rows: int) -> None:
        """Add the cells of entries of rows ``of_row``; ``first_entries`` begin new rows."""
        if self.lowest is not None:
            self._look_for_numbers(cells.values if isinstance(cells, Coded) else _distinct(cells))
        hashes = _hashes(cells.values)[cells.codes] if isinstance(cells, Coded) else _hashes(cells)
        if len(self.words) < MOST_WORDS:
            self.words.update(np.unique(hashes).tolist())
        if not self.differs:
            self.first = np.append(self.first, np.zeros(n_rows - self.first.size, np.int64))
            self.first[of_row[first_entries]] = hashes[first_entries]
            self.differs = bool((self.first[of_row] != hashes).any())

    def _look_for_numbers(self, cells: Iterable[Any]) -> None:
        numbers = [judgement_of(cell) for cell in cells if not is_blank(cell)]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or self.lowest is None:
            self.lowest = None
        else:
            self.lowest = min([self.lowest, *known])


def _hashes(cells: Sequence[Any]) -> Ints:
    return np.fromiter((hash(str(cell)) for cell in cells), np.int64, len(cells))


def _distinct(cells: Sequence[Any]) -> Iterable[Any]:
    try:
        return {*cells}
    except TypeError:  # lists and dicts
        return cells


class EntryColumns(Generic[Column]):
    """The further columns of a table with a row for each label, of which those that decide are found.

    A column decides if its values differ among the labels of a row. Where nearly all rows have one label, so
    that none can differ, it may decide if it has few values, or numbers.
    """

    def __init__(
        self, columns: TableColumns[Column], kind: str, names: Iterable[Column] | None = None
    ) -> None:
        self._is_scores = kind == "scores"
        self._has_value = columns.value is not None
        self._columns = {name: _Seen() for name in (columns.unused if names is None else names)}
        self._number = dict[Hashable, int]()  # of rows by key
        self._n_labels = np.zeros(0, np.int64)  # of each row

    @property
    def undecided(self) -> list[Column]:
        """Names of the columns of which more must be seen."""
        return [name for name, column in self._columns.items() if not self._is_decided(column)]

    def _is_decided(self, column: _Seen) -> bool:
        return column.differs and (column.lowest is None or not self._may_judge)

    @property
    def _may_judge(self) -> bool:
        return not self._is_scores and not self._has_value

    def add(self, keys: Sequence[Hashable], cells: Mapping[Column, Sequence[Any] | Coded]) -> None:
        """Add labels of rows with these keys, and the cells of columns beside them."""
        undecided = self.undecided
        if not undecided or not len(keys):
            return
        n_before = len(self._number)
        numbers = (self._number.setdefault(key, len(self._number)) for key in keys)
        of_row = np.fromiter(numbers, np.int64, len(keys))
        n_rows = len(self._number)
        rows, first_places = np.unique(of_row, return_index=True)
        first_entries = first_places[rows >= n_before]
        self._n_labels = np.append(self._n_labels, np.zeros(n_rows - n_before, np.int64))
        self._n_labels += np.bincount(of_row, minlength=n_rows)
        for name in undecided:
            self._columns[name].add(cells[name], of_row, first_entries, n_rows)
        self._refuse_models(undecided)

    def _refuse_models(self, names: Iterable[Column]) -> None:
        if not self._is_scores:
            return
        for name in named_as(names, MODELS):
            if self._columns[name].differs:
                text = f"column {shown(name)} has several values among the labels of one row"
                raise DecidingColumnError(f"{text}, which one list would join; give the rows of one of them")

    def _may_decide(self, column: _Seen) -> bool:
        """Tell whether a column decides, also where rows have one label each."""
        n_entries = int(self._n_labels.sum())
        n_in_lists = int(self._n_labels[self._n_labels > 1].sum())
        if column.differs or 2 * n_in_lists >= n_entries:
            return column.differs
        if column.are_numbers and self._may_judge:
            return len(column.words) > 1 or (column.lowest or 0) <= 0
        return 1 < len(column.words) <= min(FEW_WORDS, n_entries - 1)

    def notes(self) -> list[str]:
        """Return a note on the columns that decide and are left out, or refuse those that may judge."""
        deciding = [name for name, column in self._columns.items() if self._may_decide(column)]
        for name in deciding if self._may_judge else ():
            has_other_use = is_written_index(name) or named_as([name], NO_JUDGEMENT)
            if self._columns[name].are_numbers and not has_other_use:
                raise DecidingColumnError(f"column {shown(name)} may hold judgements of the labels", name)
        return left_out_notes(deciding)


def left_out_notes(names: Sequence[object]) -> list[str]:
    """Return a note on columns that are left out though they differ among the labels of a row."""
    if not names:
        return []
    named = ", ".join(map(shown, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    noun = "column" if len(names) == 1 else "columns"
    return [f"{noun} left out: {named}{more}, not the same for all labels of a row"]


class ListColumns(Generic[Column]):
    """The further columns of a table with lists of labels, of which those with as many values are found.

    Lists that another column of lists has, too, may belong to that one: a note says so, no refusal.
    """

    def __init__(
        self, columns: TableColumns[Column], kind: str, names: Iterable[Column] | None = None
    ) -> None:
        self._columns = columns
        self._is_scores = kind == "scores"
        self._are_numbers = dict.fromkeys(columns.unused if names is None else names, True)
        self._is_long = dict.fromkeys(self._are_numbers, False)  # whether it has lists, not values alone
        self._others: dict[Column, bool] = dict.fromkeys(self._lists_of_others(), True)

    def _lists_of_others(self) -> list[Column]:
        """Return columns of labels for the other argument, which one table may hold."""
        return named_as(self._columns.unused, (*TRUE, "label") if self._is_scores else PRED)

    @property
    def undecided(self) -> list[Column]:
        """Names of the columns that have had as many values as labels so far."""
        return [*self._are_numbers]

    def add(self, n_labels: int, cells: Mapping[Column, Sequence[Any] | None]) -> None:
        """Add a row of so many labels; cells are lists, None of no lists, tuples of text that was cut."""
        for name, cell in cells.items():
            if name not in self._are_numbers:
                continue
            is_missing = cell is None and not n_labels
            if not is_missing and (cell is None or len(cell) != n_labels):
                del self._are_numbers[name]
                self._others.pop(name, None)
            elif cell:
                self._is_long[name] |= len(cell) > 1 or not isinstance(cell, tuple)
                filled = [item for item in cell if not is_blank(item)]
                self._are_numbers[name] &= all(judgement_of(item) is not None for item in filled)

    def notes(self) -> list[str]:
        """Return a note on lists that are left out, or refuse those that may be scores or judgements."""
        others = self._others.keys() & self._are_numbers.keys()
        deciding = [
            name
            for name in self._are_numbers
            if self._is_long[name] and name not in others and not self._belongs_to_others(name)
        ]
        is_unclear = bool(others) or not all(self._are_numbers[name] for name in deciding)
        if self._columns.value is None and not is_unclear:
            self._refuse(name for name in deciding if not named_as([name], (*RANKS, *OTHER_NUMBERS)))
        return left_out_notes(deciding)

    def _refuse(self, names: Iterable[Column]) -> None:
        """Refuse a column of numbers that may be the scores or judgements of the labels."""
        noun = "their scores" if self._is_scores else "judgements of them"
        for name in names:
            text = f"column {shown(name)} holds a number for each label, which may be {noun}"
            raise DecidingColumnError(text, name)

    def _belongs_to_others(self, name: Column) -> bool:
        """Tell whether a column is called like one of the other argument, which the table has, too."""
        usual = JUDGEMENT if self._is_scores else (*SCORE_COLUMNS, *SECOND_SCORE_COLUMNS)
        return bool(self._lists_of_others() and named_as([name], usual))
