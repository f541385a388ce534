"""Rows of files, read in order, piece by piece: shards as one input, the next piece ahead."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.threads import Call
from xmleval.input.csr import as_signed
from xmleval.input.rows import Rows

Piece = Rows | NDArray[Any]
MOST_BYTES = 30 << 20  # size of a piece; malloc does not reuse memory of arrays above 32 MiB


@dataclass(frozen=True)
class Pieces:
    """Rows of a file, cut into consecutive pieces on reading.

    Parameters
    ----------
    n_rows, n_labels : int or None
        Size of the whole, None where nothing in the file tells it before the end.
    read : callable
        ``read(n_bytes)`` yields the rows in order, as `Rows` by id or as dense arrays, which rows
        would copy; writers take what `evaluate` takes. Each is of about as many bytes at most (one
        row at least). It may be called more than once.
    locate : callable or None
        Of rows of several files, ``locate(row)`` tells the file of a row that was read, and its
        number in it.
    read_from : callable or None
        ``read_from(n_bytes, first, stop)`` yields the rows from ``first`` on, up to ``stop`` if
        that is not None, without reading others; None where that is not possible.
    least_labels : int
        Number of labels that there are at least, where ``n_labels`` is not known.
    named : bool
        Whether names of rows or labels stand in it.
    notes : tuple of str
        What was settled in reading it, for the report.
    ends_at_largest : bool
        Whether ``n_labels`` is only one more than the largest id.

    Examples
    --------
    >>> from xmleval.io import Pieces
    >>> pieces = Pieces(2, 3, lambda n_bytes: iter([np.eye(2, 3)]))
    >>> sum(len(rows) for rows in pieces.read(1000))
    2
    """

    n_rows: int | None
    n_labels: int | None
    read: Callable[[int], Iterator[Any]]
    locate: Callable[[int], tuple[str, int]] | None = None
    read_from: Callable[[int, int, int | None], Iterator[Any]] | None = None
    least_labels: int = 0
    named: bool = False
    notes: tuple[str, ...] = ()
    ends_at_largest: bool = False


def whole(rows: Piece, n_labels: int | None = None) -> Pieces:
    """Return rows by id, or a matrix, as one piece."""
    return Pieces(_n_rows(rows), n_labels, lambda n_bytes: iter([rows]))


def with_names(path: Path, reason: str = "has names") -> Pieces:
    """Return rows with names, which cannot be read by number."""

    def refuse(n_bytes: int) -> Iterator[Any]:
        expected = "expected rows and labels by number, from 0"
        raise ValueError(f"{path}: {reason}; {expected}")

    return Pieces(None, None, refuse, named=True)


def joined(shards: Sequence[tuple[str, Pieces]]) -> Pieces:
    """Return the rows of several files, one after another; each shard is a name and its rows."""
    if len(shards) == 1:
        return shards[0][1]
    _refuse_other_widths(shards)
    all_rows = _JoinedRows(shards)
    distinct_notes = dict.fromkeys(note for _, pieces in shards for note in pieces.notes)
    return Pieces(
        all_rows.n_rows,
        shards[0][1].n_labels,
        all_rows.read,
        locate=all_rows.locate,
        read_from=all_rows.read if all_rows.are_counted else None,
        least_labels=max(pieces.least_labels for _, pieces in shards),
        notes=(*distinct_notes,),
    )


def _refuse_other_widths(shards: Sequence[tuple[str, Pieces]]) -> None:
    """Refuse files whose number of labels differs from that of the first."""
    unknown = "an unknown number of"
    first_name, first_pieces = shards[0]
    n_labels = first_pieces.n_labels
    for name, pieces in shards:
        if pieces.n_labels != n_labels:
            width = pieces.n_labels or unknown
            expected = n_labels or unknown
            raise ValueError(f"{name}: {width} labels; {first_name} has {expected}")


class _JoinedRows:
    """The rows of several files, one after another.

    sizes : numbers of rows, 0 if unknown before a file is read
    starts : first rows of the files, as far as they are known
    n_rows, are_counted : number of all rows, None if unknown; whether it is known
    """

    def __init__(self, shards: Sequence[tuple[str, Pieces]]) -> None:
        self.shards = shards
        self.sizes = [pieces.n_rows or 0 for _, pieces in shards]
        self.n_rows: int | None = None
        self.starts = [0]
        self.are_counted = all(pieces.n_rows is not None for _, pieces in shards)
        if self.are_counted:
            self.n_rows = sum(self.sizes)
            self.starts += accumulate(self.sizes)

    def read(self, n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        """Yield the rows from ``first`` on, up to ``stop``, in pieces of about ``n_bytes``."""
        for place, (_, pieces) in enumerate(self.shards):
            start = self.starts[place]
            if place and stop is not None and stop <= start:
                return
            if self.sizes[place] and start + self.sizes[place] <= first:
                continue
            first_of_file = max(first - start, 0)
            stop_of_file = None if stop is None else stop - start
            for piece in rows_from(pieces, n_bytes, first_of_file, stop_of_file):
                yield piece
                start += _n_rows(piece)
            if len(self.starts) == place + 1:
                self.starts.append(start)

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a row that was read, and its number in it."""
        place = bisect_right(self.starts, row) - 1
        return self.shards[place][0], row - self.starts[place]


def rows_from(pieces: Pieces, n_bytes: int, first: int, stop: int | None = None) -> Iterator[Any]:
    """Yield the rows from ``first`` on, up to ``stop``; earlier rows are read only if necessary."""
    if stop is not None and pieces.n_rows is not None and stop >= pieces.n_rows:
        stop = None  # so that errors at the end of the file are found
    if pieces.read_from is not None:
        yield from pieces.read_from(n_bytes, first, stop)
        return
    start = 0
    for piece in pieces.read(n_bytes):
        n_rows = _n_rows(piece)
        piece_start = max(first - start, 0)
        piece_stop = n_rows if stop is None else min(stop - start, n_rows)
        if piece_start < piece_stop or not n_rows:
            yield _cut(piece, piece_start, piece_stop)
        start += n_rows
        if stop is not None and start >= stop:
            return


def rows_between(name: str, pieces: Pieces, start: int, stop: int) -> Pieces:
    """Return rows start..stop-1 of a file as pieces; messages number them as in the file."""

    def read(n_bytes: int) -> Iterator[Any]:
        return rows_from(pieces, n_bytes, start, stop)

    def locate(row: int) -> tuple[str, int]:
        if pieces.locate is None:
            return name, start + row
        return pieces.locate(start + row)

    return Pieces(stop - start, pieces.n_labels, read, locate=locate)


class LabelUse:
    """Labels that occur in rows, as far as memory allows marking them, and their number."""

    def __init__(self, most_marked: int) -> None:
        self.n_labels = 0
        self._most_marked = most_marked
        self._n_beyond = 0  # entries with labels too large to be marked
        self._marks = np.zeros(1, np.bool_)

    def read(self, pieces: Pieces, n_bytes: int) -> None:
        """Mark the labels of all rows."""
        self.n_labels = max(self.n_labels, pieces.n_labels or pieces.least_labels)
        for rows in pieces.read(n_bytes):
            labels = as_signed(rows.labels)
            n_labels = int(labels.max(initial=-1)) + 1
            self.n_labels = max(self.n_labels, n_labels)
            n_marked = min(n_labels, self._most_marked)
            if n_marked > self._marks.size:
                self._marks.resize(min(2 * n_marked, self._most_marked), refcheck=False)
            are_marked = (labels >= 0) & (labels < n_marked)
            self._marks[labels[are_marked]] = True
            self._n_beyond += int((labels >= n_marked).sum())

    def count(self) -> int:
        """Return the largest possible number of labels that occur."""
        return int(self._marks.sum()) + self._n_beyond

    def copy(self) -> LabelUse:
        """Return a copy that can mark more rows independently."""
        copied = LabelUse(self._most_marked)
        copied.n_labels = self.n_labels
        copied._n_beyond = self._n_beyond
        copied._marks = self._marks.copy()
        return copied


class RowReader:
    """Reads an input from row ``first`` on in pieces of ``n_bytes``, and one more piece ahead."""

    def __init__(self, name: str, pieces: Pieces, n_bytes: int, first: int = 0) -> None:
        self.name = name
        self.n_rows = pieces.n_rows
        self.n_labels = pieces.n_labels  # None if unknown
        self.n_taken = first
        self._locate = pieces.locate
        self._iterator = rows_from(pieces, min(n_bytes, MOST_BYTES), first)
        self._piece: Any = None
        self._place = 0
        self._size = 0
        self._next: Call[Any] | None = Call(next, self._iterator, None)

    def ready(self) -> int:
        """Return how many rows can be taken at once; 0 at the end."""
        while self._place == self._size and self._next is not None:
            self._piece = self._next.result()
            self._next = None
            self._place = 0
            self._size = 0
            if self._piece is not None:
                self._next = Call(next, self._iterator, None)
                self._size = _n_rows(self._piece)
        return self._size - self._place

    def take(self, n: int) -> Piece:
        """Return the next n rows, which must be ready."""
        start = self._place
        stop = start + n
        self._place = stop
        self.n_taken += n
        return _cut(self._piece, start, stop)

    def count(self) -> int:
        """Return the number of rows; if unknown, read the remaining ones."""
        if self.n_rows is not None:
            return self.n_rows
        while n := self.ready():
            self.take(n)
        return self.n_taken

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a row that was taken, and its number in it."""
        if self._locate is None:
            return self.name, row
        return self._locate(row)

    def close(self) -> None:
        """Stop reading ahead."""
        if self._next is not None:
            self._next.cancel()
        if isinstance(self._iterator, Generator):
            self._iterator.close()  # and with it the file


def _n_rows(piece: Piece) -> int:
    if isinstance(piece, Rows):
        return piece.n_rows
    return int(piece.shape[0])


def _cut(piece: Piece, start: int, stop: int) -> Piece:
    """Return rows start..stop-1 of a piece, itself if these are all rows."""
    if stop - start == _n_rows(piece):
        return piece
    if isinstance(piece, Rows):
        return piece.part(start, stop)
    return piece[start:stop]
