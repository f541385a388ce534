"""Training labels that are the truth itself, for a note: the argument was mistaken."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.errors import Keyword, Message

ARRAYS = ("data", "indices", "indptr")  # of a sparse matrix
NOTE = Message(
    Keyword("y_train"), " has the labels of the truth itself; give the labels of the training rows"
)


def notes_on_training(truth: object, train: object) -> list[str]:
    """Return a note if training labels are the truth: the same object or equal arrays."""
    if train is None:
        return []
    is_same = train is truth or _are_equal(train, truth)
    return [NOTE] if is_same else []


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether two arrays, or sparse matrices of one format, have equal contents."""
    if type(a) is not type(b) or getattr(a, "shape", None) != getattr(b, "shape", 0):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if not all(isinstance(getattr(a, name, None), np.ndarray) for name in ARRAYS):
        return False
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)
