"""Rows by id: sorted, concatenated, and converted to arrays."""

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

# limits of a list that is padded to its longest row
CELLS_FOR_NOTHING = 1 << 24
CELLS_PER_ENTRY = 100


def sorted_rows(
    ptr: Ints,
    labels: Labels,
    values: NDArray[Any] | None,
    n_labels: int,
    lines: Sequence[int] | Ints = (),
) -> Rows:
    """Return rows with rising ids; refuse an id that occurs twice in a line of a text file."""
    rows = rows_by_id(ptr, labels, values)
    try:
        sorted_by_id, _ = sorted_part("labels", rows, n_labels)
    except InputError as error:
        line = lines[error.row or 0]
        raise ValueError(f"line {line}: {error.reason}") from None
    return sorted_by_id


def as_rows(dense: Rows | NDArray[Any], kind: str) -> Rows:
    """Return rows by id: every cell of a dense array of scores, else its cells other than 0."""
    if not isinstance(dense, np.ndarray):
        return dense
    return array_rows(dense).part(0, len(dense), zeros=kind == "scores")


def stack_rows(batches: Iterable[Any]) -> Any:
    """Concatenate batches of rows by id, or dense arrays."""
    parts = [*batches]
    if not parts:
        return rows_by_id(np.zeros(1, np.int64), np.empty(0, np.int32))
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    sizes = [np.diff(rows.ptr) for rows in parts]
    ptr = pointer(np.concatenate(sizes))
    values = None
    if any(rows.values is not None for rows in parts):
        values = np.concatenate([*map(_values_or_ones, parts)])
    labels = np.concatenate([as_signed(rows.labels) for rows in parts])
    return first._replace(ptr=ptr, labels=labels, values=values)


def _values_or_ones(rows: Rows) -> NDArray[Any]:
    if rows.values is None:
        return np.ones(rows.labels.size, np.uint8)
    return rows.values


def read_named(name: str, batches: Batches, kind: str, like: Named | Sequence[str] | None) -> Named:
    """Return rows matched to a truth, or all rows as read; ``like`` may list names of labels."""
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        placed = match.place("y_score", name, batches)
    else:
        is_listed = like is not None and kind != "scores"
        match = Match(name, like or (), listed=is_listed)
        placed = match.place("y_true", name, batches)
    names = match.names
    if kind == "scores":
        matrix = rows_as_csr(listed_scores(placed.rows(), names), len(names))
        matrix.label_names = names  # their order breaks ties
    else:
        matrix = rows_as_csr(as_sets(placed.rows(), kind == "grades"), len(names))
        matrix.sort_indices()
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    return Named(
        matrix,
        [*match.row_names],
        match.label_names,
        counts.get("rows without predictions", 0),
        counts.get("ignored rows", 0),
        [*match.unknown],
    )


def width_of(labels: Labels) -> int:
    """Return the largest label id + 1, at least 1; refuse an id that exceeds the limit."""
    highest = int(labels.max(initial=0))
    if highest >= MOST_LABELS:
        raise InputError("matrix", f"label id {highest} is not in 0..{MOST_LABELS - 1}")
    return max(1, highest + 1)


def rows_as_csr(rows: Rows, n_labels: int | None) -> Any:
    """Return rows by id as a CSR array of ``n_labels`` columns, or more for a larger id."""
    width = max(n_labels or 0, width_of(rows.labels))
    values = _values_or_ones(rows)
    labels = rows.labels.astype(label_dtype(width), copy=False)
    ptr = rows.ptr
    if ptr[-1] <= np.iinfo(labels.dtype).max:
        ptr = ptr.astype(labels.dtype)  # SciPy wants one type for both
    return scipy.sparse.csr_array((values, labels, ptr), shape=(rows.n_rows, width))


def rows_as_lists(rows: Rows) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return labels and scores of shape (m, k), padded with -1, and NaN or, among integers, 0."""
    sizes = np.diff(rows.ptr)
    width = int(sizes.max(initial=0))
    shape = rows.n_rows, width
    if rows.n_rows * width > CELLS_FOR_NOTHING + CELLS_PER_ENTRY * rows.labels.size:
        message = f"a row of {width} labels, where {rows.n_rows} rows have {rows.labels.size}"
        raise InputError("scores", f"{message}; expected lists of about one length")
    width_of(rows.labels)  # refuses ids that are too large
    ids = as_signed(rows.labels)
    is_filled = np.arange(width) < sizes[:, None]
    labels = np.full(shape, -1, ids.dtype)
    labels[is_filled] = ids
    if rows.values is None:
        return labels, None
    padding = np.nan if rows.values.dtype.kind == "f" else 0
    scores = np.full(shape, padding, rows.values.dtype)
    scores[is_filled] = rows.values
    return labels, scores
