"""Groups of rows that belong together, such as the sentences of a document."""

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


def folds_of_groups(value: Any, n_rows: int) -> Bytes:
    """Return the fold of the group of each row, uint8 (n_rows,), or refuse groups that are not such.

    The fold depends on nothing but the group itself, so that no cutting or order of the rows changes it.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("groups", "masked arrays are not supported; fill or drop the masked entries")
    if isinstance(value, list | tuple):  # NumPy would make texts of all
        value = _as_objects(value)
    groups = np.asarray(as_plain("groups", value))
    if groups.shape != (n_rows,):
        raise InputError("groups", f"shape {groups.shape} does not match {counted(n_rows, 'rows')}")
    if groups.dtype.kind in "iub" or not groups.size:
        numbers: Ints = groups.astype(np.int64)  # of unsigned ones the same bits
    elif groups.dtype.kind in "OUT":
        numbers = _numbers_of(groups.tolist())
    else:
        raise InputError("groups", f"{groups.dtype} names no groups; give integers or strings")
    folds = np.empty(n_rows, np.uint8)
    find_folds(numbers, folds)
    return folds


def keys_of_folds(keys: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return names of rows that can decide on their folds, None if some are not integers or strings."""
    fit = keys is not None and all(isinstance(key, str) or _is_small(key) for key in keys)
    return keys if fit else None


def _is_small(number: Any) -> bool:
    return isinstance(number, int | np.integer) and -(1 << 63) <= int(number) < 1 << 63


def _as_objects(groups: Sequence[Any]) -> Any:
    found = np.empty(len(groups), object)
    found[:] = groups
    return found


def _numbers_of(groups: list[Any]) -> Ints:
    """Return a number for each group that depends on its name alone."""
    known: dict[Any, int] = {}
    numbers: Ints = np.empty(len(groups), np.int64)
    for row, group in enumerate(groups):
        number = known.get(group) if isinstance(group, NAMES) else None
        if number is None:
            number = known[group] = _number_of(group, row)
        numbers[row] = number
    return numbers


def _number_of(group: Any, row: int) -> int:
    if isinstance(group, str):
        code = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(code, "little", signed=True)
    if not isinstance(group, (int, np.integer)):
        raise InputError("groups", f"{group!r} is neither an integer nor a string", row=row, value=group)
    if not _is_small(group):
        raise InputError("groups", f"{group} does not fit in 64 bits", row=row, value=group)
    return int(group)
