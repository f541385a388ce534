"""Frames with a column for each label: their columns by the numbers of the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xmleval.errors import InputError
from xmleval.input.columns import is_other_order, is_written_index
from xmleval.input.csr import check_shape
from xmleval.input.match import SAME_ORDER, Match, as_numbers
from xmleval.input.rows import BY_KEY, Rows, rows_by_id
from xmleval.input.tensors import is_sparse
from xmleval.input.ties import NamedColumns, name_places
from xmleval.records import Ints, label_dtype

SHOWN_COLUMNS = 3  # in a note
BY_POSITION = "labels were read by position, as {} has no names of them"
IN_ORDER = "columns were brought in the order of their numbers"


def as_list(column: Any) -> list[Any] | None:
    """Return the values of a series or an array of a column, None if it is no such thing."""
    method = getattr(column, "to_pylist", getattr(column, "to_list", None))
    values = None if method is None else method()
    return values if isinstance(values, list) else None


class RowColumns(NamedTuple):
    """Columns of a frame that are neither labels nor their values.

    id_column : the one that names the rows, None if there is none
    names : all of them
    values : gives those of a column
    how_to_join : what to do about rows in another order
    """

    id_column: Any
    names: list[Any]
    values: Callable[[Any], list[Any]]
    how_to_join: str = "rename it to 'instance' where it names the rows, or bring them in the same order"

    def in_other_order(self, truth: RowColumns) -> Any:
        """Return a column that has the values of the truth's, each once, in another order, or None."""
        shared = (name for name in self.names if name in truth.names)
        return next((n for n in shared if is_other_order(self.values(n), truth.values(n))), None)


class Wide(NamedTuple):
    """A matrix whose columns are labels by name.

    keys, match : names of the rows, and how they are matched; None where rows are in order
    origin : columns that are no labels
    """

    keys: list[Any] | None
    matrix: Any
    names: list[Any]
    origin: RowColumns
    match: str | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and labels."""
        return self.matrix.shape[0], len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def in_order(self, of_row: Ints | None) -> Wide:
        """Return the rows in the order of their numbers, if there are any, without those that have -1."""
        if of_row is None or np.array_equal(of_row, np.arange(self.n_rows)):
            return self
        order = np.argsort(of_row, kind="stable")[int((of_row < 0).sum()) :]
        return self._replace(matrix=(self.matrix.tocsr() if is_sparse(self.matrix) else self.matrix)[order])

    def cells(self, codes: Ints) -> Rows:
        """Return all cells, or those stored of a sparse matrix, of columns whose labels are ``codes``."""
        if is_sparse(self.matrix):
            matrix = self.matrix.tocsr()
            return rows_by_id(matrix.indptr.astype(np.int64), codes[matrix.indices], matrix.data)
        ptr = np.arange(self.n_rows + 1, dtype=np.int64) * codes.size
        return rows_by_id(ptr, np.tile(codes, self.n_rows), self.matrix.reshape(-1))


NamedInput = Wide | Rows


def numbers_of_columns(columns: list[Any]) -> Ints | None:
    """Return columns as numbers, if they are 0, 1, .. in any order, or column_0, column_1, .. of polars."""
    return as_numbers([str(name).removeprefix("column_") for name in columns])


def column_labels(match: Match, argument: str, rows: Wide, n_labels: int | None) -> Ints:
    """Return the number of the label of each column, and note what is seen."""
    columns, number = rows.names, match.number
    if number is None:  # beside a truth without names
        check_shape(argument, rows.shape, n_labels)
        numbers = numbers_of_columns(columns)
        if numbers is None:
            match.notes.append(f"{argument}: {BY_POSITION.format('y_true')}")
            return np.arange(len(columns))
        match.notes += [f"{argument}: {IN_ORDER}"] * bool((np.diff(numbers) < 0).any())
        return numbers
    present = {*columns}
    missing = [name for name in number if name not in present]
    unknown = [name for name in columns if name not in number]
    if match.closed and missing:
        hint = SAME_ORDER.format(argument) if len(columns) == len(number) else ""
        raise InputError(argument, f"no column for label {missing[0]!r}{hint}")
    match.note(argument, "labels without column", len(missing))
    match.note(argument, "unknown columns", len(unknown), ", ".join(map(repr, unknown[:SHOWN_COLUMNS])))
    return match.label_ids(columns)


def matrix_by_number(rows: Wide, codes: Ints, width: int, names: list[Any] | None, by_name: bool) -> Any:
    """Return a matrix with columns in order; `Rows` where some of ``width`` labels have no column.

    ``names`` are those of all labels, where scores rank ``by_name`` of the columns, as `name_places` has
    them, or some labels are unknown.
    """
    dense = not is_sparse(rows.matrix)
    if names is None and np.array_equal(codes, np.arange(width)):
        return rows.matrix
    is_whole = dense and codes.size == width and (by_name or names is None)
    order = np.argsort(name_places(rows.names) if by_name else codes)
    if by_name or is_whole:
        matrix = rows.matrix.take(order, axis=1) if dense else rows.matrix.tocsr()[:, order]
        codes, rows = codes[order], rows._replace(matrix=matrix)
        if not dense:
            matrix.sort_indices()
    if is_whole:
        return NamedColumns(matrix, codes.astype(label_dtype(width))) if by_name else matrix
    return rows.cells(codes)._replace(names=names)


def keyed(rows: NamedInput) -> NamedInput:
    """Return rows that are matched by the column that names them, if there is one."""
    column = getattr(rows.origin, "id_column", None)
    return rows if column is None else rows._replace(keys=rows.origin.values(column), match=BY_KEY)


def join_by_ids(inputs: dict[str, NamedInput], notes: list[str]) -> dict[str, NamedInput]:
    """Return rows matched by their columns of ids if both the truth and a prediction have row keys.

    An index that has the ids of the other side counts as keys. What is matched or ignored is added to
    ``notes``.
    """
    with_ids = {argument: keyed(rows) for argument, rows in inputs.items()}
    truth = with_ids.get("y_true")
    joined = {a for a, rows in with_ids.items() if a != "y_true" and truth and _have_keys(rows, truth)}
    for argument, rows in inputs.items():
        for name in rows.origin.names if isinstance(rows, Wide) else ():
            if is_written_index(name):
                notes.append(f"{argument}: column {name!r} is left out, as an index that pandas wrote")
        column = getattr(rows.origin, "id_column", None)
        if argument in joined:
            column = getattr(inputs["y_true"].origin, "id_column", None) if column is None else column
            notes += [f"{argument}: rows are matched by column {column!r}"] * (column is not None)
        elif column is not None and not (joined and argument == "y_true"):
            other = "y_true has" if argument != "y_true" else "predictions have"
            left_out = f"{argument}: column {column!r} is left out"
            notes.append(f"{left_out}; {other} no ids of rows, so they are in order")
    joined |= {"y_true"} if joined else set()
    return {a: with_ids[a] if a in joined else rows for a, rows in inputs.items()}


def _have_keys(rows: NamedInput, truth: NamedInput) -> bool:
    """Tell whether rows and those of the truth can be matched by key; one side may have an index instead."""
    if rows.keys is None or truth.keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    keys, true_keys = {*rows.keys}, {*truth.keys}
    return rows.match == truth.match or keys <= true_keys or true_keys <= keys
