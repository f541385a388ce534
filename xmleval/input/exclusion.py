"""Pairs of a row and a label that are not evaluated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from xmleval.budget import UNLIMITED, Allowance
from xmleval.input.csr import as_signed
from xmleval.input.formats.format import naming
from xmleval.input.lines import shown
from xmleval.input.pieces import Pieces
from xmleval.input.reader import rows_from
from xmleval.input.stack import all_cells
from xmleval.input.text_columns import text_columns
from xmleval.input.written import of_kind
from xmleval.records import Ints

PAIR_BYTES, KEPT_BYTES = 100, 24  # of memory for a pair: until all are sorted, and from then on
EXPECTED = "pairs of a row and a label, one a line, both counted from 0"


class Pairs(NamedTuple):
    """Distinct pairs of a row and a label, sorted by both, and the first line of the file with each."""

    path: Path
    rows: Ints
    labels: Ints
    lines: Ints

    def refuse_outside(self, n_rows: int | None, n_labels: int | None) -> None:
        """Refuse the first line with a row or label that does not exist, if the sizes are known."""
        found: list[tuple[int, str]] = []
        for kind, ids, n in (("row", self.rows, n_rows), ("label id", self.labels, n_labels)):
            if n is not None and (outside := ids >= n).any():
                at = int(np.argmin(np.where(outside, self.lines, self.lines.max() + 1)))
                hint = f"; {kind.split()[-1]}s look one-based" if ids[at] == n else ""
                found.append((int(self.lines[at]), f"{kind} {ids[at]} is not in 0..{n - 1}{hint}"))
        if found:
            line, said = min(found)
            raise ValueError(f"{self.path}: line {line}: {said}")


def read_pairs(path: Path, allowance: Allowance = UNLIMITED) -> Pairs:
    """Read pairs from a text, packed by gzip or not, or refuse a line that is no pair."""
    pairs = array("q")
    with naming(path, EXPECTED):
        for number, words in text_columns(path, allowance, PAIR_BYTES, " "):
            if not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
                raise ValueError(f"line {number}: {shown(' '.join(words))} is no pair")
            pairs.extend((int(words[0]), int(words[1]), number))
        allowance.take(KEPT_BYTES * (len(pairs) // 3))
    found = np.asarray(pairs).reshape(-1, 3)
    rows, labels, lines = found[np.lexsort((found[:, 1], found[:, 0]))].T
    distinct = np.ones(rows.size, np.bool_)
    distinct[1:] = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
    return Pairs(path, rows[distinct], labels[distinct], lines[distinct])


def pairs_of_rows(rows: Ints, labels: Ints, start: int, stop: int, n_labels: int) -> Any:
    """Return the pairs of rows start..stop-1, of all that are sorted by row and label, as a sparse matrix."""
    lo, hi = np.searchsorted(rows, [start, stop])
    ptr = np.searchsorted(rows[lo:hi], np.arange(start, stop + 1))
    return scipy.sparse.csr_array(
        (np.ones(hi - lo, np.uint8), labels[lo:hi], ptr), shape=(stop - start, n_labels)
    )


def without_pairs(pieces: Pieces, pairs: Pairs) -> Pieces:
    """Return the rows less the pairs: entries of sparse arrays go, slots of lists become empty."""
    rows, labels = pairs.rows, pairs.labels

    def read(n_bytes: int, first: int = 0, stop: int | None = None) -> Iterator[Any]:
        for piece in rows_from(pieces, n_bytes, first, stop):
            n = int((piece[0] if isinstance(piece, tuple) else piece).shape[0])
            lo, hi = np.searchsorted(rows, [first, first + n])
            own = rows[lo:hi] - first, labels[lo:hi]
            yield piece if lo == hi else _less(piece, *own)
            first += n

    return replace(pieces, read=read, read_from=read)


def _less(piece: Any, rows: Ints, labels: Ints) -> Any:
    if isinstance(piece, tuple):
        listed = np.array(as_signed(piece[0]))
        where = np.searchsorted(rows, np.arange(listed.shape[0] + 1))
        for row in np.unique(rows):
            gone = labels[where[row] : where[row + 1]]
            listed[row][np.isin(listed[row], gone)] = -1
        return listed, piece[1]
    if not scipy.sparse.issparse(piece):
        piece = all_cells(piece)
    of_row = np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))
    ids, known = as_signed(piece.indices), np.unique(labels)
    place = np.minimum(np.searchsorted(known, ids), known.size - 1)  # small numbers: products cannot overflow
    excluded = np.isin(of_row * known.size + place, rows * known.size + np.searchsorted(known, labels))
    kept = ~(excluded & (known[place] == ids))
    ptr = np.concatenate(([0], np.cumsum(np.bincount(of_row[kept], minlength=piece.shape[0]))))
    return of_kind(piece, (piece.data[kept], piece.indices[kept], ptr), piece.shape)
