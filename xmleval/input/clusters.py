"""Clusters: rows that depend on one another, such as the sentences of a document."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.input.errors import InputError
from xmleval.input.tensors import as_plain
from xmleval.kernels.folds import find_folds
from xmleval.message import counted
from xmleval.records import Bytes, Ints

NAMES = (str, int, np.integer)


def folds_of_clusters(value: Any, n_rows: int) -> Bytes:
    """Return the fold of the cluster of each row, uint8 (n_rows,), or refuse clusters that are not such.

    The fold depends on nothing but the cluster itself, so that no cutting or order of the rows changes it.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("clusters", "masked arrays are not supported; fill or drop the masked entries")
    if isinstance(value, list | tuple):  # NumPy would make texts of all
        value = _as_objects(value)
    clusters = np.asarray(as_plain("clusters", value))
    if clusters.shape != (n_rows,):
        raise InputError("clusters", f"shape {clusters.shape} does not match {counted(n_rows, 'rows')}")
    if clusters.dtype.kind in "iub" or not clusters.size:
        numbers: Ints = clusters.astype(np.int64)  # of unsigned ones the same bits
    elif clusters.dtype.kind in "OUT":
        numbers = _numbers_of(clusters.tolist())
    else:
        raise InputError("clusters", f"{clusters.dtype} names no clusters; give integers or strings")
    folds = np.empty(n_rows, np.uint8)
    find_folds(numbers, folds)
    return folds


def keys_of_folds(keys: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return names of rows that can decide on their folds, None if some are not integers or strings."""
    fit = keys is not None and all(isinstance(key, str) or _is_small(key) for key in keys)
    return keys if fit else None


def _is_small(number: Any) -> bool:
    return isinstance(number, int | np.integer) and -(1 << 63) <= int(number) < 1 << 63


def _as_objects(clusters: Sequence[Any]) -> Any:
    found = np.empty(len(clusters), object)
    found[:] = clusters
    return found


def _numbers_of(clusters: list[Any]) -> Ints:
    """Return a number for each cluster that depends on its name alone."""
    known: dict[Any, int] = {}
    numbers: Ints = np.empty(len(clusters), np.int64)
    for row, cluster in enumerate(clusters):
        number = known.get(cluster) if isinstance(cluster, NAMES) else None
        if number is None:
            number = known[cluster] = _number_of(cluster, row)
        numbers[row] = number
    return numbers


def _number_of(cluster: Any, row: int) -> int:
    if isinstance(cluster, str):
        code = hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(code, "little", signed=True)
    if not isinstance(cluster, (int, np.integer)):
        raise InputError(
            "clusters", f"{cluster!r} is neither an integer nor a string", row=row, value=cluster
        )
    if not _is_small(cluster):
        raise InputError("clusters", f"{cluster} does not fit in 64 bits", row=row, value=cluster)
    return int(cluster)
