"""Arrays of other libraries, such as tensors, as NumPy arrays and SciPy matrices."""

from __future__ import annotations

import os
import sys
from collections.abc import MappingView
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import InputError

KNOWN = (np.ndarray, list, tuple, dict)
NARROW = ("bfloat16", "float8")  # types that NumPy lacks; float32 represents their values


def as_plain(argument: str, value: object) -> Any:
    """Return a tensor as a NumPy array or SciPy matrix, without importing its library.

    Other values are returned unchanged, if they are data at all.
    """
    if isinstance(value, KNOWN) or is_sparse(value):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        try:
            tensor = value.detach().cpu()
            layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
            if layout.startswith("sparse"):
                return _as_scipy(argument, tensor, layout)
            return _as_numpy(tensor)
        except (RuntimeError, TypeError) as error:
            raise InputError(argument, f"a tensor that cannot become an array: {error}") from None
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return value.get()
    refuse_other(argument, value)
    return value


def is_sparse(value: object) -> bool:
    """Return whether a value is a SciPy sparse matrix or array."""
    if isinstance(value, np.ndarray):
        return False
    sparse = sys.modules.get("scipy.sparse")  # imported if there is such a value
    return sparse is not None and bool(sparse.issparse(value))


def refuse_other(argument: str, value: object, row: int | None = None) -> None:
    """Refuse files and their names, lazy and grouped frames, iterators, views and sets."""
    reason = _reason_to_refuse(value)
    if reason is not None:
        raise InputError(argument, f"a {type(value).__name__} {reason}", row=row)


def _reason_to_refuse(value: object) -> str | None:
    """Return why a value cannot be read as a list or frame, and what to do; None if it may be."""
    kind = type(value)  # attributes of a frame itself may be its columns
    if isinstance(value, str | bytes | os.PathLike) or hasattr(kind, "readline"):
        return "is not data; read files with xmleval.io"
    is_grouped = hasattr(kind, "agg") and hasattr(kind, "ngroups")  # by pandas
    if is_grouped:
        return "is not a list; call .agg(list) on its column of labels"
    is_lazy = hasattr(kind, "collect") and hasattr(kind, "collect_schema")  # in polars
    if is_lazy:
        return "has no rows yet; call .collect()"
    has_stream = hasattr(kind, "__arrow_c_stream__")
    is_frame = has_stream or hasattr(kind, "column")
    # a Dataset of Hugging Face
    if hasattr(value, "column_names") and hasattr(kind, "to_pandas") and not is_frame:
        return "is not a frame; give its column of labels, or .to_pandas()"
    is_iterator = hasattr(kind, "__next__") and not has_stream  # can be read only once
    if is_iterator or isinstance(value, MappingView | set | frozenset):
        return "is not a list; convert it with list(...)"
    return None


def shape_of(value: object) -> tuple[int, ...] | None:
    """Return the shape of a value with two dimensions, None for other values."""
    try:
        shape = getattr(value, "shape", None)
    except RuntimeError:  # a nested tensor, whose rows differ in length
        return None
    if shape is None or len(shape) != 2:
        return None
    return tuple(shape)


def as_list(column: object) -> list[Any] | None:
    """Return the values of a series or column of a table, None for other values."""
    method = getattr(column, "to_pylist", getattr(column, "to_list", None))
    values = None if method is None else method()
    return values if isinstance(values, list) else None


def is_narrow(dtype: object) -> bool:
    """Return whether NumPy lacks a type whose values float32 can represent."""
    return str(dtype).rpartition(".")[2].startswith(NARROW)


def _as_numpy(tensor: Any) -> NDArray[Any]:
    if is_narrow(getattr(tensor, "dtype", None)):
        tensor = tensor.float()
    array: NDArray[Any] = tensor.numpy()
    return array


def _as_scipy(argument: str, tensor: Any, layout: str) -> Any:
    import scipy.sparse  # imported here to keep start-up fast

    shape = tuple(tensor.shape)
    if len(shape) != 2 or layout not in ("sparse_coo", "sparse_csr", "sparse_csc"):
        raise InputError(
            argument, f"a {layout} tensor of shape {shape} is not a CSR, CSC or COO matrix"
        )
    if layout == "sparse_coo":  # not coalesced, which would add duplicates
        values = _as_numpy(tensor._values())
        places = (*tensor._indices().numpy(),)
        return scipy.sparse.coo_array((values, places), shape=shape)
    if layout == "sparse_csr":
        ids = tensor.col_indices().numpy()
        ptr = tensor.crow_indices().numpy()
        values = _as_numpy(tensor.values())
        return scipy.sparse.csr_array((values, ids, ptr), shape=shape)
    ids = tensor.row_indices().numpy()
    ptr = tensor.ccol_indices().numpy()
    values = _as_numpy(tensor.values())
    return scipy.sparse.csc_array((values, ids, ptr), shape=shape)
