"""Types of arrays, and small functions of arrays that all modules use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Labels = NDArray[Any]  # int32, or int64 with more than 2^31 - 1 labels
Scores = NDArray[Any]  # float32 or float64, as given
# types of label ids
NARROW = np.dtype(np.int32)
WIDE = np.dtype(np.int64)
MOST_LABELS = 1 << 40  # so that pairs of labels of a row can be counted in 64 bits


class Chunks(NamedTuple):
    """A vector read in pieces because it may exceed memory."""

    dtype: np.dtype[Any]
    size: int
    read: Callable[[], Iterator[NDArray[Any]]]


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the narrowest integer type for label ids below ``n_labels``."""
    return NARROW if n_labels < 1 << 31 else WIDE


def row_sizes(ptr: Ints) -> Ints:
    """Return the number of entries in every row, int64 (n,), with less overhead than `np.diff`."""
    return ptr[1:] - ptr[:-1]


def bytes_of(arrays: object) -> int:
    """Return the size of an array, or of all arrays in lists, tuples and dicts, nested or not."""
    if isinstance(arrays, np.ndarray):
        return arrays.nbytes
    if isinstance(arrays, list | tuple):
        return sum(map(bytes_of, arrays))
    if isinstance(arrays, dict):
        return sum(map(bytes_of, arrays.values()))
    return 0


def as_score(value: float, scores: Scores) -> float:
    """Return a number rounded to the dtype of scores, as NumPy rounds it in comparisons."""
    return float(as_scores(np.float64(value), scores))


def as_scores(values: Floats | np.float64, scores: Scores) -> Scores:
    """Return float64 numbers rounded to the dtype of scores."""
    with np.errstate(over="ignore"):  # overflow to infinity in float32
        rounded: Scores = values.astype(scores.dtype)
    return rounded
