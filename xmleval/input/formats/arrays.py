"""NumPy's .npy files and .npz archives: SciPy's sparse matrices, top-k lists, dense arrays, and vectors."""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.base.budget import PIECE_BYTES, memory_limit
from xmleval.base.errors import shown
from xmleval.files.archive import Archive, Array, open_npy, read_arrays, write_archive
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import is_there
from xmleval.input.csr import as_signed, matrix_rows, refuse_pointer
from xmleval.input.formats.format import Format, naming
from xmleval.input.pieces import LabelUse, Pieces, whole, with_names
from xmleval.input.rows import BY_KEY, Origin, Rows, numbered, pointer, rows_by_id
from xmleval.input.scores import list_rows, refuse_padding
from xmleval.input.stack import as_rows, rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.writing import canonical, names_of, ranked

ROW_ENTRY_BYTES = 64  # of memory for each entry of a row that is evaluated
LABELS, SCORES = "_indices.npy", "_scores.npy"
OTHER_LABELS, OTHER_SCORES = "-labels.npy", "-scores.npy"  # as AttentionXML and LightXML call them
PAIRS = {LABELS: SCORES, OTHER_LABELS: OTHER_SCORES}
LIST = (
    "a top-k list of shape (instances, k): integers as labels, or in NAME-labels.npy strings, not Python "
    "objects: numpy.save(file, labels.astype(str)); and real numbers as scores"
)
DENSE_LABELS = "relevant labels as zeros and ones, of shape (instances, labels)"
DENSE_SCORES = (
    "scores of all labels, floating-point numbers of shape (instances, labels); a top-k list is called "
    "NAME_indices.npy, or array 'indices'"
)
REAL = "biuf"  # kinds of dtypes
MATRIX = "a SciPy sparse matrix as scipy.sparse.save_npz writes it"
TRUTH = "pairs of an instance and a label, integers 'labels' of shape (pairs, 2)"
MATRIX_WITH_NAMES = "a sparse matrix with texts 'row_names' or 'label_names', each once, beside it"
ROW_NAMES, LABEL_NAMES = "row_names", "label_names"
OF_MATRICES = ("format", "shape", "data", "indptr")
SCHEMES = ("csr", "csc", "bsr", "coo", "dia")
INDICES = ("indices", "indptr", "row", "col", "coords", "offsets")
LIST_IDS = ("indices", "prediction_ids", "I", "labels", "ids")  # pyxclib, torch.topk; calibration at k; FAISS
LIST_SCORES = ("scores", "values", "D")
SHARED_IDS = ("labels", "ids")  # of a list only beside scores of their shape: others call a truth so
ROWS_FOR_NOTHING, ROWS_PER_ENTRY = 1 << 24, 1000
PAIR_BYTES = 64  # of memory for each, beside the arrays
CONVERTING_BYTES = 40  # of memory for each entry and each row, beside the arrays
POINTER_BYTES = 24  # of memory for each row, beside its entries


def open_array(path: Path, expected: str, kinds: str = REAL, n_dims: int = 2) -> Array:
    """Read the header of an array of real numbers, or of dtypes of other kinds."""
    with naming(path, expected):
        return check_array(open_npy(InputFile(path)), kinds, n_dims)


def check_array(array: Array, kinds: str, n_dims: int | None = 2) -> Array:
    """Return an array, or refuse its dtype or shape."""
    if array.dtype.hasobject:
        raise ValueError(f"{array}; Python objects are not supported")
    if array.dtype.kind not in kinds or n_dims not in (None, len(array.shape)):
        raise ValueError(str(array))
    return array


def array_pieces(
    arrays: Sequence[Array], expected: str, make: Callable[..., Any], n_labels: int | None = None
) -> Pieces:
    """Return rows that are made of the same rows of each array."""
    n_rows = arrays[0].shape[0]
    row_bytes = 0
    any_row = True
    for array in arrays:
        with naming(array.file.path, expected):
            memory_limit().take(array.by_column and array.n_bytes)
            memory_limit().check(ROW_ENTRY_BYTES * array.shape[1])
        row_bytes += array.row_bytes
        any_row = any_row and array.any_row

    def rows(array: Array, step: int, first: int, stop: int | None) -> Iterator[NDArray[Any]]:
        with naming(array.file.path, expected):
            yield from array.batches(step, first, stop)

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        step = max(1, n_bytes // max(1, row_bytes))
        for parts in zip(*(rows(array, step, first, stop) for array in arrays), strict=True):
            yield make(*parts)

    return Pieces(n_rows, n_labels, read, read_from=read if any_row else None)


def dense_pieces(path: Path, kind: str, array: Array | None = None) -> Pieces:
    """Return the rows of a dense array, that of an .npy file by default."""
    expected, kinds = (DENSE_SCORES, "f") if kind == "scores" else (DENSE_LABELS, REAL)
    with naming(path, expected):
        array = check_array(array or open_npy(InputFile(path)), kinds)
        if not array.shape[1]:  # rows of nothing may be any number
            raise ValueError(f"{array}, without a label")
    return array_pieces([array], expected, lambda rows: rows, array.shape[1])


def check_list(labels: Array, scores: Sequence[Array], kinds: str = "iu") -> list[Array]:
    """Return labels and, where there are any, scores of a list, or refuse their dtypes and shapes."""
    for array in (labels, *scores):
        with naming(array.file.path, LIST):
            check_array(array, kinds if array is labels else "iuf")
            if array.shape != labels.shape:
                raise ValueError(f"{array}, for {labels.name or 'labels'} of shape {labels.shape}")
    return [labels, *scores]


def files_of_list(path: Path) -> list[Path]:
    """Return the files of labels and of scores that a name stands for, or that of labels alone."""
    for ends in PAIRS.items():
        if path.name.endswith(ends):
            stem = path.name.removesuffix(ends[0]).removesuffix(ends[1])
            return [path.with_name(stem + end) for end in ends]
    return [path]


def _open_list(path: Path) -> list[Array]:
    """Return the labels of a top-k list, which may be names, and, where there are any, its scores."""
    first, *halves = files_of_list(path)
    kinds = "iuU" if first.name.endswith(OTHER_LABELS) else "iu"
    scores = [open_array(path, LIST) for path in halves if is_there(path)]
    return check_list(open_array(first, LIST, kinds), scores, kinds)


def is_other_list(path: Path) -> bool:
    """Tell whether a file of another tool's name is a list: labels, or scores with labels beside them."""
    labels = files_of_list(path)[0]
    return labels.name.endswith(OTHER_LABELS) and (path == labels or is_there(labels))


def npy_pieces(path: Path, kind: str) -> Pieces:
    """Return the rows of a list whose labels have no names."""
    arrays = _open_list(path)
    are_names = arrays[0].dtype.kind == "U"
    return with_names(path) if are_names else array_pieces(arrays, LIST, partial(list_rows, "list"))


def named_lists(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of lists of names of labels; an empty name fills a slot."""
    opened = [_open_list(path) for path in paths]
    for path, arrays in zip(paths, opened, strict=True):
        if arrays[0].dtype.kind != "U":
            raise ValueError(f"{path}: expected predictions with names, as TRUTH has them")
        if len(arrays) != len(opened[0]):
            raise ValueError(f"{path}: expected scores in all files, or in none, unlike {paths[0]}")
        yield from _named_list(arrays, Origin("row").of_file(path, paths))


def _named_list(arrays: Sequence[Array], facts: Origin) -> Iterator[Rows]:
    place = 0
    for labels, *scores in array_pieces(arrays, LIST, lambda *parts: parts).read(PIECE_BYTES):
        filled = labels != ""
        places = place + np.arange(len(labels))
        values = scores[0][filled].astype(np.float64) if scores else None
        entries = pointer(filled.sum(axis=1)), *numbered(labels[filled].tolist()), values
        yield Rows(None, None, *entries, best_first=True, places=places, origin=facts)
        place += len(labels)


def write_list(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    rows = data if isinstance(data, Rows) and data.best_first else ranked(data, n_labels)
    labels, scores = rows_as_lists(rows)
    if scores is None and os.path.lexists(stem + SCORES):
        raise ValueError(f"{stem + SCORES}: would be taken for scores of the list, which has none")
    with contextlib.ExitStack() as files:  # neither appears before both are written
        for name, array in ((LABELS, labels), (SCORES, scores)):
            if array is not None:
                file = files.enter_context(replacing(Path(stem + name)))
                np.save(file, array, allow_pickle=False)
                file.flush()  # so that a full disk is met here


def open_npz(path: Path) -> Archive:
    """Read the headers of an archive."""
    with naming(path, MATRIX):
        return Archive(InputFile(path))


def _layout(archive: Archive) -> tuple[str, tuple[int, int]]:
    """Return the storage scheme and the shape of a matrix."""
    arrays = check_array(archive["format"], "SU", None), check_array(archive["shape"], "iu", 1)
    for array, n in zip(arrays, (1, 2), strict=True):
        if math.prod(array.shape) != n:
            raise ValueError(str(array))
    memory_limit().take(arrays[0].n_bytes + arrays[1].n_bytes)
    scheme, shape = read_arrays(arrays)
    name = str(np.asarray(scheme, str).item())
    n_rows, n_labels = shape.tolist()
    if name not in SCHEMES:
        raise ValueError(f"format {shown(name)} is not one of {', '.join(SCHEMES)}")
    n_stored = math.prod(archive["data"].shape)
    check_array(archive["data"], REAL, None)
    for inner in filter(archive.__contains__, INDICES):
        check_array(archive[inner], "iu", None)
    if not 0 <= n_rows <= ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_stored or not 0 <= n_labels < 2**62:
        raise ValueError(f"shape {(n_rows, n_labels)} for {n_stored} stored values")  # rows take memory
    return name, (n_rows, n_labels)


def read_matrix(archive: Archive) -> Any:
    """Read a sparse matrix of any storage scheme."""
    with naming(archive.file.path, MATRIX):
        _layout(archive)
        memory_limit().take(sum(array.n_bytes for array in archive.values()))
        return archive.load_sparse()


def _matrix_pieces(archive: Archive, kind: str) -> Pieces:
    """Read a CSR matrix some rows at a time, another one whole."""
    with naming(archive.file.path, MATRIX):
        scheme, shape = _layout(archive)
        if scheme == "csr":
            return _csr_pieces(archive, shape)
        n_bytes = sum(array.n_bytes for array in archive.values())
        n_bytes += n_bytes + CONVERTING_BYTES * (math.prod(archive["data"].shape) + shape[0])
        with memory_limit().lent(n_bytes):
            matrix = archive.load_sparse()
            if kind == "scores":
                refuse_padding("scores", matrix)
            rows = matrix_rows(kind, matrix, None)
        memory_limit().take(rows.n_bytes)
    return whole(rows, shape[1])


def _csr_pieces(archive: Archive, shape: tuple[int, int]) -> Pieces:
    """Read a CSR matrix some rows at a time."""
    path = archive.file.path
    n_rows = shape[0]
    ptr, indices, data = archive["indptr"], archive["indices"], archive["data"]
    if len(data.shape) != 1 or indices.shape != data.shape:
        raise ValueError(f"data of shape {data.shape}, but indices of shape {indices.shape}")
    n_stored = indices.shape[0]
    entry_bytes = indices.row_bytes + data.row_bytes
    if ptr.shape != (n_rows + 1,):
        raise ValueError(f"indptr is of shape {ptr.shape}, for {n_rows} rows")

    def place_of(row: int) -> int:
        place = int(next(ptr.batches(1, row, row + 1))[0])
        if not 0 <= place <= n_stored:
            raise ValueError(f"row {row}: indptr is {place} there")
        return place

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        step = max(2, n_bytes // POINTER_BYTES)
        places = np.empty(0, np.int64)
        with naming(path, MATRIX), contextlib.ExitStack() as opened:
            ends = place_of(first) if first else 0, None if stop is None else place_of(stop)
            take_labels = opened.enter_context(indices.rows(*ends))
            take_values = opened.enter_context(data.rows(*ends))
            for pointers in ptr.batches(step, first, None if stop is None else stop + 1):
                places = np.concatenate((places[-1:], pointers.astype(np.int64)))
                refuse_pointer("indptr", places, n_stored, first)
                row = 0
                first += places.size - 1
                while row < places.size - 1:
                    limit = places[row] + n_bytes // entry_bytes
                    last = max(int(np.searchsorted(places, limit, "right")) - 1, row + 1)
                    lo, hi = int(places[row]), int(places[last])
                    if last == row + 1:
                        memory_limit().check(ROW_ENTRY_BYTES * (hi - lo))
                    yield rows_by_id(places[row : last + 1] - lo, take_labels(lo, hi), take_values(lo, hi))
                    row = last

    any_row = ptr.any_row and indices.any_row and data.any_row
    return Pieces(n_rows, shape[1], read, read_from=read if any_row else None)


def holds_list(path: Path) -> bool:
    """Tell by the names and shapes of its arrays whether an archive holds a list and no matrix."""
    archive = open_npz(path)
    return not any(name in archive for name in OF_MATRICES) and bool(_find_list(archive))


def _find_list(archive: Archive) -> list[Array]:
    """Return ids and scores of a list, by the first names that are there, or nothing."""
    ids = next((archive[name] for name in LIST_IDS if name in archive), None)
    scores = [archive[name] for name in LIST_SCORES if name in archive][:1]
    is_shared = ids is not None and ids.name in SHARED_IDS
    shapes = [array.shape for array in scores]
    if ids is None or (is_shared and (ids.dtype.kind not in "iu" or [ids.shape] != shapes)):
        return []
    arrays = check_list(ids, scores)
    with naming(archive.file.path, LIST):
        if is_shared:  # of others, a row may be as long as all that the archive holds
            with ids.rows() as take:
                row = take(0, min(1, ids.shape[0])).ravel().tolist()
            if len(row) > 1 and {*row} <= {0, 1}:
                message = "may be ids of labels, or zeros and ones of all labels; call ids 'indices'"
                raise ValueError(f"{shown(ids.name)} {message}, or save the scores alone")
    return arrays


def _truth_pieces(archive: Archive) -> Pieces:
    """Read pairs of an instance and a label beside a list; ids in either tell the least number of labels."""
    with naming(archive.file.path, TRUTH):
        arrays = [check_array(archive[name], "iu") for name in ("labels", "prediction_ids")]
        if arrays[0].shape[1] != 2:
            raise ValueError(str(arrays[0]))
        n_pairs, n_rows = (array.shape[0] for array in arrays)
        with memory_limit().lent(sum(array.n_bytes for array in arrays) + PAIR_BYTES * n_pairs):
            pairs, ids = read_arrays(arrays)
            rows, labels = pairs.T
            if (bad := np.flatnonzero((rows < 0) | (rows >= n_rows) | (labels < 0))).size:
                pair = f"instance {rows[bad[0]]} and label {labels[bad[0]]}"
                raise ValueError(f"pair {bad[0]} is of {pair}, for {n_rows} instances")
            width = 1 + max(int(labels.max(initial=0)), int(ids.max(initial=0)))
            shape = (n_rows, width)
            ones = np.ones(n_pairs, np.bool_)
            relevant = matrix_rows("truth", scipy.sparse.coo_array((ones, (rows, labels)), shape), None)
        memory_limit().take(relevant.n_bytes)
    return replace(whole(relevant), least_labels=width)


def npz_pieces(path: Path, kind: str) -> Pieces:
    """Read a CSR matrix, or other scores, some rows at a time; other matrices are converted whole."""
    archive = open_npz(path)
    return with_names(path) if _has_names(archive) else _pieces_of(archive, kind)


def _pieces_of(archive: Archive, kind: str) -> Pieces:
    """Return the rows of an archive by number."""
    if not any(name in archive for name in OF_MATRICES):
        if kind == "scores" and (arrays := _find_list(archive)):
            return array_pieces(arrays, LIST, partial(list_rows, "list"))
        if kind == "scores" and "scores" in archive:
            return dense_pieces(archive.file.path, kind, archive["scores"])
        if kind != "scores" and "labels" in archive and "prediction_ids" in archive:
            return _truth_pieces(archive)
    return _matrix_pieces(archive, kind)


def _has_names(archive: Archive) -> bool:
    return ROW_NAMES in archive or LABEL_NAMES in archive


def _count_labels(pieces: Pieces) -> int:
    """Return the number of labels, reading everything where nothing else tells it."""
    if pieces.n_labels is not None:
        return pieces.n_labels
    use = LabelUse(0)
    use.read(pieces, PIECE_BYTES)
    return use.n_labels


def named_matrix(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of matrices or of lists, with the names of rows and labels beside them."""
    for path in paths:
        yield from _named_matrix(path, kind, Origin("row").of_file(path, paths))


def _named_matrix(path: Path, kind: str, facts: Origin) -> Iterator[Rows]:
    archive = open_npz(path)
    if not _has_names(archive):
        raise ValueError(f"{path}: expected predictions with names, as TRUTH has them")
    keys = _read_names(archive, ROW_NAMES)
    names = _read_names(archive, LABEL_NAMES)
    pieces = _pieces_of(archive, kind)
    if names is None:
        names = [*map(str, range(_count_labels(pieces)))]
    with naming(path, MATRIX_WITH_NAMES):
        if pieces.n_labels not in (None, len(names)):
            raise ValueError(f"{pieces.n_labels} labels with {len(names)} names")
        if keys is not None and pieces.n_rows != len(keys):
            raise ValueError(f"{pieces.n_rows} rows with {len(keys)} names")
    row = 0
    for piece in pieces.read(PIECE_BYTES):
        rows = as_rows(piece, kind)
        rows = rows.only(rows.labels != -1) if rows.best_first else rows
        with naming(path, MATRIX_WITH_NAMES):
            _refuse_nameless(rows, row, len(names))
        yield _with_names(rows, row, keys, names, facts)
        row += rows.n_rows


def _refuse_nameless(rows: Rows, first: int, n_names: int) -> None:
    """Refuse a label id without a name, of rows from ``first`` on."""
    bad = np.flatnonzero((rows.labels < 0) | (rows.labels >= n_names))[:1].tolist()
    if bad:
        raise ValueError(f"row {first + rows.row_of(bad[0])}: label id {rows.labels[bad[0]]} has no name")


def _with_names(rows: Rows, first: int, keys: list[str] | None, names: list[str], facts: Origin) -> Rows:
    """Return rows from ``first`` on with the names of all rows and labels."""
    stop = first + rows.n_rows
    is_set = rows.values is not None and rows.values.dtype.kind == "b"  # as which sets are written
    return rows._replace(
        keys=None if keys is None else keys[first:stop],
        match=None if keys is None else BY_KEY,
        ptr=rows.ptr.astype(np.int64),
        labels=as_signed(rows.labels).astype(np.int64),
        names=names,
        values=None if is_set else rows.values,
        best_first=rows.best_first or is_set,
        places=np.arange(first, stop),
        origin=facts,
    )


def _read_names(archive: Archive, name: str) -> list[str] | None:
    """Return distinct names from an archive, None where it has none."""
    if name not in archive:
        return None
    with naming(archive.file.path, MATRIX_WITH_NAMES):
        array = check_array(archive[name], "U", 1)
        memory_limit().take(2 * array.n_bytes)
        names: list[str] = read_arrays([array])[0].tolist()
        if len({*names}) < len(names):
            twice = next(each for each, n in Counter(names).items() if n > 1)
            raise ValueError(f"{name} has {shown(twice)} twice")
    return names


def write_npz(path: Path, data: Rows | Pieces, kind: str, n_labels: int | None) -> None:
    """Write a sparse matrix, or a list that has no scores, or any number of labels, as one, and names."""
    rows = stack_rows(data.read(PIECE_BYTES)) if isinstance(data, Pieces) else data
    keys, names = names_of(rows)
    width = n_labels if names is None else len(names)
    if rows.best_first and (n_labels is None or rows.values is None):
        lists = zip(("indices", "scores"), rows_as_lists(rows), strict=True)
        arrays = {name: array for name, array in lists if array is not None}
    else:
        blocks = (block for _, block in canonical(rows, "entries", width))
        matrix = rows_as_csr(stack_rows(blocks) if rows.best_first else rows, width)
        if kind == "truth" and (keys or names):
            matrix.data = matrix.data.astype(np.bool_)  # which tells sets from scores where names are read
        arrays = {"indices": matrix.indices, "indptr": matrix.indptr, "format": np.array(b"csr")}
        arrays |= {"shape": np.array(matrix.shape), "data": matrix.data, "_is_array": np.array(True)}
    arrays |= {name: np.array(each, str) for name, each in ((ROW_NAMES, keys), (LABEL_NAMES, names)) if each}
    with replacing(path) as file:
        write_archive(file, arrays.items())


NPY = Format(
    name="npy",
    title="top-k list",
    extensions=(LABELS, SCORES),
    holds=("scores",),
    pieces=npy_pieces,
    rows=named_lists,
    companions=lambda path: [half for half in files_of_list(path) if half != path and is_there(half)],
    write=write_list,
    keeps_order=True,
)
DENSE = Format(
    name="dense",
    title="dense array",
    extensions=(".npy",),
    pieces=dense_pieces,
)
NPZ = Format(
    name="npz",
    title="SciPy sparse matrix",
    extensions=(".npz",),
    pieces=npz_pieces,
    rows=named_matrix,
    are_ids=True,
    write=write_npz,
    keeps_names=True,
)
