"""Rows of files, taken some at a time and in order: shards as one, the next piece read ahead."""

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
MOST_BYTES = 30 << 20  # of a piece; malloc reuses no memory of arrays above 32 MiB


@dataclass(frozen=True)
class Pieces:
    """What a file holds, cut into consecutive rows as they are read.

    Parameters
    ----------
    n_rows, n_labels : int or None
        Size of the whole, None where nothing in the file tells it before the end.
    read : callable
        ``read(n_bytes)`` yields the rows in order, as `Rows` by id or as dense arrays, which rows would copy;
        writers take what `evaluate` takes. Each is of about as many bytes at most (one row at least). It may
        be called more than once.
    locate : callable or None
        Of rows of several files, ``locate(row)`` tells the file of a row that was read, and its number in it.
    read_from : callable or None
        ``read_from(n_bytes, first, stop)`` yields the rows from ``first`` on, up to ``stop`` if that is not
        None, without reading others; None where that is not possible.
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
        raise ValueError(f"{path}: {reason}; expected rows and labels that are called by number, from 0")

    return Pieces(None, None, refuse, named=True)


def joined(shards: Sequence[tuple[str, Pieces]]) -> Pieces:
    """Return the rows of several files, given with their names, one after another."""
    if len(shards) == 1:
        return shards[0][1]
    _refuse_other_labels(shards)
    all_rows = _JoinedRows(shards)
    notes = (*dict.fromkeys(note for _, pieces in shards for note in pieces.notes),)
    return Pieces(
        all_rows.n_rows,
        shards[0][1].n_labels,
        all_rows.read,
        locate=all_rows.locate,
        read_from=None if all_rows.n_rows is None else all_rows.read,
        least_labels=max(pieces.least_labels for _, pieces in shards),
        notes=notes,
    )


def _refuse_other_labels(shards: Sequence[tuple[str, Pieces]]) -> None:
    """Refuse files with other numbers of labels than the first."""
    first, n_labels = shards[0][0], shards[0][1].n_labels
    for name, pieces in shards:
        if pieces.n_labels != n_labels:
            width, expected = (n or "an unknown number of" for n in (pieces.n_labels, n_labels))
            raise ValueError(f"{name}: {width} labels; {first} has {expected}")


class _JoinedRows:
    """The rows of several files, one after another.

    sizes : numbers of rows, 0 where only reading a file tells it
    starts : first rows of the files, as far as they are known
    """

    def __init__(self, shards: Sequence[tuple[str, Pieces]]) -> None:
        self.shards = shards
        self.sizes = [pieces.n_rows or 0 for _, pieces in shards]
        self.n_rows: int | None = None
        self.starts = [0]
        if all(pieces.n_rows is not None for _, pieces in shards):
            self.n_rows = sum(self.sizes)
            self.starts += accumulate(self.sizes)

    def read(self, n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        """Yield the rows from ``first`` on, up to ``stop``, about so many bytes at a time."""
        for place, (_, pieces) in enumerate(self.shards):
            start = self.starts[place]
            if place and stop is not None and stop <= start:
                return
            if self.sizes[place] and start + self.sizes[place] <= first:
                continue
            last = None if stop is None else stop - start
            for piece in rows_from(pieces, n_bytes, max(first - start, 0), last):
                yield piece
                start += _n_rows(piece)
            if len(self.starts) == place + 1:
                self.starts.append(start)

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a row that was read, and its number in it."""
        place = bisect_right(self.starts, row) - 1
        return self.shards[place][0], row - self.starts[place]


def rows_from(pieces: Pieces, n_bytes: int, first: int, stop: int | None = None) -> Iterator[Any]:
    """Yield the rows from ``first`` on, up to ``stop``; others are read where there is no other way."""
    if stop is not None and pieces.n_rows is not None and stop >= pieces.n_rows:
        stop = None  # then all is read, and what is wrong at its end is found
    if pieces.read_from is not None:
        yield from pieces.read_from(n_bytes, first, stop)
        return
    start = 0
    for piece in pieces.read(n_bytes):
        n = _n_rows(piece)
        lo, hi = max(first - start, 0), n if stop is None else min(stop - start, n)
        if lo < hi or not n:
            yield piece if hi - lo == n else _cut(piece, lo, hi)
        start += n
        if stop is not None and start >= stop:
            return


def rows_between(name: str, pieces: Pieces, start: int, stop: int) -> Pieces:
    """Return rows start..stop-1 of a file as pieces of their own, which messages number as in the file."""
    locate = pieces.locate or (lambda row: (name, row))
    return Pieces(
        stop - start,
        pieces.n_labels,
        lambda n_bytes: rows_from(pieces, n_bytes, start, stop),
        locate=lambda row: locate(start + row),
    )


class LabelUse:
    """Which labels occur in rows, up to the largest that there is memory to mark, and how many there are."""

    def __init__(self, most_marked: int) -> None:
        self.n_labels = 0
        self._most_marked = most_marked
        self._n_beyond = 0  # entries of labels that cannot be marked
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
        """Return how many labels occur at most."""
        return int(self._marks.sum()) + self._n_beyond

    def copy(self) -> LabelUse:
        """Return what may mark more rows, and leaves this as it is."""
        other = LabelUse(self._most_marked)
        other.n_labels, other._n_beyond = self.n_labels, self._n_beyond
        other._marks = self._marks.copy()
        return other


class RowReader:
    """Rows of one input from row ``first`` on, about ``n_bytes`` at a time; one more piece is read ahead."""

    def __init__(self, name: str, pieces: Pieces, n_bytes: int, first: int = 0) -> None:
        self.name = name
        self.n_rows = pieces.n_rows
        self.n_labels = pieces.n_labels  # None where the input does not tell it
        self.n_taken = first
        self._locate = pieces.locate
        self._iterator = rows_from(pieces, min(n_bytes, MOST_BYTES), first)
        self._piece: Any = None
        self._place, self._size = 0, 0
        self._next: Call[Any] | None = Call(next, self._iterator, None)

    def ready(self) -> int:
        """Return how many rows can be taken at once; 0 at the end."""
        while self._place == self._size and self._next is not None:
            piece = self._next.result()
            self._next = None if piece is None else Call(next, self._iterator, None)
            self._piece, self._place = piece, 0
            self._size = 0 if piece is None else _n_rows(piece)
        return self._size - self._place

    def take(self, n: int) -> Piece:
        """Return the next rows, of those that are ready."""
        start, stop = self._place, self._place + n
        self._place = stop
        self.n_taken += n
        return self._piece if n == self._size else _cut(self._piece, start, stop)

    def count(self) -> int:
        """Return how many rows there are, reading what is left where nothing else tells it."""
        while self.n_rows is None and (n := self.ready()):
            self.take(n)
        return self.n_taken if self.n_rows is None else self.n_rows

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a row that was taken, and its number in it."""
        return (self.name, row) if self._locate is None else self._locate(row)

    def close(self) -> None:
        """Stop reading ahead."""
        if self._next is not None:
            self._next.cancel()
        if isinstance(self._iterator, Generator):
            self._iterator.close()  # and with it the file


def _n_rows(piece: Piece) -> int:
    return piece.n_rows if isinstance(piece, Rows) else int(piece.shape[0])


def _cut(piece: Piece, start: int, stop: int) -> Piece:
    return piece.part(start, stop) if isinstance(piece, Rows) else piece[start:stop]
