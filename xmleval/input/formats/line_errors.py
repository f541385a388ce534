"""What is wrong with a line that a parser refused, and the numbers that it leaves to Python."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from xmleval.input.lines import shown
from xmleval.numerals import decimal_number

BLANKS = re.compile(rb"[ \t]+")
UP_TO_BLANK = re.compile(rb"[^ \t\n]+?(?=[ \t\n]|\r\n)")
LABEL = re.compile(rb"0*(\d+?)(?:\.0*)?")
FEATURE = re.compile(rb"\d[\d.+a-z-]*(?<=\d):[\d.+a-z-]+", re.IGNORECASE)
MOST_DIGITS = 15  # of a label id, which leaves it far within an int64


def number_at(text: NDArray[np.uint8], start: int) -> float | None:
    """Return the number that a token is, None if it is none."""
    token = UP_TO_BLANK.match(text.data, start)
    return decimal_number(token[0]) if token else None


def explain_entries(line: bytes, n_labels: int) -> str:
    """Say what keeps a line from being ``label:score`` tokens."""
    for token in BLANKS.split(line.strip(b" \t")):
        label, colon, score = token.partition(b":")
        if not (label.isdigit() and colon and decimal_number(score) is not None):
            return f"{shown(token)} is not label:score"
        if wrong := _wrong_id(label, n_labels):
            return wrong
    return f"{shown(line)} cannot be read"


def explain_list(line: bytes, n_labels: int, loose: bool) -> str:
    """Say what keeps a line from being a list of labels and then ``feature:value`` tokens."""
    first, *features = BLANKS.split(line.lstrip(b" \t") if loose else line)
    if b":" in first:
        features = [first, *features]
    elif wrong := next(
        filter(None, (_wrong_id(label, n_labels) for label in first.split(b",") if first)), ""
    ):
        return wrong
    if loose and features and features[0].startswith(b"qid:"):
        del features[0]
    wrong_one = next((token for token in features if token and not FEATURE.fullmatch(token)), None)
    return (
        f"{shown(line)} cannot be read" if wrong_one is None else f"{shown(wrong_one)} is not feature:value"
    )


def _wrong_id(text: bytes, n_labels: int) -> str:
    number = LABEL.fullmatch(text)
    if number is None:
        return f"{shown(text)} is not a label id, a whole number from 0 up"
    if len(number[1]) <= MOST_DIGITS and int(number[1]) < n_labels:
        return ""
    hint = "; ids look one-based" if number[1] == str(n_labels).encode() else ""
    return f"label id {number[1][:40].decode()} is not in 0..{n_labels - 1}{hint}"
