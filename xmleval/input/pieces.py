"""Files that are read some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


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
    label_names : list of str or None
        What the file calls its labels, by id, where that is known before the rows are read.
    locate : callable or None
        Of rows of several files, ``locate(row)`` tells the file of a row that was read, and its number in it.
    read_from : callable or None
        ``read_from(n_bytes, first, stop)`` yields the rows from ``first`` on, up to ``stop`` if that is not
        None, without reading others; None where that is not possible.
    least_labels : int
        Number of labels that there are at least, where ``n_labels`` is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval.io import Pieces
    >>> pieces = Pieces(2, 3, lambda n_bytes: iter([np.eye(2, 3)]))
    >>> sum(len(rows) for rows in pieces.read(1000))
    2
    """

    n_rows: int | None
    n_labels: int | None
    read: Callable[[int], Iterator[Any]]
    label_names: list[str] | None = None
    locate: Callable[[int], tuple[str, int]] | None = None
    read_from: Callable[[int, int, int | None], Iterator[Any]] | None = None
    least_labels: int = 0
