"""Top-k lists in .npz archives: ids of labels, and scores alike, by any of their usual names.

Beside ``prediction_ids``, ``labels`` holds all relevant labels, as pairs of an instance and a label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import (
    HoldsObjectsError,
    StoredArray,
    array_names,
    open_archive,
    read_archive,
    write_archive,
)
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.formats.array_rows import list_pieces
from xmleval.input.formats.format import naming
from xmleval.input.pieces import Pieces
from xmleval.input.stack import canonical_csr
from xmleval.records import label_dtype

EXPECTED = "a top-k list, integers 'indices' and numbers 'scores' of shape (instances, k)"
OWN_IDS = ("indices", "prediction_ids", "I")  # pyxclib and torch.topk, the studies of calibration at k, FAISS
SHARED_IDS = ("labels", "ids")  # of a list only beside scores of their shape: others call a truth so
SCORES = ("scores", "values", "D")
PAIRS = "pairs of an instance and a label, integers 'labels' of shape (pairs, 2)"
PAIR_BYTES = 64  # of memory for each, beside the arrays
OF_MATRICES = ("format", "shape", "data", "indptr")


def holds_list(file: InputFile, expected: str) -> bool:
    """Tell by the names and shapes of its arrays whether an archive holds a list and no matrix."""
    with naming(file.path, expected):
        return _find_list(file) is not None


def _find_list(file: InputFile) -> tuple[StoredArray, StoredArray | None] | None:
    """Return the labels of a list and, where they are there, its scores, or refuse two that can be."""
    with open_archive(file) as archive:
        names = array_names(archive)
    if any(name in names for name in OF_MATRICES):
        return None
    own = [StoredArray(file, name) for name in OWN_IDS if name in names]
    shared = [array for name in SHARED_IDS if (array := _unless_of_objects(file, name, names))]
    if "prediction_ids" in names:
        shared = [array for array in shared if array.name != "labels"]  # pairs
    scores = [array for name in SCORES if (array := _unless_of_objects(file, name, names))]
    fitting = [
        (ids, values) for ids in own + shared for values in scores if _fit(ids, values) and _are_ids(ids)
    ]
    fitting_ids = {ids.name: ids for ids, _ in fitting} or {ids.name: ids for ids in own}
    _refuse_several("the labels", [*fitting_ids])
    _refuse_several("the scores", [values.name for _, values in fitting])
    if fitting:
        return fitting[0]
    return (own[0], next(iter(scores), None)) if own else None


def _unless_of_objects(file: InputFile, name: str, names: list[str]) -> StoredArray | None:
    try:
        return StoredArray(file, name) if name in names else None
    except HoldsObjectsError:
        if name in (*OWN_IDS, SCORES[0]):
            raise
        return None  # as names of labels beside scores


def _fit(ids: StoredArray, scores: StoredArray) -> bool:
    return (
        len(ids.shape) == 2
        and ids.shape == scores.shape
        and ids.dtype.kind in "iu"
        and scores.dtype.kind in "iuf"
    )


def _are_ids(array: StoredArray) -> bool:
    """Tell ids of a list from zeros and ones of all labels: no row of a list repeats an id."""
    if array.name not in SHARED_IDS or not all(array.shape):
        return True
    with array.reading() as take:
        first = take(1)[0].tolist()
    if not {*first} <= {0, 1} or len(first) == 1:
        return True
    if len({*first}) == len(first):
        raise ValueError(
            f"{array.name!r} may be ids of labels, or zeros and ones of all labels; call ids 'indices', or "
            "save the scores alone"
        )
    return False


def _refuse_several(what: str, names: list[str]) -> None:
    if len(names) > 1:
        raise ValueError(f"its arrays {' and '.join(map(repr, names))} can both be {what}; save one of them")


def holds_truth(file: InputFile, expected: str) -> bool:
    """Tell by the names of its arrays whether an archive holds relevant labels beside a list."""
    with naming(file.path, expected), open_archive(file) as archive:
        names = array_names(archive)
    return {"labels", "prediction_ids"} <= {*names} and not any(name in names for name in OF_MATRICES)


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


def _open_list(file: InputFile) -> list[tuple[StoredArray, str]]:
    """Return the labels of a list and, where they are there, its scores."""
    with naming(file.path, EXPECTED):
        labels, scores = _find_list(file) or (StoredArray(file, OWN_IDS[0]), None)
        if len(labels.shape) != 2 or labels.dtype.kind not in "iu":
            raise ValueError(f"{labels.name} is {labels.dtype} of shape {labels.shape}")
        if scores is None:
            return [(labels, EXPECTED)]
        if not _fit(labels, scores):
            raise ValueError(
                f"{scores.name} is {scores.dtype} of shape {scores.shape}, for {labels.name} of shape "
                f"{labels.shape}"
            )
        return [(labels, EXPECTED), (scores, EXPECTED)]


def archived_list_pieces(file: InputFile, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a list some rows at a time."""
    return list_pieces(_open_list(file), allowance)


def read_list(file: InputFile) -> Any:
    """Read a list at once."""
    names = [array.name for array, _ in _open_list(file)]
    with naming(file.path, EXPECTED):
        held = read_archive(file, names.__contains__)
    return held[names[0]], held[names[1]] if len(names) > 1 else None


def write_list(path: Path, data: Any) -> None:
    """Write a list, not compressed."""
    held = dict(zip(("indices", "scores"), data, strict=True))
    with replacing(path) as file:
        write_archive(file, {name: np.asarray(array) for name, array in held.items() if array is not None})
