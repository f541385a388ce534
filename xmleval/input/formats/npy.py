"""NumPy's .npy files: top-k lists in pairs of them, and vectors."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import read_header
from xmleval.files.output import replacing
from xmleval.input.formats.format import Format, file_size, naming
from xmleval.input.pieces import Pieces
from xmleval.input.writing import as_lists

LABELS, SCORES = "_indices.npy", "_scores.npy"


def map_array(path: Path, expected: str) -> NDArray[Any]:
    """Map an array of real numbers from a file into memory, read-only, after its header is checked."""
    with naming(path, expected):
        size = file_size(path)
        with open(path, "rb") as file:
            shape, fortran, dtype = read_header(file)
            offset = file.tell()
        if dtype.kind not in "biuf":
            raise ValueError(f"dtype {dtype} does not hold real numbers")
        n_bytes = math.prod(shape) * dtype.itemsize
        if size - offset != n_bytes:
            raise ValueError(f"{size - offset} bytes of data where the header promises {n_bytes}")
        if not n_bytes:
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def read_list(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Map the labels of a top-k list and, where they are there, its scores."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    pair = Path(stem + LABELS), Path(stem + SCORES)
    labels_path = pair[0] if path in pair else path  # a file of another name holds labels alone
    labels = map_array(labels_path, "labels of a top-k list, integers of shape (instances, k)")
    with naming(labels_path, "labels of a top-k list, integers of shape (instances, k)"):
        if labels.ndim != 2 or labels.dtype.kind not in "iu":
            raise ValueError(f"{labels.dtype} of shape {labels.shape}")
    if path not in pair or not os.path.lexists(pair[1]):
        return labels, None
    expected = f"scores of the labels in {labels_path.name}, of shape {labels.shape}"
    scores = map_array(pair[1], expected)
    with naming(pair[1], expected):
        if scores.shape != labels.shape or scores.dtype.kind == "b":
            raise ValueError(f"{scores.dtype} of shape {scores.shape}")
    return labels, scores


def other_half(path: Path) -> list[Path]:
    """Return the scores of a file of labels, or the labels of a file of scores, if they are there."""
    ends = {LABELS: SCORES, SCORES: LABELS}
    names = (path.name.removesuffix(end) + other for end, other in ends.items() if path.name.endswith(end))
    return [path.with_name(name) for name in names if os.path.lexists(path.with_name(name))]


def list_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Map a top-k list some rows at a time: what was read does not stay in memory."""
    labels, scores = read_list(path)
    arrays = [array for array in (labels, scores) if array is not None]
    n_rows = labels.shape[0]

    def read(n_bytes: int) -> Iterator[Any]:
        step = max(1, n_bytes // max(1, sum(array.itemsize for array in arrays) * labels.shape[1]))
        for start in range(0, n_rows, step):
            parts = [mapped_rows(array, start, min(start + step, n_rows)) for array in arrays]
            yield parts[0], parts[1] if len(parts) > 1 else None

    return Pieces(n_rows, None, read)


def mapped_rows(array: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    """Return rows of a mapped array by a map of their own."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return array[start:stop]
    offset = array.offset + start * array.strides[0]
    return np.memmap(str(array.filename), array.dtype, "r", offset, (stop - start, array.shape[1]))


def write_list(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    labels, scores = as_lists(data, kind, n_labels)
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
    files=f"NAME{LABELS}, with NAME{SCORES} or without",
    container="npy",
    extensions=(LABELS, SCORES),
    scores=read_list,
    pieces=list_pieces,
    beside=other_half,
    write=write_list,
)
