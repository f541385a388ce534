"""Rows by id: sorted, put together, and as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.base.arrays import Ints, Labels, label_dtype
from xmleval.base.errors import InputError
from xmleval.input.csr import as_signed, dense_rows, sorted_part
from xmleval.input.rows import Rows, rows_by_id

CELLS_FOR_NOTHING, CELLS_PER_ENTRY = 1 << 24, 100  # of a list that is padded to its longest row


def sorted_rows(
    ptr: Ints, labels: Labels, values: NDArray[Any] | None, n_labels: int, lines: Sequence[int] | Ints = ()
) -> Rows:
    """Return rows with rising ids; an id that a row of a text repeats is refused by its line."""
    try:
        return sorted_part("labels", rows_by_id(ptr, labels, values), n_labels)[0]
    except InputError as error:
        raise ValueError(f"line {lines[error.row or 0]}: {error.reason}") from None


def as_rows(dense: Any, kind: str) -> Any:
    """Return rows by id, of a dense array every cell of scores, others where they are not 0."""
    return dense_rows(dense, kind == "scores") if isinstance(dense, np.ndarray) else dense


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
    ptr, labels, values = np.zeros(1, np.int64), np.empty(0, np.int8), np.empty(0, np.uint8)
    n_rows, n, has_values = 0, 0, False
    for part in chain([rows, following], batches):
        given = np.ones(part.labels.size, np.uint8) if part.values is None else part.values
        ptr = _appended(ptr, n_rows + 1, part.ptr[1:] + n)
        labels, values = _appended(labels, n, as_signed(part.labels)), _appended(values, n, given)
        n_rows, n, has_values = n_rows + part.n_rows, n + given.size, has_values or part.values is not None
    for array, size in ((ptr, n_rows + 1), (labels, n), (values, n)):
        array.resize(size, refcheck=False)
    return rows._replace(ptr=ptr, labels=labels, values=values if has_values else None)


def _appended(held: NDArray[Any], size: int, values: NDArray[Any]) -> NDArray[Any]:
    """Return an array with more behind its first values; reallocating a large one does not copy it."""
    held = held.astype(np.result_type(held, values), copy=False)
    if size + values.size > held.size:
        held.resize(size + values.size + (size + values.size) // 4, refcheck=False)
    held[size : size + values.size] = values
    return held


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
    filled = np.arange(shape[1]) < sizes[:, None]
    labels, scores = np.full(shape, -1, rows.labels.dtype), None
    labels[filled] = rows.labels
    if rows.values is not None:
        scores = np.full(shape, np.nan if rows.values.dtype.kind == "f" else 0, rows.values.dtype)
        scores[filled] = rows.values
    return labels, scores
