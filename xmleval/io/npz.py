"""SciPy's sparse matrices in .npz archives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.archive import Vector, read_archive
from xmleval.coerce.scores import refuse_padding
from xmleval.coerce.source import stored_csr
from xmleval.io.format import Format, file_size, naming
from xmleval.io.pieces import Pieces
from xmleval.io.writing import as_sparse
from xmleval.kernels.checking import FINE, check_pointer
from xmleval.store import replacing

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


def read_npz(path: Path) -> Any:
    """Read a sparse matrix; its index values are checked where it is used.

    Nothing that a file can lie about reaches compiled code of SciPy: the parts are checked here as far as
    the constructors need, and they only store them.
    """
    with naming(path, EXPECTED):
        file_size(path)
        arrays = read_archive(path)
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
    most_rows = ROWS_FOR_NOTHING + ROWS_PER_ENTRY * data.size
    if scheme != "csr" and shape[0] > most_rows:  # memory follows the rows, which no array vouches for
        raise ValueError(f"{shape[0]} rows for {data.size} stored values")
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


def npz_pieces(path: Path, kind: str) -> Pieces:
    """Read a CSR matrix some rows at a time; other storage schemes are converted whole."""
    with naming(path, EXPECTED):
        file_size(path)
        small = read_archive(path, in_pieces=lambda name: name in ("indices", "data"))
        scheme = _word(_part(small, "format"))
        if scheme != "csr":
            return _converted(path, kind)
        shape = _shape(_part(small, "shape"))
        ptr = _index(small, "indptr").astype(np.int64)
        labels, data = Vector(path, "indices"), Vector(path, "data")
        if data.dtype.kind not in "biuf" or labels.dtype.kind not in "iu" or labels.size != data.size:
            raise ValueError(f"{labels.size} indices of {labels.dtype}, {data.size} values of {data.dtype}")
        if ptr.size != shape[0] + 1:
            raise ValueError(f"indptr has {ptr.size} entries, not {shape[0] + 1}")
        code, row, position = check_pointer(ptr, labels.size)
        if code != FINE:
            raise ValueError(
                f"row {row}: indptr is {ptr[position]} there; it must start at 0, never fall and end at the "
                "number of stored entries"
            )

    def read(n_bytes: int) -> Iterator[Any]:
        per_entry = labels.dtype.itemsize + data.dtype.itemsize
        labels.rewind()
        data.rewind()
        start = 0
        while start < shape[0]:
            most = ptr[start] + n_bytes // per_entry
            stop = int(np.searchsorted(ptr, most, "right")) - 1
            stop = min(max(stop, start + 1), start + max(1, n_bytes // 8), shape[0])
            n_stored = int(ptr[stop] - ptr[start])
            with naming(path, EXPECTED):
                values, ids = data.take(n_stored), labels.take(n_stored)
            own = ptr[start : stop + 1] - ptr[start]
            own = own.astype(ids.dtype) if ids.dtype.kind == "i" and n_stored < 1 << 31 else own
            yield scipy.sparse.csr_array((values, ids, own), shape=(stop - start, shape[1]))
            start = stop

    return Pieces(shape[0], shape[1], read)


def _converted(path: Path, kind: str) -> Pieces:
    """Return a matrix of another storage scheme as one piece in CSR."""
    argument = "y_true" if kind == "truth" else "y_score"
    matrix = read_npz(path)
    if kind == "scores":
        refuse_padding(argument, matrix)
    stored = stored_csr(argument, matrix, None)
    whole = scipy.sparse.csr_array((stored.data, stored.labels, stored.ptr), shape=matrix.shape)
    return Pieces(int(matrix.shape[0]), int(matrix.shape[1]), lambda n_bytes: iter([whole]))


def write_npz(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write a sparse matrix as `scipy.sparse.save_npz` does, not compressed, so that it can be mapped."""
    matrix = as_sparse(data, kind, n_labels).tocsr()
    with replacing(path) as file:
        scipy.sparse.save_npz(file, matrix, compressed=False)


NPZ = Format(
    name="npz",
    title="SciPy sparse matrix",
    files="NAME.npz",
    extensions=(".npz",),
    truth=read_npz,
    scores=read_npz,
    pieces=npz_pieces,
    write=write_npz,
)
