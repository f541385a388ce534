"""Training labels that are the truth itself, for a note: the argument was mistaken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import Keyword, Message
from xmleval.files.input import digest
from xmleval.files.remote import RemotePath
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.shards import OpenedFiles

ARRAYS = ("data", "indices", "indptr")  # of a sparse matrix
NOTE = Message(
    Keyword("y_train"), " has the labels of the truth itself; give those of the rows of training"
)


def notes_on_training(truth: object, train: object) -> list[str]:
    """Return a note if training labels are the truth: the same object or equal arrays."""
    if train is None:
        return []
    is_same = train is truth or _are_equal(train, truth)
    return [NOTE] if is_same else []


def notes_on_opened(truth: Opened, train: Opened | None) -> list[str]:
    """Return a note if training labels are the truth: equal values, or files of equal contents."""
    if isinstance(truth, OpenedValue) and isinstance(train, OpenedValue):
        return notes_on_training(truth.value, train.value)
    if not isinstance(truth, OpenedFiles) or not isinstance(train, OpenedFiles):
        return []
    # other fields of one file are other labels
    is_same = truth.scan == train.scan and _are_same_files(truth.files, train.files)
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


def _are_same_files(paths: list[Path], others: list[Path]) -> bool:
    """Return whether files are the same, or have the same sizes and digests."""
    if len(paths) != len(others):
        return False
    return all(map(_is_same_file, paths, others))


def _is_same_file(path: Path, other: Path) -> bool:
    """Return whether two files are one, or have the same size and digest."""
    if isinstance(path, RemotePath) or isinstance(other, RemotePath):
        return str(path) == str(other)
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    return path.stat().st_size == other.stat().st_size and digest(path) == digest(other)
