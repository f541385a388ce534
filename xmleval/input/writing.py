"""Data to be written, in memory or in pieces, checked and converted to canonical blocks."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """A row to be written: its key, its labels by name, best first, and their scores, if any."""

    key: str | None
    labels: list[str]
    scores: list[float] | None


@contextlib.contextmanager
def replacing_text(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file as `replacing` does, compressed by gzip if its name ends in .gz."""
    with replacing(path) as file:
        if not path.name.lower().endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield packed


def canonical(data: object, kind: str, n_labels: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield blocks of checked rows, each with the number of labels seen so far.

    ``kind`` is "truth" for blocks of `Truth`, "scores" for `RankedRows`, "entries" for rows of
    scores by rising id.
    """
    first = 0
    width = 0
    argument = "truth" if kind == "truth" else "scores"
    pieces: Iterable[Any] = [data]
    if isinstance(data, Pieces):
        n_labels = data.n_labels or n_labels
        pieces = data.read(PIECE_BYTES)
    for piece in pieces:
        try:
            rows = _checked_rows(piece, kind, n_labels)
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
    """Yield each row with names; the name of a label id is its digits.

    ``check_name(name, noun)`` refuses the name of a row or label that the format cannot store.
    """
    keys, names = names_of(data)
    for key in keys or ():
        check_name(key, "row")
    for name in names or ():
        check_name(name, "label")
    row = 0
    for _, block in canonical(data, kind, n_labels):
        ids = block.labels.tolist()
        labels = _names_of_ids(ids, names)
        block_scores = getattr(block, "scores", None)
        scores = None if block_scores is None else block_scores.tolist()
        for start, stop in pairwise(block.ptr.tolist()):
            row_key = None if keys is None else keys[row]
            row_scores = None if scores is None else scores[start:stop]
            yield WrittenRow(row_key, labels[start:stop], row_scores)
            row += 1


def _names_of_ids(ids: list[int], names: list[str] | None) -> list[str]:
    if names is None:
        return [*map(str, ids)]
    return [names[label] for label in ids]


def names_of(data: object) -> tuple[list[str] | None, list[str] | None]:
    """Return the names of rows and of labels as text, None for rows in order and label ids."""
    if not isinstance(data, Rows):
        return None, None
    return _as_texts(data.keys), _as_texts(data.names)


def _as_texts(names: Sequence[Any] | None) -> list[str] | None:
    if names is None:
        return None
    return [*map(str, names)]


def _checked_rows(data: object, kind: str, n_labels: int | None) -> Source[Any]:
    if kind == "scores" and is_pair(data):
        pair = data
        if not isinstance(pair, Mapping):
            pair = {"indices": pair[0], "scores": pair[1]}
        labels, scores = pair_members("scores", pair, None)
        data = list_rows("scores", labels, scores)
    n_labels = n_labels or known_labels(data, None)
    if n_labels is None and isinstance(data, Rows):
        n_labels = width_of(data.labels)  # labels of other rows may be larger
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
            message = "a list without scores cannot become a matrix; give its scores"
            raise InputError("scores", message)
        rows = ranked(rows, n_labels)
    width = n_labels or 1

    def block(start: int, stop: int) -> Rows:
        entries, _ = sorted_part("scores", rows.part(start, stop), width, start)
        return entries

    row_bytes = rows.n_bytes / max(rows.n_rows, 1)
    return Source(rows.n_rows, width, row_bytes, block)


def known_labels(data: object, n_labels: int | None) -> int | None:
    """Return the number of labels of data if known before they are read, otherwise ``n_labels``."""
    if isinstance(data, Pieces):
        return data.n_labels or n_labels
    if isinstance(data, Rows) and not data.best_first:
        return n_labels or width_of(data.labels)
    shape = shape_of(data)
    return int(shape[1]) if shape else n_labels


def ranked(data: object, n_labels: int | None) -> Rows:
    """Return scores best first."""
    batches = (
        rows_by_id(block.ptr, block.labels, block.scores, best_first=True)
        for _, block in canonical(data, "scores", n_labels)
    )
    rows: Rows = stack_rows(batches)
    return rows
