"""Values that are computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801
    """A property that is computed once for each object, and then an attribute of it.

    Before Python 3.12, `functools.cached_property` lets only one thread at a time compute a property, even of
    different objects.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached[T] | T:
        """Compute the value, which then hides this."""
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._compute(instance)
        return found
