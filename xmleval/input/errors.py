"""How refused input is reported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from xmleval.message import Message
from xmleval.records import MOST


class InputError(ValueError):
    """Refused input.

    Parameters
    ----------
    argument : str
        Name of the argument.
    reason : str
        What is wrong with it; a `Message` where it mentions keywords.
    row : int or None
        Row that is at fault, where a row is.
    value : object
        Value that is at fault, where one is; ``reason`` quotes it.
    """

    def __init__(self, argument: str, reason: str, *, row: int | None = None, value: Any = None) -> None:
        super().__init__(argument, reason)
        self.argument, self.reason, self.row, self.value = argument, reason, row, value

    @property
    def message(self) -> Message:
        """The row and the reason, without the argument."""
        return Message("" if self.row is None else f"row {self.row}: ", self.reason)

    def __str__(self) -> str:
        """Return the whole message, which starts with the argument's name."""
        return f"{self.argument}: {self.message}"


@contextlib.contextmanager
def renaming(argument: str, name: str) -> Iterator[None]:
    """Raise errors about an argument by another name, which the caller gave it."""
    try:
        yield
    except InputError as error:
        if error.argument != argument:
            raise
        raise InputError(name, error.reason, row=error.row, value=error.value) from None


class LabelRangeError(InputError):
    """A label id that is not among the labels there are: those of the truth, which may be what is wrong."""


def positive_integer(argument: str, value: Any, least: int = 1, most: int = MOST) -> int:
    """Return a whole number from 1 (or ``least``) to ``most``, or refuse it."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InputError(argument, f"{value!r} is not a {'positive' if least else 'non-negative'} integer")
    if value > most:
        raise InputError(argument, f"{value} is more than {most}, the most there can be")
    return int(value)


def real_number(argument: str, value: Any) -> float:
    """Return a number as a float, or refuse it; text is no number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, f"{value!r} is not a number") from None
