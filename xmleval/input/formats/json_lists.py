"""JSON Lines whose objects have the same few fields in the same order, parsed in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.input.fields import is_plain, numbers_in, texts_in
from xmleval.input.lines import Lines, blocks_in_order
from xmleval.input.names import Names, TableNames
from xmleval.kernels.fields import trim_fields
from xmleval.kernels.json_lists import ID, NUMBERS, TEXTS, find_lists
from xmleval.kernels.parsing import COMMA


class ListFields(NamedTuple):
    """The names of the fields of objects in order, and their kinds: `ID`, `TEXTS` or `NUMBERS`."""

    names: Sequence[str]
    kinds: Sequence[int]


class ListedLabels(NamedTuple):
    """The objects of a block: their ids, None without any, and their labels.

    ptr : int64 (n + 1,), where the labels of each object begin
    labels, names : int64 (s,), places among names, and the names
    values : float64 (s,), None where none are read
    lines : int64 (n,), the number of each line in the file
    """

    ids: list[str] | None
    ptr: Ints
    labels: Ints
    names: TableNames
    values: Floats | None
    lines: Ints


def is_written_plainly(name: str) -> bool:
    """Return whether JSON writes the name of a field without escapes."""
    return name.isascii() and name.isprintable() and not {'"', "\\"} & {*name}


def read_in_blocks(
    fields: ListFields, names: Names, blocks: Iterator[Lines]
) -> Iterator[tuple[Lines, ListedLabels | None]]:
    """Yield each block with its objects, see `read_lists`."""
    return blocks_in_order(lambda block: read_lists(fields, names, block), blocks)


def read_lists(fields: ListFields, names: Names, block: Lines) -> ListedLabels | None:
    """Return the objects of a block, None if any line needs another reader or is wrong."""
    text = block.text
    n_lines = block.n_lines
    if not is_plain(text):
        return None
    n_items = n_lines + int(np.count_nonzero(text == COMMA))
    encoded = [name.encode() for name in fields.names]
    ends = np.cumsum([0, *map(len, encoded)])
    id_places = np.empty((2, n_lines), np.int64)
    ptr = np.empty((2, n_lines + 1), np.int64)
    starts, stops = np.empty((2, 2, n_items), np.int64)
    lines = np.empty(n_lines, np.int64)
    field_names = np.frombuffer(b"".join(encoded), np.uint8)
    kinds = np.array(fields.kinds, np.int64)
    n, n_read = find_lists(
        text, n_lines, field_names, ends, kinds, id_places, ptr, starts, stops, lines
    )
    if n_read < n_lines:
        return None
    ptr = ptr[:, : n + 1]
    n_labels = ptr[TEXTS, -1]
    label_starts = starts[TEXTS, :n_labels]
    label_stops = stops[TEXTS, :n_labels]
    if trim_fields(text, label_starts, label_stops):
        return None
    ids = None
    values = None
    if ID in fields.kinds:
        id_starts, id_stops = np.ascontiguousarray(id_places[:, :n])
        if trim_fields(text, id_starts, id_stops):
            return None
        ids = texts_in(text, id_starts, id_stops)
    if NUMBERS in fields.kinds:
        n_values = ptr[NUMBERS, -1]
        values = numbers_in(text, starts[NUMBERS, :n_values], stops[NUMBERS, :n_values])
        if values is None or not np.array_equal(ptr[TEXTS], ptr[NUMBERS]):
            return None
    labels, label_names = names.number(text, label_starts, label_stops)
    line_numbers = lines[:n] + block.first
    return ListedLabels(ids, ptr[TEXTS].copy(), labels, label_names, values, line_numbers)
