"""What is wrong with a line that a parser refused, and the numbers that it leaves to Python."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from xmleval.input.lines import shown
from xmleval.numerals import decimal_number

UP_TO_BLANK = re.compile(rb"[^ \t\n]+?(?=[ \t\n]|\r\n)")
TOKEN = re.compile(rb"[^ \t]+")
LABEL = re.compile(rb"(\d+)(?:\.0*)?")
FIRST_FEATURE = re.compile(rb"\d+:[\d.+a-z-]+", re.IGNORECASE)  # what tells it from a label
FEATURE = re.compile(rb"\d[\d.+a-z-]*(?<=\d):[\d.+a-z-]+", re.IGNORECASE)
MOST_DIGITS = 15  # of a label id, which leaves it far within an int64


def number_at(text: NDArray[np.uint8], start: int) -> float | None:
    """Return the number that a token is, None if it is none."""
    token = UP_TO_BLANK.match(text.data, start)
    return decimal_number(token[0]) if token else None


def explain_entries(line: bytes, n_labels: int) -> str:
    """Say what keeps a line from being ``label:score`` tokens."""
    for token in TOKEN.finditer(line):
        label, colon, score = token[0].partition(b":")
        if not (label.isdigit() and colon and decimal_number(score) is not None):
            return f"{shown(token[0])} is not label:score"
        if wrong := _out_of_range(label, n_labels):
            return wrong
    return f"{shown(line)} cannot be read"


def explain_list(line: bytes, n_labels: int, loose: bool) -> str:
    """Say what keeps a line from being a list of labels and then ``feature:value`` tokens."""
    for place, token in enumerate(TOKEN.finditer(line)):
        if place == 0 and b":" not in token[0] and (loose or token.start() == 0):
            for label in token[0].split(b","):
                found = LABEL.fullmatch(label)
                if not found:
                    return f"{shown(label)} is not a label id, a whole number from 0 up"
                if wrong := _out_of_range(found[1], n_labels):
                    return wrong
            continue
        query = loose and place < 2 and token[0].startswith(b"qid:")
        kind = FEATURE if place else FIRST_FEATURE
        if not query and not kind.fullmatch(token[0]):
            return f"{shown(token[0])} is not feature:value"
    return f"{shown(line)} cannot be read"


def _out_of_range(label: bytes, n_labels: int) -> str | None:
    label = label.lstrip(b"0") or b"0"
    if len(label) <= MOST_DIGITS and int(label) < n_labels:
        return None
    hint = "; ids look one-based" if label == str(n_labels).encode() else ""
    return f"label id {label[:40].decode()} is not in 0..{n_labels - 1}{hint}"
