"""Rows and labels that have names, and the columns that the names stand for."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance, OverLimitError
from xmleval.files.remote import as_path
from xmleval.files.saved import parse_json
from xmleval.input.formats.format import NamedReaders, naming
from xmleval.input.lines import read_json, shown
from xmleval.input.match import Match, as_sets, score_matrix
from xmleval.input.rows import BY_KEY, INDEX_BYTES, Named, Rows, collect
from xmleval.input.stack import make_csr
from xmleval.input.text_columns import text_columns
from xmleval.message import Message
from xmleval.notes import Note
from xmleval.records import label_dtype

EXPECTED = "names of labels, one a line or a JSON list of them, each once"
LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"
KEPT_BYTES = 16  # of memory for an entry that is matched


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


def read_rows(readers: NamedReaders, path: Path, kind: str, allowance: Allowance) -> Rows:
    """Read all rows of a file with names within an allowance of memory."""
    with naming_limit(path):
        return collect(readers.rows(path, kind, allowance), allowance)


@contextlib.contextmanager
def naming_limit(path: Path | str) -> Iterator[None]:
    """Name the file that needs more memory than it may take."""
    try:
        yield
    except OverLimitError as error:
        raise ValueError(Message(f"{path}: ", error.args[0])) from None


def truth_named(
    name: str,
    batches: Iterable[Rows],
    labels: Sequence[str] | None,
    grades: bool,
    allowance: Allowance = UNLIMITED,
) -> Named:
    """Return relevant labels, or judged ones with ``grades``; ``labels`` are the names of all, if told."""
    match = Match(name, labels or (), listed=labels is not None)
    with naming_limit(name):
        rows = match.take_truth(name, collect(batches, allowance))
    take_kept(name, allowance, rows, match.keys, match.label_names)
    matrix = truth_matrix(rows, len(match.label_names), grades)
    matrix.sort_indices()
    return Named(matrix, row_names(match, rows), match.label_names)


def scores_named(name: str, batches: Iterable[Rows], like: Named | list[str]) -> Named:
    """Return scores in line with a truth or with labels alone, as `xmleval.io.read_run` does."""
    rows = collect(batches)
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        rows = match.take("y_score", name, rows)
        names = like.row_names
    else:
        match = Match(name, like)
        rows = match.take_truth(name, rows)
        names = row_names(match, rows)
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    known = len(like.label_names if isinstance(like, Named) else like)
    labels, unknown = match.names[:known], match.names[known:]
    n_rows = counts.get("rows without predictions", 0), counts.get("ignored rows", 0)
    return Named(score_matrix(rows, len(match.names), match.names), names, labels, *n_rows, unknown)


def row_names(match: Match, rows: Rows) -> list[str]:
    """Return the names of the rows of a truth; those without are called by their numbers."""
    return [*map(str, range(rows.n_rows))] if match.keys is None else match.keys


def truth_matrix(rows: Rows, n_labels: int, grades: bool) -> Any:
    """Return matched rows as an array of ones for relevant labels, or of all grades."""
    sets = as_sets(rows, n_labels, grades)
    data: Any = np.ones(sets.labels.size, np.float64 if grades else np.uint8)
    if sets.data is not None:
        data = sets.data.astype(np.float64)
    return make_csr(sets.ptr, sets.labels.astype(label_dtype(n_labels)), data, n_labels, canonical=False)


def take_kept(name: str, allowance: Allowance, rows: Rows, *names: Sequence[str] | None) -> None:
    """Count the memory of matched rows of a file, and of names that are kept with them."""
    texts = sum(8 + sys.getsizeof(text) for each in names for text in each or ())
    with naming_limit(name):
        allowance.take(KEPT_BYTES * rows.labels.size + 8 * rows.n_rows + texts)
