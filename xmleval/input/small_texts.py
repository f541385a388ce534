"""Small texts with one or two columns: names, propensities, groups, clusters, hierarchies and pairs."""

from __future__ import annotations

import csv
import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints
from xmleval.base.budget import memory_limit
from xmleval.base.errors import shown
from xmleval.base.numerals import ID, decimal_number, id_number
from xmleval.files.archive import open_npy, read_arrays
from xmleval.files.input import InputFile
from xmleval.files.saved import parse_json
from xmleval.input.formats.arrays import REAL, check_array
from xmleval.input.formats.format import naming
from xmleval.input.lines import ASCII_BLANKS, parsed_lines, read_at_once, words_of
from xmleval.input.rows import INDEX_BYTES

NAMES = "names of labels, one a line or a JSON list of them, each once"
NUMBERS = "one {}, as an .npy vector or as text, one number a line"
GROUPS = "the name of a {} on each line, or behind a label or row and a tab or comma"
EDGES = "a child and its parent on each line, with a tab, a comma or a blank between them"
PAIRS = "a row and a label on each line, with a blank or a tab between them, both counted from 0"
HEADS = ("label", "row", "id", "name")  # of a first column
EDGE_HEADS = ("child", "label", "id")
NUMBER_BYTES = 24  # of memory for a number, with the copies that are made of it
PAIR_BYTES, KEPT_BYTES = 100, 24  # of memory for a pair: until all are sorted, and from then on
LINE_BYTES = 300  # of memory for a line of a group or an edge


def text_columns(path: Path, line_bytes: int, separators: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line: two if the first line has one of ``separators``, or one.

    Lines in a single column are read by position: none is blank before others. ``line_bytes`` is the memory
    of what the caller makes of a line, beside its text.
    """
    columns = _Columns(separators)
    n_lines = n_bytes = 0
    limit = memory_limit().left
    for n_lines, (number, cells) in enumerate(parsed_lines(InputFile(path), columns.cells_of), 1):
        n_bytes += line_bytes + sum(map(len, cells))
        if n_bytes > limit:
            memory_limit().check(n_bytes)
        if not columns.separator and number > n_lines:
            raise ValueError(f"line {n_lines} is blank; leave no line blank before others")
        yield number, cells
    if n_lines == 0:
        raise ValueError("the file is empty")


class _Columns:
    """Cuts lines into cells: two if the first line has one of ``separators``, or one.

    separator : the one in the first line, "" without one; None before that line
    """

    def __init__(self, separators: str) -> None:
        self.separator: str | None = None
        self._separators = separators

    def cells_of(self, line: str) -> list[str] | None:
        """Return the cells of a line, None of a blank one."""
        line = line.strip(ASCII_BLANKS)
        if "\r" in line:
            raise ValueError("a carriage return within it; save the file with lines that end in \\n")
        if not line:
            return None
        if self.separator is None:
            self.separator = next((mark for mark in self._separators if mark in line or mark == " "), "")
        return _pair_in(line, self.separator) if self.separator else [line]


def _pair_in(line: str, separator: str) -> list[str]:
    """Return the two cells of a line, or refuse another one."""
    cells = words_of(line) if separator == " " else next(csv.reader([line], delimiter=separator))
    cells = [cell.strip(ASCII_BLANKS) for cell in cells]
    if len(cells) != 2 or not all(cells):
        raise ValueError(f"{shown(line)} is not two cells with text in both")
    return cells


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
                raise ValueError(f"name {place} is {shown(json.dumps(name))}, not a string, or empty")
            if place_of.setdefault(name, place) != place:
                raise ValueError(f"name {shown(name)} occurs twice, the second time in place {place}")
        memory_limit().take(INDEX_BYTES * len(place_of) + sum(map(sys.getsizeof, place_of)))
    return [*place_of]


def load_numbers(path: Path, quantity: str = "inverse propensity per label") -> NDArray[Any]:
    """Read numbers, by default inverse propensities."""
    expected = NUMBERS.format(quantity)
    numbers = array("d")
    with naming(path, expected):
        if path.name.lower().endswith(".npy"):
            vector = check_array(open_npy(InputFile(path)), REAL, 1)
            memory_limit().take(NUMBER_BYTES * vector.shape[0])
            return read_arrays([vector])[0]
        for line, (text,) in text_columns(path, NUMBER_BYTES):
            value = decimal_number(text)
            if value is None:
                raise ValueError(f"line {line}: {shown(text)} is not a number")
            numbers.append(value)
        memory_limit().take(NUMBER_BYTES * len(numbers))
    return np.asarray(numbers)


class GroupLines(NamedTuple):
    """The lines of a file of groups: line number, then the name of a group, or its label or row before it."""

    path: Path
    noun: str  # what messages call a group
    lines: list[tuple[int, list[str]]]

    @property
    def has_keys(self) -> bool:
        """Whether labels or rows stand in the first of two columns."""
        return len(self.lines[0][1]) == 2

    def by_number(self, of: str, names: Sequence[str] | None, n: int | None) -> tuple[dict[int, str], int]:
        """Return groups by number of the label or row (``of``) of ``n``, and how many keys are unknown."""
        if not self.has_keys:
            if names is not None:
                expected = f"expected {of}, tab or comma, {self.noun} on a line"
                raise ValueError(f"{self.path}: {of}s have names; {expected}")
            return {place: name for place, (_, (name,)) in enumerate(self.lines)}, 0
        return self._by_key(of, names, n)

    def _by_key(self, of: str, names: Sequence[str] | None, n: int | None) -> tuple[dict[int, str], int]:
        number_of = id_number if names is None else {name: i for i, name in enumerate(names)}.get
        groups = dict[int, str]()
        n_unknown = 0
        for line, (key, group) in self._below_head(number_of):
            number = number_of(key)
            if number is None and names is not None:
                n_unknown += 1
                continue
            if number is None or number < 0 or (n is not None and number >= n):
                outside = "is no whole number" if number is None or n is None else f"is not in 0..{n - 1}"
                raise ValueError(f"{self.path}: line {line}: {of} {shown(key)} {outside}")
            if number in groups:
                raise ValueError(f"{self.path}: line {line}: a second {self.noun} for {of} {shown(key)}")
            groups[number] = group
        if not groups:
            example = f", such as {shown(names[0])}" if names else ""
            raise ValueError(f"{self.path}: no {of} of it is one of the other inputs{example}")
        return groups, n_unknown

    def _below_head(self, number_of: Callable[[str], int | None]) -> list[tuple[int, list[str]]]:
        """Return the lines but for a first one that names the columns."""
        first = self.lines[0][1][0]
        has_head = first.lower() in HEADS and number_of(first) is None
        return self.lines[1:] if has_head else self.lines


def noun_of(argument: str) -> str:
    """Return what messages call an entry of ``label_groups``, or of what has a value for each row."""
    return {"clusters": "cluster", "sample_weight": "weight"}.get(argument, "group")


def read_group_lines(argument: str, path: Path) -> GroupLines:
    """Read names of groups."""
    noun = noun_of(argument)
    with naming(path, GROUPS.format(noun)):
        lines = [*text_columns(path, LINE_BYTES, "\t,")]
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


class Pairs(NamedTuple):
    """Distinct pairs of a row and a label, sorted by both, and the first line of the file with each."""

    path: Path
    rows: Ints
    labels: Ints
    lines: Ints
    unit: str = "line"  # where there is no file, a pair

    def refuse_outside(self, n_rows: int | None, n_labels: int | None) -> None:
        """Refuse the first line with a row, or else a label, that does not exist, if the sizes are known."""
        for kind, ids, n in (("row", self.rows, n_rows), ("label id", self.labels, n_labels)):
            outside = np.flatnonzero((ids < 0) | (ids >= (np.inf if n is None else n)))
            if n is not None and outside.size:
                at = outside[self.lines[outside].argmin()]
                hint = f"; {kind.split()[-1]}s look one-based" if ids[at] == n else ""
                raise ValueError(
                    f"{self.path}: {self.unit} {self.lines[at]}: {kind} {ids[at]} is not in 0..{n - 1}{hint}"
                )


def read_pairs(path: Path) -> Pairs:
    """Read pairs from a text, packed by gzip or not, or refuse a line that is no pair."""
    pairs = array("q")
    with naming(path, PAIRS):
        for number, words in text_columns(path, PAIR_BYTES, " "):
            if not all(map(ID.fullmatch, words)):
                raise ValueError(f"line {number}: {shown(' '.join(words))} is no pair")
            pairs.extend((int(words[0]), int(words[1]), number))
        memory_limit().take(KEPT_BYTES * (len(pairs) // 3))
    triples = np.asarray(pairs).reshape(-1, 3)
    distinct, first = np.unique(triples[:, :2], axis=0, return_index=True)
    return Pairs(path, distinct[:, 0], distinct[:, 1], triples[first, 2])
