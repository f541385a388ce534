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
NARROW = ("bfloat16", "float8")  # types that NumPy lacks; float32 holds their values


def as_plain(argument: str, value: object) -> Any:
    """Return a tensor of a library, which is not imported, as NumPy or SciPy has it, else the value."""
    if isinstance(value, KNOWN) or is_sparse(value):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        try:
            tensor = value.detach().cpu()
            layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
            return _sparse(argument, tensor, layout) if layout.startswith("sparse") else _dense(tensor)
        except (RuntimeError, TypeError) as error:
            raise InputError(argument, f"a tensor that cannot become an array: {error}") from None
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return value.get()
    refuse_other(argument, value)
    return value


def is_sparse(value: object) -> bool:
    """Tell whether a value is a SciPy sparse matrix or array."""
    if isinstance(value, np.ndarray):
        return False
    sparse = sys.modules.get("scipy.sparse")  # whoever made such a value has imported it
    return sparse is not None and bool(sparse.issparse(value))


def refuse_other(argument: str, value: object, row: int | None = None) -> None:
    """Refuse names of files, and what is no list: iterators, which can be read only once, views and sets."""
    kind = type(value)  # not the value: a frame has its columns for attributes
    if isinstance(value, str | bytes | os.PathLike) or hasattr(kind, "readline"):
        raise InputError(argument, f"a {kind.__name__} is no data; xmleval.io reads files", row=row)
    if hasattr(kind, "agg") and hasattr(kind, "ngroups"):  # of pandas
        message = f"a {kind.__name__} is no list; .agg(list) of its column of labels makes one"
        raise InputError(argument, message, row=row)
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):  # of polars
        raise InputError(argument, f"a {kind.__name__} holds no rows yet; .collect() gives a frame", row=row)
    is_frame = hasattr(kind, "column") or hasattr(kind, "__arrow_c_stream__")
    if hasattr(value, "column_names") and hasattr(kind, "to_pandas") and not is_frame:  # of datasets
        message = f"a {kind.__name__} is no frame; give its column of labels, or .to_pandas()"
        raise InputError(argument, message, row=row)
    once = hasattr(kind, "__next__") and not hasattr(kind, "__arrow_c_stream__")
    if once or isinstance(value, MappingView | set | frozenset):
        raise InputError(argument, f"a {kind.__name__} is no list; list(...) makes one of it", row=row)


def shape_of(value: object) -> tuple[int, ...] | None:
    """Return the shape of what has two dimensions."""
    try:
        shape = getattr(value, "shape", None)
    except RuntimeError:  # of a tensor of rows of several lengths
        return None
    return tuple(shape) if shape is not None and len(shape) == 2 else None


def as_list(column: object) -> list[Any] | None:
    """Return the values of a series or an array of a column, None if it is no such thing."""
    method = getattr(column, "to_pylist", getattr(column, "to_list", None))
    values = None if method is None else method()
    return values if isinstance(values, list) else None


def is_narrow(dtype: object) -> bool:
    """Tell whether a type is one that NumPy lacks and whose values float32 holds."""
    return str(dtype).rpartition(".")[2].startswith(NARROW)


def _dense(tensor: Any) -> NDArray[Any]:
    array: NDArray[Any] = (tensor.float() if is_narrow(getattr(tensor, "dtype", None)) else tensor).numpy()
    return array


def _sparse(argument: str, tensor: Any, layout: str) -> Any:
    import scipy.sparse  # imported here to keep start-up fast

    shape = tuple(tensor.shape)
    if len(shape) != 2 or layout not in ("sparse_coo", "sparse_csr", "sparse_csc"):
        raise InputError(argument, f"a {layout} tensor of shape {shape} is no CSR, CSC or COO")
    if layout == "sparse_coo":  # not coalesced, which would add what is there twice
        cells = _dense(tensor._values()), (*tensor._indices().numpy(),)
        return scipy.sparse.coo_array(cells, shape=shape)
    ptr, ids = ("crow", "col") if layout == "sparse_csr" else ("ccol", "row")
    ids, ptr = (getattr(tensor, f"{name}_indices")().numpy() for name in (ids, ptr))
    make = getattr(scipy.sparse, f"{layout[-3:]}_array")
    return make((_dense(tensor.values()), ids, ptr), shape=shape)
