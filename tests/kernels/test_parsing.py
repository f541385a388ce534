"""Kernels that read text against Python's own numbers, compiled or (NUMBA_DISABLE_JIT=1) as written."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from xmleval.kernels import decimal, parsing
from xmleval.kernels.decimal import FIVES, LEAST, MOST, SPARE

digits = st.text("0123456789", max_size=22)
signs = st.sampled_from(["", "+", "-"])
decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: str(np.float32(x))),
    st.builds("{}{}.{}".format, signs, digits, digits),
    st.builds("{}{}e{}".format, signs, digits, st.integers(-360, 330)),
    st.builds("{}{}.{}E{}{}".format, signs, digits, digits, signs, st.integers(0, 40)),
)


def text_of(words: str) -> Any:
    return np.frombuffer(words.encode("latin-1") + b"\n" + b"7" * SPARE, np.uint8).copy()


def bits_of(value: float) -> bytes:
    return struct.pack("d", value)


def test_the_table_of_powers_is_cut_off_exactly() -> None:
    for q in range(LEAST, MOST + 1):
        high, low = (int(part) for part in FIVES[q - LEAST])
        held, power = high << 64 | low, 5 ** abs(q)
        assert held.bit_length() == 128
        if q >= 0:
            assert held == power << 128 >> power.bit_length()
        else:
            quotient = (1 << (power - 1).bit_length() + 127) // power
            assert held == quotient + (q >= -27)


def with_examples(name: str, values: Sequence[str], **others: Any) -> Callable[[Any], Any]:
    """Give a test these values of an argument, too."""
    return lambda test: reduce(lambda test, value: example(**{name: value}, **others)(test), values, test)


HALF_WAY = ["9007199254740993", "9007199254740995", "4503599627370496.5", "4503599627370497.5", "1e23"]
EDGES = [
    "8.5e22", "123456789012345678e-40", "0.000000000000000000000012345678901234567", "-0", "-0e5",
    "0.0001234567890123456", "12345678.12345678", "1e-22", "7.2057594037927933e16",
    "1.7976931348623159e308", "4.9e-324",
]  # fmt: skip


@given(word=decimals)
@with_examples("word", [*HALF_WAY, *EDGES])
def test_decimals_are_rounded_as_python_rounds_them(word: str) -> None:
    position, held, power = decimal.scan_decimal(text_of("x" + word), np.uint64(1))
    plain = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", word)
    if position == 0:
        shown = re.sub(r"[eE].*|\D", "", word).lstrip("0")
        assert not plain or len(shown) > 17
        return
    assert plain
    assert position == len(word) + 1
    sign, value = divmod(int(held), 1 << 63)
    assert bits_of(math.copysign(float(f"{value}e{power}"), -sign or 1)) == bits_of(float(word))
    scores, powers = np.array([held], np.uint64).view(np.float64), np.array([power], np.int16)
    if decimal.round_decimals(scores, powers, 0) == 1:
        assert bits_of(scores[0]) == bits_of(float(word))
    else:
        assert scores.view(np.uint64)[0] == held
        settled = 2.3e-308 < abs(float(word)) < 1.7e308
        assert not settled or not -27 <= power <= 55


@given(
    word=st.one_of(digits, st.text("0123456789:,. \t\r\n/\x00\xff", max_size=12)), before=st.integers(0, 9)
)
@example(word="0000010000000000", before=0)
@example(word="999999999999999", before=0)
def test_leading_digits_and_ids(word: str, before: int) -> None:
    text = text_of(" " * before + word)
    found = re.match(r"\d*", word)
    assert found is not None
    n, value = decimal.leading_digits(text, np.uint64(before))
    assert n == min(found.end(), 8)
    assert value == int("0" + found[0][:8])
    label, behind = parsing.parse_id(text, np.uint64(before))
    if label >= 0:
        assert (label, behind) == (int(found[0]), before + found.end())
    else:
        assert not found[0] or int(found[0]) >= 10**15


@given(text=st.binary(max_size=300), byte=st.sampled_from([0, 10, 35, 58, 255]), start=st.integers(0, 20))
def test_bytes_lines_and_comments_are_found(text: bytes, byte: int, start: int) -> None:
    array, start = np.frombuffer(text, np.uint8), min(start, len(text))
    assert parsing.count_byte(array, byte) == text.count(byte)
    assert parsing.find_last(array, byte) == text.rfind(byte)
    whole = np.frombuffer(text + b"\n" + b"\x0b\x0a" * SPARE, np.uint8)
    assert parsing.behind_line(whole, np.uint64(start)) == (text + b"\n").index(b"\n", start) + 1
    parsing.blank_comments(blanked := array.copy())
    assert blanked.tobytes() == re.sub(b"#[^\n]*", lambda match: b" " * len(match[0]), text)


@given(
    text=st.one_of(
        st.text("1:. \tx", max_size=12),
        st.lists(st.from_regex(r"[0-9]{1,3}:[0-9.e+-]{1,4}", fullmatch=True)).map(" ".join),
    ),
    before=st.sampled_from(["", "5", "5 "]),
)
@example(text="1:1 2:nan", before="")
@example(text="1:1:1 2", before="")  # the one kind of nonsense that looks right
def test_features_that_look_like_some(text: str, before: str) -> None:
    text = text.lstrip(" \t")
    whole = text_of(before + text)
    found = parsing.are_features(whole, np.uint64(len(before)), np.uint64(len(before) + len(text)))
    tokens = re.split(r"[ \t]+", text.strip(" \t")) if text.strip(" \t") else []
    fine = all(re.fullmatch(r"\d[\d.a-z+-]*(?<=\d):[\d.a-z+-]+", token) for token in tokens)
    assert found or not fine
    if found and not fine:
        assert sum(token.count(":") for token in tokens) == len(tokens)
        assert all(token[0].isdigit() for token in tokens)
        assert not re.search(r"(?<!\d):|:(?!\S)", text)


def test_arrays_that_are_too_short_are_not_overrun() -> None:
    text = text_of("1:1 2:2\n3:3")
    ptr, labels = np.full(3, -9), np.full(1, -9, np.int32)
    args = (ptr, labels, np.empty(1), np.empty(1, np.int16))
    assert parsing.parse_entries(text, 2, 9, *args) == 0
    assert parsing.parse_lists(text_of("1\n2,3\n4"), 3, 9, False, np.empty(4, np.int64), labels, ptr) == (
        1,
        1,
    )
