"""Numbers in text, in plain ASCII digits.

`int` and `float` also read ``1_0``, blanks and digits of other scripts.
"""

from __future__ import annotations

import math
import re

ID = re.compile("0|[1-9][0-9]{0,17}")  # of an int64
WHOLE = re.compile(r"-?[0-9]{1,4000}")
DECIMAL = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)"
DECIMAL_TEXT = re.compile(DECIMAL, re.I)
DECIMAL_BYTES = re.compile(DECIMAL.encode(), re.I)


def whole_number(text: object) -> int | None:
    """Return a string as a whole number, or None if it is not one.

    Examples
    --------
    >>> [whole_number(text) for text in ("10", "-3", "1_0", " 10", "+1")]
    [10, -3, None, None, None]
    """
    if isinstance(text, str) and WHOLE.fullmatch(text):
        return int(text)
    return None


def id_number(text: object) -> int | None:
    """Return a string as a whole number, or None if it is not one or has a leading zero.

    Examples
    --------
    >>> id_number("117"), id_number("0"), id_number("0117"), id_number("00")
    (117, 0, None, None)
    """
    number = whole_number(text)
    if number is None or str(number) != text:
        return None
    return number


def decimal_number(text: object) -> float | None:
    """Return a string or bytes as a number, or None if they are not one.

    Examples
    --------
    >>> [decimal_number(text) for text in ("0.5", "-1e3", "1_0.5", "0.5 ")]
    [0.5, -1000.0, None, None]
    """
    if isinstance(text, str):
        return float(text) if DECIMAL_TEXT.fullmatch(text) else None
    if isinstance(text, bytes):
        return float(text) if DECIMAL_BYTES.fullmatch(text) else None
    return None


def score_number(text: object) -> float | None:
    """Return a string as a number, or None if it is not one or is NaN.

    Examples
    --------
    >>> score_number("-inf"), score_number("nan")
    (-inf, None)
    """
    number = decimal_number(text)
    if number is None or math.isnan(number):
        return None
    return number
