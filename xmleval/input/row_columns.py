"""Columns of the truth's table that have a value for each row: groups, clusters and weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENOENT
from typing import Any, NamedTuple

from xmleval.base.budget import memory_limit
from xmleval.base.errors import InputError, shown, shown_names
from xmleval.files.remote import RemotePath, as_path, is_there
from xmleval.input.rows import is_missing

VALUE_BYTES = 16  # memory for a value that other rows share, and its place
KEY_BYTES = 200  # memory for a key with its place
CHECKED_ROWS = 1 << 14  # rows between two checks of the memory limit


class ColumnValueError(ValueError):
    """A missing value, or two values of one row; readers add where the column is."""


class TruthColumn(NamedTuple):
    """The name of a column of the truth's files, from which values of rows are read."""

    name: str


@dataclass
class RowColumn:
    """The values of a column, one for each row.

    values : in the order in which rows occur first
    place_of : place among the values by key of the row; empty for a table with a row for each
        instance, whose values are in order
    """

    name: Hashable
    values: list[Any] = field(default_factory=list)
    place_of: dict[Any, int] = field(default_factory=dict)
    _distinct: dict[Any, Any] = field(default_factory=dict)

    def add(self, key: Hashable, cell: Any, unit: str, number: int) -> None:
        """Add the value of a row, whose key is None if each row of the table is an instance.

        ``unit`` and ``number`` are its place in the table, for messages.

        Raises
        ------
        ColumnValueError
            If it is missing, is a list, or is not the value that the row has already.
        """
        if key in self.place_of:
            first = self.values[self.place_of[key]]
            if first != cell:
                text = f"has {shown(cell)} for {shown(key)}, but {shown(first)} before"
                raise ColumnValueError(
                    f"{unit} {number}: column {shown(self.name)} {text}; expected one value for it"
                )
            return
        if key is not None:
            self.place_of[key] = len(self.values)
        self.values.append(self._checked(cell, f"{unit} {number}"))
        if len(self.values) % CHECKED_ROWS == 0:
            memory_limit().check(self.n_bytes)

    def _checked(self, cell: Any, place: str) -> Any:
        """Return a value, the same object for equal ones, or refuse a missing one."""
        if cell == "" or is_missing(cell):
            text = f"column {shown(self.name)} has no value; give each row one"
            raise ColumnValueError(f"{place}: {text}")
        if not isinstance(cell, Hashable):
            text = f"column {shown(self.name)} has {shown(cell)}; expected a text or a number"
            raise ColumnValueError(f"{place}: {text}")
        return self._distinct.setdefault((type(cell), cell), cell)

    @property
    def n_bytes(self) -> int:
        """Memory of the values and the keys."""
        return VALUE_BYTES * len(self.values) + KEY_BYTES * len(self.place_of)

    def sorted_by(self, names: Sequence[Any] | None) -> list[Any]:
        """Return the values in the order of the rows, which have these names or are numbered."""
        if not self.place_of:
            return self.values
        keys = names
        if names is None:
            keys = range(max(self.place_of) + 1)
        elif names and names[0] not in self.place_of:
            by_text = {str(key): place for key, place in self.place_of.items()}
            return self._in_order(names, by_text)
        return self._in_order(keys or (), self.place_of)

    def _in_order(self, keys: Sequence[Any], place_of: dict[Any, int]) -> list[Any]:
        """Return the values of rows by key, or refuse a row without one."""
        missing = next((key for key in keys if key not in place_of), None)
        if missing is not None:
            text = f"column {shown(self.name)} has no value for row {shown(missing)}"
            raise ColumnValueError(f"{text}; give each row one")
        return [self.values[place_of[key]] for key in keys]


def refuse_other_texts(texts: Mapping[str, str]) -> None:
    """Refuse texts for values of rows of a truth without columns that are no files, by argument."""
    for argument, text in texts.items():
        path = as_path(text)
        if isinstance(path, RemotePath) or is_there(path):
            continue
        if text != path.name or path.suffix:
            expected = f"{argument} takes a list or an array with a value for each row, or a file"
            raise FileNotFoundError(ENOENT, f"No such file or directory; {expected}", text)
        reason = f"{shown(text)} is not a file, and y_true has no columns; give a list or an array"
        raise InputError(argument, f"{reason} with a value for each row, or a file of them")


def is_column(argument: str, value: object, columns: Sequence[Hashable]) -> bool:
    """Return whether a text is the name of one of the columns of the truth, and not of a file.

    A text that is the name of both, or of neither, is refused.
    """
    if not isinstance(value, str) or not value:
        return False
    path = as_path(value)
    if isinstance(path, RemotePath):
        return False
    if value not in columns:
        if not is_there(path):
            listed = shown_names(map(shown, columns))
            text = f"{shown(value)} is neither a file nor a column of y_true, which has {listed}"
            raise InputError(argument, text)
        return False
    if is_there(path) and not path.is_dir():
        text = f"{shown(value)} is a column of y_true and a file; give {shown(f'./{value}')} for "
        raise InputError(argument, f"{text}the file, or rename the file for the column")
    return True
