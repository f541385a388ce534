"""Rows of arrays of .npy files and archives, some at a time."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import NpyArray, StoredArray
from xmleval.input.formats.format import naming
from xmleval.input.pieces import Pieces

MOST_BYTES = 30 << 20  # of a piece; malloc reuses no memory of arrays above 32 MiB
ROW_ENTRY_BYTES = 64  # of memory for each entry of a row that is evaluated
Stored = NpyArray | StoredArray


def matrix_pieces(array: Stored, expected: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Return the rows of an array of two dimensions; ``expected`` is said where they cannot be read."""
    _refuse_long_rows([(array, expected)], allowance)

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        for (rows,) in _rows([(array, expected)], n_bytes, first, stop):
            yield rows

    return Pieces(array.shape[0], array.shape[1], read, read_from=read if _any_row(array) else None)


def list_pieces(arrays: Sequence[tuple[Stored, str]], allowance: Allowance = UNLIMITED) -> Pieces:
    """Return the rows of labels and, where there are any, their scores, with what is expected of each."""
    _refuse_long_rows(arrays, allowance)

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        for parts in _rows(arrays, n_bytes, first, stop):
            yield parts[0], parts[1] if len(parts) > 1 else None

    read_from = read if all(_any_row(array) for array, _ in arrays) else None
    return Pieces(arrays[0][0].shape[0], None, read, read_from=read_from)


def _any_row(array: Stored) -> bool:
    return isinstance(array, NpyArray) or array.stored


def _refuse_long_rows(arrays: Sequence[tuple[Stored, str]], allowance: Allowance) -> None:
    """Refuse rows that take more memory than is allowed, all of them where they are read at once."""
    for array, expected in arrays:
        with naming(array.file.path, expected):
            allowance.take(array.whole_bytes)
            allowance.check(ROW_ENTRY_BYTES * array.shape[1])


def _rows(
    arrays: Sequence[tuple[Stored, str]], n_bytes: int, first: int, stop: int | None
) -> Iterator[list[NDArray[Any]]]:
    """Yield the same rows of arrays, about ``n_bytes`` at a time; of arrays without rows, none once."""
    n_rows = arrays[0][0].shape[0] if stop is None else stop
    row_bytes = sum(math.prod(array.shape[1:]) * array.dtype.itemsize for array, _ in arrays)
    step = max(1, min(n_bytes, MOST_BYTES) // max(1, row_bytes))
    with contextlib.ExitStack() as opened:
        takes = [opened.enter_context(_reading(array, expected, first, stop)) for array, expected in arrays]
        for start in range(first, max(n_rows, first + 1), step):
            yield [take(min(step, n_rows - start)) for take in takes]


@contextlib.contextmanager
def _reading(
    array: Stored, expected: str, first: int, stop: int | None
) -> Iterator[Callable[[int], NDArray[Any]]]:
    """Yield what takes the next rows of an array, and names its file in what goes wrong with it alone."""
    path = array.file.path
    with contextlib.ExitStack() as opened:
        with naming(path, expected):
            take = opened.enter_context(array.reading(first, stop))

        def take_named(n: int) -> NDArray[Any]:
            with naming(path, expected):
                return take(n)

        yield take_named
        with naming(path, expected):
            opened.close()  # which compares the file with what it was
