"""NumPy's .npy files: top-k lists in pairs of them, and vectors."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import NpyArray
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.formats.array_rows import list_pieces
from xmleval.input.formats.format import Format, naming
from xmleval.input.pieces import Pieces
from xmleval.input.writing import as_lists

LABELS, SCORES = "_indices.npy", "_scores.npy"


def open_array(path: Path, expected: str) -> NpyArray:
    """Read the header of an array of real numbers."""
    with naming(path, expected):
        array = NpyArray(InputFile(path))
        if array.dtype.kind not in "biuf":
            raise ValueError(f"dtype {array.dtype} does not hold real numbers")
        return array


def _open_list(path: Path) -> list[tuple[NpyArray, str]]:
    """Return the labels of a top-k list and, where there are any, its scores, with what is expected."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    pair = Path(stem + LABELS), Path(stem + SCORES)
    labels_path = pair[0] if path in pair else path  # a file of another name holds labels alone
    expected = "labels of a top-k list, integers of shape (instances, k)"
    labels = open_array(labels_path, expected)
    with naming(labels_path, expected):
        if len(labels.shape) != 2 or labels.dtype.kind not in "iu":
            raise ValueError(f"{labels.dtype} of shape {labels.shape}")
    if path not in pair or not os.path.lexists(pair[1]):
        return [(labels, expected)]
    scores_expected = f"scores of the labels in {labels_path.name}, of shape {labels.shape}"
    scores = open_array(pair[1], scores_expected)
    with naming(pair[1], scores_expected):
        if scores.shape != labels.shape or scores.dtype.kind == "b":
            raise ValueError(f"{scores.dtype} of shape {scores.shape}")
    return [(labels, expected), (scores, scores_expected)]


def read_list(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Map the labels of a top-k list and, where they are there, its scores."""
    arrays = []
    for array, expected in _open_list(path):
        with naming(array.file.path, expected):
            arrays.append(array.mapped())
    return arrays[0], arrays[1] if len(arrays) > 1 else None


def other_half(path: Path) -> list[Path]:
    """Return the scores of a file of labels, or the labels of a file of scores, if they are there."""
    ends = {LABELS: SCORES, SCORES: LABELS}
    names = (path.name.removesuffix(end) + other for end, other in ends.items() if path.name.endswith(end))
    return [path.with_name(name) for name in names if os.path.lexists(path.with_name(name))]


def npy_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a top-k list some rows at a time."""
    return list_pieces(_open_list(path), allowance)


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
    pieces=npy_pieces,
    beside=other_half,
    write=write_list,
)
