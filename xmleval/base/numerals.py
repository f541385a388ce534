"""Numbers in text: plain ASCII digits; `int` and `float` also read ``1_0``, blanks and other scripts."""

from __future__ import annotations

import math
import re

ID = re.compile("0|[1-9][0-9]{0,17}")  # of an int64
WHOLE = re.compile(r"-?[0-9]{1,4000}")
DECIMAL = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)"
DECIMAL_TEXT, DECIMAL_BYTES = re.compile(DECIMAL, re.I), re.compile(DECIMAL.encode(), re.I)


def whole_number(text: object) -> int | None:
    """Return the whole number that a string is, None if it is none.

    Examples
    --------
    >>> whole_number("10"), whole_number("-3"), whole_number("1_0"), whole_number(" 10"), whole_number("+1")
    (10, -3, None, None, None)
    """
    return int(text) if isinstance(text, str) and WHOLE.fullmatch(text) else None


def id_number(text: object) -> int | None:
    """Return the whole number that a string is, None of others, and of a code with a leading zero.

    Examples
    --------
    >>> id_number("117"), id_number("0"), id_number("0117"), id_number("00")
    (117, 0, None, None)
    """
    number = whole_number(text)
    return None if number is None or str(number) != text else number


def decimal_number(text: object) -> float | None:
    """Return the number that a string or bytes are, None if they are none.

    Examples
    --------
    >>> decimal_number("0.5"), decimal_number("-1e3"), decimal_number("1_0.5"), decimal_number("0.5 ")
    (0.5, -1000.0, None, None)
    """
    if isinstance(text, bytes):
        return float(text) if DECIMAL_BYTES.fullmatch(text) else None
    return float(text) if isinstance(text, str) and DECIMAL_TEXT.fullmatch(text) else None


def score_number(text: object) -> float | None:
    """Return the number that a string is, None if it is none, or NaN.

    Examples
    --------
    >>> score_number("-inf"), score_number("nan")
    (-inf, None)
    """
    number = decimal_number(text)
    return None if number is None or math.isnan(number) else number
