"""Blocks of lines with the same fields, read by kernels: names by number, and numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Bytes, Floats, Ints
from xmleval.base.budget import memory_limit
from xmleval.input.further_columns import Coded
from xmleval.input.lines import BOM, Lines, blocks_in_order, whole_lines
from xmleval.input.names import Names, NameTable, TableNames
from xmleval.input.rows import BY_KEY, Origin, Rows
from xmleval.kernels.decimal import SPARE, round_decimals
from xmleval.kernels.fields import (
    find_cells,
    find_fields,
    find_runs,
    scan_numbers,
    trim_fields,
)

KEY, LABEL, VALUE = range(3)
BLOCK_BYTES, BLOCK_SHARE = 1 << 23, 64  # of memory for a block of lines, at most, and of what is left


class FieldPlaces(NamedTuple):
    """How lines are cut into fields, and which of them are read.

    n_fields : of each line
    places : of the key, the label and the value, which is read as a number; -1 where there is none
    delimiter : what stands between fields; 0 stands for blanks
    further : places of further fields, which are read as names
    """

    n_fields: int
    places: tuple[int, int, int]
    delimiter: int = 0
    further: tuple[int, ...] = ()


class LineFields(NamedTuple):
    """The key, the label and the value of each line of a block.

    text : of the block; starts, stops : int64 (3, n), where each field begins and ends
    lines : int64 (n,), the number of each line in the file
    labels, names : int64 (n,), places among names, and these
    values : float64 (n,), None where none are read
    further : of each further field, int64 (n,), places among values, and these
    """

    text: Bytes
    starts: Ints
    stops: Ints
    lines: Ints
    labels: Ints
    names: TableNames
    values: Floats | None
    further: list[Coded]

    def runs(self) -> tuple[Ints, list[str]]:
        """Return where runs of lines with one key begin, and where the last ends, and their keys."""
        firsts: Ints = np.empty(self.lines.size + 1, np.int64)
        n_runs = find_runs(self.text, self.starts[KEY], self.stops[KEY], self.lines, firsts)
        first = firsts[:n_runs]
        keys = texts_in(self.text, self.starts[KEY, first], self.stops[KEY, first])
        return firsts[: n_runs + 1], keys

    def rows(self, values: Floats, origin: Origin) -> Rows:
        """Return a row for each run of lines with one key; values : float64 (n,), of the lines."""
        ptr, keys = self.runs()
        lines = self.lines[ptr[:-1]]
        columns = ptr, self.labels, self.names, values
        return Rows(keys, BY_KEY, *columns, places=lines, is_long=True, origin=origin)


def read_in_order(
    layout: FieldPlaces, names: Names, blocks: Iterator[Lines]
) -> Iterator[tuple[Lines, LineFields | None]]:
    """Yield each block with its fields, see `read_fields`."""
    return blocks_in_order(lambda block: read_fields(layout, names, block), blocks)


def read_fields(layout: FieldPlaces, names: Names, block: Lines, n_skipped: int = 0) -> LineFields | None:
    """Return the fields of a block, None if any line is not as expected, which only a closer look explains.

    n_skipped : lines at the beginning that are not read, of those that hold any field
    """
    text, n_lines = block.text, block.n_lines
    if not is_plain(text):
        return None
    read = [place for place in (*layout.places, *layout.further) if place >= 0]
    kept = np.full(layout.n_fields, -1, np.int64)
    kept[read] = range(len(read))
    starts, stops = np.empty((len(read), n_lines), np.int64), np.empty((len(read), n_lines), np.int64)
    lines = np.empty(n_lines, np.int64)
    found = kept, starts, stops, lines
    if layout.delimiter:
        n, n_read = find_cells(text, n_lines, layout.delimiter, *found)
    else:
        n, n_read = find_fields(text, n_lines, layout.n_fields, *found)
    if n_read < n_lines:
        return None
    starts, stops = (np.ascontiguousarray(each[:, n_skipped:n]) for each in (starts, stops))
    has_values = layout.places[VALUE] >= 0
    if layout.delimiter:
        n_empty = [trim_fields(text, starts[i], stops[i]) for i in range(VALUE + has_values)]
        if n_empty[KEY] or n_empty[LABEL]:
            return None
    values = numbers_in(text, starts[VALUE], stops[VALUE]) if has_values else None
    if has_values and values is None:
        return None
    further = [_distinct(text, starts[i], stops[i]) for i in range(VALUE + has_values, len(read))]
    labels, known = names.number(text, starts[LABEL], stops[LABEL])
    return LineFields(text, starts, stops, lines[n_skipped:n] + block.first, labels, known, values, further)


def _distinct(text: Bytes, starts: Ints, stops: Ints) -> Coded:
    """Return fields as places among what they hold, and this."""
    table = NameTable()
    places = table.numbers(text, starts, stops)
    return Coded(places, [*TableNames(table)])


def is_plain(text: Bytes) -> bool:
    """Tell whether a text is in UTF-8 and holds no byte order mark."""
    bytes_ = text[:-SPARE].tobytes()
    try:
        return bytes_.isascii() or (BOM not in bytes_ and bool(bytes_.decode()))
    except UnicodeDecodeError:
        return False


def texts_in(text: Bytes, starts: Ints, stops: Ints) -> list[str]:
    """Return the texts of fields."""
    content = text.data
    places = zip(starts.tolist(), stops.tolist(), strict=True)
    return [str(content[start:stop], "utf-8") for start, stop in places]


def numbers_in(text: Bytes, starts: Ints, stops: Ints) -> Floats | None:
    """Return the numbers that fields hold, None if any holds none."""
    scores, powers = np.empty(starts.size), np.empty(starts.size, np.int16)
    scan_numbers(text, starts, stops, scores, powers)
    place = 0
    while (place := round_decimals(scores, powers, place)) < scores.size:
        field = bytes(text[starts[place] : stops[place]])
        try:
            scores[place] = float(field)
        except ValueError:
            return None
        if b"_" in field or np.isnan(scores[place]):
            return None
        place += 1
    return scores


def in_blocks(file: io.BufferedReader[Any]) -> Iterator[Lines]:
    """Yield the lines of a file in blocks, which are as large as memory allows."""
    return whole_lines(file, int(min(BLOCK_BYTES, memory_limit().left // BLOCK_SHARE)), 1)
