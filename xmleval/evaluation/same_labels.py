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
    different = [pair for pair in zip(paths, others, strict=True) if not _is_one_file(*pair)]
    # no file is read unless all have the same sizes
    if not all(_have_one_size(*pair) for pair in different):
        return False
    return all(digest(path) == digest(other) for path, other in different)


def _is_one_file(path: Path, other: Path) -> bool:
    """Return whether two paths or addresses are those of one file."""
    if isinstance(path, RemotePath) or isinstance(other, RemotePath):
        return str(path) == str(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _have_one_size(path: Path, other: Path) -> bool:
    """Return whether two files on this machine have the same size."""
    if isinstance(path, RemotePath) or isinstance(other, RemotePath):
        return False
    return path.stat().st_size == other.stat().st_size
