"""How refused input is reported."""

from __future__ import annotations

from typing import Any, NoReturn

from xmleval.kernels.checking import BAD_LABEL, BAD_POINTER, DUPLICATE


class InputError(ValueError):
    """Refused input; the message starts with the argument's name."""

    def __init__(self, argument: str, text: str) -> None:
        super().__init__(f"{argument}: {text}")
        self.argument = argument
        self.text = text


def positive_integer(argument: str, value: Any, least: int = 1) -> int:
    """Return a whole number of 1 (or ``least``) or more, or refuse it."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InputError(argument, f"{value!r} is not a {'positive' if least else 'non-negative'} integer")
    return int(value)


def refuse_code(argument: str, code: int, row: int, value: int, n_labels: int) -> NoReturn:
    """Raise the message of a code of `xmleval.kernels.checking`."""
    if code == BAD_POINTER:
        raise InputError(
            argument,
            f"row {row}: indptr is {value} there; it must start at 0, never fall and end at the "
            "number of stored entries",
        )
    if code == BAD_LABEL:
        raise InputError(argument, f"row {row}: label id {value} is not in 0..{n_labels - 1}")
    assert code == DUPLICATE
    raise InputError(argument, f"row {row}: label id {value} occurs twice; ids of a row must be distinct")
