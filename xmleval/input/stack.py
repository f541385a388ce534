"""Rows by id: sorted, put together, and as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.input.csr import as_signed, sorted_part
from xmleval.input.errors import InputError
from xmleval.input.rows import Rows, rows_by_id
from xmleval.records import Ints, Labels, label_dtype

CELLS_FOR_NOTHING, CELLS_PER_ENTRY = 1 << 24, 100  # of a list that is padded to its longest row


def sorted_rows(ptr: Ints, labels: Labels, values: NDArray[Any] | None, n_labels: int) -> Rows:
    """Return parsed rows with rising ids, or refuse an id that a row repeats."""
    return sorted_part("labels", rows_by_id(ptr, labels, values), n_labels, 0, ptr.size - 1)[0]


def dense_rows(dense: NDArray[Any], kind: str) -> Rows:
    """Return the rows of a dense array by id: every cell of scores, others where they are not 0."""
    n_rows, n_labels = dense.shape
    labels = np.tile(np.arange(n_labels, dtype=label_dtype(n_labels)), n_rows)
    rows = rows_by_id(np.arange(n_rows + 1) * n_labels, labels, np.ravel(dense))
    return rows if kind == "scores" else rows.only(np.ravel(dense) != 0)


def stack_rows(batches: Iterable[Any]) -> Any:
    """Put rows by id on top of one another in little more memory than the result takes; also dense arrays.

    Each batch is dropped before the next is asked for.
    """
    batches = iter(batches)
    rows = next(batches, rows_by_id(np.zeros(1, np.int64), np.empty(0, np.int32)))
    following = next(batches, None)
    if following is None:
        return rows
    if isinstance(rows, np.ndarray):
        return np.concatenate([rows, following, *batches])
    ptr, labels, values = _Growing(np.int64), _Growing(np.int8), _Growing(np.uint8)
    ptr.append(np.zeros(1, np.int64))
    has_values = False
    for part in chain([rows, following], batches):
        ptr.append(part.ptr[1:] + labels.size)
        labels.append(as_signed(part.labels))
        has_values |= part.values is not None
        values.append(np.ones(part.labels.size, np.uint8) if part.values is None else part.values)
    return rows._replace(ptr=ptr.cut(), labels=labels.cut(), values=values.cut() if has_values else None)


def arrays_of(rows: Any, n_labels: int | None) -> Any:
    """Return rows as `xmleval.evaluate` takes them: a sparse array, two arrays of lists, or a dense array."""
    if isinstance(rows, np.ndarray):
        return rows
    return rows_as_lists(rows) if rows.best_first else rows_as_csr(rows, n_labels)


def rows_as_csr(rows: Rows, n_labels: int | None) -> Any:
    """Return rows by id as a CSR array of ``n_labels``, or of as many labels as the largest id needs."""
    width = max(1, n_labels or 0, int(rows.labels.max(initial=0)) + 1)
    values = np.ones(rows.labels.size, np.uint8) if rows.values is None else rows.values
    labels, ptr = rows.labels.astype(label_dtype(width), copy=False), rows.ptr
    if ptr[-1] <= np.iinfo(labels.dtype).max:
        ptr = ptr.astype(labels.dtype)  # SciPy wants one type for both
    return scipy.sparse.csr_array((values, labels, ptr), shape=(rows.n_rows, width))


def rows_as_lists(rows: Rows) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return lists as two arrays of shape (m, k), labels and scores, filled up with -1 and NaN, or 0."""
    sizes = np.diff(rows.ptr)
    shape = rows.n_rows, int(sizes.max(initial=0))
    if shape[0] * shape[1] > CELLS_FOR_NOTHING + CELLS_PER_ENTRY * rows.labels.size:
        told = f"a row of {shape[1]} labels, where {shape[0]} rows have {rows.labels.size}"
        raise InputError("scores", f"{told}; expected lists of about one length")
    if rows.labels.size == math.prod(shape):
        return rows.labels.reshape(shape), None if rows.values is None else rows.values.reshape(shape)
    filled = np.arange(shape[1]) < sizes[:, None]
    labels, scores = np.full(shape, -1, rows.labels.dtype), None
    labels[filled] = rows.labels
    if rows.values is not None:
        scores = np.full(shape, np.nan if rows.values.dtype.kind == "f" else 0, rows.values.dtype)
        scores[filled] = rows.values
    return labels, scores


class _Growing:
    """An array that grows at its end, by reallocation, which for large arrays does not copy."""

    def __init__(self, dtype: Any) -> None:
        self.held: NDArray[Any] = np.empty(0, dtype)
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        dtype = np.result_type(self.held, values)
        if dtype != self.held.dtype:
            self.held = self.held.astype(dtype)
        size = self.size + values.size
        if size > self.held.size:
            self.held.resize(size + size // 4, refcheck=False)
        self.held[self.size : size] = values
        self.size = size

    def cut(self) -> NDArray[Any]:
        self.held.resize(self.size, refcheck=False)
        return self.held
