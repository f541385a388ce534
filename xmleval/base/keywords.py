"""Keywords that a function does not have are refused with the nearest that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

from xmleval.base.errors import did_you_mean, shown

P = ParamSpec("P")
T = TypeVar("T")


def keywords_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the keywords of a function, without those of ``**options``."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    n_named = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[code.co_posonlyargcount : n_named]
    return tuple([name for name in names if name != "self"])


def refuse_unknown(options: Iterable[str], *known: Iterable[str]) -> None:
    """Refuse options whose names a function does not have; ``known`` are the names that it has."""
    names = {name: None for group in known for name in group}
    for name in options:
        if name not in names:
            hint = did_you_mean(name, names) or f"options are {', '.join(sorted(names))}"
            raise TypeError(f"there is no option {shown(name)}; {hint}")


def refusing_unknown(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function without ``**options`` that refuses unknown keywords; a decorator."""
    names = keywords_of(function)
    known = frozenset(names)

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        if not known.issuperset(options):
            refuse_unknown(options, names)
        return function(*arguments, **options)

    return call
