"""SciPy's sparse matrices in .npz archives, which may also hold a top-k list."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.archive import StoredArray, array_names, check_headers, open_archive, read_archive
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.csr import stored_csr
from xmleval.input.errors import InputError
from xmleval.input.formats.array_rows import MOST_BYTES, ROW_ENTRY_BYTES
from xmleval.input.formats.dense import archived_pieces, holds_dense, read_archived
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npz_list import (
    archived_list_pieces,
    holds_list,
    holds_truth,
    read_list,
    read_truth,
    write_list,
)
from xmleval.input.pieces import Pieces
from xmleval.input.reader import whole
from xmleval.input.scores import refuse_padding
from xmleval.input.writing import as_sparse
from xmleval.kernels.checking import FINE, check_pointer

EXPECTED = "a SciPy sparse matrix as scipy.sparse.save_npz writes it"
INDICES = {  # index arrays of each storage scheme
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
ROWS_FOR_NOTHING, ROWS_PER_ENTRY = 1 << 24, 1000
MOST_WORD_BYTES = 64
CONVERTING_BYTES = 40  # of memory for each entry and each row, beside the arrays
POINTER_BYTES = 24  # of memory for each row of a piece, beside its entries
DATA_NDIM = {"csr": 1, "csc": 1, "bsr": 3, "coo": 1, "dia": 2}


class Layout(NamedTuple):
    """How an archive stores a matrix: nothing is unpacked but its scheme and its shape."""

    scheme: str
    shape: tuple[int, int]
    data: StoredArray
    indices: list[StoredArray]

    @property
    def n_bytes(self) -> int:
        """Size of all its arrays."""
        return self.data.n_bytes + sum(index.n_bytes for index in self.indices)

    @property
    def converting_bytes(self) -> int:
        """Memory for turning it into CSR, its arrays included."""
        return 2 * self.n_bytes + CONVERTING_BYTES * (math.prod(self.data.shape) + self.shape[0])


def read_npz(file: InputFile, allowance: Allowance = UNLIMITED) -> Any:
    """Read a sparse matrix; its index values are checked where it is used.

    Nothing that a file can lie about reaches compiled code of SciPy: the parts are checked here as far as
    the constructors need, and they only store them. Nothing is unpacked before the headers of all parts
    fit one another.
    """
    with naming(file.path, EXPECTED):
        return _read_matrix(file, _find_layout(file), allowance)


def _read_matrix(file: InputFile, layout: Layout, allowance: Allowance) -> Any:
    names = [part.name for part in (layout.data, *layout.indices)]
    arrays = read_archive(file, names.__contains__, allowance=allowance)
    if "coords" in names:
        arrays["row"], arrays["col"] = arrays["coords"]
    return _assemble(layout, arrays["data"], [arrays[name] for name in INDICES[layout.scheme]])


def _find_layout(file: InputFile) -> Layout:
    """Return the layout of a matrix, or refuse parts that do not fit one another."""
    check_headers(file)
    scheme = _word(file)
    if scheme not in INDICES:
        raise ValueError(f"format {scheme!r} is not one of {', '.join(INDICES)}")
    shape = _shape(file)
    data = StoredArray(file, "data")
    if data.dtype.kind not in "biuf" or len(data.shape) != DATA_NDIM[scheme]:
        raise ValueError(f"data of {scheme} is {data.dtype} of shape {data.shape}")
    if scheme == "coo" and "coords" in _names(file):
        indices = [StoredArray(file, "coords")]
        if indices[0].shape[:1] != (2,) or len(indices[0].shape) != 2 or indices[0].dtype.kind not in "iu":
            raise ValueError(f"coords has shape {indices[0].shape}")
    else:
        indices = [_index(file, name) for name in INDICES[scheme]]
    n_entries = data.shape[0]
    if any(index.shape[-1] != n_entries for index in (indices if scheme == "coo" else indices[:1])):
        other = next(index.shape[-1] for index in indices if index.shape[-1] != n_entries)
        raise ValueError(f"{n_entries} stored values, but {other} in the index")
    if scheme != "csr":
        _refuse_many_rows(shape[0], math.prod(data.shape))
    tall, wide = data.shape[1:] if scheme == "bsr" else (1, 1)
    if not tall or not wide or shape[0] % tall or shape[1] % wide:
        raise ValueError(f"blocks of {tall} x {wide} do not tile a matrix of shape {shape}")
    if scheme in ("csr", "csc", "bsr"):
        n_lines, n_pointers = shape[1] if scheme == "csc" else shape[0] // tall, indices[1].shape[0]
        if n_pointers != n_lines + 1:
            raise ValueError(f"indptr has {n_pointers} entries, not {n_lines + 1}")
    return Layout(scheme, shape, data, indices)


def _names(file: InputFile) -> list[str]:
    with open_archive(file) as archive:
        return array_names(archive)


def _word(file: InputFile) -> str:
    """Return the storage scheme of a matrix."""
    found = StoredArray(file, "format")
    if math.prod(found.shape) != 1 or found.dtype.kind not in "SU" or found.n_bytes > MOST_WORD_BYTES:
        raise ValueError("'format' is not a word")
    word = read_archive(file, "format".__eq__)["format"].item()
    return word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)


def _shape(file: InputFile) -> tuple[int, int]:
    """Return the shape of a matrix."""
    found = StoredArray(file, "shape")
    if found.n_bytes > MOST_WORD_BYTES:
        raise ValueError(f"shape is {found.dtype} of shape {found.shape}, not (instances, labels)")
    shape = read_archive(file, "shape".__eq__)["shape"].tolist()
    if found.shape != (2,) or found.dtype.kind not in "iu" or not all(0 <= n < 2**62 for n in shape):
        raise ValueError(f"shape {shape} is not (instances, labels)")
    return shape[0], shape[1]


def _index(file: InputFile, name: str) -> StoredArray:
    index = StoredArray(file, name)
    if len(index.shape) != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name} is {index.dtype} of shape {index.shape}, not a vector of integers")
    return index


def _assemble(layout: Layout, data: NDArray[Any], indices: list[NDArray[Any]]) -> Any:
    """Put the parts of a matrix together."""
    scheme, shape, entries = layout.scheme, layout.shape, indices[0]
    if scheme == "coo":
        return scipy.sparse.coo_array((data, tuple(indices)), shape=shape)
    if scheme == "dia":
        if entries.size and not (entries.min() > -shape[0] and entries.max() < shape[1]):
            raise ValueError(f"an offset lies outside a matrix of shape {shape}")
        return scipy.sparse.dia_array((data, entries), shape=shape)
    pointer = indices[1]
    if pointer[0] != 0 or not 0 <= pointer[-1] <= entries.size:
        raise ValueError(f"indptr runs from {pointer[0]} to {pointer[-1]} over {entries.size} stored entries")
    make = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array, "bsr": scipy.sparse.bsr_array}
    return make[scheme]((data, entries, pointer), shape=shape)


def read_relevant(path: Path) -> Any:
    """Read a sparse matrix, or the relevant labels beside a top-k list."""
    file = InputFile(path)
    return read_truth(file) if holds_truth(file, EXPECTED) else read_npz(file)


def read_scores(path: Path) -> Any:
    """Read a sparse matrix, a top-k list or a dense array."""
    file = InputFile(path)
    if holds_dense(file, EXPECTED):
        return read_archived(file)
    return read_list(file) if holds_list(file, EXPECTED) else read_npz(file)


def npz_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a CSR matrix, or other scores, some rows at a time; other matrices are converted whole."""
    file = InputFile(path)
    if kind == "scores" and holds_dense(file, EXPECTED):
        return archived_pieces(file, allowance)
    if kind == "scores" and holds_list(file, EXPECTED):
        return archived_list_pieces(file, allowance)
    if kind == "truth" and holds_truth(file, EXPECTED):
        return replace(whole(read_truth(file, allowance)), n_labels=None)  # ids tell no more than the least
    with naming(path, EXPECTED):
        if "format" not in _names(file):
            check_headers(file)
        is_csr = _word(file) == "csr"
    if not is_csr:
        return _converted(file, kind, allowance)
    with naming(path, EXPECTED):
        shape = _shape(file)
        labels, data, ptr = (StoredArray(file, name) for name in ("indices", "data", "indptr"))
        for name, array, kinds in (("indices", labels, "iu"), ("data", data, "biuf")):
            if len(array.shape) != 1 or array.dtype.kind not in kinds:
                raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
        if labels.shape != data.shape:
            raise ValueError(f"{data.shape[0]} stored values, but {labels.shape[0]} in the index")
        _refuse_many_rows(shape[0], labels.shape[0])
        if ptr.shape != (shape[0] + 1,):
            raise ValueError(f"indptr is of shape {ptr.shape}, for {shape[0]} rows")
        if ptr.dtype.kind not in "iu":
            raise ValueError(f"indptr is {ptr.dtype} of shape {ptr.shape}, not a vector of integers")

    def place_of(row: int) -> int:
        with naming(path, EXPECTED), ptr.reading(row, row + 1) as take:
            found = int(take(1)[0])
            if not 0 <= found <= labels.shape[0]:
                raise ValueError(f"row {row}: indptr is {found} there")
        return found

    def read(n_bytes: int, skipped: int = 0, stop_row: int | None = None) -> Iterator[Any]:
        n_before = place_of(skipped) if skipped else 0
        n_until = None if stop_row is None else place_of(stop_row)
        n_all = shape[0] if stop_row is None else stop_row
        per_entry, n_bytes = labels.dtype.itemsize + data.dtype.itemsize, min(n_bytes, MOST_BYTES)
        step = max(1, n_bytes // POINTER_BYTES)
        with (
            naming(path, EXPECTED),
            ptr.reading(skipped, None if stop_row is None else stop_row + 1) as take_ptr,
            labels.reading(n_before, n_until) as take_labels,
            data.reading(n_before, n_until) as take_data,
        ):
            held = take_ptr(1).astype(np.int64)
            for first in range(skipped, max(n_all, skipped + 1), step):
                n_rows = min(step, n_all - first)
                held = np.concatenate((held[-1:], take_ptr(n_rows).astype(np.int64)))
                _refuse_pointer(held, first, labels.shape[0])
                start = 0
                while start < n_rows:
                    most = held[start] + n_bytes // per_entry
                    stop = min(max(int(np.searchsorted(held, most, "right")) - 1, start + 1), n_rows)
                    n_stored = int(held[stop] - held[start])
                    if stop == start + 1:
                        allowance.check(ROW_ENTRY_BYTES * n_stored)
                    values, ids = take_data(n_stored), take_labels(n_stored)
                    own = held[start : stop + 1] - held[start]
                    own = own.astype(ids.dtype) if ids.dtype.kind == "i" and n_stored < 1 << 31 else own
                    yield scipy.sparse.csr_array((values, ids, own), shape=(stop - start, shape[1]))
                    start = stop

    any_row = all(array.stored for array in (ptr, labels, data))
    return Pieces(shape[0], shape[1], read, read_from=read if any_row else None)


def _refuse_many_rows(n_rows: int, n_stored: int) -> None:
    """Refuse far more rows than entries: a false row count would make us allocate that much memory."""
    if n_rows > ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_stored:
        raise ValueError(f"{n_rows} rows for {n_stored} stored values")


def _refuse_pointer(ptr: NDArray[np.int64], first: int, n_stored: int) -> None:
    """Refuse a pointer of rows from ``first`` that does not start at 0, falls or exceeds ``n_stored``."""
    base = int(ptr[0]) if first else 0
    code, row, position = check_pointer(ptr - base, n_stored - base)
    if code != FINE:
        raise ValueError(
            f"row {first + row}: indptr is {ptr[position]} there; it must start at 0, never fall and end at "
            "the number of stored entries"
        )


def _converted(file: InputFile, kind: str, allowance: Allowance) -> Pieces:
    """Return a matrix of another storage scheme as one piece in CSR."""
    with naming(file.path, EXPECTED):
        layout = _find_layout(file)
        with allowance.lent(layout.converting_bytes):
            matrix = _read_matrix(file, layout, UNLIMITED)
            try:
                if kind == "scores":
                    refuse_padding("scores", matrix)
                stored = stored_csr(kind, matrix, None)
            except InputError as error:
                raise ValueError(error.message) from None
        found = scipy.sparse.csr_array((stored.data, stored.labels, stored.ptr), shape=matrix.shape)
        allowance.take(found.data.nbytes + found.indices.nbytes + found.indptr.nbytes)
    return whole(found)


def write_npz(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write a sparse matrix as `scipy.sparse.save_npz` does, not compressed.

    Lists are written as lists where no matrix can hold them: without scores, or for any number of labels.
    """
    if isinstance(data, tuple) and (n_labels is None or data[1] is None):
        write_list(path, data)
        return
    matrix = as_sparse(data, kind, n_labels).tocsr()
    with replacing(path) as file:
        scipy.sparse.save_npz(file, matrix, compressed=False)


NPZ = Format(
    name="npz",
    title="SciPy sparse matrix",
    files="NAME.npz; of scores, it may hold a top-k list as arrays indices (or prediction_ids, labels, ids, "
    "I) and scores (or values, D), or dense scores; of truth, pairs labels beside prediction_ids",
    container="npz",
    extensions=(".npz",),
    truth=read_relevant,
    scores=read_scores,
    pieces=npz_pieces,
    write=write_npz,
)
