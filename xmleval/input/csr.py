"""Rows of an input that can be asked for block by block, and the CSR arrays behind them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.input.errors import InputError, LabelRangeError
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.tensors import as_plain, is_narrow
from xmleval.kernels.checking import (
    BAD_LABEL,
    BAD_POINTER,
    DUPLICATE,
    FINE,
    UNSORTED,
    check_labels,
    check_pointer,
    sort_labels,
)
from xmleval.message import TRANSPOSED, counted
from xmleval.records import Facts, Ints, Labels, label_dtype

T = TypeVar("T")
BLOCK_BYTES, MOST_ROWS = 16 << 20, 81920
MOST_ID = np.iinfo(np.int64).max
MOST_LABELS = 1 << 40  # so that pairs of labels of a row can be counted in 64 bits


def rows_at_a_time(bytes_per_row: float) -> int:
    """Return how many rows make a block of a few cache-friendly megabytes."""
    return max(1, min(MOST_ROWS, int(BLOCK_BYTES // (bytes_per_row + 1))))


def checked(make: Callable[[int, int], T], start: int, stop: int) -> T:
    """Return rows start..stop-1, or refuse the first offending one."""
    try:
        return make(start, stop)
    except InputError as error:
        if error.row is not None and start < error.row < stop:
            checked(make, start, error.row)  # something else may be wrong in an earlier row
        raise


class Source(NamedTuple, Generic[T]):
    """An input of n_rows x n_labels; ``block(start, stop)`` gives checked canonical rows.

    That of a truth that holds grades has the judged labels. ``facts(start, stop)`` gives the truth of rows
    that several models share. ``listed(start, stop)`` gives the labels of scores as they are stored,
    unchecked; None where all labels have a score.
    """

    n_rows: int
    n_labels: int
    bytes_per_row: float
    block: Callable[[int, int], T]
    facts: Callable[[int, int], Facts] | None = None
    listed: Callable[[int, int], Rows] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and labels."""
        return self.n_rows, self.n_labels

    def blocks(self) -> Iterator[T]:
        """Yield all rows, some at a time, or refuse the first offending one."""
        size = rows_at_a_time(self.bytes_per_row)
        for start in range(0, self.n_rows, size):
            yield checked(self.block, start, min(start + size, self.n_rows))


class Entries(NamedTuple):
    """Checked entries of some rows, ids rising within each; ``data`` aligned with ``labels``.

    ``places``: where each entry stood among those of these rows; None where all are in their places.
    """

    ptr: Ints
    labels: Labels
    data: NDArray[Any] | None
    places: Ints | None = None


def check_shape(argument: str, shape: tuple[int, ...], n_labels: int | None) -> tuple[int, int]:
    """Return (rows, labels) of a matrix, or refuse its shape."""
    if len(shape) != 2:
        hint = "; a top-k list is a tuple (labels, scores)" if argument == "y_score" else ""
        if argument != "y_score" and len(shape) == 3 and shape[0] == 2:
            hint = f"; {list_hint(argument)}"
        raise InputError(argument, f"shape {shape} is not two-dimensional (instances x labels){hint}")
    if n_labels is not None and shape[1] != n_labels:
        turned = shape[0] == n_labels and argument not in ("y_score", "y_pred")  # which the truth tells
        hint = f"; it {TRANSPOSED}; give its .T" if turned else ""
        raise InputError(
            argument, f"shape {shape} has {counted(shape[1], 'labels')}; {n_labels} were expected{hint}"
        )
    if not 1 <= shape[1] <= MOST_LABELS:
        raise InputError(argument, f"shape {shape} does not have 1..2^40 labels")
    return shape[0], shape[1]


def list_hint(argument: str) -> str:
    """Return what to do with a top-k list that is given as label sets."""
    swapped = "; are the truth and the scores swapped?" if argument == "y_true" else ""
    return f"it looks like a top-k list (labels, scores), and predictions with scores go to y_score{swapped}"


def as_array(argument: str, value: Any) -> NDArray[Any]:
    """Return an array of numbers in native byte order, or refuse it."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(argument, "masked arrays are not supported; fill or drop the masked cells")
    try:
        array = np.asarray(as_plain(argument, value))
    except InputError:
        raise
    except (TypeError, RuntimeError) as error:  # of a foreign object that offers __array__
        raise InputError(argument, f"cannot be read as an array: {error}") from None
    except ValueError:
        raise InputError(
            argument,
            "not a rectangular array of numbers; lists of label ids need n_labels=, the number of labels",
        ) from None
    if array.dtype.kind == "V" and is_narrow(array.dtype):
        array = array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        hint = "; .astype(float) makes numbers of it" if can_be_numbers(array) else ""
        raise InputError(argument, f"dtype {array.dtype} does not hold real numbers{hint}")
    return native(array)


def can_be_numbers(array: NDArray[Any]) -> bool:
    """Tell whether texts or objects are all numbers."""
    try:
        return array.ndim > 0 and array.dtype.kind in "OSTU" and bool(array.astype(np.float64).size)
    except (ValueError, TypeError):
        return False


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in native byte order, itself where it is."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def as_signed(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids of a signed type; those from 2^63 on become 2^63 - 1, which is no label either."""
    if ids.dtype.kind != "u":
        return ids
    most = ids.dtype.type(min(np.iinfo(ids.dtype).max, MOST_ID))
    signed: NDArray[Any] = np.minimum(ids, most).astype(np.int64)
    return signed


@contextlib.contextmanager
def _refusing(argument: str) -> Iterator[None]:
    """Say which argument SciPy refuses to convert."""
    try:
        yield
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(argument, f"not a valid sparse matrix: {error}") from None


def matrix_rows(argument: str, matrix: Any, n_labels: int | None) -> Rows:
    """Return the rows of any SciPy sparse matrix or array, its index structure checked.

    Duplicate entries are neither summed nor dropped: they are found and refused later.
    """
    n_rows, n_labels = check_shape(argument, matrix.shape, n_labels)
    if matrix.dtype.kind not in "biuf":
        raise InputError(argument, f"dtype {matrix.dtype} does not hold real numbers")
    if matrix.format in ("csr", "csc", "bsr"):
        tall, wide = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        across, along = n_rows // tall, n_labels // wide
        if matrix.format == "csc":
            across, along = along, across
        ptr, labels = native(np.asarray(matrix.indptr)), native(np.asarray(matrix.indices))
        n_stored = min(labels.shape[0], matrix.data.shape[0])
        if ptr.dtype.kind not in "iu" or labels.dtype.kind not in "iu":
            raise InputError(argument, f"indptr and indices are {ptr.dtype} and {labels.dtype}, not integers")
        if ptr.shape != (across + 1,):
            raise InputError(argument, f"indptr has {ptr.size} entries; {across + 1} were expected")
        code, row, position = check_pointer(ptr, n_stored)
        if code != FINE:
            refuse_code(argument, code, row, int(ptr[position]), n_labels)
        if matrix.format == "csr":
            return rows_by_id(ptr.astype(np.int64), labels, np.asarray(matrix.data))
        used = labels[: ptr[-1]]
        bad = used[(used < 0) | (used >= along)]
        if bad.size:
            raise InputError(argument, f"index {bad[0]} of the {matrix.format} is not in 0..{along - 1}")
        if {ptr.dtype, labels.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:  # SciPy converts no others
            known = labels.astype(np.int64), ptr.astype(np.int64)
            matrix = type(matrix)((matrix.data, *known), shape=matrix.shape)
    with _refusing(argument):
        matrix = matrix.tocoo()  # SciPy takes zeros of a DIA matrix for padding
    return _from_coordinates(argument, matrix, n_rows, n_labels)


def _from_coordinates(argument: str, matrix: Any, n_rows: int, n_labels: int) -> Rows:
    rows, labels = np.asarray(matrix.row), np.asarray(matrix.col)
    for name, ids, size in (("row", rows, n_rows), ("label id", labels, n_labels)):
        bad = (ids < 0) | (ids >= size)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = None if name == "row" else int(rows[at])
            raise InputError(
                argument, f"{name} {ids[at]} is not in 0..{size - 1}", row=row, value=int(ids[at])
            )
    order = np.lexsort((labels, rows))
    ptr = pointer(np.bincount(rows, minlength=n_rows))
    return rows_by_id(ptr, labels[order], np.asarray(matrix.data)[order])


def refuse_code(argument: str, code: int, row: int, value: int, n_labels: int) -> NoReturn:
    """Raise the message of a code of `xmleval.kernels.checking`."""
    if code == BAD_POINTER:
        raise InputError(
            argument,
            f"indptr is {value} there; it must start at 0, never fall and end at the number of stored "
            "entries",
            row=row,
            value=value,
        )
    if code == BAD_LABEL:
        raise LabelRangeError(argument, f"label id {value} is not in 0..{n_labels - 1}", row=row, value=value)
    assert code == DUPLICATE
    raise InputError(
        argument, f"label id {value} occurs twice; ids of a row must be distinct", row=row, value=value
    )


def rows_of(ptr: Ints, positions: Ints) -> Ints:
    """Return the rows that hold the given stored entries."""
    return np.searchsorted(ptr, positions, side="right") - 1


def cut_entries(argument: str, rows: Rows, n_labels: int, start: int, stop: int) -> Entries:
    """Return the checked entries of rows start..stop-1, sorted by id (on a copy where they are not)."""
    own = rows.part(start, stop)
    ptr, labels, data = own.ptr, own.labels, own.values
    given = labels
    if labels.dtype not in (np.int32, np.int64):
        labels = labels.astype(np.int64)
    code, row, position = check_labels(ptr, labels, n_labels)
    labels = labels.astype(label_dtype(n_labels), copy=False)
    places = None
    if code == UNSORTED:
        labels, places = labels.copy(), np.arange(labels.size)
        sort_labels(ptr, labels, places)
        data = None if data is None else data[places]
        code, row, position = check_labels(ptr, labels, n_labels)
        given = labels
    if code != FINE:
        refuse_code(argument, code, start + row, int(given[position]), n_labels)
    return Entries(ptr, np.ascontiguousarray(labels), data, places)


def keep_entries(entries: Entries, keep: NDArray[np.bool_]) -> Entries:
    """Return the flagged entries alone."""
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    data = None if entries.data is None else entries.data[keep]
    return Entries(kept_before[entries.ptr], entries.labels[keep], data)


def is_sparse(value: Any) -> bool:
    """Tell whether a value is a SciPy sparse matrix or array."""
    if isinstance(value, np.ndarray):
        return False
    sparse = sys.modules.get("scipy.sparse")  # whoever made such a value has imported it
    return sparse is not None and bool(sparse.issparse(value))
