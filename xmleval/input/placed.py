"""Matched rows in the order of the truth, from batches in any order: in memory, or in a spill file beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints
from xmleval.base.errors import InputError, shown
from xmleval.files.spill import Run, SpillFile
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Origin, Rows, pointer
from xmleval.kernels.checking import FINE, check_list

TWICE = "label {} occurs twice{}; expected each label once in a row"
ADVICE_OF_RANKS = "write scores with all fields, 'instance Q0 label rank score tag', or as .csv"
MADE_BYTES, ROW_BYTES = 48, 16  # of memory for an entry and a row while rows are put together


class PlacedRows:
    """Labels by number, and their values, in rows by number; beyond a number of bytes in a spill file.

    cell : gives the names of a row and of a label; without it, what is twice in a row is refused by its users
    scored, best_first : whether labels have values, and whether the order in which they came counts
    origin, n_bytes, most_labels : that of the last rows, the memory that is held, the size of the largest row
    """

    def __init__(
        self, argument: str, most_bytes: float, cell: Callable[[int, int], tuple[Any, Any]] | None = None
    ) -> None:
        self.scored = self.best_first = self._is_long = self._are_columns = False
        self.most_value: float = -np.inf
        self.origin: Origin | None = None
        self._argument, self._limit, self._cell = argument, most_bytes, cell
        self._parts, self._runs, self._file = list[NDArray[Any]](), list[Run](), SpillFile()
        self.n_rows = self.n_bytes = self.most_labels = 0
        self._sizes: Ints = np.zeros(1, np.int64)  # of rows
        self._is_split: Bools = np.zeros(1, np.bool_)  # whether a row came in several parts
        self._ends: Ints = np.zeros(1, np.int64)  # of parts, once they are sorted

    def add(self, rows: Rows, labels: Ints, of_row: Ints | None) -> None:
        """Add rows with these labels and numbers; without numbers, they follow those before."""
        of_row = self.n_rows + np.arange(rows.n_rows) if of_row is None else of_row
        self.n_rows += rows.n_rows
        if (n_rows := int(of_row.max(initial=-1)) + 1) > self._sizes.size:
            self._sizes.resize(2 * n_rows, refcheck=False)
            self._is_split.resize(2 * n_rows, refcheck=False)
        self._is_split[of_row] |= self._sizes[of_row] > 0
        np.add.at(self._sizes, of_row, np.diff(rows.ptr))
        self.scored |= rows.values is not None
        self.best_first |= rows.best_first
        self._are_columns |= rows.are_columns
        self.origin = rows.origin
        is_narrow = labels.min(initial=0) >= 0 and labels.max(initial=0) < 1 << 31
        columns: list[Any] = [("row", np.int32), ("label", np.int32 if is_narrow else np.int64)]
        columns += [] if rows.values is None else [("value", rows.values.dtype)]
        entries = np.empty(labels.size, columns)
        entries["row"], entries["label"] = np.repeat(of_row, np.diff(rows.ptr)), labels
        if rows.values is not None:
            entries["value"] = rows.values
            self.most_value = max(self.most_value, rows.values.astype(np.float64).max(initial=-np.inf))
        may_repeat = self._cell and not _is_free_of_repeats(of_row, rows.ptr, labels)
        if may_repeat and (entry := _find_repeated(entries)) is not None:
            row, label = rows.row_of(entry), rows.label(entry)
            where = f" for {shown(rows.keys[row])}" if rows.is_long and rows.keys else ""
            raise rows.error_of_entry(self._argument, TWICE.format(shown(label), where), entry, label)
        self._is_long |= rows.is_long
        self._parts.append(entries)
        self.n_bytes += entries.nbytes
        if self.n_bytes > self._limit:
            self._spill()

    def close(self, n_rows: int) -> None:
        """Settle the number of rows, when all were added."""
        if self._runs:
            self._spill()
        else:
            self._parts = self._in_order(self._parts)
            self._ends = np.cumsum([0, *[part.size for part in self._parts]])
        self._sizes.resize(n_rows, refcheck=False)
        self.n_rows, self._ptr = n_rows, pointer(self._sizes)
        self.n_bytes += self._ptr.nbytes
        self.most_labels = int(self._sizes.max(initial=0))

    def _spill(self) -> None:
        if self._parts:
            parts = self._in_order(self._parts)
            size = sum([part.size for part in parts])
            self._runs.append(self._file.write(iter(parts), size, parts[0].dtype))
            self._parts, self.n_bytes = [], 0

    def _refuse_equal_ranks(self, ptr: Ints, values: NDArray[Any], first: int) -> None:
        """Refuse a rank that stands twice in a row, as scores do that are taken for ranks."""
        rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
        if ((values[1:] < values[:-1]) | (rows[1:] != rows[:-1])).all():
            return  # they rise in each row, as in most files
        order = np.lexsort((values, rows))
        is_same = (values[order[1:]] == values[order[:-1]]) & (rows[order[1:]] == rows[order[:-1]])
        if is_same.any():
            entry = int(order[1:][is_same].min())
            key = self._cell(first + int(rows[entry]), 0)[0] if self._cell else first + int(rows[entry])
            rank = -int(values[entry])
            raise InputError(self._argument, f"row {key!r} has rank {rank} twice; {ADVICE_OF_RANKS}")

    def _by_row(self, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """Return entries sorted by row, or refuse a label that stands twice in one."""
        entries = np.concatenate([part for part in parts if part.size] or parts[:1])
        self._refuse_repeated(entries)
        rows = entries["row"]
        return entries[np.argsort(rows, kind="stable")] if (rows[1:] < rows[:-1]).any() else entries

    def _in_order(self, parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return parts whose entries are sorted by row: the same where they are, so that none is copied."""
        filled = [part for part in parts if part.size]
        ends = [int(row) for part in filled for row in part["row"][[0, -1]]]
        have_falls = [(part["row"][1:] < part["row"][:-1]).any() for part in filled]
        if not filled or ends != sorted(ends) or any(have_falls) or len({part.dtype for part in filled}) > 1:
            return [self._by_row(parts)]
        self._refuse_repeated(np.concatenate([part[self._is_split[part["row"]]] for part in filled]))
        return filled

    def _refuse_repeated(self, entries: NDArray[Any]) -> None:
        """Refuse a label that stands twice in a row which came in several parts."""
        if not (self._cell and self._is_long):
            return
        split = entries[self._is_split[entries["row"]]]
        if (entry := _find_repeated(split)) is not None:
            row, label = self._cell(int(split["row"][entry]), int(split["label"][entry]))
            raise InputError(self._argument, TWICE.format(shown(label), f" for {shown(row)}"), value=label)

    def pieces(self, n_labels: int, make: Callable[[Rows], Rows]) -> Pieces:
        """Return what is made of the rows, some at a time."""

        def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Rows]:
            return map(make, self.read(n_bytes, first, stop))

        return Pieces(self.n_rows, n_labels, read, read_from=read)

    def read(self, n_bytes: float, first: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """Yield the rows from ``first`` on, up to ``stop``, about so many bytes at a time."""
        stop = self.n_rows if stop is None else stop
        if not stop:
            yield self.rows()
        while first < stop:
            end = self._ptr[first] + n_bytes / MADE_BYTES
            last = max(first + 1, int(np.searchsorted(self._ptr, end, "right")) - 1)
            last = min(stop, last, first + max(1, int(n_bytes // ROW_BYTES)))
            yield self.rows(first, last)
            first = last

    def _slice(self, start: int, stop: int) -> NDArray[Any]:
        """Return the entries from one on, before another."""
        first = min(int(np.searchsorted(self._ends, start, "right")), len(self._parts)) - 1
        found = list[NDArray[Any]]()
        for place in range(first, len(self._parts)):
            begin = int(self._ends[place])
            if found and begin >= stop:
                break
            found.append(self._parts[place][max(0, start - begin) : stop - begin])
        return found[0] if len(found) == 1 else np.concatenate(found)

    def rows(self, first: int = 0, last: int | None = None) -> Rows:
        """Return the rows from ``first`` on, before ``last``; all of them by default."""
        last = self.n_rows if last is None else last
        ptr = self._ptr[first : last + 1] - self._ptr[first]
        if self._runs:
            entries = self._by_row([_between(run, first, last) for run in self._runs])
        else:
            entries = self._slice(int(self._ptr[first]), int(self._ptr[last]))
        values = entries["value"].copy() if self.scored else None
        if values is not None and getattr(self.origin, "are_ranks", False):
            self._refuse_equal_ranks(ptr, values, first)
        rows = Rows(None, None, ptr, entries["label"].copy(), None, values, self.best_first)
        return rows._replace(is_written=not self._are_columns, are_columns=self._are_columns)


def _is_free_of_repeats(of_row: Ints, ptr: Ints, labels: Ints) -> bool:
    """Tell whether all rows have different numbers, but for -1, and none has a label twice."""
    matched = of_row[of_row >= 0]
    if np.unique(matched).size < matched.size:
        return False
    return check_list(ptr, labels, np.iinfo(np.int64).max, np.empty(2, np.int64))[0] == FINE


def _find_repeated(entries: NDArray[Any]) -> int | None:
    """Return the place of a label that stands in its row before, None if there is none."""
    labels = entries["label"]
    if labels.dtype != np.int32:
        labels = np.unique(labels, return_inverse=True)[1]
    cells = (entries["row"].astype(np.int64) << 32) + labels
    if (cells[1:] > cells[:-1]).all():
        return None
    ordered = np.sort(cells)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    return int(np.flatnonzero(cells == repeated[0])[1]) if repeated.size else None


def _between(run: Run, first: int, last: int) -> NDArray[Any]:
    """Return the entries of rows from ``first`` on, before ``last``; the sample tells where to look."""
    rows = run.sample["row"]
    start, stop = max(0, int(np.searchsorted(rows, first)) - 1), int(np.searchsorted(rows, last))
    start, stop = start * run.stride, min(run.size, stop * run.stride)
    entries = np.empty(stop - start, run.dtype)
    run.read(start, entries)
    return entries[slice(*np.searchsorted(entries["row"], (first, last)))]
