"""Pairs of a row and a label that are not evaluated."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.input.formats.format import naming
from xmleval.input.lines import shown
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.small_texts import text_columns
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


def pairs_of_rows(rows: Ints, labels: Ints, start: int, stop: int) -> Rows:
    """Return the pairs of rows start..stop-1, of all that are sorted by row and label."""
    ptr = np.searchsorted(rows, np.arange(start, stop + 1))
    return rows_by_id(ptr - ptr[0], labels[ptr[0] : ptr[-1]])
