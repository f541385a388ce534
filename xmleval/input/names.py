"""Rows and labels that have names, and the columns that the names stand for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.remote import as_path
from xmleval.files.saved import parse_json
from xmleval.input.formats.format import naming
from xmleval.input.lines import read_json, shown
from xmleval.input.match import Batches, Match, as_scores, as_sets, listed_scores
from xmleval.input.pieces import Pieces
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, INDEX_BYTES, Named
from xmleval.input.stack import rows_as_csr
from xmleval.input.text_columns import text_columns
from xmleval.input.ties import LabelNames
from xmleval.notes import Note

EXPECTED = "names of labels, one a line or a JSON list of them, each once"
LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"


def read_names(path: str | os.PathLike[str]) -> list[str]:
    r"""Read the names of labels from a file.

    Parameters
    ----------
    path : path
        A text with one name on each line, or a JSON list of strings in a file ``NAME.json``; either may be
        packed by gzip.

    Returns
    -------
    list of str
        The name of each column.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds anything else, or a name twice.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from xmleval.io import read_names
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "labels.txt").write_text("cat\ndog\n")
    ...     names = read_names(Path(folder) / "labels.txt")
    >>> names
    ['cat', 'dog']
    """
    return load_names(as_path(path), UNLIMITED)


def load_names(path: Path, allowance: Allowance) -> list[str]:
    """Read the names of labels within an allowance of memory."""
    with naming(path, EXPECTED):
        is_json = path.name.lower().removesuffix(".gz").endswith(".json")
        names = (
            _json_names(path, allowance)
            if is_json
            else (name for _, (name,) in text_columns(path, allowance, INDEX_BYTES))
        )
        place_of: dict[str, int] = {}
        for place, name in enumerate(names):
            if place_of.setdefault(name, place) != place:
                raise ValueError(f"name {shown(name)} occurs twice, the second time in place {place}")
        allowance.take(INDEX_BYTES * len(place_of) + sum(map(sys.getsizeof, place_of)))
    return [*place_of]


def _json_names(path: Path, allowance: Allowance) -> list[str]:
    try:
        names = parse_json(read_json(path, allowance), allowance)
    except RecursionError:
        raise ValueError("its lists are nested without end") from None
    if not isinstance(names, list):
        raise ValueError(f"a JSON {type(names).__name__}, not a list")
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"name {place} is {shown(json.dumps(name))}, not a string")
        if not name:
            raise ValueError(f"name {place} is empty")
    return names


def truth_named(
    name: str,
    batches: Batches,
    labels: Sequence[str] | None,
    grades: bool,
    allowance: Allowance = UNLIMITED,
) -> Named:
    """Return relevant labels, or judged ones with ``grades``; ``labels`` are the names of all, if told."""
    match = Match(name, labels or (), listed=labels is not None)
    rows = match.place("y_true", name, batches, allowance).rows()
    matrix = rows_as_csr(as_sets(rows, grades), len(match.label_names))
    matrix.sort_indices()
    return Named(matrix, [*row_names(match)], match.label_names)


def scores_named(name: str, batches: Batches, like: Named | list[str]) -> Named:
    """Return scores in line with a truth or with labels alone, as `xmleval.io.read_run` does."""
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        placed = match.place("y_score", name, batches)
    else:
        match = Match(name, like)
        placed = match.place("y_true", name, batches)
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    known = len(like.label_names if isinstance(like, Named) else like)
    labels, unknown = match.names[:known], match.names[known:]
    n_rows = counts.get("rows without predictions", 0), counts.get("ignored rows", 0)
    matrix = rows_as_csr(listed_scores(placed.rows(), match.names), len(match.names))
    matrix.label_names = match.names  # which order equal scores
    return Named(matrix, [*row_names(match)], labels, *n_rows, unknown)


def score_pieces(placed: PlacedRows, match: Match) -> Pieces:
    """Return matched scores, some rows at a time."""
    names = LabelNames(match.names)
    return placed.pieces(match.n_labels, lambda rows: as_scores(rows, names))


def set_pieces(placed: PlacedRows, match: Match, grades: bool = False) -> Pieces:
    """Return matched label sets, or all grades."""
    names = match.names
    return placed.pieces(match.n_labels, lambda rows: as_sets(rows, grades)._replace(names=names))


class RowNumbers(Sequence[str]):
    """Names of rows that have none: their numbers, made where they are asked for."""

    def __init__(self, n_rows: int) -> None:
        self._rows = range(n_rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        """Return the name of a row."""
        return str(self._rows[row])


def row_names(match: Match) -> Sequence[str]:
    """Return the names of the rows of a truth; those without are called by their numbers."""
    return RowNumbers(match.n_rows) if match.keys is None else match.keys
