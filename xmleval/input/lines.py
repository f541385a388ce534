"""Text files in whole lines, one by one or many at a time: inflated where compressed, in bounded memory."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import memory_limit
from xmleval.base.threads import Call
from xmleval.files.input import InputFile
from xmleval.input.rows import Rows, rows_by_id
from xmleval.kernels.decimal import SPARE
from xmleval.kernels.parsing import NEWLINE, find_last

T = TypeVar("T")
U = TypeVar("U")
GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
MOST_AT_ONCE = 1 << 28
LONGEST_LINE = 1 << 28  # bytes; a small packed file must not unpack to one line that fills the memory
SPLIT_BYTES = 1 << 16  # of a line, which may have as many whatever the memory
LINE_BYTES = 32  # of memory for each byte of a line that is split into fields
PARSED_BYTES = 16  # likewise of a line that is parsed into the entries of an array
TEXT_BYTES, ROW_BYTES = 4, 40  # of memory for a byte of a text that is parsed, and for a line of it
ID_BYTES = 24  # of memory for an id or a row of them, with copies
WORKERS = 2  # threads that parse, beside one that reads and inflates
SHOWN = 40  # characters of a file that a message quotes
ASCII_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # as `str.split` knows them
BETWEEN_WORDS = re.compile(f"[{ASCII_BLANKS}]+")


class Lines(NamedTuple):
    """Consecutive lines: their bytes and `SPARE` others, how many they are, the number of the first."""

    text: NDArray[np.uint8]
    n_lines: int
    first: int

    def line(self, i: int) -> bytes:
        """Return one line without its end."""
        return self.text[:-SPARE].tobytes().split(b"\n", i + 1)[i].removesuffix(b"\r")


@contextlib.contextmanager
def open_text(file: InputFile) -> Iterator[io.BufferedReader[Any]]:
    """Open a text file behind its byte order mark, compressed by gzip or not, whatever its name says."""
    try:
        with contextlib.ExitStack() as opened:
            text = opened.enter_context(file.open())
            zipped = text.read(len(GZIP)) == GZIP
            text.seek(0)
            if zipped:
                text = opened.enter_context(gzip.GzipFile(fileobj=text, mode="rb"))
                text = opened.enter_context(io.BufferedReader(text, SPLIT_BYTES))  # splits lines in C
            start = text.read(len(BOM))
            if not start:
                raise ValueError("the file is empty")
            if start != BOM:
                text.seek(0)
            yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"the gzip stream is damaged, or cut short ({error})") from None


def read_at_once(path: Path) -> bytes:
    """Read a file of JSON or XML at once, compressed or not."""
    limit = int(min(MOST_AT_ONCE, memory_limit().left // 3))  # bytes, twice while they are joined, and text
    with open_text(InputFile(path)) as file:
        text = file.read(limit + 1)
    if len(text) > limit:
        memory_limit().check(3 * len(text))
        raise ValueError(f"more than {MOST_AT_ONCE} bytes, which are read at once")
    return text


def whole_lines(file: io.BufferedReader[Any], n_bytes: int, first: int) -> Iterator[Lines]:
    """Yield the next lines of a file, ``first`` and others, that need about ``n_bytes`` once parsed."""
    least_room = room = max(n_bytes // TEXT_BYTES, 1)
    unread = np.empty(0, np.uint8)
    while True:
        text = np.empty(room + 1 + SPARE, np.uint8)
        text[: unread.size] = unread
        filled = unread.size + file.readinto(text.data[unread.size : room])
        ended = filled < room
        if ended and filled and text[filled - 1] != NEWLINE:
            text[filled] = NEWLINE
            filled += 1
        stop = find_last(text[:filled], NEWLINE) + 1
        while (n_lines := int(np.count_nonzero(text[:stop] == NEWLINE))) > max(n_bytes // ROW_BYTES, 1):
            if not (half := find_last(text[: stop // 2], NEWLINE) + 1):
                break
            stop = half
        if stop:
            yield Lines(text[: stop + SPARE], n_lines, first)
            first += n_lines
        if ended and stop == filled:
            return
        unread = text[stop:filled]
        room = least_room
        if unread.size >= room:
            _check_length(first, unread.size, 2 * PARSED_BYTES)
            room = min(2 * unread.size, LONGEST_LINE)


def in_order(function: Callable[[T], U], items: Iterator[T]) -> Iterator[U]:
    """Yield what a function makes of each item, in order, while threads work on the next few."""
    under_way: deque[Call[U]] = deque()
    try:
        for item in items:
            if len(under_way) == WORKERS:
                yield under_way.popleft().result()
            under_way.append(Call(function, item))
        while under_way:
            yield under_way.popleft().result()
    finally:
        for call in under_way:
            call.cancel()


def blocks_in_order(function: Callable[[Lines], U], blocks: Iterator[Lines]) -> Iterator[tuple[Lines, U]]:
    """Yield each block with what a function makes of it, while threads work on the next few."""
    return in_order(lambda block: (block, function(block)), blocks)


def parsed_lines(
    file: InputFile, parse: Callable[[str], T | None], errors: str = "strict", skipped: int = 0
) -> Iterator[tuple[int, T]]:
    """Yield what a function makes of each line behind some, but for None, with its number, as in errors."""
    longest = int(max(SPLIT_BYTES, min(LONGEST_LINE, memory_limit().left // LINE_BYTES)))
    with open_text(file) as opened:
        for number, line in enumerate(iter(partial(opened.readline, longest), b""), 1):
            if len(line) >= longest:
                _check_length(number, len(line) + 1, LINE_BYTES)
            parsed = _parsed(number, line, parse if number > skipped else _nothing, errors)
            if parsed is not None:
                yield number, parsed


def parsed_block(block: Lines, parse: Callable[[str], T | None]) -> Iterator[tuple[int, T]]:
    """Yield what a function makes of each line of a block, as `parsed_lines` does of a file."""
    for number, line in enumerate(io.BytesIO(block.text[:-SPARE].tobytes()), block.first):
        parsed = _parsed(number, line, parse, "strict")
        if parsed is not None:
            yield number, parsed


def _parsed(number: int, line: bytes, parse: Callable[[str], T | None], errors: str) -> T | None:
    """Return what a function makes of a line, or refuse the line by its number."""
    if line.startswith(BOM):
        raise ValueError(f"line {number}: begins with a byte order mark, as of another file; remove it")
    try:
        return parse(line.decode("utf-8", errors).removesuffix("\n"))
    except UnicodeDecodeError as error:
        raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {number}: {error}") from None


def _nothing(line: str) -> None:
    """Make nothing of a line."""


def words_of(line: str, n_cuts: int = -1) -> list[str]:
    """Return what is between ASCII blanks; a no-break space, or another of Unicode, is part of a word."""
    if line.isascii():
        return line.split(None, n_cuts)
    stripped = line.strip(ASCII_BLANKS)
    return BETWEEN_WORDS.split(stripped, max(n_cuts, 0)) if stripped else []


def listed_rows(lines: Iterable[tuple[int, list[int]]], n_bytes: int) -> Iterator[Rows]:
    """Put the ids of lines together as rows, about ``n_bytes`` at a time."""
    ptr, labels = array("q", [0]), array("q")
    for _, ids in lines:
        if len(ptr) > 1 and ID_BYTES * (len(ptr) + len(labels) + len(ids)) > n_bytes:
            yield rows_by_id(np.array(ptr, np.int64), np.array(labels, np.int64))
            ptr, labels = array("q", [0]), array("q")
        labels.extend(ids)
        ptr.append(len(labels))
    if len(ptr) > 1:
        yield rows_by_id(np.array(ptr, np.int64), np.array(labels, np.int64))


def _check_length(number: int, length: int, line_bytes: int) -> None:
    """Refuse a line that is too long, or needs too much memory, so much for each byte."""
    if length >= LONGEST_LINE:
        raise ValueError(f"line {number} is longer than {LONGEST_LINE} bytes")
    memory_limit().check(line_bytes * length, f"line {number}: ")
