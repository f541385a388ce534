"""CSV: records by name, read line by line or, with a label on each line, in blocks."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, dropwhile
from typing import Any, NamedTuple

from xmleval.base.budget import memory_limit
from xmleval.files.input import InputFile
from xmleval.input.fields import (
    FieldPlaces,
    LineFields,
    TableCells,
    in_blocks,
    read_cells,
    read_fields,
    read_in_order,
)
from xmleval.input.lines import (
    LINE_BYTES,
    LONGEST_LINE,
    SPLIT_BYTES,
    Lines,
    open_text,
    parsed_block,
    parsed_lines,
)
from xmleval.input.names import Names
from xmleval.kernels.fields import QUOTE

DELIMITERS = "\t,;"
Record = tuple[int, Any]


def csv_rows(file: InputFile) -> CsvRecords:
    """Return an iterator of the names of fields, then of records with their first lines."""
    return CsvRecords(parsed_lines(file, _without_end))


class CsvRecords(Iterator[Record]):
    """Yields the names of fields from the first of some lines, then the records by name.

    names, delimiter : of the fields, and the character between them; known once the first line is
        read, or given
    """

    def __init__(
        self, lines: Iterator[tuple[int, str]], names: Sequence[str] = (), delimiter: str = ""
    ) -> None:
        self.names = names
        self.delimiter = delimiter
        self._lines = lines
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))

    def __next__(self) -> Record:
        """Return the next record with the number of its first line, 0 for the names."""
        number, line = next(self._lines)
        record = self._record(number, line)
        if not self.names:
            self.names = [name.strip() for name in record]
            return 0, self.names
        if len(record) != len(self.names):
            raise ValueError(f"line {number}: {len(record)} fields, not {len(self.names)}")
        return number, dict(zip(self.names, record, strict=False))

    def _record(self, number: int, line: str) -> list[str]:
        """Return the fields of the record that begins with a line."""
        if not self.delimiter:
            self.delimiter = next((mark for mark in DELIMITERS if mark in line), ",")
        if '"' not in line and "\r" not in line:
            return line.split(self.delimiter)
        texts = chain([f"{line}\n"], self._next_lines(number, len(line)))
        try:
            return next(csv.reader(texts, delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            hint = "a quoted field must end with a quote, and have two for each quote in it"
            if "new-line" in str(error):  # a carriage return alone
                hint = "save the file with lines that end in \\n"
            raise ValueError(f"line {number}: {error}; {hint}") from None

    def _next_lines(self, number: int, size: int) -> Iterator[str]:
        """Yield the lines that continue a record, which begins on line ``number`` of ``size``."""
        for _, line in self._lines:
            size += len(line)
            if size > SPLIT_BYTES:
                memory_limit().check(LINE_BYTES * size, f"line {number}: ")
            yield f"{line}\n"


class CsvBlock(NamedTuple):
    """Some records of a file: their fields if all lines are regular, and a line-by-line reader.

    further : names of the further fields
    """

    fields: LineFields | None
    records: Callable[[], Iterator[Record]]
    further: Sequence[str] = ()


class CsvBlocks:
    """The records of a file whose names of fields are known, many lines at a time."""

    def __init__(self, file: InputFile, header: CsvRecords) -> None:
        self._file = file
        self._names = header.names
        self._delimiter = header.delimiter

    def read(
        self, columns: Sequence[str | None], further_columns: Callable[[], Sequence[str]]
    ) -> Iterator[CsvBlock]:
        """Yield the blocks; only large files have several.

        From lines on that may go on beyond a block, all others are one. While further columns are
        read, the first block has no fields: once its records are read, most of these columns need
        no more.

        columns : names of the key, the label and the value, None for a column that is not there
        further_columns : returns names of further columns to read, before the first block and after
            it
        """
        with open_text(self._file) as opened:
            blocks = dropwhile(_is_blank, in_blocks(opened))
            names = Names()
            first = next(blocks)
            second = next(blocks, None)
            if second is None:
                yield CsvBlock(None, partial(self._records_below_header, [first]))
                return
            next_blocks = chain([second], blocks)
            may_go_on = _may_go_on(first)
            fields = None
            if may_go_on or not further_columns():
                fields = read_fields(self._field_places(columns, ()), names, first, n_skipped=1)
            if fields is None and may_go_on:
                all_blocks = chain([first], next_blocks)
                yield CsvBlock(None, partial(self._records_below_header, all_blocks))
                return
            if further_columns():
                fields = None
            yield CsvBlock(fields, partial(self._records_below_header, [first]))
            further = further_columns()
            pairs = read_in_order(self._field_places(columns, further), names, next_blocks)
            for block, fields in pairs:
                if fields is None and _may_go_on(block):
                    last_blocks = chain([block], (next_block for next_block, _ in pairs))
                    yield CsvBlock(None, partial(self._records, last_blocks))
                    return
                yield CsvBlock(fields, partial(self._records, [block]), further)

    def read_cells(
        self, key: str | None, columns: Sequence[str]
    ) -> Iterator[tuple[TableCells | None, Callable[[], Iterator[Record]]]]:
        """Yield block by block the numbers in some columns, and a line-by-line reader.

        Without numbers, the block must be read line by line; a small file always is. From lines on
        that may go on beyond such a block, all others are one.
        """
        place_of = {name: place for place, name in enumerate(self._names)}
        key_place = -1 if key is None else place_of[key]
        further = tuple([place_of[name] for name in columns])
        places = (key_place, -1, -1)
        layout = FieldPlaces(len(self._names), places, ord(self._delimiter), further)
        with open_text(self._file) as opened:
            blocks = dropwhile(_is_blank, in_blocks(opened))
            first = next(blocks)
            second = next(blocks, None)
            if second is None:
                yield None, partial(self._records_below_header, [first])
                return
            records: Callable[[Iterable[Lines]], CsvRecords] = self._records_below_header
            all_blocks = chain([first, second], blocks)
            for block in all_blocks:
                cells = read_cells(layout, block, n_skipped=1 if block is first else 0)
                if cells is None and _may_go_on(block):
                    yield None, partial(records, chain([block], all_blocks))
                    return
                yield cells, partial(records, [block])
                records = self._records

    def _field_places(self, columns: Sequence[str | None], further: Sequence[str]) -> FieldPlaces:
        """Return the places of fields on a line; of two fields of one name, the last counts."""
        place_of: dict[str | None, int] = {name: place for place, name in enumerate(self._names)}
        key, label, value = (place_of.get(name, -1) for name in columns)
        further_places = tuple([place_of[name] for name in further])
        n_fields = len(self._names)
        return FieldPlaces(n_fields, (key, label, value), ord(self._delimiter), further_places)

    def _records(self, blocks: Iterable[Lines]) -> CsvRecords:
        return CsvRecords(_nonblank_lines(blocks), self._names, self._delimiter)

    def _records_below_header(self, blocks: Iterable[Lines]) -> CsvRecords:
        records = CsvRecords(_nonblank_lines(blocks))
        next(records)
        return records


def _nonblank_lines(blocks: Iterable[Lines]) -> Iterator[tuple[int, str]]:
    """Yield the lines of blocks that are not blank."""
    return chain.from_iterable(parsed_block(block, _without_end) for block in blocks)


def _is_blank(block: Lines) -> bool:
    """Return whether all lines of a block are blank."""
    return next(_nonblank_lines([block]), None) is None


def _without_end(line: str) -> str | None:
    """Return a line without blanks at its end, None if nothing is left."""
    return line.rstrip(" \r") or None


def _may_go_on(block: Lines) -> bool:
    """Return whether the last record of a block may go on in the next, as quotes allow."""
    return bool((block.text == QUOTE).any())
