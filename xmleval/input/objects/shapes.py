"""Shapes of arguments, and lists that may be dense arrays or lists of ids."""

from __future__ import annotations

from typing import Any

from xmleval.input.csr import as_array
from xmleval.input.objects.wide import Wide
from xmleval.input.rows import Rows


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of what has two dimensions."""
    try:
        shape = getattr(value, "shape", None)
    except RuntimeError:  # of a tensor of rows of several lengths
        return None
    return tuple(shape) if shape is not None and len(shape) == 2 else None


def shapes_of(given: dict[str, Any], held: dict[str, Wide | Rows]) -> dict[str, tuple[int, ...] | None]:
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
