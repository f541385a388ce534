"""Counts as bytes for the way between processes: few labels are counted more than 254 times by one task."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.records import Chunks

LEAST_SIZE = 1 << 12  # of what is worth it
BYTES, AT, MORE = ".bytes", ".at", ".more"  # ends of the names of what an array becomes
FULL = 255  # a count of so many or more, which is told elsewhere


def packed(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays with a byte for each count, and the places and values of large ones beside."""
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        parts = _pack(array) if isinstance(array, np.ndarray) else None
        found |= {name: array} if parts is None else dict(zip(_names(name), parts, strict=True))
    return found


def unpacked(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what `packed` was given."""
    found = dict(arrays)
    for name in [name.removesuffix(BYTES) for name in arrays if name.endswith(BYTES)]:
        low, at, more = (whole(found.pop(part)) for part in _names(name))
        array = low.astype(np.int64)
        array.reshape(-1)[at] = more
        found[name] = array
    return found


def whole(array: Any) -> Any:
    """Return an array in memory."""
    if not isinstance(array, Chunks):
        return array
    return np.concatenate([np.empty(0, array.dtype), *array.read()])


def add_bytes(n_bytes: dict[str, int], arrays: dict[str, Any]) -> None:
    """Add the bytes of arrays to those of their states, by which their names begin."""
    for name, array in arrays.items():
        state = name.partition("/")[0]
        n_bytes[state] = n_bytes.get(state, 0) + array.size * array.dtype.itemsize


def _names(name: str) -> tuple[str, str, str]:
    return name + BYTES, name + AT, name + MORE


def _pack(array: Any) -> tuple[Any, Any, Any] | None:
    """Return bytes, places and values; None where they would be no smaller."""
    if array.dtype != np.int64 or array.size < LEAST_SIZE or not array.flags.c_contiguous:
        return None
    flat = array.reshape(-1)
    at = np.flatnonzero(flat.view(np.uint64) >= FULL)  # and those below 0
    if flat.size + 16 * at.size > flat.nbytes:
        return None
    return array.astype(np.uint8), at, flat[at]
