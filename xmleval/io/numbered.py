"""Numbered lines of text files, packed by gzip or not."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from xmleval.io.format import file_size

LONGEST_LINE = 1 << 26  # bytes; a small packed file must not unpack to one line that fills the memory
SHOWN = 40


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file that holds something; its first bytes tell whether it is packed."""
    file_size(path)
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as inner:
                yield inner
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"its gzip stream is damaged or cut short ({error})") from None


def numbered_lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """Yield the lines of a text in UTF-8 with their numbers, from 1, without blanks at their ends."""
    with unpacked(path) as file:
        for number in itertools.count(1):
            line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise ValueError(f"line {number} is longer than {LONGEST_LINE} bytes")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                text = line.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None
            yield number, text.strip()


def shown(text: str) -> str:
    """Return the beginning of a text as a message quotes it."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
