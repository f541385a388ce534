"""A cached property without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801
    """A property computed on first access and then stored as an attribute.

    Before Python 3.12, `functools.cached_property` locks all instances at once.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute name."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached[T] | T:
        """Compute the value and store it, which shadows this descriptor."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
