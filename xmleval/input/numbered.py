"""Numbered lines of text files, packed by gzip or not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from xmleval.input.lines import open_text

LONGEST_LINE = 1 << 26  # bytes; a small packed file must not unpack to one line that fills the memory
SHOWN = 40


def numbered_lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """Yield the lines of a text in UTF-8 with their numbers, from 1, without blanks at their ends."""
    with open_text(path) as file:
        for number in itertools.count(1):
            line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise ValueError(f"line {number} is longer than {LONGEST_LINE} bytes")
            try:
                text = line.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None
            yield number, text.strip()


def shown(text: str) -> str:
    """Return the beginning of a text as a message quotes it."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
