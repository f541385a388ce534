"""Rows and labels that have names, and the columns that the names stand for."""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.remote import as_path
from xmleval.files.saved import parse_json
from xmleval.input.columns import ColumnHashes
from xmleval.input.formats.format import naming
from xmleval.input.lines import read_json, shown
from xmleval.input.missing import missing_names_note
from xmleval.input.text_columns import text_columns
from xmleval.input.ties import order_ties
from xmleval.input.written import NamedScores

EXPECTED = "names of labels, one a line or a JSON list of them, each once"
LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"
INDEX_BYTES = 100  # of memory for a name in an index, beside the name
ENTRY_BYTES, KEPT_BYTES = 100, 16  # of memory for an entry: until all are sorted, and from then on
CHECKED_BYTES = 1 << 18  # of a text, after which its names are checked against the memory


class ListedNames(list[str]):
    """Names of labels in the order of a file."""

    def __init__(self, names: Iterable[str], path: Path) -> None:
        super().__init__(names)
        self.path = path


class NameIndex:
    """Numbers of names, in the order in which they are added.

    Parameters
    ----------
    names : iterable of str, optional
        First names, which take the numbers from 0.

    Examples
    --------
    >>> from xmleval.io import NameIndex
    >>> index = NameIndex(["cat", "dog"])
    >>> index.add("cow"), index.add("cat"), index.find("bee"), len(index)
    (2, 0, None, 3)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        self._text_bytes = 0
        for place, name in enumerate(names):
            if self.add(name) != place:
                raise ValueError(f"name {shown(name)} occurs twice, the second time in place {place}")

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._numbers)

    @property
    def names(self) -> list[str]:
        """All names, by number.

        Examples
        --------
        >>> from xmleval.io import NameIndex
        >>> NameIndex(["cat", "dog"]).names
        ['cat', 'dog']
        """
        return list(self._numbers)

    @property
    def text_bytes(self) -> int:
        """Memory of the names themselves (@private)."""
        return self._text_bytes

    @property
    def n_bytes(self) -> int:
        """Memory of the index, its names included (@private)."""
        return self._text_bytes + INDEX_BYTES * len(self._numbers)

    def find(self, name: str) -> int | None:
        """Return the number of a name, None where it has none.

        Examples
        --------
        >>> from xmleval.io import NameIndex
        >>> NameIndex(["cat", "dog"]).find("dog")
        1
        """
        return self._numbers.get(name)

    def add(self, name: str) -> int:
        """Return the number of a name, the next one where it is new.

        Examples
        --------
        >>> from xmleval.io import NameIndex
        >>> NameIndex(["cat", "dog"]).add("cow")
        2
        """
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            self._text_bytes += sys.getsizeof(name)
        return number


@dataclass(frozen=True)
class Named:
    """A sparse array whose rows and labels have names.

    Parameters
    ----------
    matrix : sparse array of shape (m, l)
        Ones for relevant labels, grades of judged ones, or scores.
    row_names, label_names : list of str
        Names of its m rows and l labels.
    n_empty, n_ignored, n_new_labels : int
        Of predictions: rows of the truth without a prediction, rows left out because the truth has none
        of their name, and labels at the end that the truth does not name.
    closed : bool
        Whether a list told all labels, so that predictions can have no others.
    other_row : str or None
        Of predictions: the name of their first row, where none of theirs is one of the truth.
    unscored : bool
        Of predictions: whether they have no scores; the values tell their order in the file.
    by_order : bool
        Whether rows have no names of their own and are called by their numbers.
    has_grades : bool
        Of a truth: whether the file has grades above 1.
    told : tuple of str
        What was settled by the names of fields or by what they hold, for messages.
    columns : ColumnHashes or None
        Of rows in order: the values of columns that are neither labels nor scores.
    judged_by : str or None
        The column of judgements of a truth, where an option names it.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval.io import Named
    >>> Named(np.eye(2), ["q1", "q2"], ["cat", "dog"]).label_names
    ['cat', 'dog']
    """

    matrix: Any
    row_names: list[str]
    label_names: list[str]
    n_empty: int = 0
    n_ignored: int = 0
    n_new_labels: int = 0
    closed: bool = False
    other_row: str | None = None
    unscored: bool = False
    by_order: bool = False
    has_grades: bool = False
    told: tuple[str, ...] = ()
    columns: ColumnHashes | None = field(default=None, repr=False, compare=False)
    judged_by: str | None = None

    def widened(self, label_names: list[str]) -> Named:
        """Return the same rows with further labels, which none of them has.

        ``label_names`` are those of all labels, and begin with the names of the labels of these rows.

        Examples
        --------
        >>> import scipy.sparse
        >>> from xmleval.io import Named
        >>> truth = Named(scipy.sparse.eye_array(2, format="csr"), ["q1", "q2"], ["cat", "dog"])
        >>> truth.widened(["cat", "dog", "cow"]).matrix.shape
        (2, 3)
        """
        if label_names[: len(self.label_names)] != self.label_names:
            raise ValueError("label_names do not begin with the names of the labels that are there")
        matrix = self.matrix
        shape = matrix.shape[0], len(label_names)
        wide = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=shape)
        return replace(self, matrix=wide, label_names=label_names)


def read_names(path: str | os.PathLike[str]) -> list[str]:
    r"""Read the names of labels from a file.

    Parameters
    ----------
    path : path
        A text with one name on each line, or a JSON list of strings in a file ``NAME.json``; either may be
        packed by gzip.

    Returns
    -------
    list of str
        The name of each column.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds anything else, or a name twice.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from xmleval.io import read_names
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "labels.txt").write_text("cat\ndog\n")
    ...     names = read_names(Path(folder) / "labels.txt")
    >>> names
    ['cat', 'dog']
    """
    return load_names(as_path(path), UNLIMITED)


def load_names(path: Path, allowance: Allowance) -> list[str]:
    """Read the names of labels within an allowance of memory."""
    with naming(path, EXPECTED):
        is_json = path.name.lower().removesuffix(".gz").endswith(".json")
        names = (
            _json_names(path, allowance)
            if is_json
            else (name for _, (name,) in text_columns(path, allowance, INDEX_BYTES))
        )
        index = NameIndex(names)
        allowance.take(index.n_bytes)
    return ListedNames(index.names, path)


def _json_names(path: Path, allowance: Allowance) -> list[str]:
    try:
        names = parse_json(read_json(path, allowance), allowance)
    except RecursionError:
        raise ValueError("its lists are nested without end") from None
    if not isinstance(names, list):
        raise ValueError(f"a JSON {type(names).__name__}, not a list")
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"name {place} is {shown(json.dumps(name))}, not a string")
        if not name:
            raise ValueError(f"name {place} is empty")
    return names


class Gathering:
    """Named entries, in any order, on their way into a sparse array.

    Parameters
    ----------
    like : Named, list of str, or None
        Rows and labels that predictions are brought in line with, or labels alone, where rows stand in the
        order in which they appear first; None to gather a truth.
    labels : list of str or None
        Names of all labels of a truth, None where it is the truth that tells them.
    grades : bool
        Whether to keep all judged labels of a truth with their grades, instead of the relevant ones.
    """

    def __init__(
        self, like: Named | list[str] | None, labels: list[str] | None = None, grades: bool = False
    ) -> None:
        self._grades = grades
        named = like if isinstance(like, Named) else None
        self._is_truth, self._own_rows = like is None, named is None
        self._closed = labels is not None or (named is not None and named.closed)
        self._rows = NameIndex(named.row_names if named else ())
        names = like.label_names if isinstance(like, Named) else like or labels or ()
        self._labels = NameIndex(names)
        self._listed_in = names.path if isinstance(names, ListedNames) else None
        self._n_known = len(self._labels)
        self._ignored: dict[str, None] = {}
        self._other_bytes = 0  # of the names of ignored rows
        self._known_bytes = self._rows.text_bytes + self._labels.text_bytes  # of names that others hold, too
        self._met = False  # whether there was a row of the truth
        self.as_listed = False  # whether equal scores rank as they are listed, not by name
        self._at = array("q"), array("q"), array("d"), array("q")  # row, label, value, place

    def add_row(self, name: str) -> int | None:
        """Return the number of a row, which may stay empty; None where the truth does not have it."""
        if self._own_rows:
            return self._rows.add(name)
        row = self._rows.find(name)
        if row is None:
            if name not in self._ignored:
                self._other_bytes += sys.getsizeof(name) + INDEX_BYTES
                self._ignored[name] = None
        else:
            self._met = True
        return row

    def add(self, row_name: str, label_name: str, value: float, place: int) -> None:
        """Take the value of a label in a row, and where the file holds it; an empty name is no label."""
        row = self.add_row(row_name)
        if row is None or not label_name:
            return
        label = self._labels.find(label_name) if self._closed else self._labels.add(label_name)
        if label is None:
            given = f"of {self._listed_in}; add it there" if self._listed_in else "given ones"
            raise ValueError(f"label {shown(label_name)} is not one of the {len(self._labels)} {given}")
        rows, labels, values, places = self._at
        rows.append(row)
        labels.append(label)
        values.append(value)
        places.append(place)

    @property
    def n_bytes(self) -> int:
        """Memory that it takes until it is finished, beside names that others hold."""
        names = self._rows.n_bytes + self._labels.n_bytes - self._known_bytes
        return names + self._other_bytes + ENTRY_BYTES * len(self._at[0])

    @property
    def kept_bytes(self) -> int:
        """Memory of what `finish` returns."""
        names = self._rows.text_bytes + self._labels.text_bytes - self._known_bytes
        lists = 8 * (2 * len(self._rows) + len(self._labels))  # of names, and where rows begin
        return names + lists + KEPT_BYTES * len(self._at[0])

    def duplicate(self) -> tuple[int, str, str] | None:
        """Return the first place that repeats a row and a label, and their names; None if none does."""
        rows, labels, _, places = (np.asarray(column) for column in self._at)
        order = np.lexsort((labels, rows))  # stable: the first place comes first
        same = (np.diff(rows[order]) == 0) & (np.diff(labels[order]) == 0)
        if not same.any():
            return None
        repeats = order[1:][same]
        first = int(repeats[np.argmin(places[repeats])])
        return int(places[first]), self._rows.names[rows[first]], self._labels.names[labels[first]]

    def finish(self, allowance: Allowance, unit: str = "line") -> Named:
        """Return the array: of ones where values of a truth are positive, of grades or scores as they are.

        A label that a row has twice is refused; ``unit`` is what a place in the file is called.
        """
        allowance.check(self.n_bytes)
        again = self.duplicate()
        if again is not None:
            place, row_name, label_name = again
            raise ValueError(
                f"{unit} {place}: label {shown(label_name)} of instance {shown(row_name)} a second time"
            )
        allowance.take(self.kept_bytes)
        rows, labels, values, _ = (np.asarray(column) for column in self._at)
        n_rows, n_labels = len(self._rows), len(self._labels)
        n_empty = n_rows - np.unique(rows).size
        data: NDArray[Any] = values
        n_empty = 0 if self._is_truth else n_empty
        has_grades = self._is_truth and bool((values > 1).any())
        if self._is_truth and not self._grades:
            kept = values > 0
            rows, labels, data = rows[kept], labels[kept], np.ones(int(kept.sum()), np.uint8)
        # how scores run in the order of the file tells distances
        order = np.lexsort((labels, rows)) if self._is_truth else np.argsort(rows, kind="stable")
        ptr = np.zeros(n_rows + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=ptr[1:])
        kind = scipy.sparse.csr_array if self._is_truth else NamedScores
        data, labels = data[order], labels[order]
        if not (self._is_truth or self.as_listed):
            labels = order_ties(ptr, labels, data, self._labels.names)
        matrix = kind((data, labels, ptr), shape=(n_rows, n_labels))
        if not self._is_truth:
            matrix.label_names = self._labels.names
        n_new = 0 if self._is_truth else n_labels - self._n_known
        names = self._rows.names, self._labels.names
        if self._listed_in is not None:
            names = names[0], ListedNames(names[1], self._listed_in)
        other_row = None if self._met else next(iter(self._ignored), None)
        found = Named(matrix, *names, n_empty, len(self._ignored), n_new, self._closed, other_row)
        new_names = self._labels.names if self._is_truth else self._labels.names[self._n_known :]
        return replace(found, has_grades=has_grades, told=tuple(missing_names_note(new_names)))
