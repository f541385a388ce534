"""Edges of a hierarchy of labels: a child and its parent on each line."""

from __future__ import annotations

import os
from pathlib import Path

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.formats.format import naming
from xmleval.input.lines import cells_of, numbered_lines, shown
from xmleval.numerals import whole_number

EXPECTED = "a child and its parent on each line, with a tab, a comma or a blank between them"
HEADS = ("child", "label", "id")  # of a first column
EDGE_BYTES = 300  # of memory for a line
LINES_BETWEEN = 1 << 12  # checks of the memory

Edges = dict[int, tuple[str, str]]  # by line


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
    found = [(child, parent) for child, parent in numbers if child is not None and parent is not None]
    return found if len(found) == len(edges) else edges


def read_edges(path: Path, allowance: Allowance) -> Edges:
    """Read edges by line, within an allowance of memory."""
    found: Edges = {}
    with naming(path, EXPECTED):
        separator = None
        for number, line in numbered_lines(InputFile(path), "strict", allowance):
            if not found:
                separator = next((mark for mark in "\t," if mark in line), None)
            cells = line.split() if separator is None else cells_of(number, line, separator)
            if len(cells) != 2 or not all(cells):
                raise ValueError(f"line {number}: {shown(line)} is no pair")
            if not found and cells[0].lower() in HEADS and cells[1].lower() == "parent":
                continue
            found[number] = cells[0], cells[1]
            if not len(found) % LINES_BETWEEN:
                allowance.check(EDGE_BYTES * len(found))
        if not found:
            raise ValueError("the file has no edges")
        allowance.take(EDGE_BYTES * len(found))
    return found
