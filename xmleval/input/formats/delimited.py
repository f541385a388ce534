"""Records of CSV: fields between commas, semicolons or tabs, quoted where they hold these or lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xmleval.budget import Allowance
from xmleval.input.lines import LINE_BYTES, LONGEST_LINE, SPLIT_BYTES, shown

DELIMITERS = "\t,;"
CLOSED = re.compile(r'[^"]*+(?:""[^"]*+)*+"(?!")')  # a quoted field from behind its first quote


def records(lines: Iterator[tuple[int, str]], allowance: Allowance) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each record, and the number of the line that it begins on.

    The first record tells the delimiter: the first of tab, comma and semicolon that occurs in it. As in RFC
    4180, a field that begins with a quote ends with one, and has two for each that it holds. Blank lines are
    passed over.
    """
    delimiter = ""
    for number, line in lines:
        text = line.removesuffix("\r")
        if not text.strip(" \r"):
            continue
        delimiter = delimiter or next((mark for mark in DELIMITERS if mark in text), ",")
        if '"' in text:
            yield number, _quoted_fields(text, delimiter, number, lines, allowance)
        else:
            yield number, text.split(delimiter)


def _quoted_fields(
    text: str, delimiter: str, number: int, lines: Iterator[tuple[int, str]], allowance: Allowance
) -> list[str]:
    """Return the fields of a record that has quotes, which may go on over further lines."""
    fields, place = list[str](), 0
    while True:
        if not text.startswith('"', place):
            stop = text.find(delimiter, place)
            fields.append(text[place:] if stop < 0 else text[place:stop])
            if stop < 0:
                return fields
            place = stop + 1
            continue
        parts, place, size = list[str](), place + 1, 0
        while (found := CLOSED.match(text, place)) is None:
            parts.append(text[place:])
            size += len(text) + 1
            if size > LONGEST_LINE:
                raise ValueError(f"line {number}: a quoted field is longer than {LONGEST_LINE} characters")
            if size > SPLIT_BYTES:
                allowance.check(LINE_BYTES * size, f"line {number}: ")
            following = next(lines, None)
            if following is None:
                raise ValueError(f"line {number}: a quoted field has no end")
            text, place = following[1].removesuffix("\r"), 0
        parts.append(text[place : found.end() - 1])
        fields.append("\n".join(parts).replace('""', '"'))
        place = found.end()
        if place == len(text):
            return fields
        if not text.startswith(delimiter, place):
            behind = shown(text[place : place + LINE_BYTES])
            raise ValueError(f"line {number}: {behind} behind the end of a quoted field")
        place += 1
