"""JSON Lines of flat objects: an id, a list of texts and a list of numbers, each in the same order.

Texts are as in `kernels.parsing`. What these kernels do not take, such as an escape, ends their
reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints
from xmleval.kernels.decimal import MINUS, PLUS, POINT, U0, U1
from xmleval.kernels.fields import QUOTE
from xmleval.kernels.jit import kernel
from xmleval.kernels.parsing import COLON, COMMA, NEWLINE, RETURN, SPACE, TAB

TEXTS, NUMBERS, ID = range(3)  # what a field holds; the first two are lists
BACKSLASH, DIGIT_0, DIGIT_9, SMALL_E, LARGE_E = (ord(mark) for mark in "\\09eE")
LIST, LIST_END, OBJECT, OBJECT_END = (ord(mark) for mark in "[]{}")
MOST_DIGITS = np.uint64(300)  # of an integer; Python refuses very many
Text = NDArray[np.uint8]


@kernel
def skip_blanks(text: Text, p: np.uint64) -> np.uint64:
    """Return the place of the next byte that is no blank of JSON, or ends the line."""
    while text[p] == SPACE or text[p] == TAB or text[p] == RETURN:
        p += U1
    return p


@kernel
def end_of_text(text: Text, p: np.uint64) -> np.uint64:
    """Return the position of the closing quote from ``p`` on, 0 if an escape comes first."""
    while text[p] != QUOTE:
        if text[p] == BACKSLASH or text[p] < SPACE:
            return U0
        p += U1
    return p


@kernel
def skip_digits(text: Text, p: np.uint64) -> np.uint64:
    """Return the place behind some digits."""
    while DIGIT_0 <= text[p] <= DIGIT_9:
        p += U1
    return p


@kernel
def end_of_integer(text: Text, p: np.uint64) -> np.uint64:
    """Return the position behind an unsigned integer of JSON, 0 without one."""
    end = skip_digits(text, p)
    is_valid = p < end <= p + MOST_DIGITS and (text[p] != DIGIT_0 or end == p + U1)
    return end if is_valid else U0


@kernel
def end_of_number(text: Text, p: np.uint64) -> np.uint64:
    """Return the position behind a number of JSON; 0 without one, or at the integer -0."""
    is_negative = text[p] == MINUS
    start = p + np.uint64(is_negative)
    p = end_of_integer(text, start)
    if p == U0:
        return U0
    if text[p] != POINT and text[p] != SMALL_E and text[p] != LARGE_E:
        return U0 if is_negative and text[start] == DIGIT_0 else p
    if text[p] == POINT:
        start = p + U1
        p = skip_digits(text, start)
        if p == start:
            return U0
    if text[p] == SMALL_E or text[p] == LARGE_E:
        start = p + U1
        if text[start] == MINUS or text[start] == PLUS:
            start += U1
        p = skip_digits(text, start)
        if p == start:
            return U0
    return p


@kernel
def find_items(
    text: Text, p: np.uint64, are_texts: bool, starts: Ints, stops: Ints, n_items: int
) -> tuple[np.uint64, int]:
    """Find the items of a list; return the position behind it, 0 without a list, and their number.

    starts, stops : int64 (all items,), written from ``n_items`` on
    """
    if text[p] != LIST:
        return U0, n_items
    p = skip_blanks(text, p + U1)
    if text[p] == LIST_END:
        return p + U1, n_items
    while True:
        if are_texts and text[p] != QUOTE:
            return U0, n_items
        p += U1 if are_texts else U0
        end = end_of_text(text, p) if are_texts else end_of_number(text, p)
        if end == U0:
            return U0, n_items
        starts[n_items] = p
        stops[n_items] = end
        n_items += 1
        p = skip_blanks(text, end + U1 if are_texts else end)
        if text[p] == LIST_END:
            return p + U1, n_items
        if text[p] != COMMA:
            return U0, n_items
        p = skip_blanks(text, p + U1)


@kernel
def skip_name(text: Text, p: np.uint64, name: Text) -> np.uint64:
    """Return the position of the value of a field, 0 if another field is there; name : (n,)."""
    if text[p] != QUOTE:
        return U0
    p += U1
    for i in range(name.size):
        if text[p] != name[i]:
            return U0
        p += U1
    if text[p] != QUOTE:
        return U0
    p = skip_blanks(text, p + U1)
    return skip_blanks(text, p + U1) if text[p] == COLON else U0


@kernel
def find_lists(
    text: Text,
    n_lines: int,
    names: Text,
    ends: Ints,
    kinds: Ints,
    ids: Ints,
    ptr: Ints,
    starts: Ints,
    stops: Ints,
    lines: Ints,
) -> tuple[int, int]:
    """Find the ids of objects and the items of their lists.

    Return how many objects there are, and how many lines were read.

    names : uint8, the names of the fields in their order; ends : int64 (fields + 1,), where each
        ends
    kinds : int64 (fields,), what each holds
    ids : int64 (2, n_lines), written: where the id of each object begins, and where it ends
    ptr : int64 (2, n_lines + 1), written: where the items of each list of texts, and of numbers,
        begin
    starts, stops : int64 (2, all items), written
    lines : int64 (n_lines,), written: the line of each object
    """
    p = U0
    row = 0
    n_items = np.zeros(ID, np.int64)
    ptr[:, 0] = 0
    for line in range(n_lines):
        p = skip_blanks(text, p)
        if text[p] == NEWLINE:
            p += U1
            continue
        separator = OBJECT
        for field in range(kinds.size):
            if text[p] != separator:
                return row, line
            p = skip_blanks(text, p + U1)
            p = skip_name(text, p, names[ends[field] : ends[field + 1]])
            if p == U0:
                return row, line
            kind = kinds[field]
            if kind == ID:
                is_text = text[p] == QUOTE
                p += np.uint64(is_text)
                end = end_of_text(text, p) if is_text else end_of_integer(text, p)
                if end == U0:
                    return row, line
                ids[0, row] = p
                ids[1, row] = end
                p = end + np.uint64(is_text)
            else:
                p, n_items[kind] = find_items(
                    text, p, kind == TEXTS, starts[kind], stops[kind], n_items[kind]
                )
                if p == U0:
                    return row, line
            p = skip_blanks(text, p)
            separator = COMMA
        if text[p] != OBJECT_END:
            return row, line
        p = skip_blanks(text, p + U1)
        if text[p] != NEWLINE:
            return row, line
        p += U1
        lines[row] = line
        row += 1
        for kind in range(ID):
            ptr[kind, row] = n_items[kind]
    return row, n_lines
