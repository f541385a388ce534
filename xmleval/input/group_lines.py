"""Names of groups or clusters, one a line, or two columns: a label or row, and the name of its group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.input.formats.format import naming
from xmleval.input.lines import cells_of, numbered_lines, shown
from xmleval.message import counted
from xmleval.numerals import whole_number

EXPECTED = "the name of a {} on each line, or behind a label or row and a tab or comma"
HEADS = ("label", "row", "id", "name")  # of a first column
NAME_BYTES = 200  # of memory for a line
LINES_BETWEEN = 1 << 12  # checks of the memory


class GroupLines(NamedTuple):
    """The groups of a file in its order: ``keys`` are the labels or rows in front of them, None without.

    ``noun`` is what messages call them: "group" or "cluster".
    """

    path: Path
    noun: str
    names: list[str]
    keys: list[str] | None
    lines: list[int]

    def in_order(self, of: str, known: Sequence[str] | None, n: int | None) -> tuple[dict[int, str], int]:
        """Return groups by the number of the label or row, and how many keys are not known.

        ``known`` are the names of the labels or rows, None where they have numbers, from 0 to ``n`` - 1 if
        it is known.
        """
        if self.keys is None:
            if known is not None:
                expected = f"expected {of}, tab or comma, {self.noun} on a line"
                raise ValueError(f"{self.path}: {of}s have names; {expected}")
            return dict(enumerate(self.names)), 0
        numbers: Mapping[str, int] = {} if known is None else {name: i for i, name in enumerate(known)}
        found: dict[int, str] = {}
        n_unknown = 0
        for place, (key, name, line) in enumerate(zip(self.keys, self.names, self.lines, strict=True)):
            number = whole_number(key) if known is None else numbers.get(key)
            if place == 0 and number is None and key.lower() in HEADS:
                continue
            if number is None and known is not None:
                n_unknown += 1
                continue
            if number is None or number < 0 or (n is not None and number >= n):
                outside = f"is not in 0..{n - 1}" if n is not None else "is no whole number"
                raise ValueError(f"{self.path}: line {line}: {of} {shown(key)} {outside}")
            if number in found:
                raise ValueError(f"{self.path}: line {line}: a second {self.noun} for {of} {shown(key)}")
            found[number] = name
        if not found:
            example = "" if not known else f", such as {shown(known[0])}"
            raise ValueError(f"{self.path}: no {of} of it is one of the other inputs{example}")
        return found, n_unknown


def noun_of(argument: str) -> str:
    """Return what messages call an entry of ``label_groups``, ``row_groups`` or ``clusters``."""
    return "cluster" if argument == "clusters" else "group"


def read_group_lines(argument: str, path: Path, allowance: Allowance) -> GroupLines:
    """Read names of groups within an allowance of memory."""
    rows: list[list[str]] = []
    lines: list[int] = []
    with naming(path, EXPECTED.format(noun_of(argument))):
        separator = None
        for number, line in numbered_lines(InputFile(path), "strict", allowance):
            if not rows:
                separator = next((mark for mark in "\t," if mark in line), None)
            if separator is None and number > len(rows) + 1:
                raise ValueError(f"line {len(rows) + 1} is blank")
            cells = [line] if separator is None else cells_of(number, line, separator)
            if rows and len(cells) != len(rows[0]):
                told = f"{counted(len(cells), 'columns')}, not {len(rows[0])} as before"
                raise ValueError(f"line {number}: {told}")
            if len(cells) > 2:
                raise ValueError(f"line {number}: {len(cells)} columns")
            if not all(cells):
                raise ValueError(f"line {number}: {shown(line)} has an empty name")
            rows.append(cells)
            lines.append(number)
            if not len(rows) % LINES_BETWEEN:
                allowance.check(NAME_BYTES * len(rows))
        allowance.take(NAME_BYTES * len(rows))
        if not rows:
            raise ValueError("the file is empty")
    keys: Any = [cells[0] for cells in rows] if separator is not None else None
    return GroupLines(path, noun_of(argument), [cells[-1] for cells in rows], keys, lines)
