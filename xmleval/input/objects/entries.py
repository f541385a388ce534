"""Predictions in any form: their entries end to end, and the same form with other scores, or as sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints
from xmleval.base.errors import InputError
from xmleval.input.columns import Chosen, TableColumns
from xmleval.input.match import Match, as_scores
from xmleval.input.objects.frames import Columns, Frame, frame_rows, keep_rows, open_frame, replace_columns
from xmleval.input.objects.named import Pair, flat_rows, is_pair_dict, read_pair
from xmleval.input.opened import is_nameless
from xmleval.input.rows import Named, Rows, numbered, pointer
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.tensors import shape_of

Cells = NDArray[Any]


@dataclass(frozen=True)
class NamedEntries:
    """The entries of predictions with names or keys, and what makes the same form of them.

    rows : labels with any scores; of a matrix every cell
    row_of : row of each entry, by number
    n_rows : number of rows, which a long table has fewer of than lines
    with_scores : returns the form with these scores in place of its own
    as_sets : returns the form with the labels of the entries that are kept
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
        rows = stack_rows(opened.pieces().read(sys.maxsize))
        if isinstance(rows, np.ndarray):
            return rows
        return rows_as_lists(rows) if rows.best_first else rows_as_csr(rows, opened.pieces().n_labels)
    form = opened.shards[0].format
    if form.rows is None:
        raise ValueError(f"{opened.name}: expected predictions with names")
    match = Match(opened.name, ())
    placed = match.place("y_true", opened.name, partial(form.rows, opened.paths, "scores"))
    rows = as_scores(placed.rows(), match.label_names)
    return _as_lists(rows._replace(keys=match.keys, names=match.label_names))


def _as_lists(rows: Rows) -> list[Any] | dict[Any, Any]:
    """Return rows as dicts of scores by label, or as lists where there are none, by key if they have keys."""
    names = [rows.label(entry) for entry in range(rows.labels.size)]
    items = names if rows.values is None else [*zip(names, rows.values.tolist(), strict=True)]
    make = list if rows.values is None else dict
    lists = [make(items[start:stop]) for start, stop in pairwise(rows.ptr.tolist())]
    return lists if rows.keys is None else dict(zip(rows.keys, lists, strict=True))


def open_entries(argument: str, value: object) -> NamedEntries | None:
    """Return the entries of predictions, None of arrays and of lists without names, keys and scores."""
    if is_nameless(argument, value):
        return None
    if isinstance(value, Named):
        return _of_matrix(value, value.rows(argument))
    if isinstance(value, Columns):
        return _of_frame(argument, value.frame, value)
    if isinstance(value, tuple) or is_pair_dict(value):
        return _of_pair(value, read_pair(argument, value))
    is_table = not isinstance(value, list | Mapping | np.ndarray)
    if is_table and (frame := open_frame(argument, value)) is not None:
        return _of_frame(argument, frame, value)
    return None if shape_of(value) is not None else _of_rows(argument, value)


def _of_pair(value: Pair, rows: Rows | None) -> NamedEntries | None:
    """Return the entries of a pair of labels and scores, None of arrays of ids."""
    if rows is None:
        return None
    keys = rows.keys
    series = next((column for column in _members(value) if hasattr(column, "iloc")), None)

    def column(lists: list[Any]) -> object:
        """Return lists as the column that they were, with its index."""
        return lists if series is None else type(series)(lists, index=series.index)

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        made = column(names), column(scores)
        return dict(zip(("indices", "scores"), made, strict=True)) if isinstance(value, Mapping) else made

    def as_sets(lists: list[Any]) -> object:
        return lists if keys is None else dict(zip(keys, lists, strict=True))

    return _of_lists(rows, with_scores, as_sets)


def _members(pair: Pair) -> list[Any]:
    return [*pair.values()] if isinstance(pair, Mapping) else [*pair]


def _of_matrix(named: Named, rows: Rows) -> NamedEntries:
    """Return the entries of a matrix with names."""

    def with_data(data: Cells) -> Named:
        own = rows._replace(values=data, labels=rows.labels.copy(), ptr=rows.ptr.astype(np.int64))
        return replace(named, matrix=rows_as_csr(own, len(rows.names or ())))

    def as_sets(kept: Bools) -> Named:
        chosen = with_data(kept)
        chosen.matrix.eliminate_zeros()
        return chosen

    return NamedEntries(rows, _row_of(rows), rows.n_rows, with_data, as_sets)


def _of_frame(argument: str, frame: Frame, value: object) -> NamedEntries:
    """Return the entries of a frame: wide, long, or of lists; those of `from_df` make such a one."""
    if isinstance(value, Columns):
        entries = _of_table(argument, frame, value)
        chosen = value.chosen

        def with_scores(cells: Cells) -> Columns:
            return _chosen(entries.with_scores(cells), chosen)

        def as_sets(kept: Bools) -> Columns:
            return _chosen(entries.as_sets(kept), chosen._replace(value=None))

        return replace(entries, with_scores=with_scores, as_sets=as_sets)
    return _of_table(argument, frame, value)


def _chosen(made: object, chosen: Chosen[Hashable]) -> Columns:
    frame = open_frame("y_score", made)
    assert frame is not None
    return Columns(frame, chosen)


def _of_table(argument: str, frame: Frame, value: object) -> NamedEntries:
    rows, table = frame_rows(argument, frame, value)
    if table is None:
        return _of_wide_frame(frame, rows)
    if table.lists:
        return _of_lists(rows, *_list_columns(frame, table, rows))
    return _of_long_frame(frame, table.value, rows)


def _of_long_frame(frame: Frame, score: Hashable, rows: Rows) -> NamedEntries:
    """Return the entries of a frame with a line for each, of which those with empty labels have none."""
    of_line, keys = numbered([*(rows.keys or ())])
    lines = _row_of(rows)

    def with_scores(values: Cells) -> object:
        column = np.full(rows.n_rows, np.nan, values.dtype)
        column[lines] = values
        return replace_columns(frame, {score: column})

    def as_sets(kept: Bools) -> object:
        kept_lines = np.zeros(rows.n_rows, np.bool_)
        kept_lines[lines[kept]] = True
        return keep_rows(frame, kept_lines, [name for name in frame.columns if name != score])

    return NamedEntries(rows, of_line[lines], len(keys), with_scores, as_sets)


def _of_wide_frame(frame: Frame, rows: Rows) -> NamedEntries:
    """Return the cells of a frame with a column for each label."""
    n_columns = len(rows.names or ())
    columns = rows.names or []
    names = [columns[label] for label in range(n_columns)]

    def with_cells(cells: Cells) -> object:
        matrix = cells.reshape(-1, n_columns)
        return replace_columns(frame, {name: matrix[:, place] for place, name in enumerate(names)})

    matrix = rows
    if not rows.is_matrix:  # of sparse columns, what is not stored is 0
        cells = rows_as_csr(rows, n_columns).toarray()
        matrix = rows._replace(
            values=cells, labels=np.arange(n_columns), ptr=pointer([n_columns] * rows.n_rows)
        )
    elif not np.array_equal(rows.labels, np.arange(n_columns)):
        matrix = rows.by_label(None)
    cells = matrix.part(0, matrix.n_rows)
    return NamedEntries(cells, _row_of(cells), cells.n_rows, with_cells, with_cells)


def _list_columns(
    frame: Frame, table: TableColumns[Hashable], rows: Rows
) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return what makes a frame of lists with other scores, and one of sets."""

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        if table.value is not None:
            return replace_columns(frame, {table.label: names, table.value: scores})
        made = [*map(_like, frame.values(table.label), names, scores)]
        return replace_columns(frame, {table.label: made})

    def as_sets(names: list[list[Any]]) -> object:
        kept = keep_rows(frame, None, [name for name in frame.columns if name != table.value])
        changed = open_frame("y_score", kept)
        assert changed is not None
        return replace_columns(changed, {table.label: names})

    return with_scores, as_sets


def _of_rows(argument: str, value: Any) -> NamedEntries | None:
    """Return the entries of a list, dict or series of rows."""
    keys = [*value] if isinstance(value, Mapping) else None
    items = [*value.values()] if isinstance(value, Mapping) else [*value]
    if keys is None and (not any(map(_is_filled, items)) or is_dense(items)):
        return None
    rows = flat_rows(argument, items)

    def outer(made: list[Any]) -> object:
        if keys is not None:
            return dict(zip(keys, made, strict=True))
        is_series = hasattr(value, "iloc") and hasattr(value, "index")
        return type(value)(made, index=value.index) if is_series else made

    def with_scores(names: list[list[Any]], scores: list[list[float]]) -> object:
        return outer([*map(_like, items, names, scores)])

    return _of_lists(rows._replace(keys=keys), with_scores, outer)


def is_dense(value: object) -> bool:
    """Tell whether a list has rows of numbers that are no ids, as a dense array has."""
    first = next(filter(_is_filled, value), None) if isinstance(value, list) else None
    return isinstance(first, list | tuple | np.ndarray) and isinstance(first[0], float | np.floating)


def _is_filled(row: object) -> bool:
    return hasattr(row, "__len__") and len(row) > 0


def _of_lists(rows: Rows, with_scores: Callable[..., object], as_sets: Callable[..., object]) -> NamedEntries:
    """Return entries of rows, which functions make of the labels, and of the scores, of each row."""
    names = [rows.label(entry) for entry in range(rows.labels.size)]

    def scored(values: Cells) -> object:
        return with_scores(_split(names, rows.ptr), _split(values.tolist(), rows.ptr))

    def chosen(kept: Bools) -> object:
        sets = [name for name, is_kept in zip(names, kept.tolist(), strict=True) if is_kept]
        return as_sets(_split(sets, pointer(kept)[rows.ptr]))

    return NamedEntries(rows, _row_of(rows), rows.n_rows, scored, chosen)


def _like(row: Iterable[Any], names: Sequence[Any], scores: Sequence[float]) -> object:
    """Return labels and scores as a row has them: by label, as pairs, or as hits."""
    if isinstance(row, Mapping):
        return dict(zip(names, scores, strict=True))
    first = next(iter(row), None)
    pairs: list[Any] = [*zip(names, scores, strict=True)]
    if isinstance(first, Mapping):
        key = "corpus_id" if "corpus_id" in first else "label"
        pairs = [{key: name, "score": score} for name, score in pairs]
    elif isinstance(first, list):
        pairs = [*map(list, pairs)]
    return tuple(pairs) if isinstance(row, tuple) else pairs


def _split(items: list[Any], ptr: Ints) -> list[list[Any]]:
    return [items[start:stop] for start, stop in pairwise(ptr.tolist())]


def _row_of(rows: Rows) -> Ints:
    return np.repeat(np.arange(rows.n_rows), np.diff(rows.ptr))


def refuse_no_scores(argument: str, entries: NamedEntries, purpose: str) -> Cells:
    """Return the scores of entries, or refuse entries without any."""
    if entries.rows.values is None and entries.rows.labels.size:
        raise InputError(argument, f"has no scores, which {purpose} are made of")
    return np.empty(0) if entries.rows.values is None else np.asarray(entries.rows.values)
