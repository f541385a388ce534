"""Groups and clusters, a name on each line or behind a label or row; hierarchies, an edge on each line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.remote import as_path
from xmleval.input.formats.format import naming
from xmleval.input.lines import shown
from xmleval.input.text_columns import text_columns
from xmleval.numerals import whole_number

EXPECTED = "the name of a {} on each line, or behind a label or row and a tab or comma"
EXPECTED_EDGES = "a child and its parent on each line, with a tab, a comma or a blank between them"
HEADS = ("label", "row", "id", "name")  # of a first column
EDGE_HEADS = ("child", "label", "id")
LABEL_LINE_BYTES = 300  # of memory for a line


class GroupLines(NamedTuple):
    """The lines of a file of groups: line number, then the name of a group, or its label or row before it.

    ``noun`` is what messages call a group: "group" or "cluster".
    """

    path: Path
    noun: str
    lines: list[tuple[int, list[str]]]

    @property
    def has_keys(self) -> bool:
        """Whether labels or rows stand in the first of two columns."""
        return len(self.lines[0][1]) == 2

    def by_number(self, of: str, names: Sequence[str] | None, n: int | None) -> tuple[dict[int, str], int]:
        """Return groups by the number of the label or row, and how many keys are unknown.

        ``of`` is "label" or "row"; ``names`` are theirs, None where they have numbers, from 0 to ``n`` - 1 if
        that is known.
        """
        if not self.has_keys:
            if names is not None:
                expected = f"expected {of}, tab or comma, {self.noun} on a line"
                raise ValueError(f"{self.path}: {of}s have names; {expected}")
            return {place: name for place, (_, (name,)) in enumerate(self.lines)}, 0
        numbers = {} if names is None else {name: i for i, name in enumerate(names)}
        groups: dict[int, str] = {}
        n_unknown = 0
        for place, (line, (key, group)) in enumerate(self.lines):
            number = whole_number(key) if names is None else numbers.get(key)
            if place == 0 and number is None and key.lower() in HEADS:
                continue
            if number is None and names is not None:
                n_unknown += 1
                continue
            if number is None or number < 0 or (n is not None and number >= n):
                outside = f"is not in 0..{n - 1}" if n is not None else "is no whole number"
                raise ValueError(f"{self.path}: line {line}: {of} {shown(key)} {outside}")
            if number in groups:
                raise ValueError(f"{self.path}: line {line}: a second {self.noun} for {of} {shown(key)}")
            groups[number] = group
        if not groups:
            example = f", such as {shown(names[0])}" if names else ""
            raise ValueError(f"{self.path}: no {of} of it is one of the other inputs{example}")
        return groups, n_unknown


def noun_of(argument: str) -> str:
    """Return what messages call an entry of ``label_groups``, ``row_groups`` or ``clusters``."""
    return "cluster" if argument == "clusters" else "group"


def read_group_lines(argument: str, path: Path, allowance: Allowance) -> GroupLines:
    """Read names of groups within an allowance of memory."""
    noun = noun_of(argument)
    with naming(path, EXPECTED.format(noun)):
        lines = [*text_columns(path, allowance, LABEL_LINE_BYTES, "\t,")]
        allowance.take(LABEL_LINE_BYTES * len(lines))
    return GroupLines(path, noun, lines)


def read_hierarchy(path: str | os.PathLike[str]) -> list[tuple[str, str]] | list[tuple[int, int]]:
    r"""Read the edges of a hierarchy of labels from a text file.

    Parameters
    ----------
    path : path
        A text with a child and its parent on each line, by number or name, and a tab, a comma or a blank
        between them; gzip is detected by content.

    Returns
    -------
    list of (str, str) or of (int, int)
        Children and parents, for ``hierarchy=`` of `xmleval.evaluate`; numbers if all are numbers.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a line is anything else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from xmleval.io import read_hierarchy
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.tsv")
    >>> _ = path.write_text("cat\tanimal\ndog\tanimal\n")
    >>> read_hierarchy(path)
    [('cat', 'animal'), ('dog', 'animal')]
    """
    edges = [*read_edges(as_path(path), UNLIMITED).values()]
    numbers = [(whole_number(child), whole_number(parent)) for child, parent in edges]
    by_number = [(child, parent) for child, parent in numbers if child is not None and parent is not None]
    return by_number if len(by_number) == len(edges) else edges


def read_edges(path: Path, allowance: Allowance) -> dict[int, tuple[str, str]]:
    """Read edges by line, within an allowance of memory."""
    edges: dict[int, tuple[str, str]] = {}
    with naming(path, EXPECTED_EDGES):
        for number, (child, parent) in text_columns(path, allowance, LABEL_LINE_BYTES, "\t, "):
            if edges or child.lower() not in EDGE_HEADS or parent.lower() != "parent":
                edges[number] = child, parent
        if not edges:
            raise ValueError("the file has no edges")
        allowance.take(LABEL_LINE_BYTES * len(edges))
    return edges
