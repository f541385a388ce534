"""Predictions in any form: their entries, and the same form with new scores or as sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints
from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import InputError
from xmleval.input.columns import HIT_LABELS, ChosenColumns, TableColumns
from xmleval.input.match import Match, as_scores
from xmleval.input.objects.frames import (
    Frame,
    FrameColumns,
    frame_rows,
    keep_rows,
    open_frame,
    replace_columns,
)
from xmleval.input.objects.named import Pair, flat_rows, is_pair_dict, read_pair
from xmleval.input.opened import is_nameless
from xmleval.input.rows import Named, Rows, numbered, pointer
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.tensors import shape_of

Cells = NDArray[Any]


@dataclass(frozen=True)
class NamedEntries:
    """The entries of predictions with names or keys, and how to make the same form again.

    rows : labels with any scores; for a matrix, every cell
    row_of : row of each entry, by number
    n_rows : number of rows; a long table has fewer of them than lines
    with_scores : returns the form with new scores
    as_sets : returns the form with the labels of the entries to keep
    """

    rows: Rows
    row_of: Ints
    n_rows: int
    with_scores: Callable[[Cells], Any]
    as_sets: Callable[[Bools], Any]


def read_predictions(value: str | os.PathLike[str]) -> Any:
    """Return the predictions in a file: arrays without names, else dicts of scores by label."""
    from xmleval.input.shards import find_scan, with_fields  # imports all formats

    (opened,) = with_fields(True, find_scan("y_score", value))
    if not opened.named:
        rows = stack_rows(opened.pieces().read(PIECE_BYTES))
        if isinstance(rows, np.ndarray):
            return rows
        if rows.best_first:
            return rows_as_lists(rows)
        return rows_as_csr(rows, opened.pieces().n_labels)
    read = opened.batches("scores")
    if read is None:
        raise ValueError(f"{opened.name}: expected predictions with names")
    match = Match(opened.name, ())
    placed = match.place("y_true", opened.name, read)
    rows = as_scores(placed.rows(), match.label_names)
    return _make_lists(rows._replace(keys=match.keys, names=match.label_names))


def _make_lists(rows: Rows) -> list[Any] | dict[Any, Any]:
    """Return rows as dicts of scores by label, or as lists of labels; by key if they have keys."""
    items: list[Any] = [rows.label(entry) for entry in range(rows.labels.size)]
    make_row: type[list[Any]] | type[dict[Any, Any]] = list
    if rows.values is not None:
        items = [*zip(items, rows.values.tolist(), strict=True)]
        make_row = dict
    lists = [make_row(items[start:stop]) for start, stop in pairwise(rows.ptr.tolist())]
    if rows.keys is None:
        return lists
    return dict(zip(rows.keys, lists, strict=True))


def open_entries(argument: str, value: object) -> NamedEntries | None:
    """Return the entries of predictions; None for arrays and lists of ids without scores."""
    if is_nameless(argument, value):
        return None
    if isinstance(value, Named):
        return _read_matrix_entries(value, value.rows(argument))
    if isinstance(value, FrameColumns):
        return _read_frame_entries(argument, value.frame, value)
    if isinstance(value, tuple) or is_pair_dict(value):
        return _read_pair_entries(value, read_pair(argument, value))
    if not isinstance(value, list | Mapping | np.ndarray):
        frame = open_frame(argument, value)
        if frame is not None:
            return _read_frame_entries(argument, frame, value)
    if shape_of(value) is not None:
        return None
    return _read_row_entries(argument, value)


def _read_pair_entries(value: Pair, rows: Rows | None) -> NamedEntries | None:
    """Return the entries of a pair of labels and scores, None for arrays of ids."""
    if rows is None:
        return None
    keys = rows.keys
    series = next((member for member in _members(value) if hasattr(member, "iloc")), None)

    def make_column(lists: list[Any]) -> object:
        """Return lists in the type of the original column, with its index."""
        if series is None:
            return lists
        return type(series)(lists, index=series.index)

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        labels_column = make_column(names)
        scores_column = make_column(scores)
        if isinstance(value, Mapping):
            return {"indices": labels_column, "scores": scores_column}
        return labels_column, scores_column

    def as_sets(lists: list[Any]) -> object:
        if keys is None:
            return lists
        return dict(zip(keys, lists, strict=True))

    return _make_list_entries(rows, with_scores, as_sets)


def _members(pair: Pair) -> list[Any]:
    if isinstance(pair, Mapping):
        return [*pair.values()]
    return [*pair]


def _read_matrix_entries(named: Named, rows: Rows) -> NamedEntries:
    """Return the entries of a matrix with names."""

    def with_data(data: Cells) -> Named:
        labels = rows.labels.copy()
        replaced = rows._replace(values=data, labels=labels, ptr=rows.ptr.astype(np.int64))
        return replace(named, matrix=rows_as_csr(replaced, len(rows.names or ())))

    def as_sets(kept: Bools) -> Named:
        sets = with_data(kept)
        sets.matrix.eliminate_zeros()
        return sets

    return NamedEntries(rows, _number_rows_of_entries(rows), rows.n_rows, with_data, as_sets)


def _read_frame_entries(argument: str, frame: Frame, value: object) -> NamedEntries:
    """Return the entries of a frame: wide, long, or of lists; from `from_df`, make such again."""
    if isinstance(value, FrameColumns):
        entries = _read_table_entries(argument, frame, value)
        chosen = value.chosen

        def with_scores(cells: Cells) -> FrameColumns:
            return _with_chosen_columns(entries.with_scores(cells), chosen)

        def as_sets(kept: Bools) -> FrameColumns:
            return _with_chosen_columns(entries.as_sets(kept), chosen._replace(value=None))

        return replace(entries, with_scores=with_scores, as_sets=as_sets)
    return _read_table_entries(argument, frame, value)


def _with_chosen_columns(source: object, chosen: ChosenColumns[Hashable]) -> FrameColumns:
    """Return a frame of a library as `from_df` does with these columns."""
    frame = open_frame("y_score", source)
    assert frame is not None
    return FrameColumns(frame, chosen)


def _read_table_entries(argument: str, frame: Frame, value: object) -> NamedEntries:
    rows, table = frame_rows(argument, frame, value)
    if table is None:
        return _read_wide_frame(frame, rows)
    if table.lists:
        with_scores, as_sets = _make_list_frame_writers(frame, table)
        return _make_list_entries(rows, with_scores, as_sets)
    return _read_long_frame(frame, table.value, rows)


def _read_long_frame(frame: Frame, score: Hashable, rows: Rows) -> NamedEntries:
    """Return the entries of a frame with a line for each; lines with empty labels have none."""
    row_of_line, keys = numbered([*(rows.keys or ())])
    lines = _number_rows_of_entries(rows)

    def with_scores(values: Cells) -> object:
        column = np.full(rows.n_rows, np.nan, values.dtype)
        column[lines] = values
        return replace_columns(frame, {score: column})

    def as_sets(kept: Bools) -> object:
        kept_lines = np.zeros(rows.n_rows, np.bool_)
        kept_lines[lines[kept]] = True
        return keep_rows(frame, kept_lines, [name for name in frame.columns if name != score])

    return NamedEntries(rows, row_of_line[lines], len(keys), with_scores, as_sets)


def _read_wide_frame(frame: Frame, rows: Rows) -> NamedEntries:
    """Return the cells of a frame with a column for each label."""
    columns = rows.names or []
    n_columns = len(columns)
    names = [columns[label] for label in range(n_columns)]

    def with_cells(cells: Cells) -> object:
        matrix = cells.reshape(-1, n_columns)
        return replace_columns(frame, {name: matrix[:, place] for place, name in enumerate(names)})

    matrix = rows
    if not rows.is_matrix:  # sparse columns: cells that are not stored are 0
        matrix = rows._replace(
            values=rows_as_csr(rows, n_columns).toarray(),
            labels=np.arange(n_columns),
            ptr=pointer([n_columns] * rows.n_rows),
        )
    elif not np.array_equal(rows.labels, np.arange(n_columns)):
        matrix = rows.by_label(None)
    cells = matrix.part(0, matrix.n_rows)
    row_of = _number_rows_of_entries(cells)
    return NamedEntries(cells, row_of, cells.n_rows, with_cells, with_cells)


def _make_list_frame_writers(
    frame: Frame, table: TableColumns[Hashable]
) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return functions that make a frame of lists with new scores, and a frame of sets."""

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        if table.value is not None:
            return replace_columns(frame, {table.label: names, table.value: scores})
        lists = [*map(_score_like, frame.values(table.label), names, scores)]
        return replace_columns(frame, {table.label: lists})

    def as_sets(names: list[list[Any]]) -> object:
        kept = keep_rows(frame, None, [name for name in frame.columns if name != table.value])
        unscored = open_frame("y_score", kept)
        assert unscored is not None
        return replace_columns(unscored, {table.label: names})

    return with_scores, as_sets


def _read_row_entries(argument: str, value: Any) -> NamedEntries | None:
    """Return the entries of a list, dict or series of rows."""
    keys: list[Any] | None = None
    if isinstance(value, Mapping):
        keys = [*value]
        items = [*value.values()]
    else:
        items = [*value]
        if not any(map(_is_filled, items)) or is_dense(items):
            return None
    rows = flat_rows(argument, items)

    def make_container(lists: list[Any]) -> object:
        if keys is not None:
            return dict(zip(keys, lists, strict=True))
        if hasattr(value, "iloc") and hasattr(value, "index"):
            return type(value)(lists, index=value.index)
        return lists

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        return make_container([*map(_score_like, items, names, scores)])

    return _make_list_entries(rows._replace(keys=keys), with_scores, make_container)


def is_dense(value: object) -> bool:
    """Return whether a list has rows of floating-point numbers, as a dense array has."""
    if not isinstance(value, list):
        return False
    first = next(filter(_is_filled, value), None)
    return isinstance(first, list | tuple | np.ndarray) and isinstance(
        first[0], float | np.floating
    )


def _is_filled(row: object) -> bool:
    return hasattr(row, "__len__") and len(row) > 0


def _make_list_entries(
    rows: Rows, with_scores: Callable[..., object], as_sets: Callable[..., object]
) -> NamedEntries:
    """Return the entries of rows; the functions take lists of labels, and of scores, by row."""
    names = [rows.label(entry) for entry in range(rows.labels.size)]

    def with_values(values: Cells) -> object:
        return with_scores(_split(names, rows.ptr), _split(values.tolist(), rows.ptr))

    def with_kept(kept: Bools) -> object:
        kept_names = [name for name, is_kept in zip(names, kept.tolist(), strict=True) if is_kept]
        return as_sets(_split(kept_names, pointer(kept)[rows.ptr]))

    return NamedEntries(rows, _number_rows_of_entries(rows), rows.n_rows, with_values, with_kept)


def _score_like(row: Iterable[Any], names: Sequence[Any], scores: Sequence[float]) -> object:
    """Return labels and scores in the form of a row: by label, as pairs, or as hits."""
    if isinstance(row, Mapping):
        return dict(zip(names, scores, strict=True))
    first = next(iter(row), None)
    pairs: list[Any] = [*zip(names, scores, strict=True)]
    if isinstance(first, Mapping):
        key = next(name for name in HIT_LABELS if name in first)
        pairs = [{key: name, "score": score} for name, score in pairs]
    elif isinstance(first, list):
        pairs = [*map(list, pairs)]
    if isinstance(row, tuple):
        return tuple(pairs)
    return pairs


def _split(items: list[Any], ptr: Ints) -> list[list[Any]]:
    return [items[start:stop] for start, stop in pairwise(ptr.tolist())]


def _number_rows_of_entries(rows: Rows) -> Ints:
    return np.repeat(np.arange(rows.n_rows), np.diff(rows.ptr))


def require_scores(argument: str, entries: NamedEntries, purpose: str) -> Cells:
    """Return the scores of entries, or refuse entries without any."""
    values = entries.rows.values
    if values is not None:
        return np.asarray(values)
    if entries.rows.labels.size:
        raise InputError(argument, f"has no scores to make {purpose} of")
    return np.empty(0)
