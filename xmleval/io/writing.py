"""What is written: data in memory or in pieces, checked and brought into canonical blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.coerce import InputError, Rows, ranking_rows, set_rows
from xmleval.io.pieces import Pieces

PIECE_BYTES = 8 << 20


def canonical(data: Any, kind: str, n_labels: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the number of labels as far as it shows, and checked rows, some at a time.

    Parameters
    ----------
    data : sparse or dense array, (labels, scores) pair of arrays, or Pieces
        What `xmleval.evaluate` takes, or what a reader gives.
    kind : str
        "truth" for blocks of Truth, "scores" for blocks of Ranking.
    n_labels : int or None
        Number of labels where it is known.
    """
    if not isinstance(data, Pieces):
        rows = _rows(data, kind, n_labels)
        yield from ((rows.n_labels, block) for block in rows.blocks())
        return
    first, most = 0, 0
    for piece in data.read(PIECE_BYTES):
        try:
            rows = _rows(piece, kind, data.n_labels or n_labels)
            most = max(most, rows.n_labels)
            for block in rows.blocks():
                yield most, block
        except InputError as error:
            raise ValueError(f"{kind}, rows counted from {first}: {error.text}") from None
        first += rows.n_rows


def known_labels(data: Any, n_labels: int | None) -> int | None:
    """Return the number of labels where data tell it before they are read, or the given one."""
    if isinstance(data, Pieces):
        return data.n_labels or n_labels
    shape: tuple[int, ...] = getattr(data, "shape", ())
    return int(shape[-1]) if len(shape) == 2 else n_labels


def _rows(data: Any, kind: str, n_labels: int | None) -> Rows[Any]:
    if kind == "truth":
        return set_rows("truth", data, None, n_labels)
    if n_labels is None and isinstance(data, tuple):
        labels = np.asarray(data[0])  # as far as they go
        n_labels = int(labels.max(initial=0)) + 1 if labels.dtype.kind in "iu" else 1
    elif n_labels is None:
        n_labels = known_labels(data, None) or 1
    return ranking_rows("scores", data, None, n_labels)
