"""Data by label or by row that measures of users declare."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, counted, shown, shown_names
from xmleval.input.csr import as_array


def data_by_name(argument: str, data: object) -> Mapping[str, Any]:
    """Return the data that an argument gives by name, or refuse anything but a dict."""
    if data is None:
        return {}
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        raise InputError(argument, f"{shown(data)} is not a dict of values by name")
    return data


def refuse_other_data(
    argument: str, given: Collection[str], readers: Mapping[str, Collection[str]]
) -> None:
    """Refuse data that no measure reads, and measures that read data which are not given.

    readers : names of the data that each measure reads
    """
    read = set[str]()
    for measure, names in readers.items():
        read.update(names)
        for name in names:
            if name not in given:
                text = f"measure {measure} reads {shown(name)}, which is not given"
                raise InputError(argument, text)
    unread = [name for name in given if name not in read]
    if unread:
        reads = f"measures read {shown_names(sorted(read))}" if read else "no measure reads any"
        raise InputError(argument, f"no measure reads {shown(unread[0])}; {reads}")


def check_numbers(argument: str, value: object, n: int, of_what: str) -> Floats:
    """Return finite numbers, one for each label or row, as float64 (n,)."""
    if isinstance(value, list | tuple) and not all(map(_is_number, value)):
        place = next(place for place, item in enumerate(value) if not _is_number(item))
        raise InputError(argument, f"{of_what} {place}: {shown(value[place])} is not a number")
    numbers: Floats = np.array(as_array(argument, value), np.float64)
    if numbers.shape != (n,):
        raise InputError(
            argument, f"shape {numbers.shape} does not match {counted(n, f'{of_what}s')}"
        )
    is_wrong = ~np.isfinite(numbers)
    if is_wrong.any():
        place = int(is_wrong.argmax())
        reason = f"{of_what} {place}: {numbers[place]} is not a finite number"
        raise InputError(argument, reason)
    return numbers


def _is_number(value: object) -> bool:
    """Return whether a value is a number."""
    return isinstance(value, int | float | np.number)
