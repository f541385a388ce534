"""Linear models of row thresholds: features, least squares and values."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.base.errors import InputError
from xmleval.input.csr import as_array
from xmleval.input.tensors import is_sparse
from xmleval.kernels.thresholds import apply_weights, apply_weights_sparse

MAX_STEPS = 10_000
# stop codes of SciPy's lsqr: solved to the tolerance or to machine precision
CONVERGED = (0, 1, 2, 4, 5)


class SparseArray(Protocol):
    """A sparse array of SciPy, by rows or by columns."""

    ndim: int
    shape: tuple[int, ...]
    indptr: Ints
    indices: Labels
    data: NDArray[Any]

    def __getitem__(self, rows: NDArray[Any], /) -> SparseArray:
        """Return some rows of an array by rows."""
        ...

    def sort_indices(self) -> None:
        """Sort the entries of every row, or column, in place."""


def check_features(features: Any, n_rows: int) -> Floats | SparseArray:
    """Return features as a float64 array or a canonical CSR array; refuse invalid ones."""
    matrix: Floats | SparseArray
    if is_sparse(features):
        matrix = _as_csr(features)
    else:
        matrix = np.ascontiguousarray(as_array("features", features), np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != n_rows:
        raise InputError("features", f"shape {matrix.shape} does not match {n_rows} rows")
    if not matrix.shape[1]:
        raise InputError("features", f"shape {matrix.shape} has no columns")
    _refuse_infinite(matrix)
    return matrix


def _as_csr(features: Any) -> SparseArray:
    """Return a canonical copy of a sparse matrix as a float64 CSR array; refuse invalid ones."""
    from scipy.sparse import csr_array  # imported here to keep start-up fast

    if features.dtype.kind not in "biuf":
        raise InputError("features", f"dtype {features.dtype} is not a type of real numbers")
    try:
        if features.format in ("csr", "csc", "bsr"):
            # SciPy's own check overflows in int32
            if (np.diff(np.asarray(features.indptr, np.int64)) < 0).any():
                raise ValueError("indptr is falling")
            features.check_format(full_check=True)
        rows = csr_array(features, dtype=np.float64, copy=True)
        rows.sum_duplicates()
    except (ValueError, TypeError, IndexError) as error:
        raise InputError("features", f"not a valid sparse matrix: {error}") from None
    matrix: SparseArray = rows
    return matrix


def _refuse_infinite(matrix: Floats | SparseArray) -> None:
    """Refuse features that are infinite or NaN."""
    numbers = matrix.reshape(-1) if isinstance(matrix, np.ndarray) else matrix.data
    bad = np.flatnonzero(~np.isfinite(numbers))
    if not bad.size:
        return
    place = int(bad[0])
    if isinstance(matrix, np.ndarray):
        row, column = divmod(place, matrix.shape[1])
    else:
        row = int(np.searchsorted(matrix.indptr, place, "right")) - 1
        column = int(matrix.indices[place])
    text = f"{numbers[place]} in column {column} is not a finite number"
    raise InputError("features", text, row=row, value=numbers[place])


def linear_values(weights: Floats, matrix: Floats | SparseArray) -> Floats:
    """Evaluate the model on each row, with bits that do not depend on other rows or on sparsity."""
    values = np.empty(matrix.shape[0])
    if isinstance(matrix, np.ndarray):
        apply_weights(matrix, weights, values)
    else:
        apply_weights_sparse(matrix.indptr, matrix.indices, matrix.data, weights, values)
    return values


def least_squares(argument: str, values: Floats | SparseArray, targets: Floats) -> Floats:
    """Return the weights of a linear model by least squares, the intercept first.

    Of several solutions, it is that of minimum norm. Columns are scaled by their norms, so that the
    solution does not depend on their units.
    """
    ones = np.ones((targets.size, 1))
    if isinstance(values, np.ndarray):
        design = np.hstack([ones, values])
        largest = np.abs(design).max(axis=0)
    else:
        from scipy.sparse import csr_array, hstack

        design = hstack([csr_array(ones), values], format="csc")
        largest = abs(design).max(axis=0).toarray().reshape(-1)
    scale = float(np.abs(targets).max()) or 1.0  # squares of values outside -1..1 could overflow
    with np.errstate(over="ignore", divide="ignore"):
        largest[~np.isfinite(scale / largest)] = np.inf  # the column would need an infinite weight
    _divide_columns(design, largest)
    norms = np.sqrt(np.asarray((design**2).sum(axis=0)).reshape(-1))
    norms[norms == 0] = 1.0
    _divide_columns(design, norms)
    if isinstance(values, np.ndarray):
        solution = np.linalg.lstsq(design, targets / scale, rcond=None)[0]
    else:
        from scipy.sparse.linalg import lsqr

        solution, stop = lsqr(design, targets / scale, 0.0, 1e-12, 1e-12, 0.0, MAX_STEPS)[:2]
        if stop not in CONVERGED:
            problem = f"least squares did not converge in {MAX_STEPS} steps"
            raise InputError(argument, f"{problem}; remove duplicate columns")
    with np.errstate(over="ignore", invalid="ignore"):
        weights: Floats = solution / norms * (scale / largest)  # 0 for excluded columns
    if not np.isfinite(weights).all():
        column = int(np.isfinite(weights).argmin()) - 1
        problem = f"no finite weight for column {column}"
        raise InputError(argument, f"{problem}; rescale columns and scores")
    return weights


def _divide_columns(design: Floats | SparseArray, divisors: Floats) -> None:
    """Divide the columns of an array or a CSC array in place."""
    if isinstance(design, np.ndarray):
        design /= divisors
    else:
        design.data /= np.repeat(divisors, np.diff(design.indptr))
