"""NumPy's .npy files: top-k lists in pairs of them, dense arrays of all labels, and vectors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import PIECE_BYTES, UNLIMITED, Allowance
from xmleval.files.archive import Array, ArrayFile
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import is_there
from xmleval.input.formats.format import Format, naming
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Facts, Rows, numbered, pointer, rows_by_id
from xmleval.input.stack import rows_as_lists
from xmleval.input.writing import ranked

ROW_ENTRY_BYTES = 64  # of memory for each entry of a row that is evaluated
LABELS, SCORES = "_indices.npy", "_scores.npy"
OTHER_LABELS, OTHER_SCORES = "-labels.npy", "-scores.npy"  # as AttentionXML and LightXML call them
PAIRS = {LABELS: SCORES, OTHER_LABELS: OTHER_SCORES}
STRINGS = "strings, of a fixed length, not Python objects: numpy.save(file, labels.astype(str))"
DENSE_EXPECTED = {
    "truth": "relevant labels as zeros and ones, of shape (instances, labels)",
    "scores": "scores of all labels, floating-point numbers of shape (instances, labels); "
    "a top-k list is called NAME_indices.npy",
}


class Part(NamedTuple):
    """Arrays of a file that have the same rows; ``expected`` completes the message where they are damaged."""

    file: ArrayFile
    arrays: list[Array]
    expected: str

    def read(self, step: int, first: int, stop: int) -> Iterator[list[NDArray[Any]]]:
        """Yield the same rows of each array, ``step`` at a time; of arrays without rows, none once."""
        n_rows = self.arrays[0].shape[0]
        with naming(self.file.path, self.expected), self.file.reading() as rows:
            takes = [rows(array, first, None if stop == n_rows else stop) for array in self.arrays]
            for start in range(first, max(stop, first + 1), step):
                yield [take(min(step, stop - start)) for take in takes]

    def mapped(self) -> NDArray[Any]:
        """Return the array of an .npy file as a map of it."""
        with naming(self.file.path, self.expected):
            return self.file.mapped()


def matrix_pieces(part: Part, allowance: Allowance = UNLIMITED) -> Pieces:
    """Return the rows of an array of two dimensions."""
    return _pieces([part], lambda rows: rows[0], part.arrays[0].shape[1], allowance)


def list_pieces(parts: list[Part], allowance: Allowance = UNLIMITED) -> Pieces:
    """Return the rows of labels and, where there are any, of their scores."""
    return _pieces(parts, _as_rows, None, allowance)


def _as_rows(arrays: list[NDArray[Any]]) -> Rows:
    n_rows, width = arrays[0].shape
    values = arrays[1].reshape(-1) if len(arrays) > 1 else None
    return rows_by_id(np.arange(n_rows + 1) * width, arrays[0].reshape(-1), values, best_first=True)


def _pieces(
    parts: list[Part], make: Callable[[list[NDArray[Any]]], Any], n_labels: int | None, allowance: Allowance
) -> Pieces:
    """Return rows made of arrays; those that take more memory than is allowed are refused."""
    for part in parts:
        for array in part.arrays:
            with naming(part.file.path, part.expected):
                allowance.take(array.whole and array.n_bytes)
                allowance.check(ROW_ENTRY_BYTES * array.shape[1])
    arrays = [array for part in parts for array in part.arrays]
    n_rows, row_bytes = arrays[0].shape[0], sum(array.row_bytes for array in arrays)

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        step = max(1, n_bytes // max(1, row_bytes))
        reads = [part.read(step, first, n_rows if stop is None else stop) for part in parts]
        for rows in zip(*reads, strict=True):
            yield make([array for own in rows for array in own])

    return Pieces(n_rows, n_labels, read, read_from=read if all(array.any_row for array in arrays) else None)


def open_array(path: Path, expected: str, kinds: str = "biuf") -> Part:
    """Read the header of an array of real numbers, or of dtypes of other kinds."""
    with naming(path, expected):
        file = ArrayFile(InputFile(path), packed=False)
        array = file[""]
        if array.dtype.kind not in kinds:
            raise ValueError(f"dtype {array.dtype} does not hold real numbers")
        return Part(file, [array], expected)


def _pair(path: Path) -> tuple[Path, Path] | None:
    """Return the files of labels and of scores that a name stands for; None where it is of labels alone."""
    for labels, scores in PAIRS.items():
        if path.name.endswith((labels, scores)):
            stem = path.name.removesuffix(labels).removesuffix(scores)
            return path.with_name(stem + labels), path.with_name(stem + scores)
    return None


def _open_list(path: Path, kinds: str = "iu") -> list[Part]:
    """Return the labels of a top-k list and, where there are any, its scores."""
    pair = _pair(path)
    labels_path = pair[0] if pair else path  # a file of another name holds labels alone
    expected = "labels of a top-k list, integers of shape (instances, k)"
    known = "biuf"
    if labels_path.name.endswith(OTHER_LABELS):
        expected, known = f"{expected}, or {STRINGS}", "biufU"
    parts = [open_array(labels_path, expected, known)]
    (labels,) = parts[0].arrays
    with naming(labels_path, expected):
        if len(labels.shape) != 2 or labels.dtype.kind not in kinds:
            raise ValueError(f"{labels.dtype} of shape {labels.shape}")
    if pair is not None and is_there(pair[1]):
        expected = f"scores of the labels in {labels_path.name}, of shape {labels.shape}"
        parts.append(open_array(pair[1], expected))
        (scores,) = parts[1].arrays
        with naming(pair[1], expected):
            if scores.shape != labels.shape or scores.dtype.kind == "b":
                raise ValueError(f"{scores.dtype} of shape {scores.shape}")
    return parts


def claims(path: Path, kind: str | None) -> bool:
    """Tell whether a file of another tool's name is a list: labels, or scores with labels beside them."""
    if kind != "scores" or not path.name.endswith((OTHER_LABELS, OTHER_SCORES)):
        return False
    pair = _pair(path)
    return pair is not None and (path == pair[0] or is_there(pair[0]))


def by_number(path: Path, kind: str, allowance: Allowance) -> Pieces | None:
    """Return the rows of a list, None where its labels have names."""
    parts = _open_list(path, "iuU")
    return None if parts[0].arrays[0].dtype.kind == "U" else list_pieces(parts, allowance)


def batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the rows of a list of names of labels; an empty name fills a slot."""
    parts, facts, place = _open_list(path, "iuU"), Facts("row"), 0
    if parts[0].arrays[0].dtype.kind != "U":
        raise ValueError(f"{path}: expected one file of predictions with names, as TRUTH has them")
    for labels, *more in _pieces(parts, lambda arrays: arrays, None, allowance).read(PIECE_BYTES):
        scores = more[0] if more else None
        filled, places = labels != "", place + np.arange(len(labels))
        values = None if scores is None else scores[filled].astype(np.float64)
        if values is not None and np.isnan(values).any():
            row = int(np.nonzero(filled)[0][np.isnan(values).argmax()])
            raise ValueError(f"{path}: row {places[row]}: a score is NaN")
        entries = pointer(filled.sum(axis=1)), *numbered(labels[filled].tolist()), values
        yield Rows(None, None, *entries, best_first=True, places=places, beside=facts)
        place += len(labels)


def map_list(path: Path, kind: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Map the labels of a top-k list and, where they are there, its scores."""
    labels, *scores = [part.mapped() for part in _open_list(path)]
    return labels, scores[0] if scores else None


def other_half(path: Path) -> list[Path]:
    """Return the scores of a file of labels, or the labels of a file of scores, if they are there."""
    return [other for other in _pair(path) or () if other != path and is_there(other)]


def npy_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a top-k list some rows at a time."""
    return list_pieces(_open_list(path), allowance)


def write_list(path: Path, data: Rows, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    labels, scores = rows_as_lists(data if data.best_first else ranked(data, n_labels))
    if scores is None and os.path.lexists(stem + SCORES):
        raise ValueError(f"{stem + SCORES}: would be taken for scores of the list, which has none")
    with contextlib.ExitStack() as both:  # neither appears before both are written
        for name, array in ((LABELS, labels), (SCORES, scores)):
            if array is not None:
                file = both.enter_context(replacing(Path(stem + name)))
                np.save(file, array, allow_pickle=False)
                file.flush()  # so that a full disk is met here


def check_dense(part: Part, kinds: str = "f") -> Part:
    """Return an array of two dimensions and of a dtype of these kinds, or refuse it."""
    (array,) = part.arrays
    with naming(part.file.path, part.expected):
        if len(array.shape) != 2 or array.dtype.kind not in kinds:
            raise ValueError(f"{array.name} is {array.dtype} of shape {array.shape}".removeprefix(" is "))
        if not array.shape[1]:
            raise ValueError(f"shape {array.shape}, without a label")  # rows of nothing may be any number
    return part


def _open_dense(path: Path, kind: str) -> Part:
    held, kinds = ("scores", "f") if kind == "scores" else ("truth", "biuf")
    return check_dense(open_array(path, DENSE_EXPECTED[held]), kinds)


def dense_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a dense array some rows at a time."""
    return matrix_pieces(_open_dense(path, kind), allowance)


def _map_dense(path: Path, kind: str) -> Any:
    return _open_dense(path, kind).mapped()


NPY = Format(
    name="npy",
    title="top-k list",
    files=f"NAME{LABELS}, with NAME{SCORES} or without; or NAME{OTHER_LABELS}, with NAME{OTHER_SCORES}",
    container="npy",
    extensions=(LABELS, SCORES),
    holds=("scores",),
    pieces=npy_pieces,
    whole=map_list,
    rows=batches,
    by_number=by_number,
    claims=claims,
    beside=other_half,
    write=write_list,
    keeps_order=True,
)
DENSE = Format(
    name="dense",
    title="dense array",
    files="NAME.npy",
    container="npy",
    extensions=(".npy",),
    pieces=dense_pieces,
    whole=_map_dense,
)
