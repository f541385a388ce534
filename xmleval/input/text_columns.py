"""Small texts with one or two columns: propensities, names, groups, hierarchies and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.input.lines import cells_of, numbered_lines, shown
from xmleval.message import counted


def text_columns(
    path: Path, allowance: Allowance, line_bytes: int, separators: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line: two if the first line has one of ``separators``, or one.

    The first of these parts the cells; a blank, as the last of them, stands for any white space. Lines in a
    single column are read by position: none is blank before others. ``line_bytes`` is the memory of what the
    caller makes of a line, beside its text.
    """
    separator, n_lines, n_bytes = "", 0, 0
    for n_lines, (number, line) in enumerate(numbered_lines(InputFile(path), "strict", allowance), 1):
        if n_lines == 1:
            separator = next((mark for mark in separators if mark in line or mark == " "), "")
        n_bytes += line_bytes + len(line)
        allowance.check(n_bytes)
        if not separator and number > n_lines:
            raise ValueError(f"line {n_lines} is blank; leave no line blank before others")
        if not separator:
            yield number, [line]
            continue
        is_quoted = '"' in line and separator != " "
        cells = cells_of(number, line, separator) if is_quoted else line.split(separator.strip(" ") or None)
        cells = [cell.strip() for cell in cells]
        if len(cells) != 2 or "" in cells:
            told = f"{shown(line)} has {counted(len(cells), 'columns')}; expected 2, none empty"
            raise ValueError(f"line {number}: {told}")
        yield number, cells
    if n_lines == 0:
        raise ValueError("the file is empty")
