"""Label sets: the truth, and predicted sets."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import (
    Entries,
    Source,
    as_array,
    check_shape,
    cut_entries,
    is_sparse,
    keep_entries,
    matrix_rows,
    rows_of,
)
from xmleval.input.errors import InputError, positive_integer
from xmleval.input.glances import refuse_vectors
from xmleval.input.judgements import GRADED, graded
from xmleval.input.objects.named import rows_of_ids
from xmleval.input.rows import Rows
from xmleval.input.tensors import as_plain
from xmleval.message import Keyword, Message
from xmleval.records import Facts, Ints, Truth, label_dtype, row_sizes


def set_rows(
    argument: str, value: Any, n_labels: int | None, known: int | None = None, gains: str | None = None
) -> Source[Truth]:
    """Accept label sets in any form.

    ``argument`` is what messages call ``value``: a sparse matrix or array, a dense 0/1 array, lists of label
    ids where the caller gave ``n_labels``, rows by id, or a source, whose rows are checked and which is
    returned as it is. ``known`` labels are what another input has settled. ``gains`` is the convention of a
    truth that may hold grades: stored entries, and all cells of a dense array, are then judged. Without it,
    or with "binary", anything but 0 and 1 is refused; so are ids that are out of range or twice in a row, and
    other shapes.
    """
    if isinstance(value, Source):
        return value
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels)
        check_shape("n_labels", (0, n_labels), n_labels)
    expected = n_labels if n_labels is not None else known
    if isinstance(value, Rows):
        width = max(expected or 0, len(value.names or ()))
        return _stored_rows(argument, value, width, gains)
    if not is_sparse(value):
        value = as_plain(argument, value)
    if is_sparse(value):
        return _stored_rows(argument, matrix_rows(argument, value, expected), value.shape[1], gains)
    if n_labels is not None and isinstance(value, list | tuple):
        rows = rows_of_ids(argument, value)
        if rows.are_lists:
            refuse_vectors(argument, rows.ptr, rows.labels, n_labels)
        return _stored_rows(argument, rows, n_labels, gains)
    array = as_array(argument, value)
    n_rows, width = check_shape(argument, array.shape, expected)

    def cells_of(start: int, stop: int) -> Entries:
        cells = array[start:stop].reshape(-1)
        labels = np.tile(np.arange(width, dtype=label_dtype(width)), stop - start)
        return Entries(np.arange(stop - start + 1, dtype=np.int64) * width, labels, cells)

    if gains in GRADED:
        return graded(argument, Source(n_rows, width, 32.0 * width, cells_of), gains)

    def block(start: int, stop: int) -> Truth:
        cells = array[start:stop].reshape(-1)
        (places,) = (cells != 0).nonzero()  # far faster than for two dimensions, or for numbers
        ptr = places.searchsorted(np.arange(0, cells.size + 1, width)).astype(np.int64)
        _refuse_other_values(argument, cells[places], ptr, start, gains)
        return Truth(ptr, (places % width).astype(label_dtype(width)))

    return Source(n_rows, width, float(width * array.dtype.itemsize), block)


def held(truth: Source[Truth]) -> tuple[Truth, Source[Truth]]:
    """Check all rows now; return them, and a source of the same rows that need no further check."""
    blocks = list(truth.blocks())
    ptr = np.concatenate([[0], *(row_sizes(block.ptr) for block in blocks)]).cumsum()
    labels = np.concatenate([np.empty(0, np.int32), *(block.labels for block in blocks)])

    def block(start: int, stop: int) -> Truth:
        return Truth(ptr[start : stop + 1] - ptr[start], labels[ptr[start] : ptr[stop]])

    return Truth(ptr, labels), truth._replace(block=block)


def remembered(truth: Source[Truth]) -> Source[Truth]:
    """Return a source that keeps each block and what is found of it, for several models on a truth."""
    found: dict[tuple[int, int], Facts] = {}

    def facts(start: int, stop: int) -> Facts:
        if (start, stop) not in found:
            found[start, stop] = Facts(truth.block(start, stop), {})
        return found[start, stop]

    return truth._replace(block=lambda start, stop: facts(start, stop).truth, facts=facts)


def _stored_rows(argument: str, rows: Rows, n_labels: int, gains: str | None) -> Source[Truth]:
    n_rows, cut = rows.n_rows, partial(cut_entries, argument, rows, n_labels)
    bytes_per_row = 16.0 * int(rows.ptr[-1]) / max(n_rows, 1)
    if gains in GRADED:
        return graded(argument, Source(n_rows, n_labels, 2 * bytes_per_row, cut), gains)

    def block(start: int, stop: int) -> Truth:
        entries = cut(start, stop)
        if entries.data is not None and not bool((entries.data == 1).all()):
            entries = keep_entries(entries, entries.data != 0)
            _refuse_other_values(argument, entries.data, entries.ptr, start, gains)
        return Truth(entries.ptr, entries.labels)

    return Source(n_rows, n_labels, bytes_per_row, block)


def _refuse_other_values(
    argument: str, values: NDArray[Any] | None, ptr: Ints, start: int, gains: str | None
) -> None:
    assert values is not None
    bad = values != 1
    if np.count_nonzero(bad):
        place = int(bad.argmax())
        row, value = start + int(rows_of(ptr, np.array([place]))[0]), values[place]
        seen: list[object] = [f"value {value} is neither 0 nor 1 in a label set"]
        whole = math.isfinite(value) and value == int(value)
        if math.isfinite(value) and not whole:
            seen.append("; it looks like a score: are the truth and the scores swapped?")
        if math.isfinite(value) and gains is not None:
            need = "; grades need " if whole else " Grades need "
            seen += [need, Keyword("gains", "'linear'"), " or 'exp'"]
        raise InputError(argument, Message(*seen), row=row, value=value)
