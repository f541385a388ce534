"""Frames with a column for each label: their columns by the numbers of the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.columns import is_other_order, is_written_index
from xmleval.input.csr import check_shape, is_sparse
from xmleval.input.errors import InputError
from xmleval.input.match import SAME_ORDER, Match, as_numbers
from xmleval.input.rows import BY_KEY, Rows, rows_by_id
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

    keyed : the one that names the rows, None if there is none
    names : all of them
    values : gives those of a column
    how_to_join : what to do about rows in another order
    """

    keyed: Any
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
    beside : columns that are no labels
    """

    keys: list[Any] | None
    matrix: Any
    names: list[Any]
    beside: RowColumns
    match: str | None

    @property
    def named(self) -> bool:
        """Whether labels have names."""
        return True

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


def column_numbers(argument: str, rows: Wide, n_labels: int | None, notes: list[str]) -> Ints | None:
    """Return the label of each column beside a truth without names, None for the same order; and note it."""
    check_shape(argument, rows.shape, n_labels)
    numbers = numbers_of_columns(rows.names)
    if numbers is not None and (numbers[1:] > numbers[:-1]).all():
        return None
    notes.append(f"{argument}: {BY_POSITION.format('y_true') if numbers is None else IN_ORDER}")
    return numbers


def labels_of_columns(columns: list[Any], nameless: list[str], notes: list[str]) -> list[Any]:
    """Return the columns of a truth in the order of their numbers, which ``nameless`` arguments are in."""
    numbers = numbers_of_columns(columns)
    if numbers is None:
        notes += [f"{argument}: {BY_POSITION.format('it')}" for argument in nameless]
        return columns
    order = np.argsort(numbers)
    if nameless and not np.array_equal(order, np.arange(order.size)):
        notes.append(f"y_true: {IN_ORDER}")
    return [columns[place] for place in order]


def named_columns(match: Match, argument: str, columns: list[Any]) -> Ints | None:
    """Return the number of the label of each column; None where they are those of all labels in order."""
    number, present = match.number or {}, {*columns}
    missing = [name for name in number if name not in present]
    unknown = [name for name in columns if name not in number]
    if match.closed and missing:
        hint = SAME_ORDER.format(argument) if len(columns) == len(number) else ""
        raise InputError(argument, f"no column for label {missing[0]!r}{hint}")
    match.note(argument, "labels without column", len(missing))
    match.note(argument, "unknown columns", len(unknown), ", ".join(map(repr, unknown[:SHOWN_COLUMNS])))
    codes = match.label_ids(columns)
    return codes if match.fits or not np.array_equal(codes, np.arange(match.n_labels)) else None


def matrix_by_number(
    rows: Wide, codes: Ints | None, width: int, names: list[Any] | None, by_name: bool
) -> Any:
    """Return a matrix with columns in order; `Rows` where some of ``width`` labels have no column.

    ``names`` are those of all labels, where scores rank ``by_name`` of the columns, as `name_places` has
    them, or some labels are unknown.
    """
    matrix, columns, dense = rows.matrix, rows.names, not is_sparse(rows.matrix)
    if codes is None and not by_name:
        return matrix
    codes = np.arange(len(columns)) if codes is None else codes
    if dense and codes.size == width and (by_name or names is None):
        labels = codes.astype(label_dtype(width))
        return NamedColumns(matrix, labels, columns) if by_name else matrix[:, np.argsort(codes)]
    if by_name:
        order = np.argsort(name_places(columns))
        codes, matrix = codes[order], matrix.take(order, axis=1) if dense else matrix.tocsr()[:, order]
        if not dense:
            matrix.sort_indices()
    return rows._replace(matrix=matrix).cells(codes)._replace(names=names)


def _ids_of(rows: NamedInput) -> Any:
    """Return the column that names the rows, None if there is none."""
    return getattr(rows.beside, "keyed", None)


def matched_by_ids(rows: NamedInput) -> NamedInput:
    """Return rows that are matched by the column that names them, if there is one."""
    ids = _ids_of(rows)
    return rows if ids is None else rows._replace(keys=rows.beside.values(ids), match=BY_KEY)


def joined_by_ids(held: dict[str, NamedInput], notes: list[str]) -> dict[str, NamedInput]:
    """Return rows matched by their columns of ids if both the truth and a prediction have row keys.

    An index that has the ids of the other side counts as keys. What is matched or ignored is added to
    ``notes``.
    """
    by_ids = {argument: matched_by_ids(rows) for argument, rows in held.items()}
    truth = by_ids.pop("y_true", None)
    joined = {argument: rows for argument, rows in by_ids.items() if truth and _have_keys(rows, truth)}
    if truth is not None and joined:
        joined["y_true"] = truth
    true_ids = _ids_of(held["y_true"]) if joined else None
    for argument, rows in held.items():
        for name in rows.beside.names if isinstance(rows, Wide) else ():
            if is_written_index(name):
                notes.append(f"{argument}: column {name!r} is left out, as an index that pandas wrote")
        name = _ids_of(rows)
        if argument in joined and argument != "y_true":
            name = true_ids if name is None else name
            notes += [f"{argument}: rows are matched by column {name!r}"] * (name is not None)
        elif argument not in joined and name is not None:
            other = "y_true has" if argument != "y_true" else "predictions have"
            notes.append(
                f"{argument}: column {name!r} is left out; {other} no ids of rows, so they are in order"
            )
    return held | joined


def _have_keys(rows: NamedInput, truth: NamedInput) -> bool:
    """Tell whether rows and those of the truth can be matched by key; one side may have an index instead."""
    if rows.keys is None or truth.keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    keys, true_keys = {*rows.keys}, {*truth.keys}
    return rows.match == truth.match or keys <= true_keys or true_keys <= keys
