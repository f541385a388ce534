"""Read blocks of lines with the same fields by kernels: names as places in a table, and numbers."""

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
BLOCK_BYTES = 1 << 23  # memory for a block of lines, at most
BLOCK_SHARE = 64  # a block takes at most one part in so many of the remaining memory


class FieldPlaces(NamedTuple):
    """How lines are split into fields, and which fields are read.

    n_fields : number of fields of a line
    places : fields of the key, the label and the value, a number; -1 for no value
    delimiter : byte between fields; 0 for blanks
    further : further fields that are read, as names
    """

    n_fields: int
    places: tuple[int, int, int]
    delimiter: int = 0
    further: tuple[int, ...] = ()


class LineFields(NamedTuple):
    """Keys, labels and values of the lines of a block.

    text : bytes of the block
    starts, stops : int64 (fields, n), where each field begins and ends in the text
    lines : int64 (n,), the number of each line in the file
    labels, names : int64 (n,), places among the names, and the names
    values : float64 (n,), None if no values are read
    further : cells of each further field
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
        """Return the pointer of runs of consecutive lines with one key, and their keys."""
        ptr: Ints = np.empty(self.lines.size + 1, np.int64)
        n_runs = find_runs(self.text, self.starts[KEY], self.stops[KEY], self.lines, ptr)
        first = ptr[:n_runs]
        keys = texts_in(self.text, self.starts[KEY, first], self.stops[KEY, first])
        return ptr[: n_runs + 1], keys

    def rows(self, values: Floats, origin: Origin) -> Rows:
        """Return a row for each run of lines with one key; values : float64 (n,), of the lines."""
        ptr, keys = self.runs()
        return Rows(
            keys,
            BY_KEY,
            ptr,
            self.labels,
            self.names,
            values,
            places=self.lines[ptr[:-1]],
            is_long=True,
            origin=origin,
        )


class TableCells(NamedTuple):
    """Lines of a table with a column for each label.

    keys : the key of each line, None without a column of them
    lines : int64 (n,), the number of each line in the file
    cells : float64 (n, n_labels)
    """

    keys: list[str] | None
    lines: Ints
    cells: Floats


def read_in_order(
    layout: FieldPlaces, names: Names, blocks: Iterator[Lines]
) -> Iterator[tuple[Lines, LineFields | None]]:
    """Yield each block with its fields; see `read_fields`."""
    return blocks_in_order(lambda block: read_fields(layout, names, block), blocks)


def read_fields(
    layout: FieldPlaces, names: Names, block: Lines, n_skipped: int = 0
) -> LineFields | None:
    """Return the fields of a block; None if any line is not as expected, for a slower reader.

    n_skipped : number of lines at the beginning that are not read, not counting blank ones
    """
    text = block.text
    places = _find_places(layout, block, n_skipped)
    if places is None:
        return None
    starts, stops, lines = places
    has_values = layout.places[VALUE] >= 0
    n_columns = VALUE + has_values
    if layout.delimiter:
        n_empty = [trim_fields(text, starts[i], stops[i]) for i in range(n_columns)]
        if n_empty[KEY] or n_empty[LABEL]:
            return None
    values = None
    if has_values:
        values = numbers_in(text, starts[VALUE], stops[VALUE])
        if values is None:
            return None
    further = [_code_cells(text, starts[i], stops[i]) for i in range(n_columns, len(starts))]
    labels, label_names = names.number(text, starts[LABEL], stops[LABEL])
    return LineFields(text, starts, stops, lines, labels, label_names, values, further)


def read_cells(layout: FieldPlaces, block: Lines, n_skipped: int = 0) -> TableCells | None:
    """Return the keys of lines and the numbers in their further fields; see `read_fields`."""
    text = block.text
    places = _find_places(layout, block, n_skipped)
    if places is None:
        return None
    starts, stops, lines = places
    keys = None
    n_keys = len(starts) - len(layout.further)
    if n_keys:
        if trim_fields(text, starts[KEY], stops[KEY]):
            return None
        keys = texts_in(text, starts[KEY], stops[KEY])
    cell_starts = starts[n_keys:].T.reshape(-1)
    cell_stops = stops[n_keys:].T.reshape(-1)
    trim_fields(text, cell_starts, cell_stops)
    cells = numbers_in(text, cell_starts, cell_stops)
    if cells is None:
        return None
    return TableCells(keys, lines, cells.reshape(lines.size, len(layout.further)))


def _find_places(
    layout: FieldPlaces, block: Lines, n_skipped: int
) -> tuple[Ints, Ints, Ints] | None:
    """Return where the fields to read begin and end, and their lines; None if not as expected."""
    text = block.text
    n_lines = block.n_lines
    if not is_plain(text):
        return None
    fields = [place for place in (*layout.places, *layout.further) if place >= 0]
    # position among the fields to read, by field of a line
    positions = np.full(layout.n_fields, -1, np.int64)
    positions[fields] = range(len(fields))
    starts = np.empty((len(fields), n_lines), np.int64)
    stops = np.empty((len(fields), n_lines), np.int64)
    lines = np.empty(n_lines, np.int64)
    outputs = positions, starts, stops, lines
    if layout.delimiter:
        n, n_read = find_cells(text, n_lines, layout.delimiter, *outputs)
    else:
        n, n_read = find_fields(text, n_lines, layout.n_fields, *outputs)
    if n_read < n_lines:
        return None
    return (
        np.ascontiguousarray(starts[:, n_skipped:n]),
        np.ascontiguousarray(stops[:, n_skipped:n]),
        lines[n_skipped:n] + block.first,
    )


def _code_cells(text: Bytes, starts: Ints, stops: Ints) -> Coded:
    """Return fields as places among their distinct texts."""
    table = NameTable()
    places = table.numbers(text, starts, stops)
    return Coded(places, [*TableNames(table)])


def is_plain(text: Bytes) -> bool:
    """Tell whether a text is UTF-8 without a byte order mark."""
    content = text[:-SPARE].tobytes()
    try:
        return content.isascii() or (BOM not in content and bool(content.decode()))
    except UnicodeDecodeError:
        return False


def texts_in(text: Bytes, starts: Ints, stops: Ints) -> list[str]:
    """Return the texts of fields."""
    content = text.data
    places = zip(starts.tolist(), stops.tolist(), strict=True)
    return [str(content[start:stop], "utf-8") for start, stop in places]


def numbers_in(text: Bytes, starts: Ints, stops: Ints) -> Floats | None:
    """Return the numbers in fields; None if any field is not a number."""
    numbers = np.empty(starts.size)
    powers = np.empty(starts.size, np.int16)
    scan_numbers(text, starts, stops, numbers, powers)
    # stops at each field that the kernel cannot decide
    place = round_decimals(numbers, powers, 0)
    while place < numbers.size:
        field = bytes(text[starts[place] : stops[place]])
        try:
            numbers[place] = float(field)
        except ValueError:
            return None
        if b"_" in field or np.isnan(numbers[place]):
            return None
        place = round_decimals(numbers, powers, place + 1)
    return numbers


def in_blocks(file: io.BufferedReader[Any]) -> Iterator[Lines]:
    """Yield the lines of a file in blocks, as large as memory allows."""
    n_bytes = int(min(BLOCK_BYTES, memory_limit().left // BLOCK_SHARE))
    return whole_lines(file, n_bytes, 1)
