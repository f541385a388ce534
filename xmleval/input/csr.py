"""Sources, which return rows of an input block by block, and checks of their CSR arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import MOST_LABELS, Ints, label_dtype
from xmleval.base.errors import ONE_BASED, TRANSPOSED, InputError, LabelRangeError, counted
from xmleval.input.canonical import Facts
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.tensors import as_plain, is_narrow
from xmleval.kernels.checking import (
    BAD_LABEL,
    FINE,
    UNSORTED,
    check_labels,
    check_pointer,
    sort_labels,
)

T = TypeVar("T")
BLOCK_BYTES = 16 << 20
MOST_ROWS = 81920
MOST_ID = np.iinfo(np.int64).max
NO_PAIR = (
    "a tuple must be (labels, scores) or (labels, None), not {} items; "
    "give rows, or arrays of predict_proba, in a list"
)
NEEDS_N_LABELS = "lists of label ids need n_labels=, the number of labels"


def rows_at_a_time(bytes_per_row: float) -> int:
    """Return how many rows make a block of a few cache-friendly megabytes."""
    return max(1, min(MOST_ROWS, int(BLOCK_BYTES // (bytes_per_row + 1))))


class Source(NamedTuple, Generic[T]):
    """An input of n_rows x n_labels; ``block(start, stop)`` returns checked canonical rows.

    The rows of a truth with grades have all judged labels. ``facts(start, stop)`` returns the truth
    of rows that several models share, ``listed(start, stop)`` the labels of scores as stored,
    unchecked.
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
        """Yield all rows, some at a time."""
        size = rows_at_a_time(self.bytes_per_row)
        for start in range(0, self.n_rows, size):
            yield self.block(start, min(start + size, self.n_rows))


def check_shape(argument: str, shape: tuple[int, ...], n_labels: int | None) -> tuple[int, int]:
    """Return (rows, labels) of a matrix, or refuse its shape."""
    if len(shape) != 2:
        hint = _hint_of_dimensions(argument, shape, n_labels)
        raise InputError(
            argument, f"shape {shape} is not two-dimensional (instances x labels){hint}"
        )
    n_rows, width = shape
    if n_labels is not None and width != n_labels:
        hint = _hint_of_width(argument, n_rows, width, n_labels)
        expected = f"{n_labels} {'was' if n_labels == 1 else 'were'} expected"
        message = f"shape {shape} has {counted(width, 'labels')}; {expected}{hint}"
        raise InputError(argument, message)
    if not 1 <= width <= MOST_LABELS:
        raise InputError(argument, f"shape {shape} does not have 1..2^40 labels")
    return n_rows, width


def _hint_of_width(argument: str, n_rows: int, width: int, n_labels: int) -> str:
    """Return what to do about a matrix with another number of labels."""
    if argument == "y_score" and n_labels == 1 and width == 2:
        return "; from predict_proba, give y_score[:, 1:], the scores of class 1"
    if argument == "y_score" and n_labels == 1 and width > 1:
        return "; if y_true lists label ids, give n_labels="
    # the shape of predictions is compared with the truth's elsewhere
    if n_rows == n_labels and argument not in ("y_score", "y_pred"):
        return f"; it {TRANSPOSED}; give its .T"
    return ""


def _hint_of_dimensions(argument: str, shape: tuple[int, ...], n_labels: int | None) -> str:
    """Return what to do about an array that is not two-dimensional."""
    if argument == "y_score" and len(shape) == 3 and shape[2] == 2:
        return "; from predict_proba, give y_score[:, :, 1].T, the scores of class 1"
    if argument == "y_score" and len(shape) == 1 and n_labels == 1:
        return "; for one label, give y_score[:, None]"
    pair = "; a top-k list is a tuple (labels, scores),"
    if argument == "y_score":
        return f"{pair} and {NEEDS_N_LABELS}"
    if len(shape) == 3:
        return f"{pair} given as y_score; are the truth and the scores swapped?"
    return ""


def as_array(argument: str, value: Any) -> NDArray[Any]:
    """Return an array of numbers in native byte order, or refuse it."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(argument, "masked arrays are not supported; fill or drop the masked cells")
    value = as_plain(argument, value)
    try:
        array = np.asarray(value)
    except (TypeError, RuntimeError) as error:  # of a foreign object that offers __array__
        raise InputError(argument, f"cannot be read as an array: {error}") from None
    except ValueError:
        raise InputError(
            argument, f"not a rectangular array of numbers; {NEEDS_N_LABELS}"
        ) from None
    if array.dtype.kind == "V" and is_narrow(array.dtype):
        array = array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        hint = _hint_of_dtype(array)
        raise InputError(argument, f"dtype {array.dtype} is not a type of real numbers{hint}")
    return native(array)


def _hint_of_dtype(array: NDArray[Any]) -> str:
    """Return what to do about an array that is not of real numbers."""
    if can_be_numbers(array):
        return "; convert it with .astype(float)"
    if array.dtype.kind == "S":
        return "; decode bytes to text"
    if array.ndim == 0:
        return "; copy it to a NumPy array"
    return ""


def can_be_numbers(array: NDArray[Any]) -> bool:
    """Tell whether texts or objects are all numbers."""
    try:
        return array.ndim > 0 and array.dtype.kind in "OSTU" and bool(array.astype(np.float64).size)
    except (ValueError, TypeError):
        return False


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in native byte order, the same one if it is already."""
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def as_signed(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids of a signed type; ids from 2^63 on become 2^63 - 1, which is no label either."""
    if ids.dtype.kind != "u":
        return ids
    signed = ids.astype(np.int64)
    return np.where(signed < 0, MOST_ID, signed)


def matrix_rows(argument: str, matrix: Any, n_labels: int | None) -> Rows:
    """Return the rows of a SciPy sparse matrix after a check of its indices.

    Labels that occur twice in a row are refused later.
    """
    n_rows, n_labels = check_shape(argument, matrix.shape, n_labels)
    if matrix.dtype.kind not in "biuf":
        raise InputError(argument, f"dtype {matrix.dtype} is not a type of real numbers")
    if matrix.format == "csr":
        return _csr_rows(argument, matrix, n_rows)
    try:
        matrix = _as_coo(matrix)
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(argument, f"not a valid sparse matrix: {error}") from None
    rows = np.asarray(matrix.row)
    labels = np.asarray(matrix.col)
    for bad in rows[(rows < 0) | (rows >= n_rows)][:1]:
        raise InputError(argument, f"row {bad} is not in 0..{n_rows - 1}", value=int(bad))
    order = np.lexsort((labels, rows))
    ptr = pointer(np.bincount(rows, minlength=n_rows))
    return rows_by_id(ptr, labels[order], np.asarray(matrix.data)[order])


def _csr_rows(argument: str, matrix: Any, n_rows: int) -> Rows:
    """Return the rows of a CSR matrix after a check of its pointer."""
    ptr = native(np.asarray(matrix.indptr))
    labels = native(np.asarray(matrix.indices))
    are_integers = ptr.dtype.kind in "iu" and labels.dtype.kind in "iu"
    if not are_integers or ptr.shape != (n_rows + 1,):
        problem = f"indptr is {ptr.dtype} of shape {ptr.shape}, and indices are {labels.dtype}"
        raise InputError(argument, f"{problem}; expected {n_rows + 1} integers, and integers")
    refuse_pointer(argument, ptr, min(labels.shape[0], matrix.data.shape[0]))
    return rows_by_id(as_signed(ptr), labels, np.asarray(matrix.data))


def _as_coo(matrix: Any) -> Any:
    """Return a matrix in COO format, after a check for invalid indices, which SciPy follows."""
    if hasattr(matrix, "check_format"):
        matrix = copy.copy(matrix)
        for name in ("indptr", "indices"):
            array = np.asarray(getattr(matrix, name))
            setattr(matrix, name, array.astype(np.int64, casting="same_kind"))
        # SciPy notices only if the pointer ends above 0
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
            raise ValueError("indptr must never fall")
        matrix.check_format(full_check=True)
    elif matrix.format == "dia":
        offsets = matrix.offsets
        are_narrow = (offsets.astype(np.int32) == offsets).all()
        if not are_narrow or offsets.shape != matrix.data.shape[:1]:
            raise ValueError("offsets must be integers of 32 bits, one for each row of data")
    return matrix.tocoo()  # SciPy takes zeros of a DIA matrix for padding


def refuse_pointer(argument: str, ptr: NDArray[Any], n_stored: int, first: int = 0) -> None:
    """Refuse a pointer that does not start at 0, falls or exceeds ``n_stored``.

    With ``first``, it is that of rows from ``first`` on, and may start anywhere.
    """
    base = ptr[0] if first else 0
    code, row, position = check_pointer(ptr - base if first else ptr, n_stored - int(base))
    if code != FINE:
        expected = "it must start at 0, never fall and end at the number of stored entries"
        message = f"indptr is {ptr[position]} there; {expected}"
        raise InputError(argument, message, row=first + row, value=int(ptr[position]))


def refuse_code(
    argument: str, code: int, row: int, value: int, n_labels: int, slots: str = ""
) -> NoReturn:
    """Raise the error for a code of `xmleval.kernels.checking`."""
    if code == BAD_LABEL:
        hint = ONE_BASED if value == n_labels else ""
        message = f"label id {value} is not in 0..{n_labels - 1}{slots}{hint}"
        raise LabelRangeError(argument, message, row=row, value=value)
    message = f"label id {value} occurs twice; ids of a row must be distinct"
    raise InputError(argument, message, row=row, value=value)


def sorted_part(
    argument: str, rows: Rows, n_labels: int, start: int = 0
) -> tuple[Rows, Ints | None]:
    """Return checked rows sorted by label id, and the former places of entries if any moved."""
    labels = rows.labels
    places = None
    if labels.dtype not in (np.int32, np.int64):
        labels = labels.astype(np.int64)
    code, row, position = check_labels(rows.ptr, labels, n_labels)
    labels = np.ascontiguousarray(labels, label_dtype(n_labels))
    if code == UNSORTED:
        labels = labels.copy()
        places = np.arange(labels.size)
        sort_labels(rows.ptr, labels, places)
        values = rows.values
        if values is not None:
            values = values[places]
        rows = rows._replace(labels=labels, values=values)
        code, row, position = check_labels(rows.ptr, labels, n_labels)
    if code != FINE:
        refuse_code(argument, code, start + row, int(rows.labels[position]), n_labels)
    return rows._replace(labels=labels), places
