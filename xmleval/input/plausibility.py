"""Checks of scores, label sets and names that look like something else, such as swapped inputs."""

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
from xmleval.kernels.checking import FIRST_IDS

VECTORS = "rows contain only 0 and 1, which may be values of all labels or label ids"
LIKE_A_SCORE = "it looks like a score: give TRUTH first, then SCORES"
MOST_GRADE = 10
FEWEST_LABELS = 10  # of training labels, whose ids may count from 1
MOST_VALUES = 1 << 16  # of each side that are checked for swapped inputs
MOST_NAMES = 1 << 14  # of each side that are compared by spelling


def describe_ids(n_labels: int) -> str:
    """Return that the ids of so many labels seem to count from 1."""
    last = n_labels - 1
    first = min(FIRST_IDS, n_labels) - 1
    ids = "id 1 does"
    if first > 1:
        others = f" and {last}" if first < last else ""
        ids = f"ids 1 to {first}{others} do"
    return (
        f"id 0 occurs nowhere, and {ids}: if ids count from 1, subtract 1, or drop the first "
        "column of matrices"
    )


def notes_on_counts(argument: str, label_counts: NDArray[Any]) -> list[str]:
    """Return a note if the ids of training labels seem to count from 1.

    Then id 0 does not occur, but all other first ids do, and the last one; of few labels, any may
    be missing by chance.
    """
    n_labels = label_counts.size
    if n_labels < FEWEST_LABELS or label_counts[0]:
        return []
    if label_counts[1:FIRST_IDS].all() and label_counts[-1]:
        return [f"{argument}: {describe_ids(n_labels)}"]
    return []


def vector_width(ptr: Ints, labels: NDArray[Any]) -> tuple[int, bool]:
    """Return the length of rows of zeros and ones, else 0, and whether they cannot be ids.

    All rows must have that length.
    """
    sizes = row_sizes(ptr)
    width = int(sizes[0]) if sizes.size else 0
    if width < 2 or (sizes != width).any():
        return 0, False
    if labels.min() < 0 or labels.max() > 1:
        return 0, False
    if width > 2:
        return width, True
    has_repeats = bool((labels[::2] == labels[1::2]).any())
    return width, has_repeats


def refuse_vectors(argument: str, ptr: Ints, labels: NDArray[Any], n_labels: int) -> None:
    """Refuse rows of zeros and ones for all labels; 0 and 1 once each may be two of many ids."""
    width, is_certain = vector_width(ptr, labels)
    if width and (width == n_labels or is_certain):
        raise InputError(argument, f"{VECTORS}; give values as an array, or ids as sets")


class VectorGlance:
    """Watches whether all rows so far are lists of zeros and ones of one length.

    ``advice`` says what to write instead.
    """

    def __init__(self, advice: str) -> None:
        self._advice = advice
        self._width = 0
        self._are_possible = True

    def refuse(self, rows: Rows) -> None:
        """Refuse rows that cannot be lists of ids."""
        self._are_possible &= rows.are_lists
        if not self._are_possible or not rows.n_rows:
            return
        ids = rows.labels
        if rows.names is not None:
            # the id of another name is 2
            id_of_name = [("0", "1", name).index(name) for name in rows.names]
            ids = np.array(id_of_name, np.int64)[ids]
        width, is_certain = vector_width(rows.ptr, ids)
        self._are_possible = width > 0 and self._width in (0, width)
        self._width = width
        if self._are_possible and is_certain:
            raise ValueError(f"{VECTORS}; {self._advice}")

    def close(self) -> None:
        """Refuse rows that may be ids, but all have 0 and 1."""
        if self._are_possible and self._width:
            raise ValueError(f"{VECTORS}; {self._advice}")


def without_vectors(batches: Iterable[Rows], advice: str) -> Iterator[Rows]:
    """Yield the rows of a file; refuse vectors at once, or at the end if they may be ids."""
    glance = VectorGlance(advice)
    for rows in batches:
        glance.refuse(rows)
        yield rows
    glance.close()


def swapped_notes(truth: str, y_true: object, scores: str, y_score: object) -> list[str]:
    """Return a note if the first grades look like scores, and the first scores like grades."""
    grades = _first_values(y_true)
    values = _first_values(y_score)
    if not values.any():
        return []
    is_no_grade = (values < 0) | (values > MOST_GRADE) | (values != np.floor(values))
    if is_no_grade.any():
        return []
    if (grades != np.floor(grades)).any():
        wrong = "are fractions"
    elif (np.abs(grades) > MOST_GRADE).any():
        wrong = f"go beyond {MOST_GRADE}"
    else:
        return []
    right = f"the scores of {scores} are whole numbers from 0 to {MOST_GRADE}"
    return [f"{truth}: its grades {wrong}, but {right}; are the truth and the scores swapped?"]


def similar_names(unknown: Iterable[Any], names: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return pairs of an unknown name and a known one that differ only in spelling.

    Of many names, only the first ones are compared.
    """
    unknown_by_spelling: dict[str, Any] = {}
    for name in islice(unknown, MOST_NAMES):
        unknown_by_spelling.setdefault(_normalized(name), name)
    pairs = list[tuple[Any, Any]]()
    for name in islice(names, MOST_NAMES):
        spelling = _normalized(name)
        if spelling in unknown_by_spelling:
            pairs.append((unknown_by_spelling.pop(spelling), name))
    return pairs


def _normalized(name: object) -> str:
    """Return a name in one case and Unicode form; hyphens, underscores and blanks are one blank."""
    text = str(name)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words = text.casefold().replace("_", " ").replace("-", " ").split()
    return " ".join(words)


def unread_grades(truth: str) -> Message:
    """Return the note on a truth with grades when no gains are asked for."""
    return Message(f"{truth}: grades above 1 count as 1, unless ", Field("gains"), " is given")


def _first_values(rows: object) -> NDArray[Any]:
    """Return the first values of a matrix, rows or a pair (labels, scores), else an empty array."""
    if isinstance(rows, tuple) and not isinstance(rows, Rows):
        rows = _scores_of_pair(rows)
    rows = getattr(rows, "matrix", getattr(rows, "values", rows))
    values = rows if isinstance(rows, np.ndarray) else getattr(rows, "data", None)
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind not in "iuf":
        return np.empty(0)
    n_rows = max(1, MOST_VALUES * len(values) // values.size)
    return values[:n_rows].reshape(-1).astype(np.float64)


def _scores_of_pair(pair: tuple[Any, ...]) -> Any:
    """Return the member with fractions, which may be the first one, else the last member."""
    for member in pair:
        if isinstance(member, np.ndarray) and member.dtype.kind == "f":
            return member
    return pair[-1] if pair else None
