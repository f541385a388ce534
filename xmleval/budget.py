"""Amounts of memory."""

from __future__ import annotations

import re
from typing import Any

from xmleval.input.errors import InputError, positive_integer

UNITS = {
    "b": 1,
    **{f"{letter}b": 1000 ** (i + 1) for i, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (i + 1) for i, letter in enumerate("kmgt")},
}


def memory_bytes(argument: str, value: Any) -> int:
    """Return an amount of memory in bytes.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages.
    value : int or str
        Bytes, or a number with a unit: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024).

    Raises
    ------
    InputError
        If it is neither, or not positive.
    """
    if not isinstance(value, str):
        return positive_integer(argument, value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", value.lower(), re.ASCII)
    n_bytes = 0.0 if found is None else float(found[1]) * UNITS.get(found[2] or "b", 0)
    if not 1 <= n_bytes < 2**63:
        raise InputError(argument, f"{value!r} is not an amount of memory, such as 512MB or 2GiB")
    return int(n_bytes)
