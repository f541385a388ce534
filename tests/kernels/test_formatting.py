"""Numbers as text: the digits of `repr`, and of NumPy's shortest form of single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from xmleval.input.formats.xmc import _text

POWERS = {"float32": (range(-149, 128), range(-45, 39)), "float64": (range(-1074, 1024), range(-323, 309))}
FIELDS: dict[str, Any] = {"float32": np.uint32, "float64": np.uint64}


def written(values: NDArray[Any]) -> list[str]:
    """Each value as it is written beside a label."""
    n = values.size
    text = bytes(_text(np.arange(n + 1), np.arange(n, dtype=np.int64), values)).decode()
    pairs = [line.split(":") for line in text.splitlines()]
    assert [int(label) for label, _ in pairs] == list(range(n))
    return [number for _, number in pairs]


def shortest(value: Any) -> str:
    """The shortest text of a float that is read back as itself, in the notation of `repr`."""
    if value.dtype == np.float64:
        return repr(float(value))
    if not np.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e16:
        return np.format_float_positional(value, unique=True, trim="0")
    return np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)


def awkward(dtype: str) -> list[NDArray[Any]]:
    """Powers, limits, integers, rounded numbers and random bits."""
    rng = np.random.default_rng(0)
    twos, tens = POWERS[dtype]
    info = np.finfo(dtype)
    single = [0.0, -0.0, np.inf, -np.inf, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    single += [9007199254740993.0, 1e15, 1e16, 123456.0, 0.1, 2 / 3, 1e-4, 9.999e-5, 1e22, 1e23]
    with np.errstate(all="ignore"):
        chosen = np.array([*single, *(2.0**e for e in twos), *(10.0**e for e in tens)], dtype)
        bits = rng.integers(0, np.iinfo(FIELDS[dtype]).max, 5_000, FIELDS[dtype]).view(dtype)
        beside = np.concatenate([np.nextafter(chosen, np.array(end, dtype)) for end in (np.inf, 0)])
    drawn = rng.random(2000).astype(dtype), rng.normal(size=2000).round(4).astype(dtype)
    return [chosen, beside, bits[~np.isnan(bits)], *drawn, rng.integers(-1000, 1000, 500).astype(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_written_in_the_fewest_digits(dtype: str) -> None:
    values = np.concatenate(awkward(dtype))
    texts = written(values)
    assert texts == [shortest(value) for value in values]
    back = np.array([float(text) for text in texts]).astype(dtype)
    np.testing.assert_array_equal(back.view(FIELDS[dtype]), values.view(FIELDS[dtype]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "uint64"])
def test_integers_are_written_as_they_are(dtype: str) -> None:
    least, most = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.array([least, 0, 1, most], dtype)
    assert written(values) == [str(int(value)) for value in values]


def test_rows_are_lines_of_any_length() -> None:
    assert written(np.array([0.1, 2.0], np.float16)) == ["0.099975586", "2.0"]
    ptr, labels = np.array([0, 0, 2, 2, 3]), np.array([7, 2**40, 0])
    assert bytes(_text(ptr, labels, np.array([0.5, 1e-7, 3.0]))) == b"\n7:0.5 1099511627776:1e-07\n\n0:3.0\n"
    longest = np.full(1000, -2.2250738585072014e-308)
    assert len(bytes(_text(np.array([0, 1000]), np.full(1000, 2**40), longest))) == 1000 * 39
