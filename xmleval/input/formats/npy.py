"""NumPy's .npy files: top-k lists in pairs of them, dense arrays of all labels, and vectors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import PIECE_BYTES, memory_limit
from xmleval.files.archive import Array, open_npy
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import is_there
from xmleval.input.formats.format import Format, naming
from xmleval.input.pieces import Pieces, with_names
from xmleval.input.rows import FileNotes, Rows, numbered, pointer
from xmleval.input.scores import list_rows
from xmleval.input.stack import rows_as_lists
from xmleval.input.writing import ranked

ROW_ENTRY_BYTES = 64  # of memory for each entry of a row that is evaluated
LABELS, SCORES = "_indices.npy", "_scores.npy"
OTHER_LABELS, OTHER_SCORES = "-labels.npy", "-scores.npy"  # as AttentionXML and LightXML call them
PAIRS = {LABELS: SCORES, OTHER_LABELS: OTHER_SCORES}
LIST = (
    "a top-k list of shape (instances, k): integers as labels, or in NAME-labels.npy strings, not Python "
    "objects: numpy.save(file, labels.astype(str)); and real numbers as scores"
)
DENSE_LABELS = "relevant labels as zeros and ones, of shape (instances, labels)"
DENSE_SCORES = (
    "scores of all labels, floating-point numbers of shape (instances, labels); a top-k list is called "
    "NAME_indices.npy, or array 'indices'"
)
REAL = "biuf"  # kinds of dtypes
DENSE_KINDS = {
    "truth": (DENSE_LABELS, REAL),
    "grades": (DENSE_LABELS, REAL),
    "scores": (DENSE_SCORES, "f"),
}  # what is expected of a dense array


def open_array(path: Path, expected: str, kinds: str = REAL, n_dims: int = 2) -> Array:
    """Read the header of an array of real numbers, or of dtypes of other kinds."""
    with naming(path, expected):
        return check_array(open_npy(InputFile(path)), kinds, n_dims)


def check_array(array: Array, kinds: str, n_dims: int | None = 2) -> Array:
    """Return an array, or refuse its dtype or shape."""
    if array.dtype.hasobject:
        raise ValueError(f"{array}; Python objects are not supported")
    if array.dtype.kind not in kinds or n_dims not in (None, len(array.shape)):
        raise ValueError(str(array))
    return array


def array_pieces(
    arrays: Sequence[Array], expected: str, make: Callable[..., Any], n_labels: int | None = None
) -> Pieces:
    """Return rows that are made of the same rows of each array.

    Rows that take more memory than is allowed are refused; ``expected`` completes messages about damage.
    """
    for array in arrays:
        with naming(array.file.path, expected):
            memory_limit().take(array.by_column and array.n_bytes)
            memory_limit().check(ROW_ENTRY_BYTES * array.shape[1])
    n_rows, row_bytes = arrays[0].shape[0], sum(array.row_bytes for array in arrays)

    def rows(array: Array, step: int, first: int, stop: int) -> Iterator[NDArray[Any]]:
        with naming(array.file.path, expected), array.rows(first, None if stop == n_rows else stop) as take:
            for start in range(first, max(stop, first + 1), step):
                yield take(start, min(start + step, stop))

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        step, last = max(1, n_bytes // max(1, row_bytes)), n_rows if stop is None else stop
        for parts in zip(*(rows(array, step, first, last) for array in arrays), strict=True):
            yield make(*parts)

    return Pieces(n_rows, n_labels, read, read_from=read if all(array.any_row for array in arrays) else None)


def dense_pieces(array: Array, expected: str) -> Pieces:
    """Return the rows of a dense array."""
    if not array.shape[1]:  # rows of nothing may be any number
        raise ValueError(f"{array.file.path}: {array}, without a label; expected {expected}")
    return array_pieces([array], expected, lambda rows: rows, array.shape[1])


def list_pieces(arrays: Sequence[Array]) -> Pieces:
    """Return the rows of labels and, where there are any, of their scores."""
    return array_pieces(arrays, LIST, partial(list_rows, "list"))


def check_scores(labels: Array, *scores: Array) -> list[Array]:
    """Return labels and, where there are any, scores of a list, or refuse those of another shape."""
    for array in scores:
        if array.shape != labels.shape:
            told = f"{array}, for {labels.name or 'labels'} of shape {labels.shape}; expected {LIST}"
            raise ValueError(f"{array.file.path}: {told}")
    return [labels, *scores]


def _pair(path: Path) -> list[Path]:
    """Return the files of labels and of scores that a name stands for, or that of labels alone."""
    for ends in PAIRS.items():
        if path.name.endswith(ends):
            stem = path.name.removesuffix(ends[0]).removesuffix(ends[1])
            return [path.with_name(stem + end) for end in ends]
    return [path]


def _open_list(path: Path, names: bool = False) -> list[Array]:
    """Return the labels of a top-k list, which may be names, and, where there are any, its scores."""
    first, *more = _pair(path)
    kinds = "iuU" if names and first.name.endswith(OTHER_LABELS) else "iu"
    scores = [open_array(path, LIST, "iuf") for path in more if is_there(path)]
    return check_scores(open_array(first, LIST, kinds), *scores)


def is_other_list(path: Path) -> bool:
    """Tell whether a file of another tool's name is a list: labels, or scores with labels beside them."""
    labels = _pair(path)[0]
    return labels.name.endswith(OTHER_LABELS) and (path == labels or is_there(labels))


def pieces(path: Path, kind: str) -> Pieces:
    """Return the rows of a list whose labels have no names."""
    arrays = _open_list(path, names=True)
    return with_names(path) if arrays[0].dtype.kind == "U" else list_pieces(arrays)


def batches(path: Path, kind: str) -> Iterator[Rows]:
    """Yield the rows of a list of names of labels; an empty name fills a slot."""
    arrays, facts, place = _open_list(path, names=True), FileNotes("row"), 0
    if arrays[0].dtype.kind != "U":
        raise ValueError(f"{path}: expected one file of predictions with names, as TRUTH has them")
    for labels, *more in array_pieces(arrays, LIST, lambda *parts: parts).read(PIECE_BYTES):
        filled, places = labels != "", place + np.arange(len(labels))
        values = more[0][filled].astype(np.float64) if more else None
        entries = pointer(filled.sum(axis=1)), *numbered(labels[filled].tolist()), values
        yield Rows(None, None, *entries, best_first=True, places=places, origin=facts)
        place += len(labels)


def map_list(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Map the labels of a top-k list and, where they are there, its scores."""
    labels, *scores = [_mapped(array) for array in _open_list(path)]
    return labels, scores[0] if scores else None


def _mapped(array: Array, expected: str = LIST) -> NDArray[Any]:
    with naming(array.file.path, expected):
        return array.mapped()


def map_dense(path: Path, kind: str) -> NDArray[Any]:
    """Map a dense array."""
    return _mapped(open_array(path, *DENSE_KINDS[kind]), DENSE_KINDS[kind][0])


def other_half(path: Path) -> list[Path]:
    """Return the scores of a file of labels, or the labels of a file of scores, if they are there."""
    return [other for other in _pair(path) if other != path and is_there(other)]


def write_list(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    is_list = isinstance(data, Rows) and data.best_first
    labels, scores = rows_as_lists(data if is_list else ranked(data, n_labels))
    if scores is None and os.path.lexists(stem + SCORES):
        raise ValueError(f"{stem + SCORES}: would be taken for scores of the list, which has none")
    with contextlib.ExitStack() as both:  # neither appears before both are written
        for name, array in ((LABELS, labels), (SCORES, scores)):
            if array is not None:
                file = both.enter_context(replacing(Path(stem + name)))
                np.save(file, array, allow_pickle=False)
                file.flush()  # so that a full disk is met here


NPY = Format(
    name="npy",
    title="top-k list",
    files=f"NAME{LABELS}, with NAME{SCORES} or without; or NAME{OTHER_LABELS}, with NAME{OTHER_SCORES}",
    extensions=(LABELS, SCORES),
    holds=("scores",),
    pieces=pieces,
    rows=batches,
    beside=other_half,
    write=write_list,
    keeps_order=True,
)
DENSE = Format(
    name="dense",
    title="dense array",
    files="NAME.npy",
    extensions=(".npy",),
    pieces=lambda path, kind: dense_pieces(open_array(path, *DENSE_KINDS[kind]), DENSE_KINDS[kind][0]),
)
