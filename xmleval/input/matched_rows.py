"""Matched rows in the order of the truth, from batches in any order, in memory or a spill file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints
from xmleval.base.errors import InputError, Message, ScanField, shown
from xmleval.base.numerals import whole_number
from xmleval.files.spill import SortedRun, SpillFile
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Origin, Rows, pointer
from xmleval.kernels.checking import FINE, check_list

MOST_GRADE = 10  # which labels may be by mistake
TWICE = "label {} occurs twice{}; expected each label once in a row"
KEEPING = " keeps the best score"
ADVICE_OF_RANKS = "write scores with all fields, 'instance Q0 label rank score tag', or as .csv"
# memory for an entry and a row while rows are put together
MADE_BYTES = 48
ROW_BYTES = 16


class PlacedRows:
    """Label numbers and values by row number, in memory, or in a spill file above ``most_bytes``.

    cell : returns the key of a row and the name of a label by number; without it, the caller must
        refuse labels that occur twice in a row
    is_predicted : whether the labels are predicted
    scored, best_first : whether labels have values, and whether their order is their rank
    origin : origin of the last rows
    n_bytes : memory in use
    n_repeated : number of entries left out as their label has a better one in the row
    most_labels : number of labels of the largest row
    """

    def __init__(
        self,
        argument: str,
        most_bytes: float,
        cell: Callable[[int, int], tuple[Any, Any]] | None = None,
        is_predicted: bool = True,
    ) -> None:
        self.scored = self.best_first = self._is_long = self._are_columns = False
        self.most_value: float = -np.inf
        self.origin: Origin | None = None
        self._argument = argument
        self._limit = most_bytes
        self._cell = cell
        self._is_predicted = is_predicted
        self._parts = list[NDArray[Any]]()
        self._runs = list[SortedRun]()
        self._file = SpillFile()
        self.n_rows = self.n_bytes = self.most_labels = 0
        self.n_repeated = 0
        self._keep: str | None = None
        self._lowest = False  # whether the lowest score is the best
        self._advice = Message("")  # on a label that occurs twice in a row
        self._sizes: Ints = np.zeros(1, np.int64)  # of rows
        self._is_split: Bools = np.zeros(1, np.bool_)  # whether a row is in several parts
        self._ends: Ints = np.zeros(1, np.int64)  # of parts, once they are sorted

    def add(self, rows: Rows, labels: Ints, row_numbers: Ints | None) -> None:
        """Add rows by number, or after the previous rows, with these label numbers by entry."""
        if row_numbers is None:
            row_numbers = self.n_rows + np.arange(rows.n_rows)
        self._count_labels(rows, row_numbers)
        self.scored |= rows.values is not None
        self.best_first |= rows.best_first
        self._are_columns |= rows.are_columns
        self.origin = rows.origin
        self._keep = rows.keep
        self._advice = _advice_on_repeats(rows, self._is_predicted)
        if rows.keep and rows.values is None and rows.labels.size:
            text = " is for labels with scores, but these have none; give scores, or leave it out"
            raise InputError(self._argument, Message(_keeping_option(rows), text))
        entries = _make_entries(rows, labels, row_numbers)
        if rows.values is not None:
            highest = rows.values.astype(np.float64).max(initial=-np.inf)
            self.most_value = max(self.most_value, highest)
        if self._refuses and not _is_free_of_repeats(row_numbers, rows.ptr, labels):
            self._refuse_repeated_in_batch(rows, entries)
        self._is_long |= rows.is_long
        self._parts.append(entries)
        self.n_bytes += entries.nbytes
        if self.n_bytes > self._limit:
            self._spill()

    def _count_labels(self, rows: Rows, row_numbers: Ints) -> None:
        """Add the sizes of rows, and mark rows that came before, too."""
        self.n_rows += rows.n_rows
        n_rows = int(row_numbers.max(initial=-1)) + 1
        if n_rows > self._sizes.size:
            self._sizes.resize(2 * n_rows, refcheck=False)
            self._is_split.resize(2 * n_rows, refcheck=False)
        self._is_split[row_numbers] |= self._sizes[row_numbers] > 0
        np.add.at(self._sizes, row_numbers, np.diff(rows.ptr))

    def _refuse_repeated_in_batch(self, rows: Rows, entries: NDArray[Any]) -> None:
        """Refuse a label that occurs twice in a row of a batch."""
        entry = _find_repeated(entries)
        if entry is None:
            return
        label = rows.label(entry)
        where = ""
        if rows.is_long and rows.keys:
            where = f" for {shown(rows.keys[rows.row_of(entry)])}"
        message = Message(
            TWICE.format(shown(label), where), self._advice, *self._hint_of_grade(label)
        )
        raise rows.error_of_entry(self._argument, message, entry, label)

    def _hint_of_grade(self, label: object) -> list[object]:
        """Return advice on a repeated label of a long table that may be a grade of relevance."""
        number = whole_number(str(label))
        if not self._advice or number is None or number > MOST_GRADE:
            return []
        option: object = "xmleval.from_df(df, label='')"
        if "from_df" not in self._advice:
            option = ScanField("label_field", "''")
        return ["; if it is a grade, number the labels with ", option]

    @property
    def _refuses(self) -> bool:
        """Whether a label that occurs twice in a row is refused here."""
        return self._cell is not None and self._keep is None

    def close(self, n_rows: int, lowest: bool = False) -> None:
        """Set the number of rows, once all are added.

        ``lowest`` is whether the lowest score of a label is the best, if the best is kept.
        """
        self._lowest = lowest
        if self._runs:
            self._spill()
        else:
            self._parts = self._in_order(self._parts)
        self._sizes.resize(n_rows, refcheck=False)
        self.n_rows = n_rows
        self._listed = self._ptr = pointer(self._sizes)
        if self._keep is not None and self.scored:
            self._keep_best()
        self._ends = np.cumsum([0, *[part.size for part in self._parts]])
        self.n_bytes += self._ptr.nbytes
        self.most_labels = int(self._sizes.max(initial=0))

    def _keep_best(self) -> None:
        """Count the best entries by row, and drop others that are in memory."""
        n_listed = int(self._sizes.sum())
        if self._runs:
            for first, last in self._spans(self._limit, 0, self.n_rows):
                rows = self._best(first, last)["row"] - first
                self._sizes[first:last] = np.bincount(rows, minlength=last - first)
        else:
            best = _best_entries(self._by_row(self._parts), self._lowest)
            self._parts = [best]
            self._sizes = np.bincount(best["row"], minlength=self.n_rows)
        self._ptr = pointer(self._sizes)
        self.n_repeated = n_listed - int(self._ptr[-1])

    def _best(self, first: int, last: int) -> NDArray[Any]:
        """Return the entries of rows first..last-1 of a spill file, the best alone for a label."""
        entries = self._by_row([_between(run, first, last) for run in self._runs])
        if self._keep is None or not self.scored:
            return entries
        return _best_entries(entries, self._lowest)

    def _spill(self) -> None:
        if self._parts:
            parts = self._in_order(self._parts)
            size = sum([part.size for part in parts])
            self._runs.append(self._file.write(iter(parts), size, parts[0].dtype))
            self._parts = []
            self.n_bytes = 0

    def _refuse_equal_ranks(self, ptr: Ints, values: NDArray[Any], first: int) -> None:
        """Refuse a rank that occurs twice in a row, as when scores are taken for ranks."""
        rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
        if ((values[1:] < values[:-1]) | (rows[1:] != rows[:-1])).all():
            return  # ranks rise in each row, as in most files
        order = np.lexsort((values, rows))
        previous = order[:-1]
        current = order[1:]
        is_same = (values[current] == values[previous]) & (rows[current] == rows[previous])
        if is_same.any():
            entry = int(current[is_same].min())
            key = first + int(rows[entry])
            if self._cell:
                key = self._cell(key, 0)[0]
            rank = -int(values[entry])
            message = f"row {key!r} has rank {rank} twice; {ADVICE_OF_RANKS}"
            raise InputError(self._argument, message)

    def _by_row(self, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """Return all entries, sorted by row; refuse a label that occurs twice in a row."""
        entries = np.concatenate([part for part in parts if part.size] or parts[:1])
        self._refuse_repeated(entries)
        if _has_falls(entries):
            return entries[np.argsort(entries["row"], kind="stable")]
        return entries

    def _in_order(self, parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return parts whose entries are sorted by row: the same parts, not copied, if they are."""
        filled = [part for part in parts if part.size]
        ends = list[int]()
        for part in filled:
            ends += part["row"][[0, -1]].tolist()
        is_sorted = ends == sorted(ends) and not any(map(_has_falls, filled))
        if not filled or not is_sorted or len({part.dtype for part in filled}) > 1:
            return [self._by_row(parts)]
        in_split_rows = [part[self._is_split[part["row"]]] for part in filled]
        self._refuse_repeated(np.concatenate(in_split_rows))
        return filled

    def _refuse_repeated(self, entries: NDArray[Any]) -> None:
        """Refuse a label that occurs twice in a row that came in several parts."""
        if not (self._refuses and self._cell and self._is_long):
            return
        split = entries[self._is_split[entries["row"]]]
        entry = _find_repeated(split)
        if entry is not None:
            key, label = self._cell(int(split["row"][entry]), int(split["label"][entry]))
            text = TWICE.format(shown(label), f" for {shown(key)}")
            message = Message(text, self._advice, *self._hint_of_grade(label))
            raise InputError(self._argument, message, value=label)

    def pieces(self, n_labels: int, make: Callable[[Rows], Rows]) -> Pieces:
        """Return the rows as ``make`` converts them, some at a time."""

        def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Rows]:
            return map(make, self.read(n_bytes, first, stop))

        return Pieces(self.n_rows, n_labels, read, read_from=read)

    def read(self, n_bytes: float, first: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """Yield rows first..stop-1, about ``n_bytes`` at a time."""
        stop = self.n_rows if stop is None else stop
        if not stop:
            yield self.rows()
        for start, end in self._spans(n_bytes, first, stop):
            yield self.rows(start, end)

    def _spans(self, n_bytes: float, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the first row and the end of spans of rows first..stop-1 of about ``n_bytes``."""
        while first < stop:
            end = self._listed[first] + n_bytes / MADE_BYTES
            last = max(first + 1, int(np.searchsorted(self._listed, end, "right")) - 1)
            last = min(stop, last, first + max(1, int(n_bytes // ROW_BYTES)))
            yield first, last
            first = last

    def _slice(self, start: int, stop: int) -> NDArray[Any]:
        """Return entries start..stop-1 of those in memory."""
        first = min(int(np.searchsorted(self._ends, start, "right")), len(self._parts)) - 1
        slices = list[NDArray[Any]]()
        for place in range(first, len(self._parts)):
            begin = int(self._ends[place])
            if slices and begin >= stop:
                break
            slices.append(self._parts[place][max(0, start - begin) : stop - begin])
        if len(slices) == 1:
            return slices[0]
        return np.concatenate(slices)

    def rows(self, first: int = 0, last: int | None = None) -> Rows:
        """Return rows first..last-1, all by default."""
        last = self.n_rows if last is None else last
        ptr = self._ptr[first : last + 1] - self._ptr[first]
        if self._runs:
            entries = self._best(first, last)
        else:
            entries = self._slice(int(self._ptr[first]), int(self._ptr[last]))
        values = None
        if self.scored:
            values = entries["value"].copy()
            if getattr(self.origin, "are_ranks", False):
                self._refuse_equal_ranks(ptr, values, first)
        rows = Rows(None, None, ptr, entries["label"].copy(), None, values, self.best_first)
        return rows._replace(is_written=not self._are_columns, are_columns=self._are_columns)


def _make_entries(rows: Rows, labels: Ints, row_numbers: Ints) -> NDArray[Any]:
    """Return entries as a structured array of row, label and, if any, value."""
    is_narrow = labels.min(initial=0) >= 0 and labels.max(initial=0) < 1 << 31
    columns: list[Any] = [("row", np.int32), ("label", np.int32 if is_narrow else np.int64)]
    if rows.values is not None:
        columns.append(("value", rows.values.dtype))
    entries = np.empty(labels.size, columns)
    entries["row"] = np.repeat(row_numbers, np.diff(rows.ptr))
    entries["label"] = labels
    if rows.values is not None:
        entries["value"] = rows.values
    return entries


def _advice_on_repeats(rows: Rows, is_predicted: bool) -> Message:
    """Return the end of an error on a label that occurs twice in a row; empty without scores."""
    if rows.values is None or (rows.places is None and rows.origin is None):
        return Message("")
    if rows.places is not None and not is_predicted:
        return Message("; remove all but one")  # the shell keeps best scores of predictions
    return Message("; ", _keeping_option(rows), KEEPING)


def _keeping_option(rows: Rows) -> ScanField | str:
    """Return the option that keeps the best score of a label, of a file or of a frame."""
    if rows.places is not None:
        return ScanField("keep", "best")
    return "xmleval.from_df(df, keep='best')"


def _best_entries(entries: NDArray[Any], lowest: bool) -> NDArray[Any]:
    """Return a row with only the best entry for a label, the first of equal ones, in order."""
    values = entries["value"]
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    badness = values
    if not lowest:
        badness = ~values if values.dtype.kind in "iu" else -values
    if values.dtype.kind == "f":
        badness = np.where(np.isnan(values), -np.inf, badness)  # is kept, and refused later
    order = np.lexsort((badness, entries["label"], entries["row"]))
    ordered = entries[order]
    is_best = np.ones(ordered.size, np.bool_)
    is_best[1:] = (ordered["row"][1:] != ordered["row"][:-1]) | (
        ordered["label"][1:] != ordered["label"][:-1]
    )
    best: NDArray[Any] = entries[np.sort(order[is_best])]
    return best


def _has_falls(entries: NDArray[Any]) -> bool:
    """Tell whether entries are not sorted by row."""
    rows = entries["row"]
    return bool((rows[1:] < rows[:-1]).any())


def _is_free_of_repeats(row_numbers: Ints, ptr: Ints, labels: Ints) -> bool:
    """Tell whether row numbers are distinct, except for -1, and no row has a label twice."""
    matched = row_numbers[row_numbers >= 0]
    if np.unique(matched).size < matched.size:
        return False
    return check_list(ptr, labels, np.iinfo(np.int64).max, np.empty(2, np.int64))[0] == FINE


def _find_repeated(entries: NDArray[Any]) -> int | None:
    """Return the first entry that repeats the lowest repeated pair of row and label, if any."""
    labels = entries["label"]
    if labels.dtype != np.int32:
        labels = np.unique(labels, return_inverse=True)[1]
    cells = (entries["row"].astype(np.int64) << 32) + labels
    if (cells[1:] > cells[:-1]).all():
        return None
    ordered = np.sort(cells)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not repeated.size:
        return None
    return int(np.flatnonzero(cells == repeated[0])[1])


def _between(run: SortedRun, first: int, last: int) -> NDArray[Any]:
    """Return the entries of rows first..last-1 of a run, after a search in its sample."""
    rows = run.sample["row"]
    start = max(0, int(np.searchsorted(rows, first)) - 1) * run.stride
    stop = min(run.size, int(np.searchsorted(rows, last)) * run.stride)
    entries = np.empty(stop - start, run.dtype)
    run.read(start, entries)
    return entries[slice(*np.searchsorted(entries["row"], (first, last)))]
