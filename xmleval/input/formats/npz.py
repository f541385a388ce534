"""SciPy's sparse matrices in .npz archives, which may also hold a top-k list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.files.archive import StoredArray, read_archive
from xmleval.files.input import InputFile
from xmleval.files.saved import replacing
from xmleval.input.csr import stored_csr
from xmleval.input.errors import InputError
from xmleval.input.formats.array_rows import MOST_BYTES
from xmleval.input.formats.dense import archived_pieces, holds_dense, read_archived
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npz_list import archived_list_pieces, holds_list, read_list, write_list
from xmleval.input.pieces import Pieces
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
DATA_NDIM = {"csr": 1, "csc": 1, "bsr": 3, "coo": 1, "dia": 2}


def read_npz(file: InputFile) -> Any:
    """Read a sparse matrix; its index values are checked where it is used.

    Nothing that a file can lie about reaches compiled code of SciPy: the parts are checked here as far as
    the constructors need, and they only store them.
    """
    with naming(file.path, EXPECTED):
        arrays = read_archive(file)
        scheme = _word(_part(arrays, "format"))
        if scheme not in INDICES:
            raise ValueError(f"format {scheme!r} is not one of {', '.join(INDICES)}")
        shape = _shape(_part(arrays, "shape"))
        data = _part(arrays, "data")
        if data.dtype.kind not in "biuf" or data.ndim != DATA_NDIM[scheme]:
            raise ValueError(f"data of {scheme} is {data.dtype} of shape {data.shape}")
        if scheme == "coo" and "coords" in arrays:
            coords = _part(arrays, "coords")
            if coords.shape[:1] != (2,):
                raise ValueError(f"coords has shape {coords.shape}")
            arrays["row"], arrays["col"] = coords
        indices = [_index(arrays, name) for name in INDICES[scheme]]
        return _assemble(scheme, shape, data, indices)


def _part(arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"no array {name!r} in it")
    return arrays[name]


def _word(array: NDArray[Any]) -> str:
    if array.size != 1 or array.dtype.kind not in "SU":
        raise ValueError("'format' is not a word")
    word = array.item()
    return word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)


def _shape(array: NDArray[Any]) -> tuple[int, int]:
    if array.shape != (2,) or array.dtype.kind not in "iu" or not all(0 <= int(n) < 2**62 for n in array):
        raise ValueError(f"shape {array.tolist()} is not (instances, labels)")
    return int(array[0]), int(array[1])


def _index(arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    index = _part(arrays, name)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name} is {index.dtype} of shape {index.shape}, not a vector of integers")
    return index


def _assemble(scheme: str, shape: tuple[int, int], data: NDArray[Any], indices: list[NDArray[Any]]) -> Any:
    """Check that the parts fit one another, and put them together."""
    entries = indices[0]
    if entries.shape[0] != data.shape[0]:
        raise ValueError(f"{data.shape[0]} stored values, but {entries.shape[0]} in the index")
    if scheme != "csr":
        _refuse_many_rows(shape[0], data.size)
    if scheme == "coo":
        return scipy.sparse.coo_array((data, tuple(indices)), shape=shape)
    if scheme == "dia":
        if entries.size and not (entries.min() > -shape[0] and entries.max() < shape[1]):
            raise ValueError(f"an offset lies outside a matrix of shape {shape}")
        return scipy.sparse.dia_array((data, entries), shape=shape)
    tall, wide = data.shape[1:] if scheme == "bsr" else (1, 1)
    if not tall or not wide or shape[0] % tall or shape[1] % wide:
        raise ValueError(f"blocks of {tall} x {wide} do not tile a matrix of shape {shape}")
    pointer = indices[1]
    n_lines = shape[1] if scheme == "csc" else shape[0] // tall
    if pointer.size != n_lines + 1:
        raise ValueError(f"indptr has {pointer.size} entries, not {n_lines + 1}")
    if pointer[0] != 0 or not 0 <= pointer[-1] <= entries.size:
        raise ValueError(f"indptr runs from {pointer[0]} to {pointer[-1]} over {entries.size} stored entries")
    make = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array, "bsr": scipy.sparse.bsr_array}
    return make[scheme]((data, entries, pointer), shape=shape)


def read_scores(path: Path) -> Any:
    """Read a sparse matrix, a top-k list or a dense array."""
    file = InputFile(path)
    if holds_dense(file, EXPECTED):
        return read_archived(file)
    return read_list(file) if holds_list(file, EXPECTED) else read_npz(file)


def npz_pieces(path: Path, kind: str) -> Pieces:
    """Read a CSR matrix, or other scores, some rows at a time; other matrices are converted whole."""
    file = InputFile(path)
    if kind == "scores" and holds_dense(file, EXPECTED):
        return archived_pieces(file)
    if kind == "scores" and holds_list(file, EXPECTED):
        return archived_list_pieces(file)
    with naming(path, EXPECTED):
        found = read_archive(file, "format".__eq__)
        is_csr = "format" in found and _word(found["format"]) == "csr"
    if not is_csr:
        return _converted(file, kind)
    with naming(path, EXPECTED):
        shape = _shape(_part(read_archive(file, "shape".__eq__), "shape"))
        labels, data = StoredArray(file, "indices"), StoredArray(file, "data")
        for name, array, kinds in (("indices", labels, "iu"), ("data", data, "biuf")):
            if len(array.shape) != 1 or array.dtype.kind not in kinds:
                raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
        if labels.shape != data.shape:
            raise ValueError(f"{data.shape[0]} stored values, but {labels.shape[0]} in the index")
        _refuse_many_rows(shape[0], labels.shape[0])
        _refuse_other_size(StoredArray(file, "indptr").shape, shape[0])  # before they are unpacked
        ptr = _index(read_archive(file, "indptr".__eq__), "indptr").astype(np.int64)
        code, row, position = check_pointer(ptr, labels.shape[0])
        if code != FINE:
            raise ValueError(
                f"row {row}: indptr is {ptr[position]} there; it must start at 0, never fall and end at the "
                "number of stored entries"
            )

    def read(n_bytes: int) -> Iterator[Any]:
        per_entry = labels.dtype.itemsize + data.dtype.itemsize
        start = 0
        with naming(path, EXPECTED), labels.reading() as take_labels, data.reading() as take_data:
            while start < shape[0]:
                most = ptr[start] + min(n_bytes, MOST_BYTES) // per_entry
                stop = int(np.searchsorted(ptr, most, "right")) - 1
                stop = min(max(stop, start + 1), start + max(1, n_bytes // 8), shape[0])
                n_stored = int(ptr[stop] - ptr[start])
                values, ids = take_data(n_stored), take_labels(n_stored)
                own = ptr[start : stop + 1] - ptr[start]
                own = own.astype(ids.dtype) if ids.dtype.kind == "i" and n_stored < 1 << 31 else own
                yield scipy.sparse.csr_array((values, ids, own), shape=(stop - start, shape[1]))
                start = stop

    return Pieces(shape[0], shape[1], read)


def _refuse_many_rows(n_rows: int, n_stored: int) -> None:
    """Refuse far more rows than entries: a false row count would make us allocate that much memory."""
    if n_rows > ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_stored:
        raise ValueError(f"{n_rows} rows for {n_stored} stored values")


def _refuse_other_size(shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows + 1,):
        raise ValueError(f"indptr is of shape {shape}, for {n_rows} rows")


def _converted(file: InputFile, kind: str) -> Pieces:
    """Return a matrix of another storage scheme as one piece in CSR."""
    matrix = read_npz(file)
    with naming(file.path, EXPECTED):
        try:
            if kind == "scores":
                refuse_padding("scores", matrix)
            stored = stored_csr(kind, matrix, None)
        except InputError as error:
            raise ValueError(error.message) from None
    whole = scipy.sparse.csr_array((stored.data, stored.labels, stored.ptr), shape=matrix.shape)
    return Pieces(int(matrix.shape[0]), int(matrix.shape[1]), lambda n_bytes: iter([whole]))


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
    files="NAME.npz; of scores, it may hold a top-k list as arrays indices and scores, or dense scores",
    container="npz",
    extensions=(".npz",),
    truth=lambda path: read_npz(InputFile(path)),
    scores=read_scores,
    pieces=npz_pieces,
    write=write_npz,
)
