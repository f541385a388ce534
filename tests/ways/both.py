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
    """Run kernels as plain Python on copies of their arrays, then compiled on the arrays themselves."""

    def call(called: Kernel, *arguments: Any) -> Any:
        if isinstance(called, ArrayAt):
            return called.made_plain()(*arguments)
        copies: dict[Any, Any] = {}
        of_plain = [copied(argument, copies) for argument in arguments]
        expected, of_compiled = run_plain(called, *of_plain), called.made_compiled()(*arguments)
        name = f"{called.function.__module__}.{called.function.__name__}"
        assert bits(expected) == bits(of_compiled), name
        for place, (mine, theirs) in enumerate(zip(of_plain, arguments, strict=True)):
            assert bits(mine) == bits(theirs), f"argument {place} of {name}"
        compared[name] += 1
        return of_compiled

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Kernel, "__call__", call)
        yield


def copied(argument: Any, copies: dict[Any, Any]) -> Any:
    """Return copies of arrays, one for an array that is given twice, and other arguments as they are."""
    if isinstance(argument, tuple):
        parts = [copied(part, copies) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    if not isinstance(argument, np.ndarray):
        return argument
    place = argument.ctypes.data, argument.shape, argument.strides, argument.dtype
    return copies.setdefault(place, argument.copy(order="A"))


def bits(value: Any) -> Any:
    """Return what two values have in common only if they are of one type and the same to the last bit."""
    if isinstance(value, tuple):
        return [bits(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value
