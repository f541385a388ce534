"""Truth and scores from the columns of Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.columns import OWN_INSTANCE
from xmleval.input.formats.arrow import EXPECTED, opened
from xmleval.input.formats.arrow_columns import (
    WRITE_IDS,
    TableColumns,
    find_columns,
    flat_lists,
    ids,
    listed_scores,
    numbers,
    refuse_empty_rows,
    refuse_ids,
    refuse_nan,
    refuse_null,
    stored_labels,
)
from xmleval.input.formats.arrow_names import batches, has_names
from xmleval.input.formats.format import Format, NamedReaders, naming
from xmleval.input.formats.npy import ROW_ENTRY_BYTES
from xmleval.input.formats.write_parquet import write_parquet
from xmleval.input.glances import VectorRows
from xmleval.input.pieces import Pieces
from xmleval.input.stack import stack_filled
from xmleval.input.written import WrittenRows
from xmleval.records import Ints, label_dtype

BYTES_PER_ROW, BYTES_PER_ENTRY = 8, 16
WHOLE_BYTES = 1 << 26
CELLS_FOR_NOTHING, CELLS_PER_ENTRY = 1 << 24, 100  # of a list that is padded to its longest row


def arrow_pieces(
    path: Path, kind: str, n_labels: int | None = None, allowance: Allowance = UNLIMITED
) -> Pieces:
    """Look into a Parquet or Arrow file; its rows are read in pieces.

    With a row for each instance, its columns ``labels`` and ``scores`` are lists: labels best first, read as
    arrays of (labels, scores) where -1 fills a row up, scores None where there is no such column. Relevant
    labels, and scores of a file with columns ``instance`` (or ``row``), ``label`` and ``score``, are sparse
    arrays; instances are then numbers from 0 that do not fall. Where neither ``n_labels`` nor the metadata of
    the schema tells the number of labels, sparse arrays are as wide as the labels so far.
    """
    return _pieces_of(InputFile(path), kind, allowance, n_labels)


def _pieces_of(file: InputFile, kind: str, allowance: Allowance, n_labels: int | None = None) -> Pieces:
    columns, known = _look_into(file, kind, n_labels)
    read = partial(_read_lists if columns.lists else _read_entries, file, kind, columns, known, allowance)
    return Pieces(n_rows=None, n_labels=known, read=read)


def _look_into(file: InputFile, kind: str, n_labels: int | None) -> tuple[TableColumns, int | None]:
    """Return the columns to read, and the number of labels."""
    with naming(file.path, EXPECTED), opened(file) as table:
        return find_columns(table.schema, kind, unscored=True), stored_labels(table.metadata, n_labels)


def _read_lists(
    file: InputFile,
    kind: str,
    columns: TableColumns,
    n_labels: int | None,
    allowance: Allowance,
    n_bytes: int,
) -> Iterator[Any]:
    """Yield the rows of a file with a row for each instance."""
    first, n_entries, width = 0, 0, n_labels or 1
    vectors = VectorRows(WRITE_IDS, repr(columns.label))
    with naming(file.path, EXPECTED), opened(file) as table:
        is_unscored = kind != "scores" and columns.value is None
        may_be_vectors = is_unscored and stored_labels(table.metadata, None) is None
        for batch in table.batches(columns.read, n_bytes):
            if columns.instance is not None:
                _refuse_other_rows(batch, columns.instance, first)
            ptr, values = flat_lists(batch, columns.label, first)
            allowance.check(ROW_ENTRY_BYTES * int(np.diff(ptr).max(initial=0)))
            labels = ids(values, columns.label)
            rows = first + np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
            refuse_ids(labels, -1 if kind == "scores" else 0, n_labels, rows)
            scores = listed_scores(batch, columns.value, ptr, first, kind) if columns.value else None
            if may_be_vectors:
                vectors.take(ptr, labels)
            if kind != "scores":
                for start, stop in _cuts(ptr, BYTES_PER_ENTRY, n_bytes):
                    part = labels[ptr[start] : ptr[stop]]
                    width = n_labels or max(width, int(part.max(initial=0)) + 1)
                    data = None if scores is None else scores[ptr[start] : ptr[stop]]
                    yield _sparse_array(ptr[start : stop + 1], part, data, width)
            else:
                if scores is not None:
                    refuse_nan(scores, labels >= 0, rows)
                yield from _padded(ptr, labels, scores, n_bytes)
            first, n_entries = first + batch.num_rows, n_entries + labels.size
            refuse_empty_rows(first, n_entries)
        if may_be_vectors:
            vectors.close()


def _refuse_other_rows(batch: Any, name: str, first: int) -> None:
    column = batch.column(name)
    refuse_null(column, name, first)
    rows = ids(column, name)
    bad = rows != first + np.arange(rows.size)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"row {first + at}: {name} {rows[at]}, where lists stand in the order of their rows")


def _cuts(ptr: Ints, per_entry: int, n_bytes: int, padded: bool = False) -> Iterator[tuple[int, int]]:
    """Yield runs of rows whose arrays are of about ``n_bytes``, one row at least."""
    start, n_rows = 0, ptr.size - 1
    while start < n_rows:
        end = min(n_rows, start + max(1, n_bytes // BYTES_PER_ROW))
        sizes = np.diff(ptr[start : end + 1])
        n = np.arange(1, sizes.size + 1)
        entries = n * np.maximum.accumulate(sizes) if padded else np.cumsum(sizes)
        fitting = BYTES_PER_ROW * n + per_entry * entries <= n_bytes
        stop = end if fitting.all() else start + max(1, int(np.argmin(fitting)))
        yield start, stop
        start = stop


def _padded(ptr: Ints, labels: Ints, scores: NDArray[Any] | None, n_bytes: int) -> Iterator[Any]:
    """Yield lists as arrays of equal rows, filled up with -1 and NaN."""
    for start, stop in _cuts(ptr, BYTES_PER_ENTRY, n_bytes, padded=True):
        sizes = np.diff(ptr[start : stop + 1])
        filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
        part = slice(ptr[start], ptr[stop])
        wide = np.full(filled.shape, -1, np.int64)
        wide[filled] = labels[part]
        if scores is None:
            yield wide, None
            continue
        wide_scores = np.full(filled.shape, np.nan, scores.dtype)
        wide_scores[filled] = scores[part]
        yield wide, wide_scores


def _sparse_array(ptr: Ints, labels: Ints, data: NDArray[Any] | None, width: int) -> Any:
    values = np.ones(labels.size, np.uint8) if data is None else data
    kind = scipy.sparse.csr_array if values.dtype == np.uint8 else WrittenRows
    return kind((values, labels.astype(label_dtype(width)), ptr - ptr[0]), shape=(ptr.size - 1, width))


def _batches_of_entries(
    file: InputFile, kind: str, columns: TableColumns, n_labels: int | None, n_bytes: int
) -> Iterator[tuple[Ints, Ints, NDArray[Any] | None]]:
    """Yield instances, labels and scores as a file with a row for each label has them."""
    first = 0
    with naming(file.path, EXPECTED), opened(file) as table:
        for batch in table.batches(columns.read, n_bytes):
            for name in columns.read:
                refuse_null(batch.column(name), name, first)
            instance, label, value = columns.instance or "", columns.label, columns.value
            rows, labels = ids(batch.column(instance), instance), ids(batch.column(label), label)
            scores = numbers(batch.column(value), value, kind) if value else None
            at = first + np.arange(rows.size)
            refuse_ids(labels, 0, n_labels, at)
            if rows.size and rows.min() < 0:
                place = int(np.argmin(rows))
                raise ValueError(f"row {first + place}: {instance} {rows[place]} is negative")
            if scores is not None:
                refuse_nan(scores, np.ones(scores.size, bool), at)
            yield rows, labels, scores
            first += batch.num_rows


def _read_entries(
    file: InputFile,
    kind: str,
    columns: TableColumns,
    n_labels: int | None,
    allowance: Allowance,
    n_bytes: int,
) -> Iterator[Any]:
    """Yield the instances of a file with a row for each label, once all labels of them are read."""
    held: list[tuple[Ints, Ints, NDArray[Any] | None]] = []  # of the last instance, of which more may come
    n_done, n_entries, width = 0, 0, n_labels or 1
    for rows, labels, scores in _batches_of_entries(file, kind, columns, n_labels, n_bytes):
        if not rows.size:
            continue
        with naming(file.path, EXPECTED):
            before = np.concatenate((held[-1][0][-1:] if held else rows[:1], rows))
            if (np.diff(before) < 0).any():
                at = int(np.argmax(np.diff(before) < 0))
                raise ValueError(
                    f"row {n_entries + at}: {columns.instance} {rows[at]} after {before[at]}; in pieces "
                    "they are read in order"
                )
            n_entries += rows.size
            last = int(rows[-1])
            refuse_empty_rows(last + 1, n_entries)
        held.append((rows, labels, scores))
        if last == int(held[0][0][0]):
            n_held = sum(part.size for part, *_ in held)
            with naming(file.path, EXPECTED):
                allowance.check(ROW_ENTRY_BYTES * n_held)
            continue
        rows, labels, scores = _joined(held)
        n_whole = int(np.searchsorted(rows, last))
        for piece in _whole_rows(rows, labels, scores, n_done, last, n_bytes, n_labels, width):
            width = piece.shape[1]
            yield piece
        n_done = last
        held = [(rows[n_whole:], labels[n_whole:], None if scores is None else scores[n_whole:])]
    if held:
        rows, labels, scores = _joined(held)
        yield from _whole_rows(rows, labels, scores, n_done, int(rows[-1]) + 1, n_bytes, n_labels, width)


def _joined(held: list[tuple[Ints, Ints, NDArray[Any] | None]]) -> tuple[Ints, Ints, NDArray[Any] | None]:
    rows, labels, scores = zip(*held, strict=True)
    return np.concatenate(rows), np.concatenate(labels), None if scores[0] is None else np.concatenate(scores)


def _whole_rows(
    rows: Ints,
    labels: Ints,
    scores: NDArray[Any] | None,
    start: int,
    stop: int,
    n_bytes: int,
    n_labels: int | None,
    width: int,
) -> Iterator[Any]:
    """Yield instances ``start..stop-1`` of entries that are in order."""
    step = max(1, n_bytes // BYTES_PER_ROW)
    for first in range(start, stop, step):
        ptr = np.searchsorted(rows, np.arange(first, min(first + step, stop) + 1)).astype(np.int64)
        for begin, end in _cuts(ptr, BYTES_PER_ENTRY, n_bytes):
            part = slice(ptr[begin], ptr[end])
            width = n_labels or max(width, int(labels[part].max(initial=0)) + 1)
            data = None if scores is None else scores[part]
            yield _sparse_array(ptr[begin : end + 1], labels[part], data, width)


def read_arrow(path: Path, kind: str, n_labels: int | None = None) -> Any:
    """Read all rows of a Parquet or Arrow file; entries of instances may come in any order."""
    file = InputFile(path)
    columns, known = _look_into(file, kind, n_labels)
    if not columns.lists:
        return _all_entries(file, kind, columns, known)
    if columns.instance not in OWN_INSTANCE:
        columns = columns._replace(instance=None)  # nothing is joined
    found = list(_read_lists(file, kind, columns, known, UNLIMITED, WHOLE_BYTES))
    if kind == "truth":
        width = known or max((piece.shape[1] for piece in found), default=1)
        for piece in found:
            piece.resize(piece.shape[0], width)
        empty = scipy.sparse.csr_array((0, width), dtype=np.uint8)
        return scipy.sparse.vstack([empty, *found], format="csr")
    width = max((labels.shape[1] for labels, _ in found), default=0)
    n_rows, n_entries = (
        sum(labels.shape[0] for labels, _ in found),
        sum((labels >= 0).sum() for labels, _ in found),
    )
    with naming(path, EXPECTED):
        if n_rows * width > CELLS_FOR_NOTHING + CELLS_PER_ENTRY * n_entries:
            raise ValueError(f"a row of {width} labels, where {n_rows} rows have {n_entries}")
    labels = stack_filled([labels for labels, _ in found], width, -1, np.int64)
    if columns.value is None:
        return labels, None
    return labels, stack_filled([scores for _, scores in found], width, np.nan, np.float32)


def _all_entries(file: InputFile, kind: str, columns: TableColumns, n_labels: int | None) -> Any:
    found = list(_batches_of_entries(file, kind, columns, n_labels, WHOLE_BYTES))
    if not found:
        dtype = np.uint8 if kind == "truth" else np.float64
        return scipy.sparse.csr_array((0, n_labels or 1), dtype=dtype)
    rows, labels, scores = _joined(found)
    n_rows = int(rows.max(initial=-1)) + 1
    with naming(file.path, EXPECTED):
        refuse_empty_rows(n_rows, rows.size)
    # how scores run in the order of the file tells distances
    order = np.argsort(rows, kind="stable") if kind == "scores" else np.lexsort((labels, rows))
    ptr = np.searchsorted(rows[order], np.arange(n_rows + 1)).astype(np.int64)
    width = n_labels or int(labels.max(initial=0)) + 1
    return _sparse_array(ptr, labels[order], None if scores is None else scores[order], width)


def _pieces(path: Path, kind: str, allowance: Allowance) -> Pieces:
    return _pieces_of(InputFile(path), kind, allowance)


def _by_number(path: Path, kind: str, allowance: Allowance) -> Pieces | None:
    file = InputFile(path)
    return None if has_names(file, kind) else _pieces_of(file, kind, allowance)


def _write(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    write_parquet(path, data, kind, n_labels=n_labels)


ARROW = Format(
    name="arrow",
    title="Parquet or Arrow file",
    files="NAME.parquet, NAME.arrow or NAME.feather",
    container="arrow",
    extensions=(".parquet", ".arrow", ".feather"),
    truth=partial(read_arrow, kind="truth"),
    scores=partial(read_arrow, kind="scores"),
    pieces=_pieces,
    named=NamedReaders(_by_number, batches),
    graded=True,
    written=(".parquet",),
    write=_write,
    by_pieces=True,
    keeps_order=True,
)
