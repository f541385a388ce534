"""Contents: the arrays of a saved state, each checked as it is taken."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from xmleval.errors import MOST
from xmleval.kernels.fixed import BITS, LIMBS, carry
from xmleval.records import MOST_ROWS, Chunks, Ints


class Contents:
    """Arrays of untrusted files: a state takes each by what it must be, and none may be left.

    What passes here, a state computes and merges without further checks. Errors are of type ValueError.

    Parameters
    ----------
    arrays : dict of str to ndarray or Chunks
        What was saved.
    n_rows : int
        Number of rows that were counted.
    fold_rows, fold_weighing : int64 (n_folds,), optional
        Numbers of rows of each fold, and of those with a positive weight, if rows are in folds.
    """

    def __init__(
        self,
        arrays: dict[str, Any],
        n_rows: int,
        fold_rows: Ints | None = None,
        fold_weighing: Ints | None = None,
    ) -> None:
        self._left = dict(arrays)
        self.n_rows, self.fold_rows, self.fold_weighing = n_rows, fold_rows, fold_weighing

    def part(self, prefix: str) -> Contents:
        """Take all arrays whose names begin with a prefix, which their names lose."""
        names = [name for name in self._left if name.startswith(prefix)]
        own = {name.removeprefix(prefix): self._left.pop(name) for name in names}
        return Contents(own, self.n_rows, self.fold_rows, self.fold_weighing)

    def expect_folds(self, name: str, n_rows: Ints, weighted: bool) -> None:
        """Refuse other numbers of rows of each fold than those known, or higher `ceilings` of weights."""
        if self.fold_rows is None or self.fold_weighing is None:
            return
        fits = n_rows <= self.fold_weighing if weighted else n_rows == self.fold_rows
        expect(bool(fits.all()), f"{name} has other rows in a fold than fold_rows")

    def numbered(self, stem: str) -> list[str]:
        """Return the names that are a stem and a number."""
        return [name for name in self._left if re.fullmatch(rf"{re.escape(stem)}[0-9]+", name)]

    def kept(self, end: str = "") -> list[tuple[str, int]]:
        """Return the names of blocks of kept rows, less an end that they have, and their first rows."""
        block = re.compile(rf"(kept[0-9]+[.]([0-9]{{1,18}})){re.escape(end)}")
        return [(found[1], int(found[2])) for found in map(block.fullmatch, self._left) if found]

    def has(self, name: str) -> bool:
        """Return whether an array is there."""
        return name in self._left

    def take(
        self, name: str, *shape: int | None, dtype: Any = np.int64, least: Any = 0, most: Any = MOST
    ) -> Any:
        """Take an array of a shape, None for any length, with values within ``least`` to ``most``.

        Both may be arrays; with ``least`` None, any values are allowed, NaN too.
        """
        array = self._pop(name)
        fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
        if not fits or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            raise ValueError(f"{name} is {array.dtype} of shape {getattr(array, 'shape', array.size)}")
        expect(least is None or _within(array, least, most), f"{name} is out of range")
        return array.astype(dtype, order="C")

    def take_sums(self, name: str, *shape: int | None, least: int = 0, most: int = MOST_ROWS) -> Ints:
        """Take fixed-point sums, the limbs last, with whole parts within ``least`` to ``most``."""
        sums: Ints = self.take(name, *shape, LIMBS, least=None)
        whole, fractions = sums[..., 0], sums[..., 1:]
        fits = not (fractions >> BITS).any() and _within(whole, least, most)
        expect(fits, f"{name} has invalid fixed-point sums")
        return sums

    def take_chunks(self, name: str) -> Chunks:
        """Take a vector that is read in pieces."""
        array = self._pop(name)
        if isinstance(array, np.ndarray):
            expect(array.ndim == 1, f"{name} is of shape {array.shape}")
            return Chunks(array.dtype, array.size, lambda: iter([array]))
        found: Chunks = array
        return found

    def done(self) -> None:
        """Refuse arrays that nobody took."""
        expect(not self._left, f"unexpected array {next(iter(self._left), '')!r}")

    def _pop(self, name: str) -> Any:
        expect(name in self._left, f"{name} is missing")
        return self._left.pop(name)


def expect(fits: bool, wrong: str) -> None:
    """Refuse contents that do not fit together."""
    if not fits:
        raise ValueError(wrong)


def ceilings(sums: Ints) -> Ints:
    """Return fixed-point sums, the limbs last, as the least whole numbers that are as large."""
    found: Ints = sums[..., 0] + sums[..., 1:].any(axis=-1)
    return found


def total(counts: Ints) -> int:
    """Return the sum of counts, which may not fit in 64 bits."""
    most = MOST // max(1, counts.size)
    if -most <= counts.min(initial=0) and counts.max(initial=0) <= most:
        return int(counts.sum())
    half = 31
    return (int((counts >> half).sum()) << half) + int((counts & ((1 << half) - 1)).sum())


def at_least_zero(difference: Ints, sums: bool = False) -> bool:
    """Return whether differences of counts, or of fixed-point sums not yet carried, are all >= 0."""
    if sums:
        carry(difference.reshape(-1, LIMBS))
        difference = difference[..., 0]
    return bool(difference.min(initial=0) >= 0)


def _within(array: Any, least: Any, most: Any) -> bool:
    """Return whether all values are within a range; False for NaN."""
    if np.ndim(least) or np.ndim(most):
        return bool(((array >= least) & (array <= most)).all())
    return not array.size or bool(least <= array.min() and array.max() <= most)
