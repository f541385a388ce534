"""Unread columns of a table that distinguish the labels of a row: judgements, scores, models."""

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
    is_named_as_ids,
    is_written_index,
    named_as,
)
from xmleval.input.rows import MISSING_WORDS, is_missing

MODELS = (
    "model",
    "model_name",
    "model_id",
    "system",
    "run",
    "run_id",
    "run_name",
    "split",
    "fold",
    "seed",
)
RANKS = ("rank", "ranks", "ranking", "position", "positions")
PLACES = (*RANKS, "line", "lines", "idx")  # of candidates, where no column has labels
OTHER_NUMBERS = ("label_id", "label_ids", "label_idx", "label_index", "timestamp", "timestamps")
NO_JUDGEMENT = (*INSTANCE, *DOCUMENT, *SCORE_COLUMNS, *NO_VALUE, *MODELS, *OTHER_NUMBERS)
WORDS = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}
FEW_WORDS = 9  # values of a column of grades in words
MOST_WORDS = 1024  # distinct values that are counted
MOST_NAMED = 9  # columns in a note
MOST_PAIRS = 1 << 20  # of a row and a value, in which a column may repeat one
ODD = np.int64(0x9E3779B97F4A7C1)  # mixes the number of a row into the hash of a value


def notes_on_ranks(columns: TableColumns[Column], kind: str) -> list[Message]:
    """Return a note if scores are read from a column that is named like ranks."""
    if kind != "scores" or not named_as([columns.value], RANKS):
        return []
    text = f"{shown(columns.value)} is read as scores, highest first; if lower is better, give "
    return [Message(text, Keyword("higher_is_better", "False"))]


def judgement_of(cell: object) -> float | None:
    """Return the number in a cell: a number, its text, or a word for true or false; else None."""
    if isinstance(cell, bool | int | float | Decimal | np.number | np.bool_):
        return float(cell)
    if not isinstance(cell, str):
        return None
    text = cell.strip().lower()
    return WORDS.get(text, decimal_number(text))


def is_blank(cell: object) -> bool:
    """Tell whether a cell is empty or a missing value."""
    if isinstance(cell, str):
        return cell in ("", *MISSING_WORDS)
    return is_missing(cell)


class Coded(NamedTuple):
    """Cells as places among their distinct values."""

    codes: Ints
    values: list[Any]


@dataclass
class _ColumnSummary:
    """Summary of a column of a table with a row for each label.

    differs : whether labels of a row have different values
    lowest : smallest number so far; None after a cell that is not a number
    words : hashes of distinct values, about `MOST_WORDS` at most
    first : hash of the value of the first label, by row
    """

    differs: bool = False
    lowest: float | None = np.inf
    words: set[int] = field(default_factory=set)
    first: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def are_numbers(self) -> bool:
        """Whether all cells so far are numbers or blank, and any is a number."""
        return self.lowest is not None and self.lowest < np.inf

    def add(
        self, cells: Sequence[Any] | Coded, rows: Ints, first_entries: Ints, n_rows: int
    ) -> None:
        """Add cells and their row numbers; ``first_entries`` are the first ones of new rows."""
        if self.lowest is not None:
            self.lowest = self._lowest_with(cells)
        hashes = _hashes(cells)
        if len(self.words) < MOST_WORDS:
            self.words.update(np.unique(hashes).tolist())
        if not self.differs:
            self.first = np.append(self.first, np.zeros(n_rows - self.first.size, np.int64))
            self.first[rows[first_entries]] = hashes[first_entries]
            self.differs = bool((self.first[rows] != hashes).any())

    def _lowest_with(self, cells: Sequence[Any] | Coded) -> float | None:
        """Return the smallest number, also among more cells; None if any is not a number."""
        numbers = [judgement_of(cell) for cell in _distinct(cells) if not is_blank(cell)]
        known = [number for number in numbers if number is not None]
        if self.lowest is None or len(known) < len(numbers):
            return None
        return min([self.lowest, *known])


def _hashes(cells: Sequence[Any] | Coded) -> Ints:
    """Return hashes of the texts of cells."""
    if isinstance(cells, Coded):
        return _hashes(cells.values)[cells.codes]
    return np.fromiter((hash(str(cell)) for cell in cells), np.int64, len(cells))


def _distinct(cells: Sequence[Any] | Coded) -> Iterable[Any]:
    """Return the distinct cells, or all cells if these are lists or dicts."""
    if isinstance(cells, Coded):
        return cells.values
    try:
        return {*cells}
    except TypeError:
        return cells


@dataclass
class _CandidateSummary:
    """Checks whether an unread column may have the labels, where no other one has them.

    are_whole : whether all numbers so far are whole
    are_distinct : whether no row has a value twice, among the first `MOST_PAIRS`
    are_places : whether values are 0, 1, ... or 1, 2, ..., the numbers of lines
    digest : sum of hashes that depends on their order
    """

    are_whole: bool = True
    are_distinct: bool = True
    are_places: bool = True
    digest: int = 0
    _first: int | None = None
    _n_cells: int = 0
    _pairs: set[int] = field(default_factory=set)

    @property
    def may_be_labels(self) -> bool:
        """Whether integers distinguish the labels within rows, and are not numbers of lines."""
        return self.are_whole and self.are_distinct and not self.are_places

    def add(self, cells: Sequence[Any] | Coded, rows: Ints) -> None:
        """Add cells and their row numbers."""
        hashes = _hashes(cells)
        if not hashes.size:
            return
        if self.are_whole:
            numbers = (judgement_of(cell) for cell in _distinct(cells))
            self.are_whole = all(number is None or number % 1 == 0 for number in numbers)
        if self.are_places:
            self.are_places = self._go_on(hashes)
        if self.are_distinct and len(self._pairs) < MOST_PAIRS:
            self.are_distinct = self._differ(hashes + rows * ODD)
        places = np.arange(self._n_cells, self._n_cells + hashes.size)
        self.digest = (self.digest + int((hashes * (2 * places + 1)).sum())) % (1 << 64)
        self._n_cells += hashes.size

    def _go_on(self, hashes: Ints) -> bool:
        """Return whether cells are the numbers of the next lines."""
        if self._first is None:
            self._first = next((n for n in (0, 1) if hash(str(n)) == hashes[0]), None)
            if self._first is None:
                return False
        start = self._first + self._n_cells
        expected = [hash(str(number)) for number in range(start, start + hashes.size)]
        return bool((hashes == expected).all())

    def _differ(self, pairs: Ints) -> bool:
        """Return whether pairs of a row and a value differ from each other and earlier ones."""
        distinct = {*pairs.tolist()}
        if len(distinct) < pairs.size or not distinct.isdisjoint(self._pairs):
            self._pairs = set()
            return False
        self._pairs |= distinct
        return True


class EntryColumns(Generic[Column]):
    """Finds the deciding columns among the unread columns of a table with a row for each label.

    A column decides if its values differ among the labels of a row. If nearly all rows have one
    label, so that no values can differ, it may decide if it has few values, or numbers.
    """

    def __init__(
        self, columns: TableColumns[Column], kind: str, names: Iterable[Column] | None = None
    ) -> None:
        self._is_scores = kind == "scores"
        # unread numbers may be judgements of relevant labels
        self._may_judge = not self._is_scores and columns.value is None
        self._may_name = columns.is_guess
        if names is None:
            names = columns.unused
        self._columns = {name: _ColumnSummary() for name in names}
        self._candidates = dict[Column, _CandidateSummary]()
        if self._may_name:
            self._candidates = {name: _CandidateSummary() for name in self._columns}
        self._number = dict[Hashable, int]()  # of rows by key
        self._n_labels = np.zeros(0, np.int64)  # by row

    @property
    def undecided(self) -> list[Column]:
        """Names of the columns whose further cells may matter."""
        return [name for name, column in self._columns.items() if not self._is_decided(column)]

    def _is_decided(self, column: _ColumnSummary) -> bool:
        """Tell whether no further cell of a column can matter."""
        if self._may_name:
            return False
        return column.differs and (column.lowest is None or not self._may_judge)

    def add(self, keys: Sequence[Hashable], cells: Mapping[Column, Sequence[Any] | Coded]) -> None:
        """Add the row keys of some labels, and the cells of their columns."""
        undecided = self.undecided
        if not undecided or not len(keys):
            return
        n_before = len(self._number)
        numbers = (self._number.setdefault(key, len(self._number)) for key in keys)
        rows = np.fromiter(numbers, np.int64, len(keys))
        n_rows = len(self._number)
        distinct_rows, first_places = np.unique(rows, return_index=True)
        first_entries = first_places[distinct_rows >= n_before]
        self._n_labels = np.append(self._n_labels, np.zeros(n_rows - n_before, np.int64))
        self._n_labels += np.bincount(rows, minlength=n_rows)
        for name in undecided:
            self._columns[name].add(cells[name], rows, first_entries, n_rows)
        for name, candidates in self._candidates.items():
            candidates.add(cells[name], rows)
        if self._is_scores:
            self._refuse_models(undecided)

    def _refuse_models(self, names: Iterable[Column]) -> None:
        """Refuse scores of several models, which one list would join."""
        for name in named_as(names, MODELS):
            if self._columns[name].differs:
                text = f"column {shown(name)} has several values for the labels of one row"
                raise DecidingColumnError(f"{text}; give the rows of one value")

    def _may_decide(self, column: _ColumnSummary) -> bool:
        """Tell whether a column decides, or may decide if rows have one label each."""
        n_entries = int(self._n_labels.sum())
        n_in_lists = int(self._n_labels[self._n_labels > 1].sum())
        if column.differs or 2 * n_in_lists >= n_entries:
            return column.differs
        if column.are_numbers and self._may_judge:
            return len(column.words) > 1 or (column.lowest or 0) <= 0
        return 1 < len(column.words) <= min(FEW_WORDS, n_entries - 1)

    def notes(self) -> list[str]:
        """Return a note on ignored columns that decide; refuse columns that may be judgements."""
        deciding = [name for name, column in self._columns.items() if self._may_decide(column)]
        if self._may_judge:
            self._refuse_judgements(deciding)
        if self._may_name:
            self._refuse_names(deciding)
        return left_out_notes(deciding)

    @property
    def digests(self) -> dict[Column, int]:
        """Digests of unread columns that differ among the labels of a row, if these have no names.

        Such a column of the same name in both inputs must have the same cells in the same order.
        """
        return {
            name: candidates.digest
            for name, candidates in self._candidates.items()
            if self._columns[name].differs
        }

    def _refuse_names(self, names: Iterable[Column]) -> None:
        """Refuse a column of texts or of ids that may be the labels, where no other has them."""
        hint = "if so, call it 'label' or 'doc_id'"
        for name in names:
            are_named = not self._columns[name].are_numbers or is_named_as_ids(name)
            if are_named or self._candidates[name].may_be_labels:
                text = f"column {shown(name)} may have the labels: {hint}"
                raise DecidingColumnError(text, labels=name)
        for name in named_as(self._columns, PLACES):
            text = f"column {shown(name)} may be the order of the labels, which have no names"
            raise DecidingColumnError(f"{text}; give both a column 'label', or leave it out")

    def _refuse_judgements(self, names: Iterable[Column]) -> None:
        """Refuse a column of numbers that may be judgements of the labels."""
        for name in names:
            has_other_use = is_written_index(name) or named_as([name], NO_JUDGEMENT)
            if self._columns[name].are_numbers and not has_other_use:
                raise DecidingColumnError(
                    f"column {shown(name)} may contain judgements of the labels", name
                )


def left_out_notes(names: Sequence[object]) -> list[str]:
    """Return a note on ignored columns that differ among the labels of a row."""
    if not names:
        return []
    listed = ", ".join(map(shown, names[:MOST_NAMED]))
    if len(names) > MOST_NAMED:
        listed += f" and {len(names) - MOST_NAMED} more"
    noun = "column" if len(names) == 1 else "columns"
    return [f"{noun} left out: {listed}, as values differ within a row"]


class ListColumns(Generic[Column]):
    """Finds columns with one value per label among the unread columns of a table with label lists.

    If the table has another column of label lists with as many values, they may belong to those
    labels; they are then noted and not refused.
    """

    def __init__(
        self, columns: TableColumns[Column], kind: str, names: Iterable[Column] | None = None
    ) -> None:
        self._columns = columns
        self._is_scores = kind == "scores"
        # whether all values are numbers, by column with as many values as labels
        self._are_numbers = dict.fromkeys(columns.unused if names is None else names, True)
        # whether a column has lists, not only single values
        self._is_long = dict.fromkeys(self._are_numbers, False)
        # labels of the other argument, which may be in the same table
        other_names = (*TRUE, "label") if self._is_scores else PRED
        self._other_labels = named_as(columns.unused, other_names)

    @property
    def undecided(self) -> list[Column]:
        """Names of the columns with as many values as labels in all rows so far."""
        return [*self._are_numbers]

    def add(self, n_labels: int, cells: Mapping[Column, Sequence[Any] | None]) -> None:
        """Add a row with ``n_labels`` labels.

        cells : a list, a tuple of the parts of a text, or None if the cell is not a list, by column
        """
        for name, cell in cells.items():
            if name not in self._are_numbers:
                continue
            n_values = 0 if cell is None else len(cell)
            if n_values != n_labels:
                del self._are_numbers[name]
            elif cell:
                self._is_long[name] |= len(cell) > 1 or not isinstance(cell, tuple)
                filled = [item for item in cell if not is_blank(item)]
                self._are_numbers[name] &= all(judgement_of(item) is not None for item in filled)

    def notes(self) -> list[str]:
        """Return a note on ignored lists; refuse lists that may be scores or judgements."""
        other_labels = {*self._other_labels} & self._are_numbers.keys()
        deciding = [
            name
            for name in self._are_numbers
            if self._is_long[name] and name not in other_labels and not self._is_of_other(name)
        ]
        is_unclear = bool(other_labels) or not all(self._are_numbers[name] for name in deciding)
        if self._columns.value is None and not is_unclear:
            self._refuse_values(deciding)
        return left_out_notes(deciding)

    def _refuse_values(self, names: Iterable[Column]) -> None:
        """Refuse a column of numbers that may be the scores or judgements of the labels."""
        noun = "scores" if self._is_scores else "judgements"
        for name in names:
            if not named_as([name], (*RANKS, *OTHER_NUMBERS)):
                text = f"column {shown(name)} has a number for each label, which may be {noun}"
                raise DecidingColumnError(text, name)

    def _is_of_other(self, name: Column) -> bool:
        """Tell whether a column is named like values of the other argument's labels."""
        usual: Sequence[str] = (*SCORE_COLUMNS, *SECOND_SCORE_COLUMNS)
        if self._is_scores:
            usual = JUDGEMENT
        return bool(self._other_labels and named_as([name], usual))
