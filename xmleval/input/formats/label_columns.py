"""Tables with a column for each label: zeros and ones of a truth, or scores."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import memory_limit
from xmleval.base.errors import Keyword, Message, ScanField, counted, first_repeated, shown
from xmleval.input.cell_marks import split_kind
from xmleval.input.columns import (
    INSTANCE,
    ColumnsError,
    find_instance,
    hashed,
    is_written_index,
    named_as,
    refuse_users_and_items,
)
from xmleval.input.formats.field_names import label_field, without_values_of_rows
from xmleval.input.formats.format import Fields
from xmleval.input.further_columns import is_blank
from xmleval.input.id_columns import begins_with_ids, may_name_rows, note_on_ids
from xmleval.input.marked_cells import has_mark
from xmleval.input.rows import BATCH_BYTES, BY_KEY, Origin, Rows, array_rows
from xmleval.input.sets import hints_of_value

EXPECTED = "a table with a column for each label, and a row for each instance"
CELL_BYTES = 32  # of memory for a cell until it is matched
REPEATED = "; give each instance one row; a row per label needs a column 'label' or 'doc_id'"
PICKS_LABELS = (
    "choose the columns of labels with ",
    Keyword("labels"),
    ", and the column of row ids with ",
    ScanField("instance_field"),
)
IsNumber = Callable[[str], bool | None]
Sample = Callable[[], Iterable[Sequence[object]]]


class LabelColumns(NamedTuple):
    """Roles of the columns of a table with a column for each label.

    instance : column that names the rows, None if there is none
    labels : columns of labels
    joining : further columns, which may show that rows are in another order
    notes : what was decided by the names and contents of columns
    has_found_ids : whether contents decided which column names the rows
    """

    instance: str | None
    labels: list[str]
    joining: list[str]
    notes: list[str]
    has_found_ids: bool = False

    @property
    def read(self) -> list[str]:
        """Columns to read."""
        instance = [] if self.instance is None else [self.instance]
        return [*instance, *self.labels, *self.joining]


def choose_label_columns(
    names: Sequence[str],
    kind: str,
    fields: Fields,
    is_number: IsNumber,
    sample: Sample,
    index: Sequence[str] = (),
) -> LabelColumns | None:
    """Return the roles of columns that are labels; None if most columns have no numbers.

    ``is_number`` returns whether a column holds numbers, None if its first cell is blank;
    ``sample`` returns the cells of the first rows, in the order of all columns; ``index`` are the
    columns that pandas wrote as the index of a frame.
    """
    if fields.labels is None:
        refuse_users_and_items(names, lambda user, item: _how_to_read(kind, user, item))
    if fields.name_labels:
        return None
    _refuse_same_names(names)
    all_names = names
    names = without_values_of_rows(names, fields)
    instance = _find_instance(names, fields, is_number, index)
    has_found_ids = False
    if instance is None and not index and not any(map(is_written_index, names)):
        instance = _find_integer_ids(names, all_names, fields, sample)
        has_found_ids = instance is not None
    labels, left_out = _split_columns(names, fields, instance, index)
    n_numbers = sum(is_number(name) is True for name in labels)
    if not n_numbers or (fields.labels is None and 2 * n_numbers < len(labels)):
        return None
    _refuse_absent(fields.labels, labels)
    _refuse_texts(labels, is_number, kind)
    notes = [f"{counted(len(labels), 'columns')} read as labels"]
    if has_found_ids:
        notes.append(note_on_ids(instance))
    elif instance is not None and fields.id is None:
        notes.append(f"ids in {shown(instance)}")
    for name in left_out:
        notes.append(f"column {shown(name)} is ignored, as it is an index that pandas wrote")
    joining = list[str]()
    if instance is None:
        joining = [name for name in names if name not in (*labels, *left_out)]
    return LabelColumns(instance, labels, joining, notes, has_found_ids)


def are_named_labels(names: Sequence[str], fields: Fields) -> bool:
    """Return whether all labels are given, and each is a column of a table."""
    if fields.labels is None or fields.name_labels:
        return False
    return len(fields.labels) > 1 and {*fields.labels} <= {*names}


def _split_columns(
    names: Sequence[str], fields: Fields, instance: str | None, index: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns of labels, and the columns skipped as an index that pandas wrote."""
    if fields.labels is not None:
        picked = {*fields.labels}
        return [name for name in names if name in picked], []
    labels = list[str]()
    left_out = list[str]()
    for name in names:
        if name != instance:
            is_index = is_written_index(name) or name in index
            (left_out if is_index else labels).append(name)
    return labels, left_out


def _refuse_same_names(names: Sequence[str]) -> None:
    if len({*names}) < len(names):
        twice = first_repeated(names)
        raise ColumnsError(f"several columns are called {shown(twice)}")


def _find_instance(
    names: Sequence[str], fields: Fields, is_number: IsNumber, index: Sequence[str]
) -> str | None:
    """Return the column that names the rows: by its name, an index, or texts in the first one."""
    if fields.id is not None:
        return fields.id
    candidates = [name for name in names if name not in (fields.labels or ())]
    instance = find_instance(named_as(candidates, INSTANCE))
    if instance is not None or not candidates:
        return instance
    if len(index) == 1:
        return index[0]
    first = candidates[0]
    if first == names[0] and (is_written_index(first) or is_number(first) is False):
        return first
    return None


def _find_integer_ids(
    names: Sequence[str], all_names: Sequence[str], fields: Fields, sample: Sample
) -> str | None:
    """Return the first column if its integers can only be ids of rows, None if they are labels."""
    first = all_names[0]
    if first not in names or first in (fields.labels or ()) or not may_name_rows(first):
        return None
    labels = names
    if fields.labels is not None:
        labels = [name for name in names if name in fields.labels]
    places = [all_names.index(name) for name in labels if name != first]
    rows = ([cells[0], *(cells[place] for place in places)] for cells in sample())
    return first if begins_with_ids(rows) else None


def _refuse_absent(picked: Sequence[str] | None, labels: Sequence[str]) -> None:
    """Refuse a label without a column, where all labels are given."""
    present = {*labels}
    for name in picked or ():
        if name not in present:
            raise ColumnsError(f"no column for label {shown(name)}")


def _refuse_texts(labels: Iterable[str], is_number: IsNumber, kind: str) -> None:
    """Refuse a column of labels without numbers."""
    for name in labels:
        if is_number(name) is False:
            text = f"column {shown(name)} has no numbers; if it has a label in each line, give "
            raise ColumnsError(Message(text, label_field(kind, name), ", else ", *PICKS_LABELS))


def _how_to_read(kind: str, user: str, item: str) -> Message:
    """Return the options that read columns of users and items."""
    options = ScanField("instance_field", user), ", ", label_field(kind, item)
    return Message("read them with ", *options, " and ", ScanField("score_field"))


@dataclass
class LabelColumnsReader:
    """Reads the rows of tables with a column for each label.

    names : all columns of the first table
    kind : "truth" or "grades", which may have a mark (`split_kind`), or "scores"
    facts : origin of all rows
    """

    names: Sequence[str]
    columns: LabelColumns
    kind: str
    facts: Origin

    def __post_init__(self) -> None:
        """Add the decisions about the columns to the notes."""
        self._fields = {*self.names}
        self.facts.notes += self.columns.notes
        self.facts.how_to_repeat = REPEATED
        self.facts.id_column = self.columns.instance
        if self.columns.has_found_ids:
            self.facts.found_ids = self.columns.instance
        self.facts.columns |= {name: array("q") for name in self.columns.joining}

    def read(
        self,
        records: Iterable[tuple[int, Mapping[str, Any]]],
        origin: Origin,
        key_of: Callable[[object], str],
        number_of: Callable[[object], float | None],
    ) -> Iterator[Rows]:
        """Yield the rows of records by name, each with its line.

        ``key_of`` returns the name of a row, ``number_of`` the number in a cell, if any.
        """
        most_rows = max(1, BATCH_BYTES // (CELL_BYTES * (1 + len(self.columns.labels))))
        keys = list[str]()
        cells = list[list[float]]()
        lines = list[int]()
        for line, record in records:
            try:
                row = self._read_cells(record, number_of)
                if self.columns.instance is not None:
                    keys.append(key_of(record[self.columns.instance]))
            except ValueError as error:
                if cells:  # an earlier wrong value is refused first
                    self._refuse_cells(np.array(cells), lines, origin.unit)
                raise ValueError(Message(f"line {line}: ", *error.args[:1])) from None
            cells.append(row)
            lines.append(line)
            if len(lines) == most_rows:
                yield self._rows_of_lists(keys, cells, lines, origin)
                keys = []
                cells = []
                lines = []
        if lines:
            yield self._rows_of_lists(keys, cells, lines, origin)

    def _rows_of_lists(
        self, keys: list[str], cells: list[list[float]], lines: list[int], origin: Origin
    ) -> Rows:
        """Return the rows of lists of cells."""
        named = keys if self.columns.instance is not None else None
        return self.rows(np.array(cells), named, np.array(lines, np.int64), origin)

    def _read_cells(
        self, record: Mapping[str, Any], number_of: Callable[[object], float | None]
    ) -> list[float]:
        """Return the numbers in the cells of a record, NaN for blank ones."""
        if record.keys() != self._fields:
            self._refuse_other_fields(record)
        numbers = list[float]()
        for name in self.columns.labels:
            cell = record[name]
            number = np.nan if is_blank(cell) else number_of(cell)
            if number is None:
                text = f"column {shown(name)} has {shown(cell)}, not a number; "
                raise ValueError(Message(text, *PICKS_LABELS))
            numbers.append(number)
        for name in self.columns.joining:
            self.facts.columns[name] += hashed([record[name]])
        memory_limit().check(8 * sum(map(len, self.facts.columns.values())))
        return numbers

    def _refuse_other_fields(self, record: Mapping[str, Any]) -> None:
        """Refuse a record that lacks a field of the first one, or has another field."""
        for name in self.names:
            if name not in record:
                hint = 'write labels with scores in a field, {"labels": {...}}'
                raise ValueError(f"no field {shown(name)}, as in the first line; {hint}")
        name = next(name for name in record if name not in self._fields)
        raise ValueError(f"field {shown(name)} is not in the first line; write it there, too")

    def rows(self, cells: Floats, keys: Sequence[str] | None, places: Ints, origin: Origin) -> Rows:
        """Return the rows of cells, (n, n_labels), of a truth without zeros; refuse a wrong one."""
        self._refuse_cells(cells, places, origin.unit)
        is_truth = self.kind == "truth"
        rows = array_rows(cells).part(0, len(cells), zeros=not is_truth)
        return rows._replace(
            keys=keys,
            match=None if keys is None else BY_KEY,
            labels=rows.labels.astype(np.int64),
            names=self.columns.labels,
            values=None if is_truth else rows.values,
            places=places,
            origin=origin,
            are_columns=False,
        )

    def _refuse_cells(self, cells: Floats, places: Sequence[int] | Ints, unit: str) -> None:
        """Refuse the first cell that no truth, grades or scores can have."""
        kind, mark = split_kind(self.kind)
        is_bad = np.isnan(cells)
        if kind == "truth":
            is_bad = (cells != 0) & (cells != 1)
        if mark is not None:
            is_bad &= ~has_mark(cells, mark)
        if not is_bad.any():
            return
        row, column = divmod(int(is_bad.argmax()), cells.shape[1])
        value = float(cells[row, column])
        if kind != "scores" and np.isnan(value):
            reason = Message(
                "the cell is empty; give 0 if the label is not relevant; ",
                "if nobody judged it, evaluate with ",
                Keyword("unjudged", '"nan"'),
            )
        elif kind == "truth":
            hints = hints_of_value(value, True, len(self.columns.labels))
            problem = f"value {value:.15g} is neither 0 nor 1 in a label set"
            reason = Message(problem, *hints, *self._hint_of_ids(column, value))
        else:
            reason = Message("score nan is not a number; scores must be ordered")
        place = f"{unit} {places[row]}: column {shown(self.columns.labels[column])}: "
        raise ValueError(Message(place, reason))

    def _hint_of_ids(self, column: int, value: float) -> list[object]:
        """Return advice on an integer in the first column of a table without ids."""
        name = self.columns.labels[column]
        if self.columns.instance is not None or name != self.names[0] or value != value // 1:
            return []
        return ["; if it has ids, give ", ScanField("instance_field", name)]
