"""Rows and columns by number: what has names as arrays, and the order of what is numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import Stored, WithOthers, as_array, is_sparse
from xmleval.input.errors import InputError
from xmleval.input.glances import refuse_vectors
from xmleval.input.objects.named import NamedRows, Wide
from xmleval.input.ties import NamedColumns, name_places, order_ties
from xmleval.message import Keyword, Message
from xmleval.records import Ints, label_dtype

SAME_ORDER = "; where the order is the same, give {}.to_numpy()"
MOST_GRADE = 10
MOST_VALUES = 1 << 16  # of each side, from which it is told whether they look swapped
BY_POSITION = "labels were read by position, as y_true has no names of them"
IN_ORDER = "columns were brought in the order of their numbers"


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


def refuse_order(argument: str, keys: list[Any] | None, other: str) -> None:
    """Refuse an index that numbers the rows in another order, where another argument has no index."""
    if keys is None or keys == [*range(len(keys))] or (numbers := as_numbers(keys)) is None:
        return
    if not np.array_equal(numbers, np.arange(numbers.size)):
        wrong = f"its index has the numbers of the rows in another order, and {other} has no index"
        raise InputError(
            argument, f"{wrong}; sort_index() or reset_index(drop=True) says which rows are meant"
        )


def as_numbers(names: list[Any]) -> Ints | None:
    """Return names as numbers, if they are 0, 1, .. in any order; some frames have only texts as names."""
    known = {str(number): number for number in range(len(names))}
    numbers = [known.pop(str(name), -1) for name in names]
    return None if known else np.array(numbers, np.int64)


def numbered_matrix(
    rows: Wide,
    codes: Ints | None,
    order: Ints | None,
    n_labels: int | None,
    label_names: Sequence[Any] | None = None,
) -> Any:
    """Return a matrix with rows and columns in order; a sparse one where it does not have all columns.

    With ``label_names``, those of all labels, equal scores rank by the names of the columns.
    """
    matrix = rows.matrix
    if order is not None:
        matrix = (matrix.tocsr() if is_sparse(matrix) else matrix)[order]
    if label_names is not None:
        return _ranked_by_name(matrix, rows.columns, codes, n_labels, label_names)
    if codes is None:
        return matrix
    if codes.size == n_labels and not is_sparse(matrix):
        return matrix[:, np.argsort(codes)]
    from scipy.sparse import csr_array  # imported here to keep start-up fast

    if is_sparse(matrix):
        found = matrix.tocsr()
        parts = found.data, codes[found.indices], found.indptr
    else:
        ptr = np.arange(matrix.shape[0] + 1, dtype=np.int64) * codes.size
        parts = matrix.reshape(-1), np.tile(codes, matrix.shape[0]), ptr
    return csr_array(parts, shape=(matrix.shape[0], n_labels))


def _ranked_by_name(
    matrix: Any, columns: list[Any], codes: Ints | None, n_labels: int | None, label_names: Sequence[Any]
) -> Any:
    """Return scores of named columns, of which equal ones rank in the order of `name_places`."""
    from xmleval.input.written import NamedCells  # imported here to keep start-up fast

    labels = np.arange(len(columns)) if codes is None else codes
    if not is_sparse(matrix) and labels.size == n_labels:
        return NamedColumns(matrix, labels.astype(label_dtype(labels.size)), columns)
    by_name = np.argsort(name_places(columns))
    labels = labels[by_name]
    if is_sparse(matrix):
        found = matrix.tocsr()[:, by_name]
        found.sort_indices()
        parts = found.data, labels[found.indices], found.indptr
    else:
        ptr = np.arange(matrix.shape[0] + 1, dtype=np.int64) * labels.size
        parts = matrix.take(by_name, axis=1).reshape(-1), np.tile(labels, matrix.shape[0]), ptr
    scores = NamedCells(parts, shape=(matrix.shape[0], n_labels))
    scores.label_names = label_names
    return scores


def numbered_entries(
    argument: str,
    rows: NamedRows,
    codes: Ints,
    order: Ints | None,
    n_labels: int,
    graded: bool | None = None,
    label_names: Sequence[Any] | None = None,
) -> Any:
    """Return sets, graded sets, scores or lists of labels by number, with the rows in order.

    ``label_names`` are those of all labels, None where they have none.
    """
    ptr = np.concatenate(([0], np.cumsum(rows.sizes)))
    of_row = np.repeat(np.arange(rows.sizes.size), rows.sizes)
    if argument != "y_score" and rows.are_lists and rows.values is None and {*rows.labels[:2]} <= {0, 1}:
        refuse_vectors(argument, ptr, codes, n_labels)
    _refuse_twice(argument, rows, of_row, codes)
    if argument != "y_score" and rows.values is not None and not graded:
        _refuse_scores(argument, rows, rows.values, graded is not None)
    values, sizes = rows.values, rows.sizes
    if order is not None:
        sizes = np.append(rows.sizes, 0)[order]  # none of row -1
        starts = np.repeat(ptr[order], sizes)
        places = starts + np.arange(starts.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        codes, values = codes[places], None if values is None else values[places]
        ptr = np.concatenate(([0], np.cumsum(sizes)))
    if argument != "y_score" and not graded:
        if values is not None:
            kept = values > 0
            codes, ptr = codes[kept], np.concatenate(([0], np.cumsum(kept)))[ptr]
        values = None
    if argument == "y_score" and not rows.best_first:
        from xmleval.input.written import NamedScores, WrittenRows  # imported here to keep start-up fast

        found: Any = (WrittenRows if label_names is None else NamedScores)((sizes.size, n_labels))
        if label_names is not None:
            found.label_names = label_names
            codes = codes if values is None else order_ties(ptr, codes, values, label_names)
        found.data, found.indices, found.indptr = values, codes, ptr
        return found
    return Stored(ptr, codes, values, n_labels, label_names)


def _refuse_twice(argument: str, rows: NamedRows, of_row: Ints, codes: Ints) -> None:
    cells = of_row * (int(codes.max(initial=0)) + 1)  # fewer than 2^63 for what fits in memory
    cells += codes
    if (np.diff(np.sort(cells)) == 0).any():
        order = np.argsort(cells, kind="stable")
        entry = int(order[1:][np.diff(cells[order]) == 0].min())
        label, row = rows.labels[entry], int(of_row[entry])
        raise InputError(argument, f"label {label!r} occurs twice", row=row, value=label)


def _refuse_scores(argument: str, rows: NamedRows, values: NDArray[Any], can_be_graded: bool) -> None:
    bad = np.flatnonzero(values != np.floor(values))
    if bad.size or rows.best_first:
        seen = f"value {values[bad[0]]} is no judgement, an integer" if bad.size else "labels have scores"
        where = "y_score" if argument == "y_pred" else "y_score; are the truth and the scores swapped?"
        row = rows.row_of(int(bad[0])) if bad.size else None
        told: list[object] = [f"{seen}; scores go to {where}"]
        told += [" Grades need ", Keyword("gains", "'linear'")] if can_be_graded else []
        raise InputError(argument, Message(*told), row=row)


def swapped_notes(truth: str, y_true: Any, scores: str, y_score: Any) -> list[str]:
    """Return a note where the first grades look like scores, and the first scores like grades.

    ``truth`` and ``scores`` are what the note calls them.
    """
    grades, values = first_values(y_true), first_values(y_score)
    if not values.any() or not ((values >= 0) & (values <= MOST_GRADE) & (values == np.floor(values))).all():
        return []
    if (grades != np.floor(grades)).any():
        wrong = "are fractions"
    elif (np.abs(grades.astype(np.float64)) > MOST_GRADE).any():
        wrong = f"go beyond {MOST_GRADE}"
    else:
        return []
    right = f"the scores of {scores} are whole numbers from 0 to {MOST_GRADE}"
    return [f"{truth}: its grades {wrong}, and {right}; are the truth and the scores swapped?"]


def first_values(rows: Any) -> NDArray[Any]:
    """Return the first values of a matrix, of rows or of a pair (labels, scores), none of anything else."""
    rows = rows.rows if isinstance(rows, WithOthers) else rows
    rows = rows.matrix if isinstance(rows, NamedColumns) else rows
    if isinstance(rows, tuple) and len(rows) == 2:  # in either order, where scores are fractions
        rows = next((one for one in rows if isinstance(one, np.ndarray) and one.dtype.kind == "f"), rows[1])
    values = rows if isinstance(rows, np.ndarray) else getattr(rows, "data", None)
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind not in "iuf":
        return np.empty(0)
    n_rows = MOST_VALUES * len(values) // values.size
    return values[: max(1, n_rows)].reshape(-1)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of what has two dimensions."""
    try:
        shape = getattr(value, "shape", None)
    except RuntimeError:  # of a tensor of rows of several lengths
        return None
    return tuple(shape) if shape is not None and len(shape) == 2 else None


def shapes_of(given: dict[str, Any], held: dict[str, Wide | NamedRows]) -> dict[str, tuple[int, ...] | None]:
    """Return the numbers of instances and labels of matrices; long frames have other rows and columns."""
    rows = {argument: held.get(argument, value) for argument, value in given.items()} if held else given
    return {a: shape_of(row.matrix if isinstance(row, Wide) else row) for a, row in rows.items()}


def dense_lists(given: dict[str, Any], width: int, n_labels: int | None) -> dict[str, Any]:
    """Make arrays of dense lists, which the number of labels would make lists of ids, if none was given."""
    if n_labels is not None:
        return given
    dense = {a for a, value in given.items() if isinstance(value, list) and not are_ids(value, width)}
    return {a: as_array(a, value) if a in dense else value for a, value in given.items()}


def are_ids(rows: list[Any], width: int) -> bool:
    """Tell whether lists can only be of ids, not the rows of a dense array of that width."""
    if not all(hasattr(row, "__len__") and not isinstance(row, str) for row in rows):
        return False
    if any(isinstance(row, set | frozenset) for row in rows):
        return True
    sizes = {len(row) for row in rows}
    if len(sizes) != 1 or sizes in ({0}, {width}):
        return len(sizes) > 1 or sizes == {0}
    return any(isinstance(item, tuple) or item not in (0, 1) for row in rows for item in row)
