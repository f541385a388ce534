"""Small texts with one or two columns: propensities, names, groups, hierarchies and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.input.lines import cells_of, numbered_lines, shown
from xmleval.message import counted

LINES_BETWEEN = 1 << 12  # checks of the memory


def text_columns(
    path: Path, allowance: Allowance, line_bytes: int, separators: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line: two if the first line has one of ``separators``, or one.

    The first of these parts the cells; a blank, as the last of them, stands for any white space. Lines in a
    single column are read by position: none is blank before others. ``line_bytes`` is the memory of what the
    caller makes of a line, beside its text.
    """
    separator, n_lines, n_bytes = "", 0, 0
    for number, line in numbered_lines(InputFile(path), "strict", allowance):
        if n_lines == 0:
            separator = next((mark for mark in separators if mark in line or mark == " "), "")
        n_lines += 1
        n_bytes += line_bytes + len(line)
        if not n_lines % LINES_BETWEEN:
            allowance.check(n_bytes)
        if not separator:
            if number > n_lines:
                raise ValueError(f"line {n_lines} is blank; leave no line blank before others")
            yield number, [line]
            continue
        if separator == " ":
            cells = line.split()
        else:
            plain = '"' not in line and "\r" not in line
            cells = line.split(separator) if plain else cells_of(number, line, separator)
            cells = [cell.strip() for cell in cells]
        if len(cells) != 2:
            raise ValueError(f"line {number}: {shown(line)} has {counted(len(cells), 'columns')}, not 2")
        if "" in cells:
            raise ValueError(f"line {number}: {shown(line)} has an empty cell")
        yield number, cells
    if n_lines == 0:
        raise ValueError("the file is empty")
