"""Small text files of one or two columns, such as names, propensities, groups and hierarchies."""

from __future__ import annotations

import csv
import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints
from xmleval.base.budget import memory_limit
from xmleval.base.errors import ONE_BASED, shown
from xmleval.base.numerals import ID, decimal_number, id_number
from xmleval.files.archive import open_npy, read_arrays
from xmleval.files.input import InputFile
from xmleval.files.saved import parse_json
from xmleval.input.columns import is_written_index
from xmleval.input.formats.arrays import REAL, check_array
from xmleval.input.formats.format import naming
from xmleval.input.lines import ASCII_BLANKS, parsed_lines, read_at_once, split_words
from xmleval.input.rows import INDEX_BYTES

NAMES = "distinct names of labels, one per line or as a JSON list"
NUMBERS = "one {}, as an .npy vector or as text, one number per line"
GROUPS = "{} on each line, alone or after a label or row and a tab or comma"
OF_NUMBERS = ("weight", "threshold", "number")  # nouns of entries that have no names
EDGES = "a child and its parent on each line, with a tab, a comma or a blank between them"
PAIRS = "a row and a label on each line, with a blank or a tab between them, both counted from 0"
HEADS = ("label", "row", "id", "name")  # possible headers of the first column
EDGE_HEADS = ("child", "label", "id")
SEPARATORS = "\t,"  # between a row or label and its value
NUMBER_BYTES = 24  # memory for a number and its copies
# memory for a pair, before and after all are sorted
PAIR_BYTES = 100
KEPT_BYTES = 24
LINE_BYTES = 300  # memory for a line with a group or an edge


def text_columns(
    path: Path, line_bytes: int, separators: str = "", *, by_row: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield lines as number and cells.

    There are two cells if the first line has one of ``separators``, otherwise one. A single column
    is read by position and may have blank lines only at its end. ``line_bytes`` is the memory that
    the caller needs for a line, without its text. ``by_row`` is whether the first line may be the
    header that pandas writes, with an unnamed index.
    """
    columns = _Columns(separators, by_row, is_csv(path))
    n_lines = n_bytes = 0
    limit = memory_limit().left
    lines = parsed_lines(InputFile(path), columns.cells_of)
    for n_lines, (number, cells) in enumerate(lines, 1):
        n_bytes += line_bytes + sum(map(len, cells))
        if n_bytes > limit:
            memory_limit().check(n_bytes)
        if not columns.separator and number > n_lines:
            raise ValueError(f"line {n_lines} is blank; remove it")
        yield number, cells
    if n_lines == 0:
        raise ValueError("the file is empty")


def is_csv(path: Path) -> bool:
    """Return whether a file is named like a table, whose first line may be a header."""
    return path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


class _Columns:
    """Splits lines into two cells if the first line has one of ``separators``, otherwise one.

    separator : the separator in the first line, "" without one; None before that line
    """

    def __init__(self, separators: str, by_row: bool, is_table: bool) -> None:
        self.separator: str | None = None
        self._separators = separators
        self._by_row = by_row
        self._is_table = is_table
        self._has_index = False  # whether an unnamed index stands before the two columns

    def cells_of(self, line: str) -> list[str] | None:
        """Return the cells of a line, None for a blank line."""
        line = line.rstrip(ASCII_BLANKS) if self._by_row else line.strip(ASCII_BLANKS)
        if "\r" in line:
            expected = "save the file with lines that end in \\n"
            raise ValueError(f"it has a carriage return; {expected}")
        if not line:
            return None
        is_first = self.separator is None
        if is_first:
            self.separator = next(filter(partial(self._separates, line), self._separators), "")
        if not self.separator:
            line = line.strip(ASCII_BLANKS)
            return _one_cell(line) if self._by_row and self._is_table else [line]
        cells = _split_cells(line, self.separator)
        is_header = is_first and self._by_row and cells[0] == ""
        if is_header:
            self._has_index = len(cells) == 3
        if self._has_index:
            cells = cells[1:]
        if len(cells) != 2 or not (all(cells) or is_header):
            raise self._refusal(line, len(cells))
        return cells

    def _refusal(self, line: str, n_cells: int) -> ValueError:
        """Return the error of a line that is not two cells."""
        hint = ""
        if n_cells > 2 and self._by_row:
            hint = "; leave out all columns but these two"
        return ValueError(f"{shown(line)} is not two cells with text in both{hint}")

    def _separates(self, line: str, mark: str) -> bool:
        """Return whether a line has several cells with a separator between them."""
        if mark == " ":
            return True
        if self._by_row and self._is_table:  # it may be in quotes
            return len(_split_cells(line, mark)) > 1
        return mark in line


def _one_cell(line: str) -> list[str]:
    """Return the only cell of a line of CSV, which may be in quotes."""
    return next(csv.reader([line])) if line.startswith('"') else [line]


def _split_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line without blanks at their ends."""
    if separator == " ":
        return split_words(line)
    return [cell.strip(ASCII_BLANKS) for cell in next(csv.reader([line], delimiter=separator))]


def load_names(path: Path) -> list[str]:
    """Read the names of labels."""
    with naming(path, NAMES):
        names: Iterable[Any] = (name for _, (name,) in text_columns(path, INDEX_BYTES))
        if path.name.lower().removesuffix(".gz").endswith(".json"):
            names = parse_json(read_at_once(path).decode())
            if not isinstance(names, list):
                raise ValueError(f"a JSON {type(names).__name__}, not a list")
        place_of: dict[str, int] = {}
        for place, name in enumerate(names):
            if not isinstance(name, str) or not name:
                text = shown(json.dumps(name))
                raise ValueError(f"name {place} is {text}; expected a non-empty string")
            if place_of.setdefault(name, place) != place:
                text = shown(name)
                raise ValueError(f"name {text} occurs twice, the second time in place {place}")
        memory_limit().take(INDEX_BYTES * len(place_of) + sum(map(sys.getsizeof, place_of)))
    return [*place_of]


def load_numbers(
    path: Path, quantity: str = "inverse propensity per label", *, by_row: bool = False
) -> NDArray[Any]:
    """Read numbers, by default inverse propensities; those ``by_row`` may have a header in CSV."""
    expected = NUMBERS.format(quantity)
    numbers = array("d")
    with naming(path, expected):
        if path.name.lower().endswith(".npy"):
            vector = check_array(open_npy(InputFile(path)), REAL, 1)
            memory_limit().take(NUMBER_BYTES * vector.shape[0])
            (values,) = read_arrays([vector])
            return values
        for line, (text,) in text_columns(path, NUMBER_BYTES):
            value = decimal_number(text)
            if value is None and by_row and line == 1 and is_csv(path):
                continue  # a header
            if value is None:
                raise ValueError(f"line {line}: {shown(text)} is not a number")
            numbers.append(value)
        memory_limit().take(NUMBER_BYTES * len(numbers))
    return np.asarray(numbers)


class GroupLines(NamedTuple):
    """Lines of a file of groups: number, and a group or a label or row and its group."""

    path: Path
    noun: str  # for a group, in messages
    lines: list[tuple[int, list[str]]]

    @property
    def has_keys(self) -> bool:
        """Whether there are two columns, the first with labels or rows."""
        return len(self.lines[0][1]) == 2

    @property
    def has_index(self) -> bool:
        """Whether the first column is named like an index that pandas wrote."""
        return self.has_keys and is_written_index(self.lines[0][1][0])

    def by_number(
        self, of: str, names: Sequence[str] | None, n: int | None
    ) -> tuple[dict[int, str], int]:
        """Return groups by number of the label or row, and the number of unknown keys.

        ``of`` is "label" or "row", ``n`` their number.
        """
        if self.has_index and names is not None and self._is_in_order(names):
            return {place: group for place, (_, (_, group)) in enumerate(self.lines[1:])}, 0
        if self.has_keys:
            return self._by_key(of, names, n)
        if names is not None:
            expected = f"expected {of}, tab or comma, {self.noun} on a line"
            raise ValueError(f"{self.path}: {of}s have names; {expected}")
        lines = self.lines[1:] if self._has_header(n) else self.lines
        return {place: group for place, (_, (group,)) in enumerate(lines)}, 0

    def notes_on_header(self, n: int | None) -> list[str]:
        """Return a note if the first line of groups without keys is taken for their name."""
        if not self._has_header(n):
            return []
        (header,) = self.lines[0][1]
        return [f"{self.path}: the first line, {shown(header)}, is read as the name of the column"]

    def _has_header(self, n: int | None) -> bool:
        """Return whether CSV of groups without keys has a line more than there are groups.

        A number, or a group that is there again, is no name; but pandas calls a column without a
        name 0.
        """
        if self.has_keys or not is_csv(self.path) or n != len(self.lines) - 1:
            return False
        header, *others = [cells[0] for _, cells in self.lines]
        return header == "0" or (decimal_number(header) is None and header not in others)

    def _is_in_order(self, names: Sequence[str]) -> bool:
        """Return whether an index is 0, 1, .. for so many names, and shares no name with them."""
        keys = [key for _, (key, _) in self.lines[1:]]
        return keys == [*map(str, range(len(names)))] and {*keys}.isdisjoint(names)

    def _by_key(
        self, of: str, names: Sequence[str] | None, n: int | None
    ) -> tuple[dict[int, str], int]:
        number_of: Callable[[str], int | None] = id_number
        if names is not None:
            number_of = {name: number for number, name in enumerate(names)}.get
        groups = dict[int, str]()
        n_unknown = 0
        for line, (key, group) in self._lines_without_header(number_of):
            number = number_of(key)
            if number is None and names is not None:
                n_unknown += 1
                continue
            if number is None or number < 0 or (n is not None and number >= n):
                reason = "is not a whole number"
                if number is not None and n is not None:
                    reason = f"is not in 0..{n - 1}"
                raise ValueError(f"{self.path}: line {line}: {of} {shown(key)} {reason}")
            if number in groups:
                reason = f"a second {self.noun} for {of} {shown(key)}"
                raise ValueError(f"{self.path}: line {line}: {reason}")
            groups[number] = group
        if not groups:
            example = f", which have {shown(names[0])}" if names else ""
            raise ValueError(f"{self.path}: no {of} in it occurs in the other inputs{example}")
        return groups, n_unknown

    def _lines_without_header(
        self, number_of: Callable[[str], int | None]
    ) -> list[tuple[int, list[str]]]:
        """Return the lines without a first line that names the columns."""
        _, first_cells = self.lines[0]
        first_key = first_cells[0]
        may_be_header = (
            first_key.lower() in HEADS or is_written_index(first_key) or is_csv(self.path)
        )
        if may_be_header and number_of(first_key) is None:
            return self.lines[1:]
        return self.lines


def noun_of(argument: str) -> str:
    """Return the noun for an entry of ``label_groups``, clusters or weights in messages."""
    nouns = {"clusters": "cluster", "sample_weight": "weight", "decision": "threshold"}
    if argument.startswith(("label_data", "row_data")):
        return "number"
    return nouns.get(argument, "group")


def has_two_columns(path: Path) -> bool:
    """Return whether a text has two columns, a row and its value, by its first line."""
    if path.name.lower().endswith(".npy"):
        return False
    with naming(path, _entries("value")):
        _, cells = next(text_columns(path, LINE_BYTES, SEPARATORS, by_row=True))
    return len(cells) == 2


def _entries(noun: str) -> str:
    """Return the expected contents of a file of groups or numbers, for messages."""
    return GROUPS.format(f"a {noun}" if noun in OF_NUMBERS else f"the name of a {noun}")


def read_group_lines(argument: str, path: Path) -> GroupLines:
    """Read names of groups."""
    noun = noun_of(argument)
    with naming(path, _entries(noun)):
        lines = [*text_columns(path, LINE_BYTES, SEPARATORS, by_row=True)]
        memory_limit().take(LINE_BYTES * len(lines))
    return GroupLines(path, noun, lines)


def read_edges(path: Path) -> dict[int, tuple[str, str]]:
    """Read edges by line."""
    edges: dict[int, tuple[str, str]] = {}
    with naming(path, EDGES):
        for number, (child, parent) in text_columns(path, LINE_BYTES, "\t, "):
            if edges or child.lower() not in EDGE_HEADS or parent.lower() != "parent":
                edges[number] = child, parent
        if not edges:
            raise ValueError("the file has no edges")
        memory_limit().take(LINE_BYTES * len(edges))
    return edges


class TextPairs(NamedTuple):
    """Distinct pairs of a row and a label, sorted by both, with the first line of every pair."""

    path: Path
    rows: Ints
    labels: Ints
    lines: Ints
    unit: str = "line"  # "pair" if there is no file

    def refuse_outside(self, n_rows: int | None, n_labels: int | None) -> None:
        """Refuse the first line with an unknown row or else label, if sizes are known."""
        self._refuse_ids("row", self.rows, n_rows, "; if rows count from 1, subtract 1")
        self._refuse_ids("label id", self.labels, n_labels, ONE_BASED)

    def _refuse_ids(self, noun: str, ids: Ints, n: int | None, one_based: str) -> None:
        """Refuse the first line with an id that is not in 0..n-1."""
        if n is None:
            return
        outside = np.flatnonzero((ids < 0) | (ids >= n))
        if outside.size:
            first = outside[self.lines[outside].argmin()]
            number = ids[first]
            hint = one_based if number == n else ""
            place = f"{self.path}: {self.unit} {self.lines[first]}"
            raise ValueError(f"{place}: {noun} {number} is not in 0..{n - 1}{hint}")


def read_pairs(path: Path) -> TextPairs:
    """Read pairs from a text file, compressed by gzip or not; refuse a line that is no pair."""
    triples = array("q")  # row, label and line of every pair
    with naming(path, PAIRS):
        for number, words in text_columns(path, PAIR_BYTES, " "):
            if not all(map(ID.fullmatch, words)):
                raise ValueError(
                    f"line {number}: {shown(' '.join(words))} is not a row and a label"
                )
            row, label = words
            triples.extend((int(row), int(label), number))
        memory_limit().take(KEPT_BYTES * (len(triples) // 3))
    table = np.asarray(triples).reshape(-1, 3)
    pairs, first = np.unique(table[:, :2], axis=0, return_index=True)
    return TextPairs(path, pairs[:, 0], pairs[:, 1], table[first, 2])
