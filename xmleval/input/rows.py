"""`Rows`: labels of rows as a reader gives them, of a dict as of a file, at once or in batches."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints, Labels, Scores, label_dtype
from xmleval.base.cached import cached
from xmleval.base.errors import InputError, Keyword, Message, ScanField
from xmleval.input.columns import hashed
from xmleval.input.names import Names

# as pandas, NumPy, databases and spreadsheets print what is not there
MISSING_WORDS = ("None", "nan", "NaN", "NaT", "<NA>", "NULL", "null", "N/A", "#N/A")
DOUBTFUL_NAMES = (*MISSING_WORDS, "NA")  # of labels, which are noted; NA is also Namibia
BY_INDEX, BY_KEY = "index", "key"  # how rows are matched: all of them, or those that are there
INDEX_BYTES = 100  # of memory for a name in an index, beside the name
ENTRY_BYTES = 64  # of memory for an entry until it is matched
CHECKED_BYTES = 1 << 18  # of a text, whose rows are a batch
BATCH_BYTES = 1 << 20  # likewise of rows with lists of labels
ORDERED_SHARE = 64  # one label in so many; putting fewer in order anew costs less than all labels once
MANY_LABELS = 1 << 18  # of a file, from which numbering names by a table pays


@dataclass
class Origin:
    """Where rows come from, a file or a frame, and its columns that are neither labels nor their values.

    unit : what a place in it is called
    notes : what was settled by the names of fields or by what they hold, for messages
    columns : names of columns, and of rows of a file in order hashes of what they hold
    how_to_join : what to do about rows in another order; ``{!r}`` stands for the column that shows it
    judged_by : the column of judgements of a truth, where an option names it
    id_column : the column of a frame that names the rows, None if there is none
    values : gives the values of a column of a frame
    how_to_repeat : what to do where rows of one key are meant to have one label each
    file : the one of several files that follow one another, "" where there is one
    are_ranks : whether values are the negatives of ranks, of which each row has no two
    join_option : the keyword that joins rows in another order by a column, in place of ``how_to_join``
    """

    unit: str = "line"
    notes: list[str] = field(default_factory=list)
    columns: dict[Any, Any] = field(default_factory=dict)
    how_to_join: str = ""
    judged_by: str | None = None
    id_column: Hashable | None = None
    values: Callable[[Any], list[Any]] | None = None
    how_to_repeat: str = ""
    file: str = ""
    are_ranks: bool = False
    join_option: str = ""

    def of_file(self, path: Path, paths: Sequence[Path]) -> Origin:
        """Return the origin of the rows of one of some files, with notes and columns of all."""
        return replace(self, file=str(path)) if len(paths) > 1 else self

    def noted(self, name: str, *remarks: str) -> list[str]:
        """Return a note on what was settled in reading an input of this name, and these remarks."""
        settled = [*self.notes, *remarks]
        if not settled:
            return []
        parts = [part for text in settled for part in (", ", *Message(text).parts)]
        return [Message(f"{name}: ", *parts[1:])]

    def joined_by(self, column: Hashable) -> tuple[str | Keyword, ...]:
        """Return what to do about rows in another order, which a column shows."""
        if self.join_option:
            return ScanField(self.join_option, str(column)), " joins the rows"
        return (self.how_to_join.format(column),)

    def hashes(self, column: Hashable) -> array[int]:
        """Return the hashes of a column."""
        return self.columns[column] if self.values is None else hashed(self.values(column))


class Rows(NamedTuple):
    """Labels of rows, row after row.

    keys, match : names of the rows, and how they are matched; None where rows are in order
    ptr : int64 (n + 1,), where the labels of each row begin, and where the last ones end
    labels : places among ``names``, int64, or label ids
    names : distinct names of labels, in the order in which they come; None where labels are ids
    values : scores or judgements, None where there are none; or a matrix of those of all cells, of which
        ``labels`` has one for each column
    best_first : whether the order of labels tells their rank, of equal scores at least; -1 is then no id
    places : int64 (n,), line or row of a file that holds each row; None of objects
    is_long : whether a key may stand in several rows, whose labels are then those of one row; the first
        label of a row is then at its place, and the others are at the next ones
    are_lists : whether each row was a list, as zeros and ones of each label may be
    origin : where they come from, and further columns, of a file or a frame
    is_written : whether somebody wrote labels in this order, so that scores that rise in it may be distances
    are_columns : whether the names are columns, also those without an entry; rows have values then
    """

    keys: Sequence[Any] | None
    match: str | None
    ptr: Ints
    labels: Labels
    names: Sequence[Any] | None
    values: NDArray[Any] | None = None
    best_first: bool = False
    places: Ints | None = None
    is_long: bool = False
    are_lists: bool = False
    origin: Origin | None = None
    is_written: bool = False
    are_columns: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.ptr.size - 1

    @property
    def shape(self) -> tuple[int, int] | None:
        """Numbers of rows and columns, if labels are columns."""
        return (self.n_rows, len(self.names)) if self.are_columns and self.names is not None else None

    @property
    def is_matrix(self) -> bool:
        """Whether all rows have the same labels, those of the columns of a matrix."""
        return self.values is not None and self.values.ndim == 2

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

    def part(self, start: int, stop: int, zeros: bool = True) -> Rows:
        """Return rows start..stop-1 of those without keys, end to end, of a matrix also without zeros."""
        first, last = int(self.ptr[start]), int(self.ptr[stop])
        ptr = np.subtract(self.ptr[start : stop + 1], first, dtype=np.int64)  # of all rows it may be narrower
        if self.is_matrix:
            matrix = np.asarray(self.values)[start:stop]
            cells = matrix.reshape(-1)
            if zeros:
                labels = np.empty(matrix.shape, self.labels.dtype)
                labels[:] = self.labels  # far faster than to broadcast them
                return self._replace(ptr=ptr, labels=labels.reshape(-1), values=cells)
            (stored,) = (cells != 0).nonzero()  # far faster than for two dimensions, or for numbers
            labels = self.labels[stored % self.labels.size]
            return self._replace(ptr=stored.searchsorted(ptr), labels=labels, values=cells[stored])
        values = None if self.values is None else self.values[first:last]
        return self._replace(ptr=ptr, labels=self.labels[first:last], values=values)

    def only(self, kept: Bools) -> Rows:
        """Return the rows with some of their entries."""
        if kept.all():
            return self
        entries = np.flatnonzero(kept)
        values = None if self.values is None else self.values[entries]
        return self._replace(ptr=entries.searchsorted(self.ptr), labels=self.labels[entries], values=values)

    def in_order(self, of_row: Ints | None) -> Rows:
        """Return the rows of a matrix in the order of their numbers, if any, without those that have -1."""
        if of_row is None or np.array_equal(of_row, np.arange(self.n_rows)):
            return self
        order = np.argsort(of_row, kind="stable")[int((of_row < 0).sum()) :]
        return self._replace(ptr=self.ptr[: order.size + 1], values=np.asarray(self.values)[order])

    def by_label(self, names: Sequence[Any] | None) -> Rows:
        """Return the rows of a matrix with its columns by label id, or the last of the names of all first."""
        places = np.arange(self.labels.max() + 1) if names is None else name_places(names)
        labels, order = self.labels.astype(label_dtype(places.size)), np.argsort(places[self.labels])
        if (order[1:] > order[:-1]).all():
            return self._replace(labels=labels)
        return self._replace(labels=labels[order], values=np.asarray(self.values).take(order, axis=1))

    def without_empty_names(self) -> Rows:
        """Return the rows without empty names, which splitting empty text makes, and which are no labels."""
        if self.names is None or "" not in self.names:
            return self
        empty = self.names.index("")
        kept = self.only(self.labels != empty)
        names = [*self.names[:empty], *self.names[empty + 1 :]]
        return kept._replace(labels=kept.labels - (kept.labels > empty), names=names)

    def error(self, argument: str, reason: str, row: int, value: object = None) -> InputError:
        """Return what to raise about a row, by its place in a file where it has one."""
        return self._error_behind(0, argument, reason, row, value)

    def error_of_entry(self, argument: str, reason: str, entry: int, value: object = None) -> InputError:
        """Return likewise what to raise about a label of a row."""
        row = self.row_of(entry)
        n_before = entry - int(self.ptr[row]) if self.is_long else 0
        return self._error_behind(n_before, argument, reason, row, value)

    def _error_behind(self, n_before: int, argument: str, reason: str, row: int, value: object) -> InputError:
        if self.places is None:
            return InputError(argument, reason, row=row, value=value)
        unit = "row" if self.origin is None else self.origin.unit
        file, place = "" if self.origin is None else self.origin.file, int(self.places[row]) + n_before
        return InputError(file or argument, Message(f"{unit} {place}: ", reason), value=value)

    def refuse_first(self, argument: str, noun: str, bad: Bools, start: int, *reason: object) -> None:
        """Refuse the first flagged value, if any is, of rows from ``start`` on: noun, value and reason."""
        if bad.any():
            place = int(bad.argmax())
            value = np.asarray(self.values)[place]
            message = Message(f"{noun} {value} ", *reason)
            raise InputError(argument, message, row=start + self.row_of(place), value=value)


def rows_by_id(
    ptr: Ints, labels: Labels, values: NDArray[Any] | None = None, best_first: bool = False
) -> Rows:
    """Return rows in order whose labels are ids."""
    return Rows(None, None, ptr, labels, None, values, best_first)


def no_labels(n_rows: int) -> Rows:
    """Return rows without labels, which may have names."""
    return Rows(None, None, np.zeros(n_rows + 1, np.int64), np.empty(0, np.int64), [], best_first=True)


def array_rows(array: NDArray[Any]) -> Rows:
    """Return the rows of a dense array, of which each column is a label."""
    n_rows, width = array.shape
    ptr = np.arange(n_rows + 1) * width
    return Rows(None, None, ptr, np.arange(width, dtype=label_dtype(width)), None, array, are_columns=True)


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


class LabelNames(list[Any]):
    """Names of labels, put in order once."""

    @cached
    def places(self) -> Ints:
        """The place of each name among all, the last name first, as text."""
        return places_as_text(self)

    def places_of(self, labels: Ints) -> Ints:
        """Return numbers of labels that rise as their places do, by looking at no others where few occur."""
        distinct, of_label = np.unique(labels, return_inverse=True)
        if distinct.size > len(self) // ORDERED_SHARE:
            return self.places[labels]
        return places_as_text([self[label] for label in distinct.tolist()])[of_label]


def places_as_text(names: Sequence[Any]) -> Ints:
    """Return the place of each name among all, the last name first, as text."""
    return np.argsort(sorted(range(len(names)), key=[*map(str, names)].__getitem__, reverse=True))


def name_places(names: Sequence[Any]) -> Ints:
    """Return the place of each name among all, the last name first, as text."""
    return names.places if isinstance(names, LabelNames) else places_as_text(names)


def order_ties(ptr: Ints, labels: Labels, scores: Scores, names: Sequence[str]) -> Labels:
    """Return the labels of rows as they are written, those with equal scores in the order of ``names``."""
    from xmleval.kernels.ranking import rank_rows  # loads kernels, which start-up does not need

    places, ranked_scores = np.arange(labels.size), scores.astype(np.float64)
    rank_rows(ptr, places, ranked_scores)
    rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    same = (ranked_scores[1:] == ranked_scores[:-1]) & (rows[1:] == rows[:-1])
    if not same.any():
        return labels
    tied = np.append(same, False) | np.append(False, same)
    places, groups = places[tied], np.append(0, np.cumsum(~same))[tied]  # which the sort leaves as written
    ordered = labels.copy()
    all_names = names if isinstance(names, LabelNames) else LabelNames(names)
    ordered[places] = labels[places][np.lexsort((all_names.places_of(labels[places]), groups))]
    return ordered


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


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none."""
    return not isinstance(value, str) and str(value) in MISSING_WORDS


def missing_names_note(*label_names: Container[Any]) -> list[str]:
    """Return a note where labels are called as missing values are printed."""
    words = [word for word in DOUBTFUL_NAMES if any(word in names for names in label_names)]
    listed = ", ".join(map(repr, words))
    hint = "counts as a label; leave it out where it stands for a missing value"
    return [f"{listed} {hint}"] if words else []


def entries_in_batches(
    entries: Iterable[tuple[str, str, Any, int]],
    origin: Origin,
    values_of: Callable[[list[Any], list[int]], NDArray[np.float64]],
) -> Iterator[Rows]:
    """Yield the rows of a reader that gives, for each label, the key of its row, name, value and place."""
    entries, is_full = iter(entries), True
    while is_full:
        # flat lists: the collector of garbage visits lists of lists again and again
        keys, labels, values, places = list[str](), list[str](), list[Any](), list[int]()
        n_bytes, is_full = 0, False
        try:
            for key, label, value, place in entries:
                keys.append(key)
                labels.append(label)
                values.append(value)
                places.append(place)
                n_bytes += ENTRY_BYTES + len(key) + len(label)
                if is_full := n_bytes > CHECKED_BYTES:
                    break
        except ValueError:
            values_of(values, places)  # what is wrong before it is refused first
            raise
        columns = np.arange(len(keys) + 1), *numbered(labels), values_of(values, places)
        yield Rows(keys, BY_KEY, *columns, places=np.array(places, np.int64), is_long=True, origin=origin)


@dataclass
class RowBatches:
    """Rows in batches, of one file or of several, whose labels all have scores, or none has.

    by_key : whether rows have names
    best_first : whether the order of labels tells their rank
    is_scored : whether labels had scores so far; None before the first label
    names, n_labels : a table of names, and how many labels were read
    """

    by_key: bool = True
    best_first: bool = False
    is_scored: bool | None = None
    names: Names = field(default_factory=Names)
    n_labels: int = 0

    def read(
        self, entries: Iterable[tuple[str, Sequence[str], Sequence[float] | None, int]], origin: Origin
    ) -> Iterator[Rows]:
        """Yield the rows of a reader that gives the key, the labels, their values and the place of each."""
        entries, is_full = iter(entries), True
        while is_full:
            keys, labels, values = list[str](), list[str](), list[float]()
            sizes, places, n_bytes, is_full = list[int](), list[int](), 0, False
            for key, row_labels, row_values, place in entries:
                if row_labels and self.is_scored not in (None, row_values is not None):
                    raise ValueError(f"{origin.unit} {place}: labels with scores, and others without")
                self.is_scored = row_values is not None if row_labels else self.is_scored
                keys.append(key)
                labels += row_labels
                values += row_values or ()
                sizes.append(len(row_labels))
                places.append(place)
                n_bytes += ENTRY_BYTES * (1 + len(row_labels)) + len(key) + sum(map(len, row_labels))
                if is_full := n_bytes > BATCH_BYTES:
                    break
            self.n_labels += len(labels)
            of_table = self.names.number_texts(labels) if self.n_labels > MANY_LABELS else None
            numbers, distinct = of_table or numbered(labels)
            yield Rows(
                keys if self.by_key else None,
                BY_KEY if self.by_key else None,
                pointer(sizes),
                numbers,
                distinct,
                np.array(values, np.float64) if values else None,
                self.best_first,
                np.array(places, np.int64),
                origin=origin,
            )
