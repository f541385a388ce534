"""`Rows`: labels of rows as a reader gives them, of a dict as of a file, at once or in batches."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints, Labels
from xmleval.base.errors import InputError, Message

MISSING_WORDS = ("None", "nan", "NaN", "NaT", "<NA>")  # as pandas and NumPy print what is not there
BY_INDEX, BY_KEY = "index", "key"  # how rows are matched: all of them, or those that are there
INDEX_BYTES = 100  # of memory for a name in an index, beside the name
ENTRY_BYTES = 64  # of memory for an entry until it is matched
CHECKED_BYTES = 1 << 18  # of a text, whose rows are a batch


@dataclass
class FileNotes:
    """What a file alone settles.

    unit : what a place in it is called
    notes : what was settled by the names of fields or by what they hold, for messages
    columns : of rows in order, hashes of columns that are neither labels nor scores
    how_to_join : what to do about rows in another order; ``{!r}`` stands for the column that shows it
    judged_by : the column of judgements of a truth, where an option names it
    """

    unit: str = "line"
    notes: list[str] = field(default_factory=list)
    columns: dict[Any, array[int]] = field(default_factory=dict)
    how_to_join: str = ""
    judged_by: str | None = None

    def hashes(self, column: Any) -> array[int]:
        """Return those of a column."""
        return self.columns[column]


class Rows(NamedTuple):
    """Labels of rows, row after row.

    keys, match : names of the rows, and how they are matched; None where rows are in order
    ptr : int64 (n + 1,), where the labels of each row begin, and where the last ones end
    labels : places among ``names``, int64, or label ids
    names : distinct names of labels, in the order in which they come; None where labels are ids
    values : scores or judgements, None where there are none
    best_first : whether the order of labels tells their rank, of equal scores at least; -1 is then no id
    places : int64 (n,), line or row of a file that holds each row; None of objects
    is_long : whether a key may stand in several rows, whose labels are then those of one row
    are_lists : whether each row was a list, as zeros and ones of each label may be
    origin : where they come from, and further columns: `RowColumns` of a frame, `FileNotes` of a file
    is_written : whether somebody wrote labels in this order, so that scores that rise in it may be distances
    """

    keys: Sequence[Any] | None
    match: str | None
    ptr: Ints
    labels: Labels
    names: list[Any] | None
    values: NDArray[Any] | None = None
    best_first: bool = False
    places: Ints | None = None
    is_long: bool = False
    are_lists: bool = False
    origin: Any = None
    is_written: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.ptr.size - 1

    @property
    def n_bytes(self) -> int:
        """Memory of the entries."""
        return self.ptr.nbytes + self.labels.nbytes + (0 if self.values is None else self.values.nbytes)

    @property
    def named(self) -> bool:
        """Whether labels have names, not integer ids; rows without labels have neither."""
        return self.names is not None and isinstance(next(iter(self.names), None), str)

    def label(self, entry: int) -> Any:
        """Return the name, or the id, of the label of an entry."""
        number = int(self.labels[entry])
        return number if self.names is None else self.names[number]

    def row_of(self, entry: int) -> int:
        """Return the row of an entry."""
        return int(np.searchsorted(self.ptr, entry, side="right")) - 1

    def part(self, start: int, stop: int) -> Rows:
        """Return rows start..stop-1 of those without keys."""
        first, last = int(self.ptr[start]), int(self.ptr[stop])
        ptr = self.ptr[start : stop + 1] - first
        values = None if self.values is None else self.values[first:last]
        return self._replace(ptr=ptr, labels=self.labels[first:last], values=values)

    def only(self, kept: Bools) -> Rows:
        """Return the rows with some of their entries."""
        if kept.all():
            return self
        values = None if self.values is None else self.values[kept]
        return self._replace(ptr=pointer(kept)[self.ptr], labels=self.labels[kept], values=values)

    def error(self, argument: str, reason: str, row: int, value: Any = None) -> InputError:
        """Return what to raise about a row, by its place in a file where it has one."""
        if self.places is None:
            return InputError(argument, reason, row=row, value=value)
        unit = "row" if self.origin is None else self.origin.unit
        return InputError(argument, Message(f"{unit} {self.places[row]}: ", reason), value=value)


def rows_by_id(
    ptr: Ints, labels: Labels, values: NDArray[Any] | None = None, best_first: bool = False
) -> Rows:
    """Return rows in order whose labels are ids."""
    return Rows(None, None, ptr, labels, None, values, best_first)


@dataclass(frozen=True)
class Named:
    """A sparse array whose rows and labels have names; `xmleval.evaluate` takes it as it takes dicts.

    Parameters
    ----------
    matrix : sparse array of shape (m, l)
        Ones for relevant labels, grades of judged ones, or scores.
    row_names, label_names : list of str
        Names of its m rows and of the labels of its columns.
    n_empty, n_ignored : int
        Of predictions: rows of the truth without a prediction, and rows left out because the truth has none
        of their name.
    unknown_labels : list of str
        Names of the labels of the last columns, which the truth does not name.

    Examples
    --------
    >>> import scipy.sparse
    >>> from xmleval.io import Named
    >>> truth = Named(scipy.sparse.eye_array(2, format="csr"), ["q1", "q2"], ["cat", "dog"])
    >>> evaluate(truth, {"q1": {"cat": 0.5}, "q2": {"cow": 0.5}}, metrics=["p@1"])["p@1"]
    0.5
    """

    matrix: Any
    row_names: list[str]
    label_names: list[str]
    n_empty: int = 0
    n_ignored: int = 0
    unknown_labels: Sequence[str] = ()

    def rows(self, argument: str) -> Rows:
        """Return its rows; ``argument`` is what messages call them (@private)."""
        from scipy.sparse import csr_array  # imported here to keep start-up fast

        matrix, names = csr_array(self.matrix), [*self.label_names, *self.unknown_labels]
        if matrix.shape != (len(self.row_names), len(names)):
            named = f"{len(self.row_names)} names of rows and {len(names)} of labels"
            raise InputError(argument, f"its matrix of shape {matrix.shape} has {named}; give one name each")
        return Rows(self.row_names, BY_KEY, matrix.indptr, matrix.indices, names, matrix.data)


def numbered(names: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return the place of each name among the distinct ones, and these, in the order in which they come."""
    distinct = [*dict.fromkeys(names)]
    if len(distinct) == len(names):
        return np.arange(len(names)), distinct
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(place.__getitem__, names), np.int64, len(names)), distinct


def pointer(sizes: Iterable[int] | Ints | Bools) -> Ints:
    """Return where rows of these sizes begin, and where the last one ends."""
    ptr: Ints = np.concatenate(([0], np.cumsum(np.asarray(sizes, np.int64))))
    return ptr


def without_empty_names(rows: Rows) -> Rows:
    """Return rows without empty names, which splitting empty text makes, and which are no labels."""
    if rows.names is None or "" not in rows.names:
        return rows
    empty = rows.names.index("")
    kept = rows.only(rows.labels != empty)
    names = rows.names[:empty] + rows.names[empty + 1 :]
    return kept._replace(labels=kept.labels - (kept.labels > empty), names=names)


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for none."""
    return not isinstance(value, str) and str(value) in MISSING_WORDS


def missing_names_note(*label_names: Container[Any]) -> list[str]:
    """Return a note where labels are called as missing values are printed."""
    words = ", ".join([repr(word) for word in MISSING_WORDS for names in label_names if word in names])
    return [f"{words} counts as a label; leave it out where it stands for a missing value"] if words else []


def rows_in_batches(
    entries: Iterable[tuple[str, Sequence[str], Sequence[float] | None, int]],
    notes: FileNotes,
    *,
    by_key: bool = True,
    is_long: bool = False,
    best_first: bool = False,
) -> Iterator[Rows]:
    """Yield the rows of a reader that gives the key, the labels, their values and the place of each.

    ``notes`` are those of the file, ``by_key`` tells whether rows have keys, ``is_long`` whether each is one
    label of a row, and ``best_first`` whether labels are listed in an order that counts.
    """
    entries, is_full = iter(entries), True
    while is_full:
        # flat lists: the collector of garbage visits lists of lists again and again
        keys, labels, values = list[str](), list[str](), list[float]()
        sizes, places, n_bytes, is_full = list[int](), list[int](), 0, False
        for key, row_labels, row_values, place in entries:
            keys.append(key)
            labels += row_labels
            values += row_values or ()
            sizes.append(len(row_labels))
            places.append(place)
            n_bytes += ENTRY_BYTES * (1 + len(row_labels)) + len(key) + sum(map(len, row_labels))
            if is_full := n_bytes > CHECKED_BYTES:
                break
        yield Rows(
            keys if by_key else None,
            BY_KEY if by_key else None,
            pointer(sizes),
            *numbered(labels),
            np.array(values, np.float64) if values else None,
            best_first,
            np.array(places, np.int64),
            is_long,
            origin=notes,
        )
