"""What is written: data in memory or in pieces, checked and brought into canonical blocks."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.files.output import replacing
from xmleval.input.csr import Source
from xmleval.input.errors import InputError
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import set_rows
from xmleval.input.stack import sorted_rows, stack_rows
from xmleval.records import Ints, Labels, Scores

PIECE_BYTES = 8 << 20


@contextlib.contextmanager
def replacing_text(path: Path) -> Iterator[Any]:
    """Give a file as `replacing` does, compressed by gzip where its name ends in .gz."""
    with contextlib.ExitStack() as opened:
        file: Any = opened.enter_context(replacing(path))
        if path.name.lower().endswith(".gz"):
            file = opened.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        yield file


def canonical(data: Any, kind: str, n_labels: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the number of labels as far as it shows, and checked rows, some at a time.

    ``data`` is what `xmleval.evaluate` takes, or what a reader gives; ``kind`` is "truth" for blocks of
    Truth, "scores" for blocks of Ranking.
    """
    first = most = 0
    if isinstance(data, Pieces):
        n_labels = data.n_labels or n_labels
    for piece in data.read(PIECE_BYTES) if isinstance(data, Pieces) else [data]:
        try:
            rows = _rows(piece, kind, n_labels)
            most = max(most, rows.n_labels)
            for block in rows.blocks():
                yield most, block
        except InputError as error:
            row = None if error.row is None else first + error.row
            raise InputError(kind, error.reason, row=row, value=error.value) from None
        first += rows.n_rows


def known_labels(data: Any, n_labels: int | None) -> int | None:
    """Return the number of labels where data tell it before they are read, or the given one."""
    if isinstance(data, Pieces):
        return data.n_labels or n_labels
    if isinstance(data, Rows) and not data.best_first:
        return n_labels or max(1, int(data.labels.max(initial=0)) + 1)
    shape: tuple[int, ...] = getattr(data, "shape", ())
    return int(shape[-1]) if len(shape) == 2 else n_labels


def _rows(data: Any, kind: str, n_labels: int | None) -> Source[Any]:
    if n_labels is None and isinstance(data, Rows):
        n_labels = max(1, int(data.labels.max(initial=0)) + 1, len(data.names or ()))
    if kind == "truth":
        return set_rows("truth", data, None, n_labels)
    if isinstance(data, tuple) and not isinstance(data, Rows):
        labels = np.asarray(data[0])  # as far as they go
        if n_labels is None and labels.dtype.kind in "iu":
            n_labels = int(labels.max(initial=0)) + 1
        data = {"indices": data[0], "scores": data[1]}
    n_labels = n_labels or known_labels(data, None) or 1
    return ranking_rows(data, None, Reading("scores", n_labels))


def ranked(data: Any, n_labels: int | None) -> Rows:
    """Return scores best first."""
    blocks = (block for _, block in canonical(data, "scores", n_labels))
    return lists_of((block.ptr, block.labels, block.scores) for block in blocks)


def lists_of(blocks: Iterable[tuple[Ints, Labels, Scores]]) -> Rows:
    """Return blocks of lists as rows."""
    rows: Rows = stack_rows(rows_by_id(*block, best_first=True) for block in blocks)
    return rows


def entries_of(data: Rows, n_labels: int | None) -> Rows:
    """Return the entries of rows as those of a matrix; those of lists by rising id."""
    if not data.best_first:
        return data
    if data.values is None:
        raise InputError("scores", "a list without scores is no matrix; expected scores with it")
    rows = ranked(data, n_labels)
    return sorted_rows(rows.ptr, rows.labels, rows.values, int(rows.labels.max(initial=0)) + 1)


def count_reordered(ptr: Ints, labels: Labels, scores: Scores, by_name: bool) -> int:
    """Count rows with neighbours of one score that rank otherwise by label, or by the later name."""
    ties = np.flatnonzero(scores[1:] == scores[:-1])
    ties = np.setdiff1d(ties, ptr - 1)  # in the same row
    first, second = labels[ties], labels[ties + 1]
    moved = ties[first.astype(str) < second.astype(str) if by_name else first > second]
    return int(np.unique(np.searchsorted(ptr, moved, side="right")).size)
