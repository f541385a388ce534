"""Top-k lists in .npz archives: arrays ``indices`` or ``prediction_ids``, and ``scores`` alike.

Beside ``prediction_ids``, ``labels`` holds all relevant labels, as pairs of an instance and a label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import StoredArray, array_names, open_archive, read_archive, write_archive
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.formats.array_rows import list_pieces
from xmleval.input.formats.format import naming
from xmleval.input.pieces import Pieces
from xmleval.input.stack import canonical_csr
from xmleval.records import label_dtype

EXPECTED = "a top-k list, integers 'indices' and numbers 'scores' of shape (instances, k)"
INDICES = ("indices", "prediction_ids")  # as pyxclib and as the studies of calibration at k call them
PAIRS = "pairs of an instance and a label, integers 'labels' of shape (pairs, 2)"
PAIR_BYTES = 64  # of memory for each, beside the arrays
OF_MATRICES = ("format", "shape", "data", "indptr")


def holds_list(file: InputFile, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds a list and no matrix."""
    with naming(file.path, expected), open_archive(file) as archive:
        names = array_names(archive)
    return index_of(names) is not None and not any(name in names for name in OF_MATRICES)


def holds_truth(file: InputFile, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds relevant labels beside a list."""
    with naming(file.path, expected), open_archive(file) as archive:
        names = array_names(archive)
    return {"labels", INDICES[1]} <= {*names} and not any(name in names for name in OF_MATRICES)


def read_truth(file: InputFile, allowance: Allowance = UNLIMITED) -> Any:
    """Read the relevant labels beside a list; there are as many labels as the highest id in either tells."""
    listed = _open_list(file)[0][0]
    with naming(file.path, PAIRS):
        stored = StoredArray(file, "labels")
        if len(stored.shape) != 2 or stored.shape[1] != 2 or stored.dtype.kind not in "iu":
            raise ValueError(f"labels is {stored.dtype} of shape {stored.shape}")
        with allowance.lent(listed.whole_bytes + stored.whole_bytes + PAIR_BYTES * stored.shape[0]):
            held = read_archive(file, ("labels", listed.name).__contains__)
            rows, labels = held["labels"].astype(np.int64).T
            n_rows = listed.shape[0]
            bad = np.flatnonzero((rows < 0) | (rows >= n_rows) | (labels < 0))
            if bad.size:
                pair = f"instance {rows[bad[0]]} and label {labels[bad[0]]}"
                raise ValueError(f"pair {bad[0]} is of {pair}, for {n_rows} instances")
            n_labels = 1 + max(int(labels.max(initial=0)), int(held[listed.name].max(initial=0)))
            order = np.lexsort((labels, rows))
            ptr = np.searchsorted(rows[order], np.arange(n_rows + 1))
            ones = np.ones(rows.size, np.uint8)
            found = canonical_csr(ptr, labels[order].astype(label_dtype(n_labels)), ones, n_labels)
        allowance.take(found.data.nbytes + found.indices.nbytes + found.indptr.nbytes)
    return found


def index_of(names: list[str]) -> str | None:
    """Return the array of ids of labels that a list has."""
    return next((name for name in INDICES if name in names), None)


def _open_list(file: InputFile) -> list[tuple[StoredArray, str]]:
    """Return the labels of a list and, where they are there, its scores."""
    with naming(file.path, EXPECTED):
        with open_archive(file) as archive:
            names = array_names(archive)
        index = index_of(names) or INDICES[0]
        labels = StoredArray(file, index)
        if len(labels.shape) != 2 or labels.dtype.kind not in "iu":
            raise ValueError(f"{index} is {labels.dtype} of shape {labels.shape}")
        if "scores" not in names:
            return [(labels, EXPECTED)]
        scores = StoredArray(file, "scores")
        if scores.shape != labels.shape or scores.dtype.kind not in "iuf":
            raise ValueError(
                f"scores is {scores.dtype} of shape {scores.shape}, for {index} of shape {labels.shape}"
            )
        return [(labels, EXPECTED), (scores, EXPECTED)]


def archived_list_pieces(file: InputFile, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a list some rows at a time."""
    return list_pieces(_open_list(file), allowance)


def read_list(file: InputFile) -> Any:
    """Read a list at once."""
    index = _open_list(file)[0][0].name
    with naming(file.path, EXPECTED):
        held = read_archive(file, (index, "scores").__contains__)
        return held[index], held.get("scores")


def write_list(path: Path, data: Any) -> None:
    """Write a list, not compressed."""
    held = dict(zip(("indices", "scores"), data, strict=True))
    with replacing(path) as file:
        write_archive(file, {name: np.asarray(array) for name, array in held.items() if array is not None})
