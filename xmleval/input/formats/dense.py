"""Dense arrays: a row of all labels for each instance, as scores or as zeros and ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import NpyArray, StoredArray, array_names, open_archive, read_archive
from xmleval.files.input import InputFile
from xmleval.input.formats.array_rows import matrix_pieces
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npy import open_array
from xmleval.input.formats.npz_list import OF_MATRICES, holds_list
from xmleval.input.pieces import Pieces

EXPECTED = {
    "truth": "relevant labels as zeros and ones, of shape (instances, labels)",
    "scores": "scores of all labels, floating-point numbers of shape (instances, labels); "
    "a top-k list is called NAME_indices.npy",
}
IN_ARCHIVE = "scores of all labels, an array 'scores' of floating-point numbers (instances, labels)"


def _open_dense(path: Path, kind: str) -> NpyArray:
    array = open_array(path, EXPECTED[kind])
    with naming(path, EXPECTED[kind]):
        if len(array.shape) != 2 or (kind == "scores" and array.dtype.kind != "f"):
            raise ValueError(f"{array.dtype} of shape {array.shape}")
        _refuse_no_labels(array.shape)
    return array


def dense_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a dense array some rows at a time."""
    return matrix_pieces(_open_dense(path, kind), EXPECTED[kind], allowance)


def _refuse_no_labels(shape: tuple[int, ...]) -> None:
    if not shape[1]:
        raise ValueError(f"shape {shape}, without a label")  # rows of nothing may be any number


def holds_dense(file: InputFile, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds dense scores, and no list or matrix."""
    with naming(file.path, expected), open_archive(file) as archive:
        names = array_names(archive)
    is_matrix = any(name in names for name in OF_MATRICES)
    return "scores" in names and not is_matrix and not holds_list(file, expected)


def archived_pieces(file: InputFile, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read dense scores of an archive some rows at a time."""
    return matrix_pieces(_open_archived(file), IN_ARCHIVE, allowance)


def _open_archived(file: InputFile) -> StoredArray:
    with naming(file.path, IN_ARCHIVE):
        array = StoredArray(file, "scores")
        if len(array.shape) != 2 or array.dtype.kind != "f":
            raise ValueError(f"scores is {array.dtype} of shape {array.shape}")
        _refuse_no_labels(array.shape)
    return array


def read_archived(file: InputFile) -> Any:
    """Read dense scores of an archive at once."""
    _open_archived(file)
    with naming(file.path, IN_ARCHIVE):
        return read_archive(file, "scores".__eq__)["scores"]


def _map_dense(path: Path, kind: str) -> Any:
    array = _open_dense(path, kind)
    with naming(path, EXPECTED[kind]):
        return array.mapped()


DENSE = Format(
    name="dense",
    title="dense array",
    files="NAME.npy",
    container="npy",
    extensions=(".npy",),
    truth=partial(_map_dense, kind="truth"),
    scores=partial(_map_dense, kind="scores"),
    pieces=dense_pieces,
)
