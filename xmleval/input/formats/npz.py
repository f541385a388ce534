"""SciPy's sparse matrices in .npz archives, which may also hold a top-k list or dense scores.

Beside ``prediction_ids``, ``labels`` holds all relevant labels, as pairs of an instance and a label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import Array, ArrayFile, write_archive
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.csr import matrix_rows
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npy import (
    ROW_ENTRY_BYTES,
    Part,
    check_dense,
    list_pieces,
    matrix_pieces,
)
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.scores import refuse_padding
from xmleval.input.stack import rows_as_csr, rows_as_lists
from xmleval.input.writing import entries_of
from xmleval.kernels.checking import FINE, check_pointer

MATRIX = "a SciPy sparse matrix as scipy.sparse.save_npz writes it"
LIST = "a top-k list, integers 'indices' and numbers 'scores' of shape (instances, k)"
TRUTH = "pairs of an instance and a label, integers 'labels' of shape (pairs, 2)"
DENSE = "scores of all labels, an array 'scores' of floating-point numbers (instances, labels)"
OF_MATRICES = ("format", "shape", "data", "indptr")
SCHEMES = ("csr", "csc", "bsr", "coo", "dia")
INDICES = ("indices", "indptr", "row", "col", "coords", "offsets")
LIST_IDS = (
    "indices",
    "prediction_ids",
    "I",
)  # pyxclib, torch.topk; calibration at k; FAISS
SHARED_IDS = ("labels", "ids")  # of a list only beside scores of their shape: others call a truth so
LIST_SCORES = ("scores", "values", "D")
ROWS_FOR_NOTHING, ROWS_PER_ENTRY = 1 << 24, 1000
MOST_WORD_BYTES = 64
PAIR_BYTES = 64  # of memory for each, beside the arrays
CONVERTING_BYTES = 40  # of memory for each entry and each row, beside the arrays
POINTER_BYTES = 24  # of memory for each row of a piece, beside its entries


def open_npz(path: Path) -> ArrayFile:
    """Read the headers of an archive."""
    with naming(path, MATRIX):
        return ArrayFile(InputFile(path))


def _refuse(array: Array, more: str = "") -> NoReturn:
    raise ValueError(f"{array.name} is {array.dtype} of shape {array.shape}{more}")


def _layout(archive: ArrayFile) -> tuple[str, tuple[int, int]]:
    """Return the storage scheme and the shape of a matrix, or refuse what SciPy would misread."""
    if (word := archive["format"]).dtype.kind not in "SU" or not 0 < word.n_bytes <= MOST_WORD_BYTES:
        _refuse(word, ", not a word")
    scheme = np.asarray(archive.read("format")[0], str).ravel()[0]
    if scheme not in SCHEMES:
        raise ValueError(f"format {str(scheme)!r} is not one of {', '.join(SCHEMES)}")
    if (size := archive["shape"]).shape != (2,) or size.dtype.kind not in "iu":
        _refuse(size, ", not (instances, labels)")
    n_rows, n_labels = archive.read("shape")[0].tolist()
    n_stored = math.prod(archive["data"].shape)
    for name in ("data", *(name for name in INDICES if name in archive)):
        if (array := archive[name]).dtype.kind not in ("biuf" if name == "data" else "iu"):
            _refuse(array)
    if not 0 <= n_rows <= ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_stored or not 0 <= n_labels < 2**62:
        raise ValueError(f"shape {(n_rows, n_labels)} for {n_stored} stored values")  # rows take memory
    return str(scheme), (n_rows, n_labels)


def _all_bytes(archive: ArrayFile) -> int:
    return sum(array.n_bytes for array in archive.arrays.values())


def _load(archive: ArrayFile) -> Any:
    """Return a matrix as SciPy's array of its scheme; its index values are checked where it is used."""
    matrix = archive.load_sparse()
    if matrix.format == "bsr" and np.any(np.remainder(matrix.shape, matrix.blocksize)):
        raise ValueError(f"blocks of {matrix.blocksize} do not tile a matrix of shape {matrix.shape}")
    if matrix.format == "dia":  # SciPy makes 32 bits of them
        (offsets,) = archive.read("offsets")
        if ((offsets <= -matrix.shape[0]) | (offsets >= matrix.shape[1])).any():
            raise ValueError(f"an offset lies outside a matrix of shape {matrix.shape}")
    return getattr(scipy.sparse, f"{matrix.format}_array")(matrix)


def read_matrix(archive: ArrayFile, allowance: Allowance = UNLIMITED) -> Any:
    """Read a sparse matrix of any storage scheme."""
    with naming(archive.path, MATRIX):
        _layout(archive)
        allowance.take(_all_bytes(archive))
        return _load(archive)


def _converted(kind: str, matrix: Any) -> Rows:
    """Return the rows of a matrix of another storage scheme."""
    try:
        if kind == "scores":
            refuse_padding("scores", matrix)
        return matrix_rows(kind, matrix, None)
    except InputError as error:
        raise ValueError(error.message) from None


def _one_piece(archive: ArrayFile, rows: Rows, n_labels: int | None, allowance: Allowance) -> Pieces:
    with naming(archive.path, MATRIX):
        allowance.take(rows.n_bytes)
    return whole(rows, n_labels)


def _csr_pieces(archive: ArrayFile, shape: tuple[int, int], allowance: Allowance) -> Pieces:
    """Read a CSR matrix some rows at a time."""
    path, n_rows = archive.path, shape[0]
    with naming(path, MATRIX):
        ptr, labels, data = (archive[name] for name in ("indptr", "indices", "data"))
        if len(data.shape) != 1 or labels.shape != data.shape:
            raise ValueError(f"data of shape {data.shape}, but indices of shape {labels.shape}")
        if ptr.shape != (n_rows + 1,):
            raise ValueError(f"indptr is of shape {ptr.shape}, for {n_rows} rows")

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        last = n_rows if stop is None else stop
        per_entry, step = labels.row_bytes + data.row_bytes, max(1, n_bytes // POINTER_BYTES)
        with naming(path, MATRIX), archive.reading() as rows:

            def place_of(row: int) -> int:
                place = int(rows(ptr, row, row + 1)(1)[0])
                if not 0 <= place <= labels.shape[0]:
                    raise ValueError(f"row {row}: indptr is {place} there")
                return place

            begin, end = place_of(first) if first else 0, None if stop is None else place_of(stop)
            take_ptr = rows(ptr, first, None if stop is None else stop + 1)
            take_labels, take_data = rows(labels, begin, end), rows(data, begin, end)
            places = take_ptr(1).astype(np.int64)
            for start in range(first, max(last, first + 1), step):
                n = min(step, last - start)
                places = np.concatenate((places[-1:], take_ptr(n).astype(np.int64)))
                _refuse_pointer(places, start, labels.shape[0])
                lo = 0
                while lo < n:
                    most = places[lo] + n_bytes // per_entry
                    hi = min(max(int(np.searchsorted(places, most, "right")) - 1, lo + 1), n)
                    n_stored = int(places[hi] - places[lo])
                    if hi == lo + 1:
                        allowance.check(ROW_ENTRY_BYTES * n_stored)
                    values, ids = take_data(n_stored), take_labels(n_stored)
                    own = places[lo : hi + 1] - places[lo]
                    yield rows_by_id(own, ids, values)
                    lo = hi

    any_row = all(array.any_row for array in (ptr, labels, data))
    return Pieces(n_rows, shape[1], read, read_from=read if any_row else None)


def _refuse_pointer(ptr: NDArray[np.int64], first: int, n_stored: int) -> None:
    """Refuse a pointer of rows from ``first`` that does not start at 0, falls or exceeds ``n_stored``."""
    base = int(ptr[0]) if first else 0
    code, row, position = check_pointer(ptr - base, n_stored - base)
    if code != FINE:
        raise ValueError(
            f"row {first + row}: indptr is {ptr[position]} there; it must start at 0, never fall and end at "
            "the number of stored entries"
        )


def holds_list(path: Path) -> bool:
    """Tell by the names and shapes of its arrays whether an archive holds a list and no matrix."""
    part = _find_part(open_npz(path), "scores")
    return part is not None and part.expected is LIST


def _find_part(archive: ArrayFile, kind: str) -> Part | None:
    """Return the arrays of a list, dense scores or relevant labels beside a list; None of a matrix."""
    if any(name in archive for name in OF_MATRICES):
        return None
    if kind != "scores":
        arrays = [archive.arrays[name] for name in ("labels", "prediction_ids") if name in archive]
        return Part(archive, arrays, TRUTH) if len(arrays) > 1 else None
    part = _find_list(archive)
    if part is None and "scores" in archive:
        with naming(archive.path, DENSE):
            part = Part(archive, [archive["scores"]], DENSE)
        check_dense(part)
    return part


def _find_list(archive: ArrayFile) -> Part | None:
    """Return ids and scores of a list, the first pair of names whose arrays fit one another, or None."""
    with naming(archive.path, LIST):
        for names in product((*LIST_IDS, *SHARED_IDS), LIST_SCORES):
            pair = [archive.arrays[name] for name in names if name in archive]
            of_truth = names[0] == "labels" and "prediction_ids" in archive
            if len(pair) == 2 and _fit(*pair) and not of_truth and _are_ids(archive, pair[0]):
                return Part(archive, pair, LIST)
        ids = next((archive[name] for name in LIST_IDS if name in archive), None)
        if ids is None:
            return None
        if len(ids.shape) != 2 or ids.dtype.kind not in "iu":
            _refuse(ids)
        for name in LIST_SCORES:
            if name in archive:
                _refuse(archive[name], f", for {ids.name} of shape {ids.shape}")
        return Part(archive, [ids], LIST)


def _fit(ids: Array, scores: Array) -> bool:
    is_list = len(ids.shape) == 2 and ids.shape == scores.shape
    return is_list and ids.dtype.kind in "iu" and scores.dtype.kind in "iuf"


def _are_ids(archive: ArrayFile, array: Array) -> bool:
    """Tell ids of a list from zeros and ones of all labels: no row of a list repeats an id."""
    if array.name not in SHARED_IDS or not all(array.shape):
        return True
    with archive.reading() as rows:
        row = rows(array)(1)[0].tolist()
    if len(row) == 1 or not {*row} <= {0, 1}:
        return True
    if len({*row}) == len(row):
        raise ValueError(
            f"{array.name!r} may be ids of labels, or zeros and ones of all labels; call ids 'indices', or "
            "save the scores alone"
        )
    return False


def _truth_pieces(archive: ArrayFile, allowance: Allowance) -> Pieces:
    """Read the relevant labels beside a list; ids in either tell the least number of labels."""
    with naming(archive.path, TRUTH):
        stored, listed = archive["labels"], archive["prediction_ids"]
        for array in (stored, listed):
            if len(array.shape) != 2 or array.dtype.kind not in "iu" or stored.shape[1] != 2:
                _refuse(array)
        n_rows, n_pairs = listed.shape[0], stored.shape[0]
        with allowance.lent(stored.n_bytes + listed.n_bytes + PAIR_BYTES * n_pairs):
            pairs, ids = archive.read("labels", "prediction_ids")
            rows, labels = pairs.astype(np.int64).T
            bad = np.flatnonzero((rows < 0) | (rows >= n_rows) | (labels < 0))
            if bad.size:
                pair = f"instance {rows[bad[0]]} and label {labels[bad[0]]}"
                raise ValueError(f"pair {bad[0]} is of {pair}, for {n_rows} instances")
            order = np.lexsort((labels, rows))
            relevant = rows_by_id(pointer(np.bincount(rows, minlength=n_rows)), labels[order])
        least = 1 + max(int(labels.max(initial=0)), int(ids.max(initial=0)))
    return replace(_one_piece(archive, relevant, None, allowance), least_labels=least)


def npz_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a CSR matrix, or other scores, some rows at a time; other matrices are converted whole."""
    archive = open_npz(path)
    part = _find_part(archive, kind)
    if part and kind != "scores":
        return _truth_pieces(archive, allowance)
    if part:
        return matrix_pieces(part, allowance) if part.expected is DENSE else list_pieces([part], allowance)
    with naming(path, MATRIX):
        scheme, shape = _layout(archive)
        if scheme != "csr":
            n_entries = math.prod(archive["data"].shape)
            with allowance.lent(2 * _all_bytes(archive) + CONVERTING_BYTES * (n_entries + shape[0])):
                rows = _converted(kind, _load(archive))
    if scheme == "csr":
        return _csr_pieces(archive, shape, allowance)
    return _one_piece(archive, rows, shape[1], allowance)


def write_npz(path: Path, data: Rows, kind: str, n_labels: int | None) -> None:
    """Write a sparse matrix as `scipy.sparse.save_npz` does, not compressed.

    Lists are written as lists where no matrix can hold them: without scores, or for any number of labels.
    """
    arrays: dict[str, Any] = {}
    if data.best_first and (n_labels is None or data.values is None):
        lists = zip(("indices", "scores"), rows_as_lists(data), strict=True)
        arrays = {name: array for name, array in lists if array is not None}
    else:
        matrix = rows_as_csr(entries_of(data, n_labels), n_labels)
    with replacing(path) as file:
        if arrays:
            write_archive(file, arrays)
        else:
            scipy.sparse.save_npz(file, matrix, compressed=False)


NPZ = Format(
    name="npz",
    title="SciPy sparse matrix",
    files="NAME.npz; of scores, it may hold a top-k list as arrays indices (or prediction_ids, labels, ids, "
    "I) and scores (or values, D), or dense scores; of truth, pairs labels beside prediction_ids",
    container="npz",
    extensions=(".npz",),
    pieces=npz_pieces,
    write=write_npz,
)
