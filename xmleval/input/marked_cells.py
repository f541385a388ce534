"""Cells of a truth that are marked as not judged, or that it lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from xmleval.base.arrays import Bools
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.tensors import as_plain, is_sparse


def take_marked(truth: Any, mark: float) -> tuple[Any, Any]:
    """Return a truth without the cells that have the mark, and these cells as rows by id."""
    plain = as_plain("y_true", truth)
    if isinstance(plain, Rows):
        return _take_from_rows(plain, mark)
    if is_sparse(plain):
        return _take_from_sparse(plain, mark)
    array = np.asarray(plain)
    if array.ndim != 2:  # which is refused where the truth is checked
        return truth, rows_by_id(np.zeros(len(array) + 1, np.int64), np.empty(0, np.int64))
    is_marked = has_mark(array, mark)
    return np.where(is_marked, array.dtype.type(0), array), _rows_of_cells(is_marked)


def listed_cells(truth: Any) -> Any:
    """Return the cells that a truth lists, relevant or not, as rows by id."""
    plain = as_plain("y_true", truth)
    if isinstance(plain, Rows):
        if plain.values is not None and plain.values.ndim == 2:
            return _rows_of_cells(np.ones(plain.values.shape, np.bool_), plain.labels)
        return plain._replace(values=None, best_first=False)
    if is_sparse(plain):
        matrix = sp.csr_array(plain)
        return rows_by_id(matrix.indptr.astype(np.int64), matrix.indices)
    return _rows_of_cells(np.ones(np.shape(plain), np.bool_))


def has_mark(values: NDArray[Any], mark: float) -> Bools:
    """Return whether each value is the mark."""
    if np.isnan(mark):
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)
    return np.asarray(values == mark)


def _rows_of_cells(is_marked: Bools, labels: NDArray[Any] | None = None) -> Rows:
    """Return the marked cells of a matrix as rows by id; ``labels`` are those of its columns."""
    rows, columns = np.nonzero(is_marked)
    ptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=is_marked.shape[0]))))
    return rows_by_id(ptr, columns if labels is None else labels[columns])


def _take_from_rows(rows: Rows, mark: float) -> tuple[Rows, Rows]:
    """Return `take_marked` of rows of judgements; without values nothing is marked."""
    values = rows.values
    if values is None:
        return rows, rows_by_id(np.zeros_like(rows.ptr), rows.labels[:0])
    is_marked = has_mark(values, mark)
    if values.ndim == 2:
        cells = _rows_of_cells(is_marked, rows.labels)
        return rows._replace(values=np.where(is_marked, values.dtype.type(0), values)), cells
    marked = rows.only(is_marked)._replace(values=None, best_first=False)
    return rows.only(~is_marked), marked


def _take_from_sparse(truth: Any, mark: float) -> tuple[Any, Rows]:
    """Return `take_marked` of a sparse matrix, which may store marks."""
    matrix = sp.csr_array(truth)
    is_marked = has_mark(matrix.data, mark)
    ptr = pointer(is_marked)[matrix.indptr]
    marked = rows_by_id(ptr, matrix.indices[is_marked])
    kept = matrix.indptr - ptr
    shape = matrix.shape
    return sp.csr_array((matrix.data[~is_marked], matrix.indices[~is_marked], kept), shape), marked
