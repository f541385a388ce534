"""Text files in whole lines, one by one or many at a time: inflated where compressed, in bounded memory."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.kernels.decimal import SPARE
from xmleval.kernels.parsing import NEWLINE, count_byte, find_last
from xmleval.threads import Pool

T = TypeVar("T")
U = TypeVar("U")
GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
MOST_JSON_BYTES = 1 << 28
LONGEST_LINE = 1 << 28  # bytes; a small packed file must not unpack to one line that fills the memory
READ_BYTES = 1 << 20
SPLIT_BYTES = 1 << 16  # of a line, which may have as many whatever the memory
LINE_BYTES = 32  # of memory for each byte of a line that is split into fields
ROW_BYTES = 10  # of text that take as much memory as a row without entries does when parsed
PARSED_BYTES = 16  # likewise of a line that is parsed into the entries of an array
WORKERS = 2  # threads that parse, beside one that reads and inflates
SHOWN = 40  # characters of a file that a message quotes


class Lines(NamedTuple):
    """Consecutive lines: their bytes and `SPARE` others, how many they are, the number of the first."""

    text: NDArray[np.uint8]
    n_lines: int
    first: int

    def line(self, i: int) -> bytes:
        """Return one line without its end."""
        return self.text[:-SPARE].tobytes().split(b"\n", i + 1)[i].removesuffix(b"\r")


@contextlib.contextmanager
def open_text(file: InputFile) -> Iterator[IO[bytes]]:
    """Open a text file behind its byte order mark, compressed by gzip or not, whatever its name says."""
    try:
        with contextlib.ExitStack() as opened:
            text: Any = opened.enter_context(file.open())
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
    except EOFError:
        raise ValueError("the gzip stream is cut short") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"the gzip stream is damaged ({error})") from None


def read_json(path: Path, allowance: Allowance) -> bytes:
    """Read a file of JSON at once, compressed or not, within an allowance of memory."""
    most = int(min(MOST_JSON_BYTES, allowance.left // 3))  # its bytes, twice while they are joined, and text
    with open_text(InputFile(path)) as file:
        held = file.read(most + 1)
    if len(held) > most:
        allowance.check(3 * len(held))
        raise ValueError(f"more than {MOST_JSON_BYTES} bytes of JSON, which is read at once")
    return held


def whole_lines(
    file: IO[bytes], n_bytes: int, first: int, allowance: Allowance = UNLIMITED
) -> Iterator[Lines]:
    """Yield the rest of a file, about ``n_bytes`` of whole lines at a time, each in memory of its own.

    The file is at the start of line ``first``. A longer line comes with whatever follows it in twice the
    memory.
    """
    room, held, rest = max(n_bytes, 1), 0, np.empty(0, np.uint8)
    while True:
        buffer = np.empty(room + 1 + SPARE, np.uint8)
        buffer[:held] = rest
        filled = _fill(file, buffer[:room], held)
        ended = filled < room
        if ended and filled and buffer[filled - 1] != NEWLINE:
            buffer[filled] = NEWLINE
            filled += 1
        stop = find_last(buffer[:filled], NEWLINE) + 1
        if stop:
            n_lines = count_byte(buffer[:stop], NEWLINE)
            yield from _split(Lines(buffer[: stop + SPARE], n_lines, first), max(1, n_bytes // ROW_BYTES))
            first += n_lines
        if ended:
            return
        rest = buffer[stop:filled]
        held, room = rest.size, max(n_bytes, 1)
        if held >= room:
            _check_length(first, held, allowance, 2 * PARSED_BYTES)
            room = min(2 * held, LONGEST_LINE)


def _split(lines: Lines, most: int) -> Iterator[Lines]:
    """Yield lines, at most so many at a time: very short ones take far more memory as rows than as text."""
    if lines.n_lines <= most:
        yield lines
        return
    text = lines.text[:-SPARE]
    middle = find_last(text[: text.size // 2], NEWLINE) + 1
    middle = middle or text.size // 2 + int(np.argmax(text[text.size // 2 :] == NEWLINE)) + 1
    n_lines = count_byte(text[:middle], NEWLINE)
    yield from _split(Lines(lines.text[: middle + SPARE], n_lines, lines.first), most)
    rest = Lines(lines.text[middle:], lines.n_lines - n_lines, lines.first + n_lines)
    yield from _split(rest, most)


def in_order(function: Callable[[T], U], items: Iterator[T]) -> Iterator[U]:
    """Yield what a function makes of each item, in order, while threads work on the next few.

    A single item is worked on inline. A fault in finding an item comes after the results, or the fault, of
    those before it.
    """
    found: deque[T] = deque()
    under_way: deque[Future[U]] = deque()
    fault: Exception | None = None
    with Pool(WORKERS) as pool:
        while fault is None:
            try:
                found.append(next(items))
            except Exception as error:
                fault = error
            if found and (under_way or len(found) > 1):
                under_way.append(pool.submit(function, found.popleft()))
            if len(under_way) > WORKERS:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
        if found:
            yield function(found.popleft())
    if not isinstance(fault, StopIteration):
        raise fault


def numbered_lines(
    file: InputFile, errors: str = "strict", allowance: Allowance = UNLIMITED
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text in UTF-8 that are not blank, stripped, with their numbers, from 1."""
    for number, line in unstripped_lines(file, errors, allowance):
        if text := line.strip():
            yield number, text


def cells_of(number: int, line: str, separator: str) -> list[str]:
    """Return the cells of a line, which may be quoted; ``number`` is that of the line in messages."""
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error as error:
        inside = "a carriage return within it; save the file with lines that end in \\n"
        raise ValueError(f"line {number}: {inside if chr(13) in line else error}") from None


def unstripped_lines(
    file: InputFile, errors: str = "strict", allowance: Allowance = UNLIMITED
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text in UTF-8 that are not empty, as they are, with their numbers, from 1."""
    longest = int(max(SPLIT_BYTES, min(LONGEST_LINE, allowance.left // LINE_BYTES)))
    with open_text(file) as opened:
        for number, line in enumerate(iter(partial(opened.readline, longest), b""), 1):
            if len(line) >= longest:
                _check_length(number, len(line) + 1, allowance, LINE_BYTES)
            try:
                if line != b"\n":
                    yield number, line.decode("utf-8", errors).removesuffix("\n")
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None


def _check_length(number: int, length: int, allowance: Allowance, line_bytes: int) -> None:
    """Refuse a line that is too long, or needs too much memory, so much for each byte."""
    if length >= LONGEST_LINE:
        raise ValueError(f"line {number} is longer than {LONGEST_LINE} bytes")
    allowance.check(line_bytes * length, f"line {number}: ")


def shown(text: str | bytes) -> str:
    """Return the beginning of a text as a message quotes it."""
    if isinstance(text, bytes):
        text = text[: 4 * SHOWN + 4].decode("utf-8", "replace")
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def _fill(file: Any, text: NDArray[np.uint8], held: int) -> int:
    """Read until an array is full or the file ends, and return how much of it is filled."""
    view = text.data
    while held < text.size:
        n_read = file.readinto(view[held : held + READ_BYTES])
        if not n_read:
            break
        held += n_read
    return held
