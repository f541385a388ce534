"""Contents: the arrays of a saved state, checked one by one as a state takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from xmleval.base.arrays import Chunks, Ints
from xmleval.base.errors import MOST
from xmleval.kernels.fixed import LIMBS

Bound = float | NDArray[Any]  # one for all values, or one for each


class Contents:
    """Arrays of a saved state, which a state takes by name, dtype and shape.

    None may remain. The checksums of the file are right, but it may be made up: indices that
    kernels read and write are checked, too. Errors are ValueErrors.

    arrays : the saved arrays, by name
    n_rows : number of counted rows
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any] | Chunks], n_rows: int) -> None:
        self._remaining = dict(arrays)
        self.n_rows = n_rows

    def part(self, prefix: str) -> Contents:
        """Take all arrays whose names begin with a prefix, and remove it from their names."""
        names = [name for name in self._remaining if name.startswith(prefix)]
        arrays = {name.removeprefix(prefix): self._remaining.pop(name) for name in names}
        return Contents(arrays, self.n_rows)

    def numbered(self, stem: str) -> list[str]:
        """Return the names that consist of a stem and a number."""
        pattern = re.compile(rf"{re.escape(stem)}[0-9]+")
        return [name for name in self._remaining if pattern.fullmatch(name)]

    def kept(self) -> list[tuple[str, int]]:
        """Return the names of blocks of kept row values, and the number of their first row."""
        pattern = re.compile(r"kept[0-9]+[.]([0-9]{1,18})")
        matches = map(pattern.fullmatch, self._remaining)
        return [(match[0], int(match[1])) for match in matches if match]

    def has(self, name: str) -> bool:
        """Return whether there is an array with this name."""
        return name in self._remaining

    def take(
        self,
        name: str,
        *shape: int | None,
        dtype: DTypeLike = np.int64,
        low: Bound | None = 0,
        high: Bound = MOST,
    ) -> NDArray[Any]:
        """Take an array with values from ``low`` to ``high``.

        shape : its length in each dimension, None for any
        low, high : numbers, or arrays; with ``low`` None, any values are allowed, NaN too
        """
        array = self._pop(name)
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name} is {array.dtype} of shape {array.size}")
        if array.dtype != dtype or not _has_shape(array, shape):
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
        expect(low is None or _within(array, low, high), f"{name} is out of range")
        return array.astype(dtype, order="C")

    def take_sums(self, name: str, *shape: int | None) -> Ints:
        """Take fixed-point sums; the last dimension, of limbs, is not part of ``shape``."""
        sums: Ints = self.take(name, *shape, LIMBS, low=None)
        return sums

    def take_chunks(self, name: str) -> Chunks:
        """Take a vector that is read in pieces."""
        array = self._pop(name)
        if isinstance(array, np.ndarray):
            expect(array.ndim == 1, f"{name} is of shape {array.shape}")
            return Chunks(array.dtype, array.size, lambda: iter([array]))
        return array

    def done(self) -> None:
        """Raise ValueError if any array was not taken."""
        expect(not self._remaining, f"unexpected array {next(iter(self._remaining), '')!r}")

    def _pop(self, name: str) -> NDArray[Any] | Chunks:
        expect(name in self._remaining, f"{name} is missing")
        return self._remaining.pop(name)


def expect(fits: bool, message: str) -> None:
    """Raise ValueError with a message unless the contents fit."""
    if not fits:
        raise ValueError(message)


def _has_shape(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    """Return whether an array has a shape, in which None allows any length."""
    if array.ndim != len(shape):
        return False
    return all(
        expected in (None, actual) for expected, actual in zip(shape, array.shape, strict=True)
    )


def _within(array: NDArray[Any], low: Bound, high: Bound) -> bool:
    """Return whether all values are from ``low`` to ``high``; False with NaN."""
    if np.ndim(low) or np.ndim(high):
        return bool(((array >= low) & (array <= high)).all())
    return not array.size or bool(low <= array.min() and array.max() <= high)
