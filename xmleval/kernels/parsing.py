"""Lines of text to the entries of a sparse matrix.

A text is uint8 and ends in a newline and `SPARE` more bytes that may be read; positions are uint64.
A kernel stops at the first line it cannot read and returns how many it read; the caller explains
the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.kernels.decimal import (
    ODD,
    ONES,
    POINT,
    SCALES,
    TOPS,
    U0,
    U1,
    U2,
    U3,
    U8,
    ZERO,
    eight_bytes,
    leading_digits,
    scan_decimal,
)
from xmleval.kernels.jit import Whole, kernel, kernel_with_work

MOST_LABELS = np.uint64(10**10)  # below it, eight more digits fit in int64
NEWLINES = ONES * np.uint64(10)
LINE = 1 << 10  # bytes of a line, in estimates
TAB = 9
NEWLINE = 10
RETURN = 13
SPACE = 32
HASH = 35
COMMA = 44
COLON = 58
LETTER_D = 100
LETTER_I = 105
LETTER_Q = 113


@kernel
def count_byte(text: NDArray[np.uint8], sought: int) -> int:
    """Count a byte in a text, without a temporary array of flags. text : uint8 (n,)."""
    n = 0
    for byte in text:
        n += byte == sought
    return n


def one_line(*_: object) -> int:
    """Return about how many bytes are read until a line ends."""
    return LINE


@kernel_with_work(one_line)
def find_last(text: NDArray[np.uint8], byte: int) -> int:
    """Return the last position of a byte, or -1. text : uint8 (n,)."""
    p = text.size - 1
    while p >= 0 and text[p] != byte:
        p -= 1
    return p


@kernel
def blank_comments(text: NDArray[np.uint8]) -> None:
    """Overwrite comments, from # to the end of a line, with spaces in place. text : uint8 (n,)."""
    inside = False
    for p in range(text.size):
        inside = text[p] != NEWLINE and (inside or text[p] == HASH)
        if inside:
            text[p] = SPACE


@kernel
def is_blank(byte: int) -> bool:
    """Tell whether a byte separates tokens."""
    return byte in (SPACE, TAB)


@kernel
def is_end(text: NDArray[np.uint8], p: np.uint64) -> Any:
    """Tell whether a line ends at text[p], with a carriage return or without."""
    return text[p] == NEWLINE or (text[p] == RETURN and text[p + U1] == NEWLINE)


@kernel
def behind_line(text: NDArray[np.uint8], p: np.uint64) -> np.uint64:
    """Return the first position of the next line."""
    while True:
        word = eight_bytes(text, p) ^ NEWLINES
        if ((word - ONES) & ~word & TOPS) != U0:
            break
        p += U8
    while text[p] != NEWLINE:
        p += U1
    return p + U1


@kernel
def parse_id(text: NDArray[np.uint8], p: np.uint64) -> tuple[Whole, np.uint64]:
    """Return the integer at text[p], -1 if none fits, and its end.

    None has a leading zero, which is a code's: 0117 and 117 are two codes and one integer.
    """
    if text[p] == ZERO and 48 <= text[p + U1] <= 57:
        return -1, p
    start = p
    label = U0
    n = U8
    while n == U8:
        n, value = leading_digits(text, p)
        if label >= MOST_LABELS and n != U0:
            return -1, p
        label = label * SCALES[n] + value
        p += n
    return (-1 if p == start else np.int64(label)), p


@kernel
def parse_entries(
    text: NDArray[np.uint8],
    n_lines: int,
    n_labels: int,
    ptr: Ints,
    labels: Labels,
    scores: Floats,
    powers: NDArray[np.int16],
) -> int:
    """Read lines of ``label:score`` tokens and return how many were read.

    ptr : int64 (n_lines + 1,), labels : (s,), scores : float64 (s,), powers : int16 (s,), with room
        for every entry; written. Scores hold the bits of the digits of `scan_decimal`, or the
        position of a score that it does not handle, with power ODD.
    """
    bits = scores.view(np.uint64)
    e = 0
    p = U0
    ptr[0] = 0
    for i in range(n_lines):
        while True:
            while is_blank(text[p]):
                p += U1
            if is_end(text, p):
                break
            label, p = parse_id(text, p)
            if label < 0 or label >= n_labels or text[p] != COLON or e == labels.size:
                return i
            p += U1
            behind, digits, power = scan_decimal(text, p)
            if behind == U0 or not (is_blank(text[behind]) or is_end(text, behind)):
                behind = p
                digits = p
                power = ODD
                while not (is_blank(text[behind]) or is_end(text, behind)):
                    behind += U1
                if p == behind:
                    return i
            p = behind
            labels[e] = label
            bits[e] = digits
            powers[e] = power
            e += 1
        p += U1 if text[p] == NEWLINE else U2
        ptr[i + 1] = e
    return n_lines


@kernel
def parse_lists(
    text: NDArray[np.uint8],
    n_lines: int,
    n_labels: int,
    loose: bool,
    ptr: Ints,
    labels: Labels,
    lines: Ints,
) -> tuple[int, int]:
    """Read lines of ``label,label feature:value ...`` and return how many rows and lines were read.

    Features are checked, not read. If the first token has a colon, it is a feature: the line has no
    labels.

    loose : whether to skip blank lines, and to allow blanks before the labels and ``qid:`` tokens
        behind them
    ptr : int64 (n_lines + 1,), labels : (s,), with room for every label; written
    lines : int64 (n_lines,), the line of each row; written
    """
    e = 0
    p = U0
    row = 0
    ptr[0] = 0
    for i in range(n_lines):
        if loose:
            while is_blank(text[p]):
                p += U1
            if is_end(text, p):
                p += U1 if text[p] == NEWLINE else U2
                continue
        start = p
        first = e
        while not (is_blank(text[p]) or is_end(text, p)):
            label, p = parse_id(text, p)
            if e == first and (text[p] == COLON or (loose and text[p] == LETTER_Q)):
                p = start
                break
            if text[p] == POINT:  # an integer written as a float
                p += U1
                while text[p] == ZERO:
                    p += U1
            if label < 0 or label >= n_labels or e == labels.size:
                return row, i
            labels[e] = label
            e += 1
            if is_blank(text[p]) or is_end(text, p):
                break
            p += U1
            if text[p - U1] != COMMA or is_blank(text[p]) or is_end(text, p):
                return row, i
        while is_blank(text[p]):
            p += U1
        if loose and text[p] == LETTER_Q:
            p = behind_query(text, p)
        after = behind_line(text, p)
        stop = after - U1
        if stop > p and text[stop - U1] == RETURN:
            stop -= U1
        if not are_features(text, p, stop):
            return row, i
        lines[row] = i
        row += 1
        ptr[row] = e
        p = after
    return row, n_lines


@kernel
def behind_query(text: NDArray[np.uint8], p: np.uint64) -> np.uint64:
    """Return the position behind a ``qid:`` token and the blanks after it; p without one."""
    if text[p + U1] != LETTER_I or text[p + U2] != LETTER_D or text[p + U3] != COLON:
        return p
    while not (is_blank(text[p]) or is_end(text, p)):
        p += U1
    while is_blank(text[p]):
        p += U1
    return p


@kernel
def are_features(text: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> Any:
    """Whether text[start:stop], which has no blank at its start, looks like ``feature:value``.

    One vectorised pass over the bytes, several times as fast as parsing, checks that there are as
    many tokens as colons, that each token starts with a digit, that each colon follows a digit and
    precedes a value, and that all bytes may occur in numbers.
    """
    if start == stop:
        return True
    befores = text[start : stop - U1]
    bytes_ = text[start + U1 : stop]
    afters = text[start + U2 : stop + U1]
    balance = np.int32(1)
    bad = np.uint8(0)
    for p in range(bytes_.size):
        before = befores[p]
        byte = bytes_[p]
        after = afters[p]
        digit = (byte >= 48) & (byte <= 57)
        colon = byte == COLON
        starts = (before <= SPACE) & (byte > SPACE)
        letter = ((byte | np.uint8(32)) >= 97) & ((byte | np.uint8(32)) <= 122)
        fits = (
            digit
            | colon
            | letter
            | (byte == SPACE)
            | (byte == TAB)
            | (byte == 46)
            | (byte == 45)
            | (byte == 43)
        )
        between = (before >= 48) & (before <= 57) & (after > SPACE)
        bad |= np.uint8(not (fits & (starts <= digit) & (colon <= between)))
        balance += np.int32(starts) - np.int32(colon)
    return bad == 0 and balance == 0 and 48 <= text[start] <= 57
