"""Read text files, also compressed ones, by line or in blocks of whole lines, in bounded memory."""

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
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
MOST_AT_ONCE = 1 << 28
# in bytes: a small compressed file must not inflate to one line that fills the memory
LONGEST_LINE = 1 << 28
SPLIT_BYTES = 1 << 16  # length of a line that is read whatever the memory limit
LINE_BYTES = 32  # memory per byte of a line that is split into fields
PARSED_BYTES = 16  # memory per byte of a line that is parsed into the entries of an array
# memory per byte and per line of a text that is parsed
TEXT_BYTES = 4
ROW_BYTES = 40
ID_BYTES = 24  # memory per id and per row of ids, with copies
WORKERS = 2  # threads that parse, in addition to one that reads and inflates
SHOWN = 40  # characters of a file that a message quotes
ASCII_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # the ones that `str.split` splits at
BETWEEN_WORDS = re.compile(f"[{ASCII_BLANKS}]+")


class Lines(NamedTuple):
    """Consecutive lines of a file.

    text : bytes of the lines, and `SPARE` further ones
    n_lines : number of lines
    first : number of the first line in the file
    """

    text: NDArray[np.uint8]
    n_lines: int
    first: int

    def line(self, i: int) -> bytes:
        """Return line ``i`` without its line break."""
        return self.text[:-SPARE].tobytes().split(b"\n", i + 1)[i].removesuffix(b"\r")


@contextlib.contextmanager
def open_text(file: InputFile) -> Iterator[io.BufferedReader[Any]]:
    """Open a text file after its byte order mark; gzip is recognized by content, not by name."""
    try:
        with contextlib.ExitStack() as stack:
            text = stack.enter_context(file.open())
            is_gzip = text.read(len(GZIP)) == GZIP
            text.seek(0)
            if is_gzip:
                text = stack.enter_context(gzip.GzipFile(fileobj=text, mode="rb"))
                # splits lines in C
                text = stack.enter_context(io.BufferedReader(text, SPLIT_BYTES))
            start = text.read(len(BOM))
            if not start:
                raise ValueError("the file is empty")
            if start != BOM:
                text.seek(0)
            yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"the gzip stream is damaged, or cut short ({error})") from None


def read_at_once(path: Path) -> bytes:
    """Return the bytes of a file of JSON or XML, compressed or not."""
    # memory for the bytes, twice while they are joined, and for the text
    limit = int(min(MOST_AT_ONCE, memory_limit().left // 3))
    with open_text(InputFile(path)) as file:
        text = file.read(limit + 1)
    if len(text) > limit:
        memory_limit().check(3 * len(text))
        raise ValueError(f"more than {MOST_AT_ONCE} bytes, which are read at once")
    return text


def whole_lines(file: io.BufferedReader[Any], n_bytes: int, first: int) -> Iterator[Lines]:
    """Yield the lines of a file from line ``first`` on, in blocks of ``n_bytes`` once parsed."""
    most_lines = max(n_bytes // ROW_BYTES, 1)
    least_room = room = max(n_bytes // TEXT_BYTES, 1)
    unread = np.empty(0, np.uint8)
    while True:
        text = np.empty(room + 1 + SPARE, np.uint8)
        text[: unread.size] = unread
        filled = unread.size + file.readinto(text.data[unread.size : room])
        is_end = filled < room
        if is_end and filled and text[filled - 1] != NEWLINE:
            text[filled] = NEWLINE
            filled += 1
        stop, n_lines = _cut_lines(text[:filled], most_lines)
        if stop:
            yield Lines(text[: stop + SPARE], n_lines, first)
            first += n_lines
        if is_end and stop == filled:
            return
        unread = text[stop:filled]
        room = least_room
        if unread.size >= room:
            _check_length(first, unread.size, 2 * PARSED_BYTES)
            room = min(2 * unread.size, LONGEST_LINE)


def _cut_lines(text: NDArray[np.uint8], most_lines: int) -> tuple[int, int]:
    """Return the size and number of the first whole lines, about ``most_lines`` at most."""
    stop = find_last(text, NEWLINE) + 1
    n_lines = int(np.count_nonzero(text[:stop] == NEWLINE))
    while n_lines > most_lines:
        half = find_last(text[: stop // 2], NEWLINE) + 1
        if not half:
            break
        stop = half
        n_lines = int(np.count_nonzero(text[:stop] == NEWLINE))
    return stop, n_lines


def in_order(function: Callable[[T], U], items: Iterator[T]) -> Iterator[U]:
    """Yield the result of a function by item, in order, while threads compute the next few."""
    calls: deque[Call[U]] = deque()
    try:
        for item in items:
            if len(calls) == WORKERS:
                yield calls.popleft().result()
            calls.append(Call(function, item))
        while calls:
            yield calls.popleft().result()
    finally:
        for call in calls:
            call.cancel()


def blocks_in_order(
    function: Callable[[Lines], U], blocks: Iterator[Lines]
) -> Iterator[tuple[Lines, U]]:
    """Yield each block with the result of a function, while threads compute the next few."""
    return in_order(lambda block: (block, function(block)), blocks)


def parsed_lines(
    file: InputFile, parse: Callable[[str], T | None], errors: str = "strict", skipped: int = 0
) -> Iterator[tuple[int, T]]:
    """Yield line numbers and results of ``parse`` other than None, after some skipped lines.

    Errors of ``parse`` are raised with the line number.
    """
    longest = int(max(SPLIT_BYTES, min(LONGEST_LINE, memory_limit().left // LINE_BYTES)))
    with open_text(file) as opened:
        for number, line in enumerate(iter(partial(opened.readline, longest), b""), 1):
            if len(line) >= longest:
                _check_length(number, len(line) + 1, LINE_BYTES)
            parsed = _parse_line(number, line, parse if number > skipped else _skip, errors)
            if parsed is not None:
                yield number, parsed


def parsed_block(block: Lines, parse: Callable[[str], T | None]) -> Iterator[tuple[int, T]]:
    """Yield line numbers and results of ``parse`` for a block, like `parsed_lines` for a file."""
    lines = io.BytesIO(block.text[:-SPARE].tobytes())
    for number, line in enumerate(lines, block.first):
        parsed = _parse_line(number, line, parse, "strict")
        if parsed is not None:
            yield number, parsed


def _parse_line(
    number: int, line: bytes, parse: Callable[[str], T | None], errors: str
) -> T | None:
    """Return the result of ``parse`` for a line, or refuse the line by its number."""
    if line.startswith(BOM):
        raise ValueError(
            f"line {number}: begins with a byte order mark, as of another file; remove it"
        )
    try:
        return parse(line.decode("utf-8", errors).removesuffix("\n"))
    except UnicodeDecodeError as error:
        raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {number}: {error}") from None


def _skip(line: str) -> None:
    """Return None for a skipped line, which is still checked and decoded."""


def split_words(line: str, n_cuts: int = -1) -> list[str]:
    """Return the words between ASCII blanks; other blanks of Unicode are parts of words."""
    if line.isascii():
        return line.split(None, n_cuts)
    stripped = line.strip(ASCII_BLANKS)
    if not stripped:
        return []
    return BETWEEN_WORDS.split(stripped, max(n_cuts, 0))


def listed_rows(lines: Iterable[tuple[int, list[int]]], n_bytes: int) -> Iterator[Rows]:
    """Yield the label ids of lines as rows, about ``n_bytes`` at a time."""
    ptr = array("q", [0])
    labels = array("q")
    for _, ids in lines:
        if len(ptr) > 1 and ID_BYTES * (len(ptr) + len(labels) + len(ids)) > n_bytes:
            yield rows_by_id(np.array(ptr, np.int64), np.array(labels, np.int64))
            ptr = array("q", [0])
            labels = array("q")
        labels.extend(ids)
        ptr.append(len(labels))
    if len(ptr) > 1:
        yield rows_by_id(np.array(ptr, np.int64), np.array(labels, np.int64))


def _check_length(number: int, length: int, line_bytes: int) -> None:
    """Refuse a line that is too long, or needs too much memory at ``line_bytes`` per byte."""
    if length >= LONGEST_LINE:
        raise ValueError(f"line {number} is longer than {LONGEST_LINE} bytes")
    memory_limit().check(line_bytes * length, f"line {number}: ")
