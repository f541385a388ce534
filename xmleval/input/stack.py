"""CSR arrays of parsed rows, and of many pieces of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.input.csr import Stored, cut_entries
from xmleval.input.written import WrittenRows
from xmleval.records import Ints, Labels, label_dtype

FILLED_BYTES, MOST_FILLED = 1 << 20, 1 << 13  # of lists that are filled up to the same length, and their rows


def canonical_csr(ptr: Ints, labels: Labels, data: NDArray[Any], n_labels: int) -> Any:
    """Return parsed rows as a CSR array with rising ids, or refuse an id that a row repeats."""
    entries = cut_entries("labels", Stored(ptr, labels, data, n_labels), 0, ptr.size - 1)
    return make_csr(entries.ptr, entries.labels, entries.data, n_labels)


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


def stack_filled(parts: list[NDArray[Any]], width: int, filler: float, dtype: Any = None) -> NDArray[Any]:
    """Return lists one below the other, each filled up to the same width."""
    whole = np.full((sum(map(len, parts)), width), filler, parts[0].dtype if parts else dtype)
    first = 0
    for part in parts:
        whole[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return whole


def filled_lists(ptr: Ints, labels: Labels, n_bytes: int) -> Iterator[Labels]:
    """Yield lists of labels, filled up with -1 to the longest of some rows: about ``n_bytes`` at a time."""
    start, n_rows, most = 0, ptr.size - 1, min(n_bytes, FILLED_BYTES) // labels.itemsize
    while start < n_rows or not start:
        sizes = np.diff(ptr[start : start + MOST_FILLED + 1])
        filled = np.maximum.accumulate(sizes) * np.arange(1, sizes.size + 1)
        sizes = sizes[: max(1, int(np.searchsorted(filled, most, "right")))]
        block = np.full((sizes.size, sizes.max(initial=1)), -1, labels.dtype)
        block[np.arange(block.shape[1]) < sizes[:, None]] = labels[ptr[start] : ptr[start] + sizes.sum()]
        yield block
        start += max(1, sizes.size)


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
