"""Contents: the arrays of a saved state, each checked as it is taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from xmleval.base.arrays import Chunks, Ints
from xmleval.base.errors import MOST
from xmleval.kernels.fixed import LIMBS

Bound = float | NDArray[Any]  # of all values, or of each


class Contents:
    """Arrays of a saved state: a state takes each by its type and shape, and none may be left.

    Their checksums are right, but a file may be made up: places that kernels read and write are checked, too.
    Errors are of type ValueError.

    arrays : what was saved
    n_rows : number of rows that were counted
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any] | Chunks], n_rows: int) -> None:
        self._left = dict(arrays)
        self.n_rows = n_rows

    def part(self, prefix: str) -> Contents:
        """Take all arrays whose names begin with a prefix, which their names lose."""
        names = [name for name in self._left if name.startswith(prefix)]
        return Contents({name.removeprefix(prefix): self._left.pop(name) for name in names}, self.n_rows)

    def numbered(self, stem: str) -> list[str]:
        """Return the names that are a stem and a number."""
        return [name for name in self._left if re.fullmatch(rf"{re.escape(stem)}[0-9]+", name)]

    def kept(self) -> list[tuple[str, int]]:
        """Return the names of blocks of kept rows, and their first rows."""
        block = re.compile(r"kept[0-9]+[.]([0-9]{1,18})")
        return [(name[0], int(name[1])) for name in map(block.fullmatch, self._left) if name]

    def has(self, name: str) -> bool:
        """Return whether an array is there."""
        return name in self._left

    def take(
        self, name: str, *shape: int | None, dtype: DTypeLike = np.int64, low: Bound | None = 0,
        high: Bound = MOST,
    ) -> NDArray[Any]:  # fmt: skip
        """Take an array of a shape, None for any length, with values within ``low`` to ``high``.

        Both may be arrays; with ``low`` None, any values are allowed, NaN too.
        """
        array = self._pop(name)
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name} is {array.dtype} of shape {array.size}")
        fits = array.dtype == dtype and array.ndim == len(shape)
        if not fits or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
        expect(low is None or _within(array, low, high), f"{name} is out of range")
        return array.astype(dtype, order="C")

    def take_sums(self, name: str, *shape: int | None) -> Ints:
        """Take fixed-point sums, the limbs last."""
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
        """Refuse arrays that nobody took."""
        expect(not self._left, f"unexpected array {next(iter(self._left), '')!r}")

    def _pop(self, name: str) -> NDArray[Any] | Chunks:
        expect(name in self._left, f"{name} is missing")
        return self._left.pop(name)


def expect(fits: bool, wrong: str) -> None:
    """Refuse contents that kernels cannot read."""
    if not fits:
        raise ValueError(wrong)


def _within(array: NDArray[Any], low: Bound, high: Bound) -> bool:
    """Return whether all values are within a range; False for NaN."""
    if np.ndim(low) or np.ndim(high):
        return bool(((array >= low) & (array <= high)).all())
    return not array.size or bool(low <= array.min() and array.max() <= high)
