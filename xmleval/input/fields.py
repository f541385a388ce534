"""Blocks of lines with the same fields, read by kernels: names by number, and numbers."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import memory_limit
from xmleval.input.further_columns import Coded
from xmleval.input.lines import BOM, Lines, whole_lines
from xmleval.input.rows import BY_KEY, Origin, Rows
from xmleval.kernels.decimal import SPARE, round_decimals
from xmleval.kernels.fields import (
    fill_slots,
    find_cells,
    find_fields,
    find_runs,
    hash_fields,
    number_names,
    scan_numbers,
    trim_fields,
)

Bytes = NDArray[np.uint8]
KEY, LABEL, VALUE = range(3)
BLOCK_BYTES, BLOCK_SHARE = 1 << 23, 16  # of memory for a block of lines, at most, and of what is left
NAMES_SHARE = 8  # of what is left, for a table of names before another one is begun


class Cut(NamedTuple):
    """How lines are cut into fields, and which of them are read.

    n_fields : of each line
    places : of the key, the label and the value, -1 where there is none
    has_numbers : whether values are read as numbers, as scores are
    delimiter : what stands between fields; 0 stands for blanks
    further : places of further fields, which are read as names
    """

    n_fields: int
    places: tuple[int, int, int]
    has_numbers: bool
    delimiter: int = 0
    further: tuple[int, ...] = ()


class Fields(NamedTuple):
    """The key, the label and the value of each line of a block.

    text : of the block; starts, stops : int64 (3, n), where each field begins and ends
    lines : int64 (n,), the number of each line in the file
    labels, names : int64 (n,), places among names, and these
    values : float64 (n,), None where they are names, or there are none
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
        places = zip(self.starts[KEY, first].tolist(), self.stops[KEY, first].tolist(), strict=True)
        text = self.text.data
        return firsts[: n_runs + 1], [str(text[start:stop], "utf-8") for start, stop in places]

    def rows(self, values: Floats, origin: Origin) -> Rows:
        """Return a row for each run of lines with one key; values : float64 (n,), of the lines."""
        ptr, keys = self.runs()
        lines = self.lines[ptr[:-1]]
        columns = ptr, self.labels, self.names, values
        return Rows(keys, BY_KEY, *columns, places=lines, is_long=True, origin=origin)


def read_fields(cut: Cut, names: Names, block: Lines, n_skipped: int = 0) -> Fields | None:
    """Return the fields of a block, None if any line is not as expected, which only a closer look explains.

    n_skipped : lines at the beginning that are not read, of those that hold any field
    """
    text, n_lines = block.text, block.n_lines
    if not _is_plain(text):
        return None
    read = [place for place in (*cut.places, *cut.further) if place >= 0]
    kept = np.full(cut.n_fields, -1, np.int64)
    kept[read] = range(len(read))
    starts, stops = np.empty((len(read), n_lines), np.int64), np.empty((len(read), n_lines), np.int64)
    lines = np.empty(n_lines, np.int64)
    found = kept, starts, stops, lines
    if cut.delimiter:
        n, n_read = find_cells(text, n_lines, cut.delimiter, *found)
    else:
        n, n_read = find_fields(text, n_lines, cut.n_fields, *found)
    if n_read < n_lines:
        return None
    starts, stops = (np.ascontiguousarray(each[:, n_skipped:n]) for each in (starts, stops))
    has_values = cut.places[VALUE] >= 0
    if cut.delimiter:
        n_empty = [trim_fields(text, starts[i], stops[i]) for i in range(VALUE + has_values)]
        if n_empty[KEY] or n_empty[LABEL]:
            return None
    values = _numbers(text, starts[VALUE], stops[VALUE]) if has_values and cut.has_numbers else None
    if has_values and cut.has_numbers and values is None:
        return None
    further = [_distinct(text, starts[i], stops[i]) for i in range(VALUE + has_values, len(read))]
    labels, known = names.number(text, starts[LABEL], stops[LABEL])
    return Fields(text, starts, stops, lines[n_skipped:n] + block.first, labels, known, values, further)


def _distinct(text: Bytes, starts: Ints, stops: Ints) -> Coded:
    """Return fields as places among what they hold, and this."""
    table = NameTable()
    places = table.numbers(text, starts, stops)
    return Coded(places, [*TableNames(table)])


def _is_plain(text: Bytes) -> bool:
    """Tell whether a text is in UTF-8 and holds no byte order mark."""
    bytes_ = text[:-SPARE].tobytes()
    try:
        return bytes_.isascii() or (BOM not in bytes_ and bool(bytes_.decode()))
    except UnicodeDecodeError:
        return False


def _numbers(text: Bytes, starts: Ints, stops: Ints) -> Floats | None:
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


class NameTable:
    """Distinct names in the order in which they come, numbered by their bytes."""

    def __init__(self) -> None:
        self.n_names = 0
        self._seed = np.uint64(random.getrandbits(64))  # so that no file can be made to collide
        self._bytes: Bytes = np.empty(SPARE, np.uint8)
        self._ends: Ints = np.zeros(1, np.int64)
        self._slots = np.zeros(1, np.uint64)

    @property
    def n_bytes(self) -> int:
        """Memory of the table."""
        return self._bytes.nbytes + self._ends.nbytes + self._slots.nbytes

    def numbers(self, text: Bytes, starts: Ints, stops: Ints) -> Ints:
        """Return the number of each field."""
        n = starts.size
        self._make_room(n, int((stops - starts).sum()))
        hashes, numbers = np.empty(n, np.uint64), np.empty(n, np.int64)
        hash_fields(text, starts, stops, self._seed, hashes)
        tables = self._bytes, self._ends, self._slots
        self.n_names = number_names(text, starts, stops, hashes, *tables, self.n_names, numbers)
        return numbers

    def texts(self, numbers: Ints) -> list[str]:
        """Return names by number; of many that are near each other, the characters are decoded once."""
        starts, stops = self._ends[numbers], self._ends[numbers + 1]
        first, last = int(starts.min(initial=self._bytes.size)), int(stops.max(initial=0))
        content = bytes(self._bytes[first:last])
        places = zip((starts - first).tolist(), (stops - first).tolist(), strict=True)
        if content.isascii():
            text = content.decode()
            return [text[start:stop] for start, stop in places]
        return [content[start:stop].decode() for start, stop in places]

    def _make_room(self, n: int, n_bytes: int) -> None:
        """Make room for so many names more, of so many bytes."""
        most = self.n_names + n
        if (n_bytes := int(self._ends[self.n_names]) + n_bytes + SPARE) > self._bytes.size:
            self._bytes = _grown(self._bytes, n_bytes)
        if most >= self._ends.size:
            self._ends = _grown(self._ends, most + 1)
        if 2 * most > self._slots.size:
            self._slots = np.zeros(1 << (2 * most - 1).bit_length(), np.uint64)
            fill_slots(self._bytes, self._ends, self.n_names, self._seed, self._slots)


class TableNames(Sequence[str]):
    """The names of a table so far, of which texts are made where they are asked for."""

    def __init__(self, table: NameTable) -> None:
        self.table, self._n_names = table, table.n_names

    def __len__(self) -> int:
        """Return how many names there are."""
        return self._n_names

    def __getitem__(self, place: Any) -> Any:
        """Return a name, or the names of a slice."""
        if isinstance(place, slice):
            return self.at(np.arange(self._n_names)[place])
        return self.at(np.arange(self._n_names)[[place]])[0]

    def __iter__(self) -> Iterator[str]:
        """Yield each name."""
        return iter(self.at(np.arange(self._n_names)))

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is among these; no field is empty."""
        return name != "" and name in [*self]

    def at(self, places: Ints) -> list[str]:
        """Return the names at some places."""
        return self.table.texts(places)


def in_blocks(file: io.BufferedReader[Any]) -> Iterator[Lines]:
    """Yield the lines of a file in blocks, which are as large as memory allows."""
    return whole_lines(file, int(min(BLOCK_BYTES, memory_limit().left // BLOCK_SHARE)), 1)


class Names:
    """Names that threads number, by one table while it needs no more than some bytes, then by another one."""

    def __init__(self) -> None:
        self._most_bytes = memory_limit().left / NAMES_SHARE
        self._table, self._lock = NameTable(), threading.Lock()

    def number(self, text: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, TableNames]:
        """Return the place of each field among names, and these."""
        with self._lock:
            if self._table.n_bytes > self._most_bytes:
                self._table = NameTable()
            return self._table.numbers(text, starts, stops), TableNames(self._table)


def _grown(array: Any, least: int) -> Any:
    """Return a larger array that begins with another one."""
    grown = np.empty(max(least, 3 * array.size // 2), array.dtype)
    grown[: array.size] = array
    return grown
