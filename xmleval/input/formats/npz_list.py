"""Top-k lists in .npz archives: arrays ``indices`` and ``scores`` of the same shape."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import StoredArray, array_names, open_archive, read_archive, write_archive
from xmleval.files.output import replacing
from xmleval.input.formats.format import file_size, naming
from xmleval.input.pieces import Pieces

EXPECTED = "a top-k list, integers 'indices' and numbers 'scores' of shape (instances, k)"
OF_MATRICES = ("format", "shape", "data", "indptr")
ROW_ENTRY_BYTES = 64  # of memory for each entry of a row that is evaluated


def holds_list(path: Path, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds a list and no matrix."""
    with naming(path, expected):
        file_size(path)
        with open_archive(path) as archive:
            names = array_names(archive)
    return "indices" in names and not any(name in names for name in OF_MATRICES)


def _find(path: Path) -> list[StoredArray]:
    """Return the labels of a list and, where they are there, its scores."""
    labels = StoredArray(path, "indices")
    if len(labels.shape) != 2 or labels.dtype.kind not in "iu":
        raise ValueError(f"indices is {labels.dtype} of shape {labels.shape}")
    with open_archive(path) as archive:
        if "scores" not in array_names(archive):
            return [labels]
    scores = StoredArray(path, "scores")
    if scores.shape != labels.shape or scores.dtype.kind not in "iuf":
        raise ValueError(
            f"scores is {scores.dtype} of shape {scores.shape}, for indices of shape {labels.shape}"
        )
    return [labels, scores]


def refuse_packed_rows(arrays: list[StoredArray], allowance: Allowance) -> None:
    """Refuse rows that unpack to more than memory allows, all of them where they lie scattered."""
    if any(array.fortran for array in arrays):
        allowance.take(sum(array.n_bytes for array in arrays))
    if not all(array.mapped for array in arrays):
        allowance.check(ROW_ENTRY_BYTES * arrays[0].shape[1])


def list_pieces(path: Path, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a list some rows at a time: mapped where it is stored as it is, inflated in pieces where not."""
    with naming(path, EXPECTED):
        arrays = _find(path)
        refuse_packed_rows(arrays, allowance)
    n_rows = arrays[0].shape[0]
    if any(array.fortran for array in arrays):  # rows lie scattered
        return Pieces(n_rows, None, lambda n_bytes: iter([read_list(path)]))
    row_bytes = max(1, sum(array.dtype.itemsize for array in arrays) * arrays[0].shape[1])

    def read(n_bytes: int) -> Iterator[Any]:
        step = max(1, n_bytes // row_bytes)
        with naming(path, EXPECTED), arrays[0].reading() as take_labels, arrays[-1].reading() as take_scores:
            for start in range(0, max(n_rows, 1), step):  # types of scores are told by no rows, too
                n = min(step, n_rows - start)
                yield take_labels(n), take_scores(n) if len(arrays) > 1 else None

    return Pieces(n_rows, None, read)


def read_list(path: Path) -> Any:
    """Read a list at once."""
    with naming(path, EXPECTED):
        if any(array.fortran for array in _find(path)):
            held = read_archive(path, ("indices", "scores").__contains__)
            return held["indices"], held.get("scores")
    return next(list_pieces(path).read(sys.maxsize))


def write_list(path: Path, data: Any) -> None:
    """Write a list, not compressed, so that it can be mapped."""
    held = dict(zip(("indices", "scores"), data, strict=True))
    with replacing(path) as file:
        write_archive(file, {name: np.asarray(array) for name, array in held.items() if array is not None})
