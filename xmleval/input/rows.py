"""`Rows`: labels of rows as read from objects or files, at once or in batches."""

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
from xmleval.base.numerals import id_number
from xmleval.input.columns import hashed
from xmleval.input.names import Names
from xmleval.input.numbered_labels import LabelCounter

# how pandas, NumPy, databases and spreadsheets print missing values
MISSING_WORDS = ("None", "nan", "NaN", "NaT", "<NA>", "NULL", "null", "N/A", "#N/A")
DOUBTFUL_NAMES = (*MISSING_WORDS, "NA")  # labels that are noted; NA is also Namibia
# how rows are matched: all rows must match, or the rows that are present
BY_INDEX = "index"
BY_KEY = "key"
INDEX_BYTES = 100  # memory for a name in an index, without its text
ENTRY_BYTES = 64  # memory for an entry until it is matched
CHECKED_BYTES = 1 << 18  # a batch of rows with one label per line
BATCH_BYTES = 1 << 20  # a batch of rows with lists of labels
ORDERED_SHARE = 64  # sorting up to 1/64 of the labels anew is cheaper than sorting all once
MANY_LABELS = 1 << 18  # labels of a file from which numbering names by a table pays


@dataclass
class Origin:
    """Source of rows, a file or a frame, with its columns that are not labels or label values.

    unit : noun for a place in it
    notes : decisions made from the names or contents of fields, for messages
    columns : by name of a column, the hashes of its values for rows of a file without keys
    how_to_join : advice on rows in another order; ``{!r}`` is replaced by the column that shows it
    judged_by : the column of judgements of a truth, if an option names it
    id_column : the column of a frame or a table with a column for each label that names the rows,
        None if there is none
    found_ids : ``id_column`` if its contents decided that it is one
    values : function that returns the values of a column of a frame
    how_to_repeat : advice for rows that have one label each and share a key
    file : the file, if there are several that follow one another, otherwise ""
    are_ranks : whether values are negative ranks, which are distinct within a row
    counter : numbers the labels of rows, where no column has them
    join_option : the keyword that joins rows in another order by a column, instead of
        ``how_to_join``
    """

    unit: str = "line"
    notes: list[str] = field(default_factory=list)
    columns: dict[Any, Any] = field(default_factory=dict)
    how_to_join: str = ""
    judged_by: str | None = None
    id_column: Hashable | None = None
    found_ids: Hashable | None = None
    values: Callable[[Any], list[Any]] | None = None
    how_to_repeat: str = ""
    file: str = ""
    are_ranks: bool = False
    join_option: str = ""
    counter: LabelCounter | None = None

    def of_file(self, path: Path, paths: Sequence[Path]) -> Origin:
        """Return the origin of the rows of one file, which shares notes and columns with others."""
        if len(paths) > 1:
            return replace(self, file=str(path))
        return self

    def noted(self, name: str, *remarks: str) -> list[str]:
        """Return a list with one note on an input that joins all notes and remarks, or no note."""
        texts = [*self.notes, *remarks]
        if not texts:
            return []
        parts = [part for text in texts for part in (", ", *Message(text).parts)]
        return [Message(f"{name}: ", *parts[1:])]

    def joined_by(self, column: Hashable) -> tuple[str | Keyword, ...]:
        """Return advice on rows whose order differs, as a column shows."""
        if self.join_option:
            return "match rows by it with ", ScanField(self.join_option, str(column))
        return (self.how_to_join.format(column),)

    def matched_by_name(self) -> tuple[str | Keyword, ...]:
        """Return advice on rows without names that are too many or too few; empty for none."""
        if not self.join_option:
            return ()
        return "; if a field of both names the rows, give ", ScanField(self.join_option)

    def hashes(self, column: Hashable) -> array[int]:
        """Return the hashes of a column."""
        if self.values is not None:
            return hashed(self.values(column))
        hashes: array[int] = self.columns[column]
        return hashes


class Rows(NamedTuple):
    """Labels of rows, row after row.

    keys, match : names of the rows, and how they are matched; None if rows are in order
    ptr : int64 (n + 1,), where the labels of each row begin, and where the last ones end
    labels : places among ``names``, int64, or label ids
    names : distinct names of labels in order of first occurrence; None if labels are ids
    values : scores or judgements, None without any; or a matrix with the values of all cells, where
        ``labels`` has one label for each column
    best_first : whether labels are in ranking order, or at least those with equal scores; -1 is
        then an empty slot
    places : int64 (n,), line or row of each row in its file; None for objects
    is_long : whether a key may occur in several rows that are merged into one; the first label of a
        row is then at its place, and the others at the next ones
    are_lists : whether each row was a list, and may be zeros and ones for all labels
    origin : file or frame of the rows, and its further columns
    is_written : whether the caller chose this order of labels, so that rising scores may be
        distances
    are_columns : whether names are columns, including those without an entry; rows then have values
    keep : "best" if the best value is kept of a label that a row lists several times; see `scan`
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
    keep: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.ptr.size - 1

    @property
    def shape(self) -> tuple[int, int] | None:
        """Numbers of rows and columns, if labels are columns."""
        if not self.are_columns or self.names is None:
            return None
        return self.n_rows, len(self.names)

    @property
    def is_matrix(self) -> bool:
        """Whether all rows have the same labels, those of the columns of a matrix."""
        return self.values is not None and self.values.ndim == 2

    @property
    def n_bytes(self) -> int:
        """Memory of the entries."""
        n_bytes = self.ptr.nbytes + self.labels.nbytes
        if self.values is not None:
            n_bytes += self.values.nbytes
        return n_bytes

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
        """Return rows start..stop-1 of rows without keys; a matrix can drop its zeros."""
        first = int(self.ptr[start])
        last = int(self.ptr[stop])
        # the pointer of all rows may be of a narrower type
        ptr = np.subtract(self.ptr[start : stop + 1], first, dtype=np.int64)
        if self.is_matrix:
            return self._cells(start, stop, ptr, zeros)
        values = None if self.values is None else self.values[first:last]
        return self._replace(ptr=ptr, labels=self.labels[first:last], values=values)

    def _cells(self, start: int, stop: int, ptr: Ints, zeros: bool) -> Rows:
        """Return the cells of a matrix in rows start..stop-1 as entries."""
        matrix = np.asarray(self.values)[start:stop]
        cells = matrix.reshape(-1)
        if zeros:
            labels = np.empty(matrix.shape, self.labels.dtype)
            labels[:] = self.labels  # far faster than to broadcast them
            return self._replace(ptr=ptr, labels=labels.reshape(-1), values=cells)
        (stored,) = (cells != 0).nonzero()  # far faster than for two dimensions, or for numbers
        labels = self.labels[stored % self.labels.size]
        return self._replace(ptr=stored.searchsorted(ptr), labels=labels, values=cells[stored])

    def only(self, kept: Bools) -> Rows:
        """Return the rows with some of their entries."""
        if kept.all():
            return self
        entries = np.flatnonzero(kept)
        ptr = entries.searchsorted(self.ptr)
        values = None if self.values is None else self.values[entries]
        return self._replace(ptr=ptr, labels=self.labels[entries], values=values)

    def in_order(self, numbers: Ints | None) -> Rows:
        """Return the rows of a matrix sorted by number, if given; drop rows with -1."""
        if numbers is None or np.array_equal(numbers, np.arange(self.n_rows)):
            return self
        n_dropped = int((numbers < 0).sum())
        order = np.argsort(numbers, kind="stable")[n_dropped:]
        return self._replace(ptr=self.ptr[: order.size + 1], values=np.asarray(self.values)[order])

    def by_label(self, names: Sequence[Any] | None) -> Rows:
        """Return a matrix with columns sorted by label id or, last name first, by name."""
        if names is None:
            n_labels = self.labels.max() + 1
            places = np.arange(n_labels)
        else:
            places = name_places(names)
        labels = self.labels.astype(label_dtype(places.size))
        order = np.argsort(places[self.labels])
        if (order[1:] > order[:-1]).all():
            return self._replace(labels=labels)
        values = np.asarray(self.values).take(order, axis=1)
        return self._replace(labels=labels[order], values=values)

    def without_empty_names(self) -> Rows:
        """Return the rows without empty names, which come from splitting empty text."""
        if self.names is None or "" not in self.names:
            return self
        empty = self.names.index("")
        kept = self.only(self.labels != empty)
        names = [*self.names[:empty], *self.names[empty + 1 :]]
        return kept._replace(labels=kept.labels - (kept.labels > empty), names=names)

    def error(self, argument: str, reason: str, row: int, value: object = None) -> InputError:
        """Return the error about a row, located by its place in a file if it has one."""
        return self._error_at(0, argument, reason, row, value)

    def error_of_entry(
        self, argument: str, reason: str, entry: int, value: object = None
    ) -> InputError:
        """Return the error about a label, located by its place in a file if it has one."""
        row = self.row_of(entry)
        offset = 0
        if self.is_long:
            offset = entry - int(self.ptr[row])
        return self._error_at(offset, argument, reason, row, value)

    def _error_at(
        self, offset: int, argument: str, reason: str, row: int, value: object
    ) -> InputError:
        """Return the error about a row, or about a place behind the first one of a row."""
        if self.places is None:
            return InputError(argument, reason, row=row, value=value)
        unit = "row"
        file = ""
        if self.origin is not None:
            unit = self.origin.unit
            file = self.origin.file
        place = int(self.places[row]) + offset
        return InputError(file or argument, Message(f"{unit} {place}: ", reason), value=value)

    def refuse_first(
        self, argument: str, noun: str, bad: Bools, start: int, *reason: object
    ) -> None:
        """Refuse the first value flagged in ``bad``; the first row has the number ``start``."""
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
    ptr = np.zeros(n_rows + 1, np.int64)
    labels = np.empty(0, np.int64)
    return Rows(None, None, ptr, labels, [], best_first=True)


def array_rows(array: NDArray[Any]) -> Rows:
    """Return the rows of a dense array with a column for each label."""
    n_rows, width = array.shape
    ptr = np.arange(n_rows + 1) * width
    labels = np.arange(width, dtype=label_dtype(width))
    return Rows(None, None, ptr, labels, None, array, are_columns=True)


@dataclass(frozen=True)
class Named:
    """A sparse array with named rows and labels; `xmleval.evaluate` takes it as it takes dicts.

    Parameters
    ----------
    matrix : sparse array of shape (m, l)
        Ones for relevant labels, grades of judged ones, or scores.
    row_names, label_names : list of str
        Names of its m rows and of the labels of its columns.
    n_empty, n_ignored : int
        Of predictions: rows of the truth without a prediction, and rows left out because the truth
        has none of their name.
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
        """Return its rows; ``argument`` is their name in messages (@private)."""
        from scipy.sparse import csr_array  # imported here to keep start-up fast

        matrix = csr_array(self.matrix)
        names = [*self.label_names, *self.unknown_labels]
        if matrix.shape != (len(self.row_names), len(names)):
            named = f"{len(self.row_names)} names of rows and {len(names)} of labels"
            raise InputError(
                argument, f"its matrix of shape {matrix.shape} has {named}; give one name each"
            )
        return Rows(self.row_names, BY_KEY, matrix.indptr, matrix.indices, names, matrix.data)


class LabelNames(list[Any]):
    """Names of labels that are sorted once."""

    @cached
    def places(self) -> Ints:
        """The position of every name when sorted as text, last name first."""
        return places_as_text(self)

    def places_of(self, labels: Ints) -> Ints:
        """Return numbers that sort labels as their places do; of few labels, sort only these."""
        distinct, inverse = np.unique(labels, return_inverse=True)
        if distinct.size > len(self) // ORDERED_SHARE:
            return self.places[labels]
        distinct_names = [self[label] for label in distinct.tolist()]
        return places_as_text(distinct_names)[inverse]


def places_as_text(names: Sequence[Any]) -> Ints:
    """Return the position of every name when sorted as text, last name first."""
    texts = [*map(str, names)]
    order = sorted(range(len(names)), key=texts.__getitem__, reverse=True)
    return np.argsort(order)


def name_places(names: Sequence[Any]) -> Ints:
    """Return the position of every name when sorted as text, computed once for `LabelNames`."""
    if isinstance(names, LabelNames):
        return names.places
    return places_as_text(names)


def order_ties(ptr: Ints, labels: Labels, scores: Scores, names: Sequence[str]) -> Labels:
    """Return the labels of rows as written, but tied labels in the order of their names."""
    from xmleval.kernels.ranking import rank_rows  # loads kernels, which start-up does not need

    places = np.arange(labels.size)
    ranked_scores = scores.astype(np.float64)
    rank_rows(ptr, places, ranked_scores)
    rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    ties_with_next = (ranked_scores[1:] == ranked_scores[:-1]) & (rows[1:] == rows[:-1])
    if not ties_with_next.any():
        return labels
    is_tied = np.append(ties_with_next, False) | np.append(False, ties_with_next)
    tied_places = places[is_tied]  # the ranking leaves ties in the order as written
    tie_groups = np.append(0, np.cumsum(~ties_with_next))[is_tied]
    tied_labels = labels[tied_places]
    if not isinstance(names, LabelNames):
        names = LabelNames(names)
    order = np.lexsort((names.places_of(tied_labels), tie_groups))
    ordered = labels.copy()
    ordered[tied_places] = tied_labels[order]
    return ordered


def numbered(names: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return numbers of names, and the distinct names in order of first occurrence."""
    distinct = [*dict.fromkeys(names)]
    if len(distinct) == len(names):
        return np.arange(len(names)), distinct
    number_of = dict(zip(distinct, range(len(distinct)), strict=True))
    numbers = np.fromiter(map(number_of.__getitem__, names), np.int64, len(names))
    return numbers, distinct


def called_like(names: Sequence[Any], keys: list[Any]) -> list[Any]:
    """Return integer keys as the texts of their digits, or the reverse, as the other names are."""
    if not len(names) or not keys:
        return keys
    kinds = {*map(type, keys)}
    if isinstance(names[0], str) and all(issubclass(kind, int | np.integer) for kind in kinds):
        return [*map(str, keys)]
    if isinstance(names[0], int | np.integer) and kinds == {str}:
        numbers = map(id_number, keys)
        pairs = zip(keys, numbers, strict=True)
        return [key if number is None else number for key, number in pairs]
    return keys


def pointer(sizes: Iterable[int] | Ints | Bools) -> Ints:
    """Return the cumulative sizes of rows: where each row begins, and where the last one ends."""
    ends = np.cumsum(np.asarray(sizes, np.int64))
    ptr: Ints = np.concatenate(([0], ends))
    return ptr


def is_missing(value: object) -> bool:
    """Return whether a value is a missing value, which no text is."""
    return not isinstance(value, str) and str(value) in MISSING_WORDS


def missing_names_note(*label_names: Container[Any]) -> list[str]:
    """Return a note if labels have names such as missing values are printed, else no note."""
    words = [word for word in DOUBTFUL_NAMES if any(word in names for names in label_names)]
    if not words:
        return []
    listed = ", ".join(map(repr, words))
    hint = "counts as a label; leave it out if it means a missing value"
    return [f"{listed} {hint}"]


def entries_in_batches(
    entries: Iterable[tuple[str, str, Any, int]],
    origin: Origin,
    values_of: Callable[[list[Any], list[int]], NDArray[np.float64]],
) -> Iterator[Rows]:
    """Yield rows of one label each from entries: key of the row, name, value and place."""
    entries = iter(entries)
    is_full = True
    while is_full:
        # flat lists: the garbage collector visits lists of lists again and again
        keys = list[str]()
        labels = list[str]()
        values = list[Any]()
        places = list[int]()
        n_bytes = 0
        is_full = False
        try:
            for key, label, value, place in entries:
                keys.append(key)
                labels.append(label)
                values.append(value)
                places.append(place)
                n_bytes += ENTRY_BYTES + len(key) + len(label)
                is_full = n_bytes > CHECKED_BYTES
                if is_full:
                    break
        except ValueError:
            values_of(values, places)  # an earlier wrong value is refused first
            raise
        numbers, names = numbered(labels)
        yield Rows(
            keys,
            BY_KEY,
            np.arange(len(keys) + 1),
            numbers,
            names,
            values_of(values, places),
            places=np.array(places, np.int64),
            is_long=True,
            origin=origin,
        )


@dataclass
class RowBatches:
    """Reads rows of one or several files in batches; all labels must have scores, or no label.

    by_key : whether rows have names
    best_first : whether labels are in ranking order
    is_scored : whether labels had scores so far; None before the first label
    names, n_labels : a table of names, and the number of labels read
    """

    by_key: bool = True
    best_first: bool = False
    is_scored: bool | None = None
    names: Names = field(default_factory=Names)
    n_labels: int = 0

    def read(
        self,
        entries: Iterable[tuple[str, Sequence[str], Sequence[float] | None, int]],
        origin: Origin,
    ) -> Iterator[Rows]:
        """Yield batches of rows from entries: key, labels, their values, and the place of a row."""
        entries = iter(entries)
        is_full = True
        while is_full:
            keys = list[str]()
            labels = list[str]()
            values = list[float]()
            sizes = list[int]()
            places = list[int]()
            n_bytes = 0
            is_full = False
            for key, row_labels, row_values, place in entries:
                if row_labels:
                    has_scores = row_values is not None
                    if self.is_scored not in (None, has_scores):
                        place_in_file = f"{origin.unit} {place}"
                        raise ValueError(
                            f"{place_in_file}: some labels have scores, and others none"
                        )
                    self.is_scored = has_scores
                keys.append(key)
                labels += row_labels
                values += row_values or ()
                sizes.append(len(row_labels))
                places.append(place)
                n_bytes += ENTRY_BYTES * (1 + len(row_labels))
                n_bytes += len(key) + sum(map(len, row_labels))
                is_full = n_bytes > BATCH_BYTES
                if is_full:
                    break
            numbers, names = self._number(labels)
            yield Rows(
                keys if self.by_key else None,
                BY_KEY if self.by_key else None,
                pointer(sizes),
                numbers,
                names,
                np.array(values, np.float64) if values else None,
                self.best_first,
                np.array(places, np.int64),
                origin=origin,
            )

    def _number(self, labels: list[str]) -> tuple[Ints, Sequence[str]]:
        """Return numbers of labels, and the numbered names."""
        self.n_labels += len(labels)
        if self.n_labels > MANY_LABELS:
            numbered_labels = self.names.number_texts(labels)
            if numbered_labels is not None:
                return numbered_labels
        return numbered(labels)
