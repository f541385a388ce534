"""CSR arrays of parsed rows, and of many pieces of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.input.csr import Stored, as_signed, cut_entries
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.written import WrittenRows
from xmleval.records import Ints, Labels, label_dtype

CELLS_FOR_NOTHING, CELLS_PER_ENTRY = 1 << 24, 100  # of a list that is padded to its longest row


def canonical_csr(ptr: Ints, labels: Labels, data: NDArray[Any], n_labels: int) -> Any:
    """Return parsed rows as a CSR array with rising ids, or refuse an id that a row repeats."""
    entries = cut_entries("labels", Stored(ptr, labels, data, n_labels), 0, ptr.size - 1)
    return make_csr(entries.ptr, entries.labels, entries.data, n_labels)


def sorted_rows(ptr: Ints, labels: Labels, values: NDArray[Any] | None, n_labels: int) -> Rows:
    """Return parsed rows with rising ids, or refuse an id that a row repeats."""
    entries = cut_entries("labels", Stored(ptr, labels, values, n_labels), 0, ptr.size - 1)
    return rows_by_id(entries.ptr, entries.labels, entries.data)


def written_csr(ptr: Ints, labels: Labels, data: NDArray[Any], n_labels: int) -> Any:
    """Return parsed scores in the order of the file, or refuse an id that a row repeats."""
    entries = cut_entries("labels", Stored(ptr, labels, None, n_labels), 0, ptr.size - 1)
    return make_csr(ptr, labels, data, n_labels, entries.places is None, WrittenRows)


def make_csr(
    ptr: Ints,
    labels: Labels,
    data: NDArray[Any] | None,
    n_labels: int,
    canonical: bool = True,
    kind: type = scipy.sparse.csr_array,
) -> Any:
    """Return entries, whose ids rise in each row if ``canonical``, as a CSR array without a copy of them."""
    if ptr[-1] <= np.iinfo(labels.dtype).max:
        ptr = ptr.astype(labels.dtype)  # SciPy wants one type for both
    made = kind((data, labels, ptr), shape=(ptr.size - 1, n_labels))
    made.has_canonical_format = canonical
    return made


def all_cells(dense: NDArray[Any]) -> Any:
    """Return a dense array as CSR with every cell stored, zeros too."""
    n_rows, n_labels = dense.shape
    labels = np.tile(np.arange(n_labels, dtype=label_dtype(n_labels)), n_rows)
    ptr = np.arange(n_rows + 1, dtype=np.int64) * n_labels
    return make_csr(ptr, labels, np.ravel(dense), n_labels)


def stack(pieces: Iterable[Any], n_labels: int, dtype: Any) -> Any:
    """Put CSR arrays on top of one another in little more memory than the result takes.

    Each is dropped before the next is asked for. The result has ``n_labels`` columns at least; a wider piece
    widens it, as data of another type may widen ``dtype``.
    """
    ptr, labels, data = _Growing(np.int64), _Growing(label_dtype(n_labels)), _Growing(dtype)
    ptr.append(np.zeros(1, np.int64))
    canonical, kind = True, scipy.sparse.csr_array
    for piece in pieces:
        kind = type(piece)
        n_labels = max(n_labels, piece.shape[1])
        canonical = canonical and piece.has_canonical_format
        ptr.append(piece.indptr[1:] + np.int64(labels.size))
        labels.append(piece.indices)
        data.append(piece.data)
    return make_csr(ptr.cut(), labels.cut(), data.cut(), n_labels, canonical, kind)


def stack_rows(batches: Iterable[Rows]) -> Rows:
    """Put rows by id on top of one another in little more memory than the result takes.

    Each batch is dropped before the next is asked for.
    """
    ptr, labels, values = _Growing(np.int64), _Growing(np.int8), _Growing(np.int8)
    ptr.append(np.zeros(1, np.int64))
    whole = rows_by_id(ptr.held, labels.held)
    for whole in batches:
        ptr.append(whole.ptr[1:] + labels.size)
        labels.append(as_signed(whole.labels))
        if whole.values is not None:
            values.append(whole.values)
    return whole._replace(
        ptr=ptr.cut(), labels=labels.cut(), values=None if whole.values is None else values.cut()
    )


def rows_as_csr(rows: Rows, n_labels: int | None) -> Any:
    """Return rows by id as a CSR array; without ``n_labels``, of as many labels as the largest id needs."""
    width = n_labels or max(1, int(rows.labels.max(initial=0)) + 1)
    values = np.ones(rows.labels.size, np.uint8) if rows.values is None else rows.values
    return make_csr(rows.ptr, rows.labels.astype(label_dtype(width), copy=False), values, width, False)


def rows_as_lists(rows: Rows) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return lists as two arrays of shape (m, k), labels and scores, filled up with -1 and NaN, or 0."""
    sizes = np.diff(rows.ptr)
    shape = rows.n_rows, int(sizes.max(initial=0))
    if shape[0] * shape[1] > CELLS_FOR_NOTHING + CELLS_PER_ENTRY * rows.labels.size:
        raise ValueError(f"a row of {shape[1]} labels, where {shape[0]} rows have {rows.labels.size}")
    filled = np.arange(shape[1]) < sizes[:, None]
    labels, scores = np.full(shape, -1, rows.labels.dtype), None
    labels[filled] = rows.labels
    if rows.values is not None:
        scores = np.full(shape, np.nan if rows.values.dtype.kind == "f" else 0, rows.values.dtype)
        scores[filled] = rows.values
    return labels, scores


def stack_filled(parts: list[NDArray[Any]], width: int, filler: float, dtype: Any = None) -> NDArray[Any]:
    """Return lists one below the other, each filled up to the same width."""
    whole = np.full((sum(map(len, parts)), width), filler, parts[0].dtype if parts else dtype)
    first = 0
    for part in parts:
        whole[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return whole


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
