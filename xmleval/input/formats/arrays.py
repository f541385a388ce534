"""NumPy's .npy and .npz files: sparse matrices, top-k lists, dense arrays, and vectors."""

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

from xmleval.base.arrays import Ints
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
LABELS = "_indices.npy"
SCORES = "_scores.npy"
# as AttentionXML and LightXML call them
NAMED_LABELS = "-labels.npy"
NAMED_SCORES = "-scores.npy"
PAIRS = {LABELS: SCORES, NAMED_LABELS: NAMED_SCORES}
LIST = (
    "a top-k list of shape (instances, k): integers as labels, or in NAME-labels.npy strings, "
    "not Python objects: numpy.save(file, labels.astype(str)); and real numbers as scores"
)
DENSE_LABELS = "relevant labels as zeros and ones, of shape (instances, labels)"
DENSE_SCORES = (
    "scores of all labels, floating-point numbers of shape (instances, labels); "
    "a top-k list is called NAME_indices.npy, or array 'indices'"
)
REAL = "biuf"  # kinds of dtypes
MATRIX = "a SciPy sparse matrix as scipy.sparse.save_npz writes it"
TRUTH = "pairs of an instance and a label, integers 'labels' of shape (pairs, 2)"
MATRIX_WITH_NAMES = "a sparse matrix with arrays 'row_names' or 'label_names' of distinct texts"
ROW_NAMES = "row_names"
LABEL_NAMES = "label_names"
MATRIX_ARRAYS = ("format", "shape", "data", "indptr")
SCHEMES = ("csr", "csc", "bsr", "coo", "dia")
INDICES = ("indices", "indptr", "row", "col", "coords", "offsets")
# names that pyxclib, torch.topk, calibration at k and FAISS give to the arrays of a list
LIST_IDS = ("indices", "prediction_ids", "I", "labels", "ids")
LIST_SCORES = ("scores", "values", "D")
# ids of a list only next to scores of the same shape: they may also be the names of a truth
SHARED_IDS = ("labels", "ids")
ROWS_FOR_NOTHING = 1 << 24
ROWS_PER_ENTRY = 1000
PAIR_BYTES = 64  # of memory for each pair, in addition to the arrays
CONVERTING_BYTES = 40  # of memory for each entry and each row, in addition to the arrays
POINTER_BYTES = 24  # of memory for each row, in addition to its entries


def open_array(path: Path, expected: str, kinds: str = REAL, n_dims: int = 2) -> Array:
    """Read the header of an array of real numbers, or of dtypes of the given ``kinds``."""
    with naming(path, expected):
        return check_array(open_npy(InputFile(path)), kinds, n_dims)


def check_array(array: Array, kinds: str, n_dims: int | None = 2) -> Array:
    """Return an array; refuse a wrong dtype or number of dimensions."""
    if array.dtype.hasobject:
        raise ValueError(f"{array}; Python objects are not supported")
    if array.dtype.kind not in kinds or n_dims not in (None, len(array.shape)):
        raise ValueError(str(array))
    return array


def array_pieces(
    arrays: Sequence[Array],
    expected: str,
    make_rows: Callable[..., Any],
    n_labels: int | None = None,
) -> Pieces:
    """Return rows that ``make_rows`` makes from equal ranges of rows of all arrays."""
    n_rows = arrays[0].shape[0]
    row_bytes = 0
    any_row = True
    for array in arrays:
        with naming(array.file.path, expected):
            memory_limit().take(array.by_column and array.n_bytes)
            memory_limit().check(ROW_ENTRY_BYTES * array.shape[1])
        row_bytes += array.row_bytes
        any_row = any_row and array.any_row

    def read_array(array: Array, step: int, first: int, stop: int | None) -> Iterator[NDArray[Any]]:
        with naming(array.file.path, expected):
            yield from array.batches(step, first, stop)

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        step = max(1, n_bytes // max(1, row_bytes))
        batches = [read_array(array, step, first, stop) for array in arrays]
        for blocks in zip(*batches, strict=True):
            yield make_rows(*blocks)

    return Pieces(n_rows, n_labels, read, read_from=read if any_row else None)


def dense_pieces(path: Path, kind: str, array: Array | None = None) -> Pieces:
    """Return the rows of a dense array, by default the one in an .npy file."""
    expected = DENSE_LABELS
    kinds = REAL
    if kind == "scores":
        expected = DENSE_SCORES
        kinds = "f"
    with naming(path, expected):
        array = check_array(array or open_npy(InputFile(path)), kinds)
        if not array.shape[1]:  # any number of empty rows takes no bytes
            raise ValueError(f"{array}, and has no labels")
    return array_pieces([array], expected, lambda rows: rows, array.shape[1])


def check_list(labels: Array, scores: Sequence[Array], kinds: str = "iu") -> list[Array]:
    """Return the labels and any scores of a list; refuse wrong dtypes and shapes."""
    for array in (labels, *scores):
        with naming(array.file.path, LIST):
            check_array(array, kinds if array is labels else "iuf")
            if array.shape != labels.shape:
                raise ValueError(f"{array}, for {labels.name or 'labels'} of shape {labels.shape}")
    return [labels, *scores]


def files_of_list(path: Path) -> list[Path]:
    """Return the files of labels and scores of a list that one of them names, else the file."""
    for endings in PAIRS.items():
        if path.name.endswith(endings):
            stem = path.name.removesuffix(endings[0]).removesuffix(endings[1])
            return [path.with_name(stem + ending) for ending in endings]
    return [path]


def _open_list(path: Path) -> list[Array]:
    """Return the labels of a top-k list, which may be names, and any scores."""
    labels_path, *scores_paths = files_of_list(path)
    kinds = "iu"
    if labels_path.name.endswith(NAMED_LABELS):
        kinds = "iuU"
    scores = [open_array(path, LIST) for path in scores_paths if is_there(path)]
    return check_list(open_array(labels_path, LIST, kinds), scores, kinds)


def is_named_list_file(path: Path) -> bool:
    """Return whether a file is a list of another tool: its labels, or scores next to labels."""
    labels_path = files_of_list(path)[0]
    is_other = labels_path.name.endswith(NAMED_LABELS)
    return is_other and (path == labels_path or is_there(labels_path))


def npy_pieces(path: Path, kind: str) -> Pieces:
    """Return the rows of a list whose labels are ids; refer lists of names to `named_lists`."""
    arrays = _open_list(path)
    if arrays[0].dtype.kind == "U":
        return with_names(path)
    return array_pieces(arrays, LIST, partial(list_rows, "list"))


def named_lists(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of lists of label names; an empty name fills a slot."""
    opened = [_open_list(path) for path in paths]
    for path, arrays in zip(paths, opened, strict=True):
        if arrays[0].dtype.kind != "U":
            raise ValueError(f"{path}: expected predictions with names, as TRUTH has them")
        if len(arrays) != len(opened[0]):
            raise ValueError(
                f"{path}: expected scores in all files or in none, but {paths[0]} differs"
            )
        yield from _named_list(arrays, Origin("row").of_file(path, paths))


def _named_list(arrays: Sequence[Array], facts: Origin) -> Iterator[Rows]:
    first = 0
    pieces = array_pieces(arrays, LIST, lambda *blocks: blocks)
    for labels, *scores in pieces.read(PIECE_BYTES):
        is_filled = labels != ""
        values = None
        if scores:
            values = scores[0][is_filled].astype(np.float64)
        ptr = pointer(is_filled.sum(axis=1))
        codes, names = numbered(labels[is_filled].tolist())
        places = first + np.arange(len(labels))
        yield Rows(
            None, None, ptr, codes, names, values, best_first=True, places=places, origin=facts
        )
        first += len(labels)


def write_list(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    if isinstance(data, Rows) and data.best_first:
        labels, scores = rows_as_lists(data)
    else:
        labels, scores = rows_as_lists(ranked(data, n_labels))
    if scores is None and os.path.lexists(stem + SCORES):
        raise ValueError(
            f"{stem + SCORES}: would be read as scores of the list, which has none; remove it"
        )
    with contextlib.ExitStack() as files:  # no file appears before both are written
        for ending, array in ((LABELS, labels), (SCORES, scores)):
            if array is not None:
                file = files.enter_context(replacing(Path(stem + ending)))
                np.save(file, array, allow_pickle=False)
                file.flush()  # meets a full disk here


def open_npz(path: Path) -> Archive:
    """Read the headers of an archive."""
    with naming(path, MATRIX):
        return Archive(InputFile(path))


def _read_layout(archive: Archive) -> tuple[str, tuple[int, int]]:
    """Return the storage scheme and the shape of a matrix; refuse impossible ones."""
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
    for index_name in INDICES:
        if index_name in archive:
            check_array(archive[index_name], "iu", None)
    most_rows = ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_stored  # rows take memory
    if not 0 <= n_rows <= most_rows or not 0 <= n_labels < 2**62:
        raise ValueError(f"shape {(n_rows, n_labels)} for {n_stored} stored values")
    return name, (n_rows, n_labels)


def read_matrix(archive: Archive) -> Any:
    """Read a sparse matrix of any storage scheme."""
    with naming(archive.file.path, MATRIX):
        _read_layout(archive)
        memory_limit().take(sum(array.n_bytes for array in archive.values()))
        return archive.load_sparse()


def _matrix_pieces(archive: Archive, kind: str) -> Pieces:
    """Return the rows of a CSR matrix in batches, or those of another matrix read whole."""
    with naming(archive.file.path, MATRIX):
        scheme, shape = _read_layout(archive)
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
    """Return the rows of a CSR matrix in batches."""
    path = archive.file.path
    n_rows = shape[0]
    ptr = archive["indptr"]
    indices = archive["indices"]
    data = archive["data"]
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
        with naming(path, MATRIX), contextlib.ExitStack() as files:
            begin = place_of(first) if first else 0
            end = None if stop is None else place_of(stop)
            ptr_stop = None if stop is None else stop + 1
            take_labels = files.enter_context(indices.rows(begin, end))
            take_values = files.enter_context(data.rows(begin, end))
            for pointers in ptr.batches(step, first, ptr_stop):
                places = np.concatenate((places[-1:], pointers.astype(np.int64)))
                refuse_pointer("indptr", places, n_stored, first)
                first += places.size - 1
                for row, next_row in _split_rows(places, n_bytes // entry_bytes):
                    lo = int(places[row])
                    hi = int(places[next_row])
                    row_ptr = places[row : next_row + 1] - lo
                    yield rows_by_id(row_ptr, take_labels(lo, hi), take_values(lo, hi))

    any_row = ptr.any_row and indices.any_row and data.any_row
    return Pieces(n_rows, shape[1], read, read_from=read if any_row else None)


def _split_rows(ptr: Ints, n_entries: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most ``n_entries`` entries, or a single row with more."""
    row = 0
    while row < ptr.size - 1:
        limit = ptr[row] + n_entries
        stop = max(int(np.searchsorted(ptr, limit, "right")) - 1, row + 1)
        if stop == row + 1:
            memory_limit().check(ROW_ENTRY_BYTES * int(ptr[stop] - ptr[row]))
        yield row, stop
        row = stop


def holds_list(path: Path) -> bool:
    """Return whether the arrays of an archive are a list and not a matrix, by names and shapes."""
    archive = open_npz(path)
    return not any(name in archive for name in MATRIX_ARRAYS) and bool(_find_list(archive))


def _find_list(archive: Archive) -> list[Array]:
    """Return the ids and any scores of a list, by the first names in the archive; else nothing."""
    ids = next((archive[name] for name in LIST_IDS if name in archive), None)
    scores = [archive[name] for name in LIST_SCORES if name in archive][:1]
    if ids is None:
        return []
    is_shared = ids.name in SHARED_IDS
    has_shape_of_scores = [ids.shape] == [array.shape for array in scores]
    if is_shared and (ids.dtype.kind not in "iu" or not has_shape_of_scores):
        return []
    arrays = check_list(ids, scores)
    with naming(archive.file.path, LIST):
        if is_shared:  # other ids are not read: a row may be as long as the whole array
            with ids.rows() as take:
                row = take(0, min(1, ids.shape[0])).ravel().tolist()
            if len(row) > 1 and {*row} <= {0, 1}:
                message = "may be label ids, or zeros and ones of all labels; call ids 'indices'"
                raise ValueError(f"{shown(ids.name)} {message}, or save the scores alone")
    return arrays


def _pairs_pieces(archive: Archive) -> Pieces:
    """Return a truth of (instance, label) pairs next to a list; ids in either count as labels."""
    with naming(archive.file.path, TRUTH):
        arrays = [check_array(archive[name], "iu") for name in ("labels", "prediction_ids")]
        if arrays[0].shape[1] != 2:
            raise ValueError(str(arrays[0]))
        n_pairs, n_rows = (array.shape[0] for array in arrays)
        with memory_limit().lent(sum(array.n_bytes for array in arrays) + PAIR_BYTES * n_pairs):
            pairs, ids = read_arrays(arrays)
            rows, labels = pairs.T
            bad = np.flatnonzero((rows < 0) | (rows >= n_rows) | (labels < 0))
            if bad.size:
                pair = f"instance {rows[bad[0]]} and label {labels[bad[0]]}"
                raise ValueError(f"pair {bad[0]} is of {pair}, for {n_rows} instances")
            width = 1 + max(int(labels.max(initial=0)), int(ids.max(initial=0)))
            ones = np.ones(n_pairs, np.bool_)
            matrix = scipy.sparse.coo_array((ones, (rows, labels)), (n_rows, width))
            relevant = matrix_rows("truth", matrix, None)
        memory_limit().take(relevant.n_bytes)
    return replace(whole(relevant), least_labels=width)


def npz_pieces(path: Path, kind: str) -> Pieces:
    """Return the rows of an archive; only matrices that are not CSR are converted whole."""
    archive = open_npz(path)
    if _has_names(archive):
        return with_names(path)
    return _numbered_pieces(archive, kind)


def _numbered_pieces(archive: Archive, kind: str) -> Pieces:
    """Return the rows of an archive by number."""
    if any(name in archive for name in MATRIX_ARRAYS):
        return _matrix_pieces(archive, kind)
    if kind == "scores":
        arrays = _find_list(archive)
        if arrays:
            return array_pieces(arrays, LIST, partial(list_rows, "list"))
        if "scores" in archive:
            return dense_pieces(archive.file.path, kind, archive["scores"])
    elif "labels" in archive and "prediction_ids" in archive:
        return _pairs_pieces(archive)
    return _matrix_pieces(archive, kind)


def _has_names(archive: Archive) -> bool:
    return ROW_NAMES in archive or LABEL_NAMES in archive


def _count_labels(pieces: Pieces) -> int:
    """Return the number of labels, reading all rows if necessary."""
    if pieces.n_labels is not None:
        return pieces.n_labels
    use = LabelUse(0)
    use.read(pieces, PIECE_BYTES)
    return use.n_labels


def named_matrix(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of matrices or lists that are saved with names of rows or labels."""
    for path in paths:
        yield from _named_matrix(path, kind, Origin("row").of_file(path, paths))


def _named_matrix(path: Path, kind: str, facts: Origin) -> Iterator[Rows]:
    archive = open_npz(path)
    if not _has_names(archive):
        raise ValueError(f"{path}: expected predictions with names, as TRUTH has them")
    keys = _read_names(archive, ROW_NAMES)
    names = _read_names(archive, LABEL_NAMES)
    pieces = _numbered_pieces(archive, kind)
    if names is None:
        names = [*map(str, range(_count_labels(pieces)))]
    with naming(path, MATRIX_WITH_NAMES):
        if pieces.n_labels not in (None, len(names)):
            raise ValueError(f"{pieces.n_labels} labels, but {len(names)} names")
        if keys is not None and pieces.n_rows != len(keys):
            raise ValueError(f"{pieces.n_rows} rows, but {len(keys)} names")
    first = 0
    for piece in pieces.read(PIECE_BYTES):
        rows = as_rows(piece, kind)
        if rows.best_first:
            rows = rows.only(rows.labels != -1)
        with naming(path, MATRIX_WITH_NAMES):
            _refuse_unnamed_ids(rows, first, len(names))
        yield _name_rows(rows, first, keys, names, facts)
        first += rows.n_rows


def _refuse_unnamed_ids(rows: Rows, first: int, n_names: int) -> None:
    """Refuse a label id without a name in rows that begin at row ``first``."""
    for entry in np.flatnonzero((rows.labels < 0) | (rows.labels >= n_names))[:1].tolist():
        row = first + rows.row_of(entry)
        raise ValueError(f"row {row}: label id {rows.labels[entry]} has no name")


def _name_rows(
    rows: Rows, first: int, keys: list[str] | None, names: list[str], facts: Origin
) -> Rows:
    """Return rows that begin at row ``first`` with their keys and the names of all labels."""
    stop = first + rows.n_rows
    is_set = rows.values is not None and rows.values.dtype.kind == "b"  # as sets are written
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


def _read_names(archive: Archive, array_name: str) -> list[str] | None:
    """Return distinct names from an array of an archive, None if it is not there."""
    if array_name not in archive:
        return None
    with naming(archive.file.path, MATRIX_WITH_NAMES):
        array = check_array(archive[array_name], "U", 1)
        memory_limit().take(2 * array.n_bytes)
        names: list[str] = read_arrays([array])[0].tolist()
        if len({*names}) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise ValueError(f"{array_name} has {shown(twice)} twice")
    return names


def write_npz(path: Path, data: Rows | Pieces, kind: str, n_labels: int | None) -> None:
    """Write a sparse matrix, or a list without scores or number of labels, and any names."""
    rows = data
    if isinstance(rows, Pieces):
        rows = stack_rows(rows.read(PIECE_BYTES))
    keys, names = names_of(rows)
    width = n_labels if names is None else len(names)
    if rows.best_first and (n_labels is None or rows.values is None):
        arrays = _list_arrays(rows)
    else:
        is_named_set = kind == "truth" and bool(keys or names)
        arrays = _matrix_arrays(rows, width, is_named_set)
    if keys:
        arrays[ROW_NAMES] = np.array(keys, str)
    if names:
        arrays[LABEL_NAMES] = np.array(names, str)
    with replacing(path) as file:
        write_archive(file, arrays.items())


def _list_arrays(rows: Rows) -> dict[str, NDArray[Any]]:
    """Return the arrays of a top-k list by name."""
    indices, scores = rows_as_lists(rows)
    arrays = {"indices": indices}
    if scores is not None:
        arrays["scores"] = scores
    return arrays


def _matrix_arrays(rows: Rows, width: int | None, is_named_set: bool) -> dict[str, NDArray[Any]]:
    """Return the arrays of a CSR matrix by name, as `scipy.sparse.save_npz` names them."""
    if rows.best_first:
        rows = stack_rows(block for _, block in canonical(rows, "entries", width))
    matrix = rows_as_csr(rows, width)
    if is_named_set:
        # the dtype distinguishes sets from scores when names are read
        matrix.data = matrix.data.astype(np.bool_)
    return {
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape),
        "data": matrix.data,
        "_is_array": np.array(True),
    }


NPY = Format(
    name="npy",
    title="top-k list",
    extensions=(LABELS, SCORES),
    holds=("scores",),
    pieces=npy_pieces,
    rows=named_lists,
    companions=lambda path: [
        half for half in files_of_list(path) if half != path and is_there(half)
    ],
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
