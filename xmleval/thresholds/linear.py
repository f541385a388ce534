"""Linear models of thresholds: their inputs, fitted by least squares, and their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.input.csr import as_array, is_sparse
from xmleval.input.errors import InputError
from xmleval.kernels.thresholds import apply_weights, apply_weights_sparse
from xmleval.records import Floats

MOST_STEPS = 10_000
CONVERGED = (0, 1, 2, 4, 5)  # of SciPy's lsqr: solved, to the tolerance or as far as float64 goes


def check_features(features: Any, n_rows: int) -> Any:
    """Return features as a float64 array, or a CSR array with sorted columns, or refuse them."""
    if is_sparse(features):
        from scipy.sparse import csr_array  # costs start-up time that few need

        if features.dtype.kind not in "biuf":
            raise InputError("features", f"dtype {features.dtype} does not hold real numbers")
        try:
            if features.format in ("csr", "csc", "bsr"):
                features.check_format(full_check=True)
            given: Any = csr_array(features, dtype=np.float64, copy=True)
            given.sum_duplicates()
        except (ValueError, TypeError, IndexError) as error:
            raise InputError("features", f"not a valid sparse matrix: {error}") from None
    else:
        given = np.ascontiguousarray(as_array("features", features), np.float64)
    if given.ndim != 2 or given.shape[0] != n_rows:
        raise InputError("features", f"shape {given.shape} does not match {n_rows} rows")
    if not given.shape[1]:
        raise InputError("features", f"shape {given.shape} has no columns")
    _refuse_infinite(given)
    return given


def _refuse_infinite(given: Any) -> None:
    numbers = given.data if is_sparse(given) else given.reshape(-1)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if not bad.size:
        return
    place = bad[0]
    if is_sparse(given):
        row, column = int(np.searchsorted(given.indptr, place, side="right")) - 1, int(given.indices[place])
    else:
        row, column = divmod(int(place), given.shape[1])
    value = numbers[place]
    raise InputError("features", f"{value} in column {column} is not a finite number", row=row, value=value)


def linear_values(weights: Floats, given: Any) -> Floats:
    """Return the model's value of each row, whatever the rows beside it; sparse as dense."""
    values = np.empty(given.shape[0])
    if is_sparse(given):
        apply_weights_sparse(given.indptr, given.indices, given.data, weights, values)
    else:
        apply_weights(given, weights, values)
    return values


def least_squares(argument: str, values: Any, wanted: Floats) -> Floats:
    """Return the weights of a linear model, the constant first; the shortest of equally good ones.

    Columns are divided by their norms, so that neither the answer nor its length depends on their units.
    """
    ones = np.ones((wanted.size, 1))
    sparse = is_sparse(values)
    if sparse:
        from scipy.sparse import csr_array, hstack

        design = hstack([csr_array(ones), values], format="csc")
        largest = abs(design).max(axis=0).toarray().reshape(-1)
    else:
        design = np.hstack([ones, values])
        largest = np.abs(design).max(axis=0)
    most = float(np.abs(wanted).max()) or 1.0  # squares of what is not within -1..1 might overflow
    with np.errstate(over="ignore", divide="ignore"):
        largest[~np.isfinite(most / largest)] = np.inf  # no finite weight makes anything of such a column
    design = _divided(design, largest)
    norms = np.sqrt(np.asarray((design**2).sum(axis=0)).reshape(-1))
    norms[norms == 0] = 1.0
    design = _divided(design, norms)
    if sparse:
        from scipy.sparse.linalg import lsqr

        found, stop = lsqr(design, wanted / most, 0.0, 1e-12, 1e-12, 0.0, MOST_STEPS)[:2]
        if stop not in CONVERGED:
            raise InputError(
                argument,
                f"least squares do not converge in {MOST_STEPS} steps; leave out columns that repeat others",
            )
    else:
        found = np.linalg.lstsq(design, wanted / most, rcond=None)[0]
    with np.errstate(over="ignore", invalid="ignore"):
        weights: Floats = found / norms * (most / largest)  # 0 for columns that were left out
    if not np.isfinite(weights).all():
        column = int(np.isfinite(weights).argmin()) - 1
        raise InputError(
            argument, f"no finite weight for column {column}; bring columns and scores to one scale"
        )
    return weights


def _divided(design: Any, by: Floats) -> Any:
    """Divide the columns of an array, or of a CSC array."""
    if not is_sparse(design):
        return design / by
    from scipy.sparse import csc_array

    data = design.data / np.repeat(by, np.diff(design.indptr))
    return csc_array((data, design.indices, design.indptr), shape=design.shape)
