"""What is written: data in memory or in pieces, checked and brought into canonical blocks."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.files.output import replacing
from xmleval.input.csr import Source
from xmleval.input.errors import InputError
from xmleval.input.pairs import TopK
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import set_rows
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
            row = None if error.row is None else first + error.row
            raise InputError(kind, error.reason, row=row, value=error.value) from None
        first += rows.n_rows


def known_labels(data: Any, n_labels: int | None) -> int | None:
    """Return the number of labels where data tell it before they are read, or the given one."""
    if isinstance(data, Pieces):
        return data.n_labels or n_labels
    shape: tuple[int, ...] = getattr(data, "shape", ())
    return int(shape[-1]) if len(shape) == 2 else n_labels


def _rows(data: Any, kind: str, n_labels: int | None) -> Source[Any]:
    if kind == "truth":
        if isinstance(data, Rows) and n_labels is None:
            n_labels = max(1, int(data.labels.max(initial=0)) + 1)
        return set_rows("truth", data, None, n_labels)
    if n_labels is None and isinstance(data, tuple):
        labels = data.labels if isinstance(data, Rows) else np.asarray(data[0])  # as far as they go
        n_labels = int(labels.max(initial=0)) + 1 if labels.dtype.kind in "iu" else 1
    elif n_labels is None:
        n_labels = known_labels(data, None) or 1
    is_pair = isinstance(data, tuple) and not isinstance(data, Rows)
    return ranking_rows(TopK(*data) if is_pair else data, None, Reading("scores", n_labels))


def as_sparse(data: Any, kind: str, n_labels: int | None) -> Any:
    """Return data as one CSR array: ones of a truth, every stored score."""
    if not isinstance(data, tuple):
        return data
    blocks = [block for _, block in canonical(data, kind, n_labels)]
    width = n_labels or 1 + max((int(block.labels.max(initial=0)) for block in blocks), default=0)
    if any(block.scores is None for block in blocks):
        raise InputError(kind, "a list without scores is no matrix; expected scores with it")
    ptr = np.concatenate([[0], *(np.diff(block.ptr) for block in blocks)]).cumsum()
    labels = np.concatenate([np.empty(0, np.int32), *(block.labels for block in blocks)])
    scores = np.concatenate([block.scores for block in blocks]) if blocks else np.empty(0, np.float32)
    found = scipy.sparse.csr_array((scores, labels, ptr), shape=(ptr.size - 1, width))
    found.sort_indices()
    return found


def count_reordered(ptr: Ints, labels: Labels, scores: Scores, by_name: bool) -> int:
    """Count rows with neighbours of one score that rank otherwise by label, or by the later name."""
    ties = np.flatnonzero(scores[1:] == scores[:-1])
    ties = np.setdiff1d(ties, ptr - 1)  # in the same row
    first, second = labels[ties], labels[ties + 1]
    moved = ties[first.astype(str) < second.astype(str) if by_name else first > second]
    return int(np.unique(np.searchsorted(ptr, moved, side="right")).size)


def as_lists(data: Any, kind: str, n_labels: int | None) -> tuple[Any, Any]:
    """Return data as lists, best first: labels with -1 behind a row's last one, and scores or None."""
    if isinstance(data, tuple):
        return data
    return filled([(block.ptr, block.labels, block.scores) for _, block in canonical(data, kind, n_labels)])


def filled(blocks: Sequence[tuple[Ints, Labels, Scores]]) -> tuple[Labels, Scores]:
    """Return lists of one length: labels with -1 behind a row's last one, and scores with NaN there."""
    depth = max((int(np.diff(ptr).max(initial=0)) for ptr, _, _ in blocks), default=0)
    rows = sum(ptr.size - 1 for ptr, _, _ in blocks)
    labels = np.full((rows, depth), -1, blocks[0][1].dtype if blocks else np.int32)
    scores = np.full((rows, depth), np.nan, blocks[0][2].dtype if blocks else np.float32)
    first = 0
    for ptr, own_labels, own_scores in blocks:
        sizes = np.diff(ptr)
        there = np.arange(depth) < sizes[:, None]
        labels[first : first + sizes.size][there] = own_labels
        scores[first : first + sizes.size][there] = own_scores
        first += sizes.size
    return labels, scores
