"""What is written: data in memory or in pieces, checked and brought into canonical blocks."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from xmleval.base.errors import InputError
from xmleval.files.output import replacing
from xmleval.input.csr import Source, sorted_part
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.scores import Reading, is_pair, list_rows, pair_members, ranking_rows
from xmleval.input.sets import set_rows
from xmleval.input.stack import stack_rows, width_of
from xmleval.input.tensors import shape_of

PIECE_BYTES = 8 << 20


class WrittenRow(NamedTuple):
    """A row to be written: its key, None without one, and its labels by name with any scores, best first."""

    key: str | None
    labels: list[str]
    scores: list[float] | None


@contextlib.contextmanager
def replacing_text(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Give a file as `replacing` does, compressed by gzip where its name ends in .gz."""
    with replacing(path) as file:
        if not path.name.lower().endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield packed


def canonical(data: object, kind: str, n_labels: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the number of labels as far as it shows, and checked rows, some at a time.

    ``kind`` is "truth" for blocks of Truth, "scores" of Ranking, "entries" for rows of scores by rising id.
    """
    first = 0
    width = 0
    argument = "truth" if kind == "truth" else "scores"
    if isinstance(data, Pieces):
        n_labels = data.n_labels or n_labels
    for piece in data.read(PIECE_BYTES) if isinstance(data, Pieces) else [data]:
        try:
            rows = _rows(piece, kind, n_labels)
            width = max(width, rows.n_labels)
            for block in rows.blocks():
                yield width, block
        except InputError as error:
            row = None if error.row is None else first + error.row
            raise InputError(argument, error.reason, row=row, value=error.value) from None
        first += rows.n_rows


def written_rows(
    data: object, kind: str, n_labels: int | None, check_name: Callable[[str, str], None]
) -> Iterator[WrittenRow]:
    """Yield each row by name; ids are called by their digits.

    ``check_name(name, noun)`` refuses the name of a row or of a label that the format does not keep.
    """
    keys, names = names_of(data)
    for key in keys or ():
        check_name(key, "row")
    for name in names or ():
        check_name(name, "label")
    row = 0
    for _, block in canonical(data, kind, n_labels):
        ids = block.labels.tolist()
        scores = getattr(block, "scores", None)
        labels = [*map(str, ids)] if names is None else [names[label] for label in ids]
        values = None if scores is None else scores.tolist()
        for start, stop in pairwise(block.ptr.tolist()):
            row_key = None if keys is None else keys[row]
            yield WrittenRow(row_key, labels[start:stop], None if values is None else values[start:stop])
            row += 1


def names_of(data: object) -> tuple[list[str] | None, list[str] | None]:
    """Return the names of rows and of labels as text, None of rows in order and of labels by id."""
    if not isinstance(data, Rows):
        return None, None
    keys = None if data.keys is None else [*map(str, data.keys)]
    return keys, None if data.names is None else [*map(str, data.names)]


def _rows(data: object, kind: str, n_labels: int | None) -> Source[Any]:
    if kind == "scores" and is_pair(data):
        pair = data if isinstance(data, Mapping) else {"indices": data[0], "scores": data[1]}
        data = list_rows("scores", *pair_members("scores", pair, None))
    n_labels = n_labels or known_labels(data, None)
    if n_labels is None and isinstance(data, Rows):
        n_labels = width_of(data.labels)  # as far as they go
    if kind == "truth":
        return set_rows("truth", data, n_labels)
    if kind == "entries":
        assert isinstance(data, Rows)
        return _entries(data, n_labels)
    return ranking_rows(data, Reading("scores", n_labels or 1))


def _entries(rows: Rows, n_labels: int | None) -> Source[Rows]:
    """Return rows of scores by rising id."""
    if rows.best_first:
        if rows.values is None:
            raise InputError("scores", "a list without scores is no matrix; expected scores with it")
        rows = ranked(rows, n_labels)
    width = n_labels or 1

    def block(start: int, stop: int) -> Rows:
        return sorted_part("scores", rows.part(start, stop), width, start)[0]

    return Source(rows.n_rows, width, rows.n_bytes / max(rows.n_rows, 1), block)


def known_labels(data: object, n_labels: int | None) -> int | None:
    """Return the number of labels where data tell it before they are read, or the given one."""
    if isinstance(data, Pieces):
        return data.n_labels or n_labels
    if isinstance(data, Rows) and not data.best_first:
        return n_labels or width_of(data.labels)
    shape = shape_of(data)
    return int(shape[1]) if shape else n_labels


def ranked(data: object, n_labels: int | None) -> Rows:
    """Return scores best first."""
    blocks = ((block.ptr, block.labels, block.scores) for _, block in canonical(data, "scores", n_labels))
    rows: Rows = stack_rows(rows_by_id(*entries, best_first=True) for entries in blocks)
    return rows
