"""Frames with a column for each label: their columns by the numbers of the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.input.columns import is_other_order
from xmleval.input.csr import is_sparse
from xmleval.input.errors import InputError
from xmleval.input.match import Match, as_numbers
from xmleval.input.rows import BY_INDEX, rows_by_id
from xmleval.input.ties import NamedColumns, name_places
from xmleval.records import Ints, label_dtype

SAME_ORDER = "; where the order is the same, give {}.to_numpy()"
SHOWN_COLUMNS = 3  # in a note
BY_POSITION = "labels were read by position, as y_true has no names of them"
IN_ORDER = "columns were brought in the order of their numbers"


def as_list(column: Any) -> list[Any] | None:
    """Return the values of a series or an array of a column, None if it is no such thing."""
    for name in ("to_pylist", "to_list"):
        if hasattr(column, name):
            found = getattr(column, name)()
            return found if isinstance(found, list) else None
    return None


class RowColumns(NamedTuple):
    """Columns of a frame that are neither labels nor their values.

    keyed : the one that names the rows, None if there is none
    names : all of them
    values : gives those of a column
    """

    keyed: Any
    names: list[Any]
    values: Callable[[Any], list[Any]]

    @property
    def how_to_join(self) -> str:
        """What to do about rows in another order; ``{!r}`` stands for the column that shows it."""
        return "rename it to 'instance' where it names the rows, or bring them in the same order"

    def in_other_order(self, truth: RowColumns) -> Any:
        """Return a column that has the values of the truth's, each once, in another order, or None."""
        for name in self.names:
            if name in truth.names and is_other_order(self.values(name), truth.values(name)):
                return name
        return None


class Wide(NamedTuple):
    """A matrix whose columns are labels by name.

    keys, match : names of the rows, and how they are matched; None where rows are in order
    beside : columns that are no labels
    """

    keys: list[Any] | None
    matrix: Any
    columns: list[Any]
    beside: RowColumns
    match: str | None = BY_INDEX

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])


def column_numbers(argument: str, columns: list[Any], n_labels: int | None, notes: list[str]) -> Ints | None:
    """Return the label of each column beside a truth without names, None for the same order; and note it."""
    if len(columns) != n_labels:
        return None  # refused later
    numbers = as_numbers(columns)
    if numbers is None:
        if not name_nothing(columns):
            notes.append(f"{argument}: {BY_POSITION}")
        return None
    if np.array_equal(numbers, np.arange(n_labels)):
        return None
    notes.append(f"{argument}: {IN_ORDER}")
    return numbers


def name_nothing(columns: list[Any]) -> bool:
    """Tell whether columns are called as polars calls those of an array."""
    return columns == [f"column_{number}" for number in range(len(columns))]


def name_labels(columns: list[Any]) -> bool:
    """Tell whether columns are called by names of labels, not by their numbers or places."""
    return as_numbers(columns) is None and not name_nothing(columns)


def labels_of_columns(columns: list[Any], nameless: list[str], notes: list[str]) -> list[Any]:
    """Return the columns of a truth in the order of their numbers, which ``nameless`` arguments are in."""
    numbers = as_numbers(columns)
    if numbers is None:
        if not name_nothing(columns):
            told = "labels were read by position, as it has no names of them"
            notes += [f"{argument}: {told}" for argument in nameless]
        return columns
    order = np.argsort(numbers)
    if nameless and not np.array_equal(order, np.arange(order.size)):
        notes.append(f"y_true: {IN_ORDER}")
    return [columns[place] for place in order]


def named_columns(match: Match, argument: str, columns: list[Any]) -> Ints | None:
    """Return the number of the label of each column; None where columns are in order already."""
    number = match.number
    assert number is not None
    present = {*columns}
    missing = [name for name in number if name not in present]
    unknown = [name for name in columns if name not in number]
    if match.closed and missing:
        hint = SAME_ORDER.format(argument) if len(columns) == len(number) else ""
        raise InputError(argument, f"no column for label {missing[0]!r}{hint}")
    match.note(argument, "labels without column", len(missing))
    match.note(argument, "unknown columns", len(unknown), ", ".join(map(repr, unknown[:SHOWN_COLUMNS])))
    codes = match.label_ids(columns)
    return None if np.array_equal(codes, np.arange(match.n_labels)) else codes


def numbered_matrix(
    rows: Wide,
    codes: Ints | None,
    of_row: Ints | None,
    n_labels: int | None,
    label_names: list[Any] | None,
    by_name: bool,
) -> Any:
    """Return a matrix with rows and columns in order; `Rows` where it does not have all columns.

    ``of_row`` is the place of each row, -1 of those that are left out. ``label_names`` are those of all
    labels, where they may be more than ``n_labels``; with ``by_name``, equal scores rank by the names of the
    columns, as `name_places` has them.
    """
    matrix, columns = rows.matrix, rows.columns
    if of_row is not None:
        order = np.argsort(of_row, kind="stable")[int((of_row < 0).sum()) :]
        matrix = (matrix.tocsr() if is_sparse(matrix) else matrix)[order]
    width = n_labels if label_names is None else len(label_names)
    if by_name:
        codes = np.arange(len(columns)) if codes is None else codes
        if not is_sparse(matrix) and codes.size == width:
            return NamedColumns(matrix, codes.astype(label_dtype(codes.size)), columns)
        order = np.argsort(name_places(columns))
        codes = codes[order]
        matrix = matrix.tocsr()[:, order] if is_sparse(matrix) else matrix.take(order, axis=1)
        if is_sparse(matrix):
            matrix.sort_indices()
    elif codes is None:
        return matrix
    elif codes.size == width == n_labels and not is_sparse(matrix):
        return matrix[:, np.argsort(codes)]
    ptr, places, values = listed_cells(matrix)
    return rows_by_id(ptr.astype(np.int64), codes[places], values)._replace(names=label_names)


def listed_cells(matrix: Any) -> tuple[Ints, Ints, NDArray[Any]]:
    """Return where each row begins and the last ends, and columns and values: all cells, or those stored."""
    if is_sparse(matrix):
        matrix = matrix.tocsr()
        return matrix.indptr, matrix.indices, matrix.data
    n_rows, width = matrix.shape
    ptr = np.arange(n_rows + 1, dtype=np.int64) * width
    return ptr, np.tile(np.arange(width), n_rows), matrix.reshape(-1)
