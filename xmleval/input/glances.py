"""What is seen of scores and label sets before they are counted, and of names that are not the truth's."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints, row_sizes
from xmleval.base.errors import Field, InputError, Message
from xmleval.input.rows import Rows

VECTORS = "rows of zeros and ones, one for each label, look like label ids"
LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"
MOST_GRADE = 10
MOST_VALUES = 1 << 16  # of each side, from which it is told whether they look swapped
MOST_NAMES = 1 << 14  # of each side that are compared as people spell them


def vector_width(ptr: Ints, labels: NDArray[Any]) -> tuple[int, bool]:
    """Return the length of rows of zeros and ones alone, if all have one, and whether they can be no ids."""
    sizes = row_sizes(ptr)
    width = int(sizes[0]) if sizes.size else 0
    if width < 2 or (sizes != width).any() or labels.min() < 0 or labels.max() > 1:
        return 0, False
    return width, width > 2 or bool((labels[::2] == labels[1::2]).any())


def refuse_vectors(argument: str, ptr: Ints, labels: NDArray[Any], n_labels: int) -> None:
    """Refuse lists of zeros and ones, one of each label, but 0 and 1 once in each may be two of many ids."""
    width, is_certain = vector_width(ptr, labels)
    if width and (width == n_labels or is_certain):
        raise InputError(argument, f"{VECTORS}; give an array of them, or ids as sets")


class VectorGlance:
    """Tells whether all rows so far are lists of zeros and ones, of one length.

    ``advice`` is what to write in their place.
    """

    def __init__(self, advice: str) -> None:
        self._advice = advice
        self._width = 0
        self._are_possible = True

    def refuse(self, rows: Rows) -> None:
        """Refuse rows that can be no lists of ids."""
        self._are_possible &= rows.are_lists
        if not self._are_possible or not rows.n_rows:
            return
        ids = rows.labels
        if rows.names is not None:
            ids = np.array([("0", "1", name).index(name) for name in rows.names], np.int64)[ids]
        width, is_certain = vector_width(rows.ptr, ids)
        self._are_possible = width > 0 and self._width in (0, width)
        self._width = width
        if self._are_possible and is_certain:
            raise ValueError(f"{VECTORS}; {self._advice}")

    def close(self) -> None:
        """Refuse rows that may be ids, of which all have 0 and 1."""
        if self._are_possible and self._width:
            raise ValueError(f"0 and 1 in all rows: {VECTORS}; {self._advice}")


def without_vectors(batches: Iterable[Rows], advice: str) -> Iterator[Rows]:
    """Yield the rows of a file, and refuse vectors among its lists: those that may be ids, at its end."""
    glance = VectorGlance(advice)
    for rows in batches:
        glance.refuse(rows)
        yield rows
    glance.close()


def swapped_notes(truth: str, y_true: object, scores: str, y_score: object) -> list[str]:
    """Return a note where the first grades look like scores, and the first scores like grades."""
    grades, values = (_first_values(rows) for rows in (y_true, y_score))
    if not values.any() or ((values < 0) | (values > MOST_GRADE) | (values != np.floor(values))).any():
        return []
    if (grades != np.floor(grades)).any():
        wrong = "are fractions"
    elif (np.abs(grades) > MOST_GRADE).any():
        wrong = f"go beyond {MOST_GRADE}"
    else:
        return []
    right = f"the scores of {scores} are whole numbers from 0 to {MOST_GRADE}"
    return [f"{truth}: its grades {wrong}, and {right}; are the truth and the scores swapped?"]


def similar_names(unknown: Iterable[Any], names: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return unknown names with those of the truth that differ in spelling alone; of many, the first."""
    unknown_by_spelling: dict[str, Any] = {}
    for name in islice(unknown, MOST_NAMES):
        unknown_by_spelling.setdefault(_plainly_spelled(name), name)
    spelled = ((_plainly_spelled(name), name) for name in islice(names, MOST_NAMES))
    return [
        (unknown_by_spelling.pop(spelling), name)
        for spelling, name in spelled
        if spelling in unknown_by_spelling
    ]


def _plainly_spelled(name: object) -> str:
    """Return a name in one case and Unicode form, with single blanks in place of hyphens and underscores."""
    text = str(name)
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split())


def unread_grades(truth: str) -> Message:
    """Return the note on a truth that has grades, where no gains are asked for."""
    return Message(f"{truth}: grades above 1 count as 1, unless ", Field("gains"), " is given")


def _first_values(rows: object) -> NDArray[Any]:
    """Return the first values of a matrix, of rows or of a pair (labels, scores), none of anything else."""
    if isinstance(rows, tuple) and not isinstance(rows, Rows):  # in either order, where scores are fractions
        fractions = (array for array in rows if isinstance(array, np.ndarray) and array.dtype.kind == "f")
        rows = next(fractions, rows[-1] if rows else None)
    rows = getattr(rows, "matrix", getattr(rows, "values", rows))
    values = rows if isinstance(rows, np.ndarray) else getattr(rows, "data", None)
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind not in "iuf":
        return np.empty(0)
    return values[: max(1, MOST_VALUES * len(values) // values.size)].reshape(-1).astype(np.float64)
