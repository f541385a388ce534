"""Clusters: rows that depend on one another, such as the sentences of a document."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.errors import InputError, counted
from xmleval.input.tensors import as_plain
from xmleval.kernels.folds import find_folds
from xmleval.records import Bytes, Ints


def folds_of_clusters(value: Any, n_rows: int) -> Bytes:
    """Return the fold of the cluster of each row, uint8 (n_rows,), or refuse clusters that are not such.

    The fold depends on nothing but the cluster itself, so that no cutting or order of the rows changes it.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("clusters", "masked arrays are not supported; fill or drop the masked entries")
    if isinstance(value, list | tuple):  # NumPy would make texts of all
        value = np.array(value, object)
    clusters = np.asarray(as_plain("clusters", value))
    if clusters.shape != (n_rows,):
        raise InputError("clusters", f"shape {clusters.shape} does not match {counted(n_rows, 'rows')}")
    is_whole = clusters.dtype.kind in "iub"  # of unsigned ones the same bits
    numbers = clusters.astype(np.int64) if is_whole else _numbers_of(clusters.tolist())
    folds = np.empty(n_rows, np.uint8)
    find_folds(numbers, folds)
    return folds


def keys_of_folds(keys: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return names of rows that can decide on their folds, None if some are not integers or strings."""
    return keys if keys is not None and all(map(_is_name, keys)) else None


def _is_name(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and -(1 << 63) <= int(value) < 1 << 63
    return whole or isinstance(value, str)


def _numbers_of(clusters: list[Any]) -> Ints:
    """Return a number for each cluster that depends on its name alone."""
    for row, cluster in enumerate(clusters):
        if not _is_name(cluster):
            message = f"{cluster!r} is neither a string nor an integer of 64 bits"
            raise InputError("clusters", message, row=row, value=cluster)
    number = {cluster: _number_of(cluster) for cluster in {*clusters}}
    return np.fromiter(map(number.__getitem__, clusters), np.int64, len(clusters))


def _number_of(cluster: Any) -> int:
    if not isinstance(cluster, str):
        return int(cluster)
    code = hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)
