"""Each kernel that is called from outside runs in both ways, which must leave the same bits."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from xmleval.kernels.addresses import ArrayAt
from xmleval.kernels.jit import Kernel, run_plain

compared: Counter[str] = Counter()  # calls of kernels by name


@contextmanager
def both_ways() -> Iterator[None]:
    """Run kernels as plain Python on copies of their arrays, then compiled on the arrays."""

    def call(called: Kernel, *arguments: Any) -> Any:
        if isinstance(called, ArrayAt):
            return called.made_plain()(*arguments)
        copies: dict[Any, Any] = {}
        plain_arguments = [copied(argument, copies) for argument in arguments]
        expected = run_plain(called, *plain_arguments)
        value = called.made_compiled()(*arguments)
        name = f"{called.function.__module__}.{called.function.__name__}"
        assert bits(expected) == bits(value), name
        for place, (mine, theirs) in enumerate(zip(plain_arguments, arguments, strict=True)):
            assert bits(mine) == bits(theirs), f"argument {place} of {name}"
        compared[name] += 1
        return value

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Kernel, "__call__", call)
        yield


def copied(argument: Any, copies: dict[Any, Any]) -> Any:
    """Return copies of arrays, one copy of an array that occurs twice; other values unchanged."""
    if isinstance(argument, tuple):
        parts = [copied(part, copies) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    if not isinstance(argument, np.ndarray):
        return argument
    place = argument.ctypes.data, argument.shape, argument.strides, argument.dtype
    return copies.setdefault(place, argument.copy(order="A"))


def bits(value: Any) -> Any:
    """Return the type and the bits of a value, equal for values that are equal to the last bit."""
    if isinstance(value, tuple):
        return [bits(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value
