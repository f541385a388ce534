"""Rows by id: sorted, put together, and as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.base.arrays import MOST_LABELS, Ints, Labels, label_dtype
from xmleval.base.errors import InputError
from xmleval.base.notes import Note
from xmleval.input.csr import as_signed, sorted_part
from xmleval.input.match import Batches, Match, as_sets, listed_scores
from xmleval.input.rows import BY_KEY, Named, Rows, array_rows, pointer, rows_by_id

CELLS_FOR_NOTHING, CELLS_PER_ENTRY = 1 << 24, 100  # of a list that is padded to its longest row


def sorted_rows(
    ptr: Ints, labels: Labels, values: NDArray[Any] | None, n_labels: int, lines: Sequence[int] | Ints = ()
) -> Rows:
    """Return rows with rising ids; an id that a row of a text repeats is refused by its line."""
    try:
        return sorted_part("labels", rows_by_id(ptr, labels, values), n_labels)[0]
    except InputError as error:
        raise ValueError(f"line {lines[error.row or 0]}: {error.reason}") from None


def as_rows(dense: Rows | NDArray[Any], kind: str) -> Rows:
    """Return rows by id, of a dense array every cell of scores, others where they are not 0."""
    zeros = kind == "scores"
    return array_rows(dense).part(0, len(dense), zeros) if isinstance(dense, np.ndarray) else dense


def stack_rows(batches: Iterable[Any]) -> Any:
    """Put rows by id, or dense arrays, on top of one another."""
    parts = [*batches] or [rows_by_id(np.zeros(1, np.int64), np.empty(0, np.int32))]
    first = parts[0]
    if len(parts) == 1 or isinstance(first, np.ndarray):
        return first if len(parts) == 1 else np.concatenate(parts)
    ptr = pointer(np.concatenate([np.diff(rows.ptr) for rows in parts]))
    has_values = any(rows.values is not None for rows in parts)
    values = np.concatenate([*map(_values, parts)]) if has_values else None
    labels = np.concatenate([as_signed(rows.labels) for rows in parts])
    return first._replace(ptr=ptr, labels=labels, values=values)


def _values(rows: Rows) -> NDArray[Any]:
    return np.ones(rows.labels.size, np.uint8) if rows.values is None else rows.values


def read_named(name: str, batches: Batches, kind: str, like: Named | Sequence[str] | None) -> Named:
    """Return rows in line with those of a truth, or as they come, with labels of these names."""
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        placed = match.place("y_score", name, batches)
    else:
        match = Match(name, like or (), listed=like is not None and kind != "scores")
        placed = match.place("y_true", name, batches)
    names = match.names
    if kind == "scores":
        matrix = rows_as_csr(listed_scores(placed.rows(), names), len(names))
        matrix.label_names = names  # which order equal scores
    else:
        matrix = rows_as_csr(as_sets(placed.rows(), kind == "grades"), len(names))
        matrix.sort_indices()
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    n_rows = counts.get("rows without predictions", 0), counts.get("ignored rows", 0)
    return Named(matrix, [*match.row_names], match.label_names, *n_rows, [*match.unknown])


def width_of(labels: Labels) -> int:
    """Return how many labels the largest id tells, at least one, or refuse an id that none can have."""
    highest = int(labels.max(initial=0))
    if highest >= MOST_LABELS:
        raise InputError("matrix", f"label id {highest} is not in 0..{MOST_LABELS - 1}")
    return max(1, highest + 1)


def rows_as_csr(rows: Rows, n_labels: int | None) -> Any:
    """Return rows by id as a CSR array of ``n_labels``, or of as many labels as the largest id needs."""
    width = max(n_labels or 0, width_of(rows.labels))
    values = _values(rows)
    labels = rows.labels.astype(label_dtype(width), copy=False)
    ptr = rows.ptr
    if ptr[-1] <= np.iinfo(labels.dtype).max:
        ptr = ptr.astype(labels.dtype)  # SciPy wants one type for both
    return scipy.sparse.csr_array((values, labels, ptr), shape=(rows.n_rows, width))


def rows_as_lists(rows: Rows) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return lists as two arrays of shape (m, k), labels and scores, filled up with -1 and NaN, or 0."""
    sizes = np.diff(rows.ptr)
    shape = rows.n_rows, int(sizes.max(initial=0))
    if shape[0] * shape[1] > CELLS_FOR_NOTHING + CELLS_PER_ENTRY * rows.labels.size:
        message = f"a row of {shape[1]} labels, where {shape[0]} rows have {rows.labels.size}"
        raise InputError("scores", f"{message}; expected lists of about one length")
    width_of(rows.labels)
    ids = as_signed(rows.labels)
    filled = np.arange(shape[1]) < sizes[:, None]
    labels = np.full(shape, -1, ids.dtype)
    scores = None
    labels[filled] = ids
    if rows.values is not None:
        scores = np.full(shape, np.nan if rows.values.dtype.kind == "f" else 0, rows.values.dtype)
        scores[filled] = rows.values
    return labels, scores
