"""Dense arrays: a row of all labels for each instance, as scores or as zeros and ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import StoredArray, array_names, open_archive, read_archive
from xmleval.input.formats.format import Format, file_size, naming
from xmleval.input.formats.npy import map_array, mapped_rows
from xmleval.input.formats.npz_list import OF_MATRICES, refuse_packed_rows
from xmleval.input.pieces import Pieces

EXPECTED = {
    "truth": "relevant labels as zeros and ones, of shape (instances, labels)",
    "scores": "scores of all labels, floating-point numbers of shape (instances, labels); "
    "a top-k list is called NAME_indices.npy",
}
IN_ARCHIVE = "scores of all labels, an array 'scores' of floating-point numbers (instances, labels)"


def dense_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Map a dense array some rows at a time."""
    array = map_array(path, EXPECTED[kind])
    with naming(path, EXPECTED[kind]):
        if array.ndim != 2 or (kind == "scores" and array.dtype.kind != "f"):
            raise ValueError(f"{array.dtype} of shape {array.shape}")
        _refuse_no_labels(array.shape)
    n_rows, n_labels = array.shape

    def read(n_bytes: int) -> Iterator[Any]:
        step = max(1, n_bytes // max(1, array.itemsize * n_labels))
        for start in range(0, n_rows, step):
            yield mapped_rows(array, start, min(start + step, n_rows))

    return Pieces(n_rows, n_labels, read)


def _refuse_no_labels(shape: tuple[int, ...]) -> None:
    if not shape[1]:
        raise ValueError(f"shape {shape}, without a label")  # rows of nothing may be any number


def holds_dense(path: Path, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds dense scores, and no list or matrix."""
    with naming(path, expected):
        file_size(path)
        with open_archive(path) as archive:
            names = array_names(archive)
    return "scores" in names and not any(name in names for name in ("indices", *OF_MATRICES))


def archived_pieces(path: Path, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read dense scores of an archive: mapped where stored as they are, inflated in pieces where not."""
    with naming(path, IN_ARCHIVE):
        array = StoredArray(path, "scores")
        if len(array.shape) != 2 or array.dtype.kind != "f":
            raise ValueError(f"scores is {array.dtype} of shape {array.shape}")
        _refuse_no_labels(array.shape)
        refuse_packed_rows([array], allowance)
    n_rows, n_labels = array.shape

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, IN_ARCHIVE):
            if array.fortran:  # rows lie scattered
                yield read_archive(path, "scores".__eq__)["scores"]
                return
            step = max(1, n_bytes // max(1, array.dtype.itemsize * n_labels))
            with array.reading() as take:
                for start in range(0, n_rows, step):
                    yield take(min(step, n_rows - start))

    return Pieces(n_rows, n_labels, read)


def read_whole(pieces: Pieces) -> Any:
    """Return all rows, mapped where they can be."""
    return next(pieces.read(sys.maxsize), np.empty((0, pieces.n_labels or 0), np.float32))


def _read_dense(path: Path, kind: str) -> Any:
    return read_whole(dense_pieces(path, kind))


DENSE = Format(
    name="dense",
    title="dense array",
    files="NAME.npy",
    container="npy",
    extensions=(".npy",),
    truth=partial(_read_dense, kind="truth"),
    scores=partial(_read_dense, kind="scores"),
    pieces=dense_pieces,
)
