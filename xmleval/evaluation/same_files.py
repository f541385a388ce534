"""Files of training labels that are the truth itself, for a note: the argument was mistaken."""

from __future__ import annotations

import os
from pathlib import Path

from xmleval.evaluation.same_labels import NOTE, notes_on_training
from xmleval.files.input import digest
from xmleval.files.remote import RemotePath
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.shards import OpenedFiles


def notes_on_opened(truth: Opened, train: Opened | None) -> list[str]:
    """Return a note if training labels are the truth: equal values, or files of equal contents."""
    if isinstance(truth, OpenedValue) and isinstance(train, OpenedValue):
        return notes_on_training(truth.value, train.value)
    if not isinstance(truth, OpenedFiles) or not isinstance(train, OpenedFiles):
        return []
    # other fields of one file are other labels
    is_same = truth.scan == train.scan and _are_same_files(truth.files, train.files)
    return [NOTE] if is_same else []


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
