"""What is seen of scores before they are ranked and cut, and of label sets before they are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.errors import InputError
from xmleval.input.rows import Rows
from xmleval.input.ties import NamedColumns
from xmleval.records import Ints, row_sizes

VECTORS = "rows of zeros and ones, one for each label, look like label ids"
MOST_GRADE = 10
MOST_VALUES = 1 << 16  # of each side, from which it is told whether they look swapped


def vector_width(ptr: Ints, labels: NDArray[Any]) -> int:
    """Return the length of rows, if they have one above 1 and hold nothing but 0 and 1; 0 else."""
    sizes = row_sizes(ptr)
    width = int(sizes[0]) if sizes.size else 0
    are_alike = width > 1 and bool((sizes == width).all())
    return width if are_alike and labels.min() >= 0 and labels.max() <= 1 else 0


def hold_twice(width: int, labels: NDArray[Any]) -> bool:
    """Tell whether a row of zeros and ones holds one of them twice, as no row of label ids does."""
    return width > 2 or bool((labels[::2] == labels[1::2]).any())


def refuse_vectors(argument: str, ptr: Ints, labels: NDArray[Any], n_labels: int) -> None:
    """Refuse lists of zeros and ones of each label, which are read as label ids.

    Rows of 0 and 1 once each may also be ids; they are, where there are more than two labels.
    """
    width = vector_width(ptr, labels)
    if width and (width == n_labels or hold_twice(width, labels)):
        raise InputError(argument, f"{VECTORS}; give an array of them, or ids as sets")


class VectorRows:
    """Refuses vectors in rows of a file that is read some rows at a time.

    ``advice`` tells what to do about vectors, ``column`` in which column they are.
    """

    def __init__(self, advice: str, column: str | None = None) -> None:
        self._column, self._advice = "" if column is None else f"{column}: ", advice
        self._width = 0
        self.possible = True

    def take(self, ptr: Ints, labels: NDArray[Any]) -> None:
        """Take rows, and refuse those that can be no ids."""
        if not self.possible or ptr.size < 2:
            return
        width = vector_width(ptr, labels)
        self.possible = width > 0 and self._width in (0, width)
        self._width = width
        if self.possible and hold_twice(width, labels):
            raise ValueError(f"{self._column}{VECTORS}; {self._advice}")

    def close(self) -> None:
        """Refuse rows that may all be vectors."""
        if self.possible and self._width:
            raise ValueError(f"{self._column}0 and 1 in all rows: {VECTORS}; {self._advice}")


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
    rows = rows.matrix if isinstance(rows, NamedColumns) else rows
    if isinstance(rows, Rows):
        rows = rows.values
    elif isinstance(rows, tuple) and len(rows) == 2:  # in either order, where scores are fractions
        rows = next((one for one in rows if isinstance(one, np.ndarray) and one.dtype.kind == "f"), rows[1])
    values = rows if isinstance(rows, np.ndarray) else getattr(rows, "data", None)
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind not in "iuf":
        return np.empty(0)
    n_rows = MOST_VALUES * len(values) // values.size
    return values[: max(1, n_rows)].reshape(-1)
