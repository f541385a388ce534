"""Rows and labels that have names, and the columns that the names stand for."""

from __future__ import annotations

from collections.abc import Sequence

from xmleval.budget import UNLIMITED, Allowance
from xmleval.input.match import Batches, Match, as_scores, as_sets, listed_scores
from xmleval.input.pieces import Pieces
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Named
from xmleval.input.stack import rows_as_csr
from xmleval.input.ties import LabelNames
from xmleval.notes import Note

LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"


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
    return Named(matrix, [*match.row_names], match.label_names)


def scores_named(name: str, batches: Batches, like: Named | list[str]) -> Named:
    """Return scores in line with a truth or with labels alone, as `xmleval.io.read_run` does."""
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        placed = match.place("y_score", name, batches)
    else:
        match = Match(name, like)
        placed = match.place("y_true", name, batches)
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    n_labels = len(like.label_names if isinstance(like, Named) else like)
    labels, unknown = match.names[:n_labels], match.names[n_labels:]
    n_rows = counts.get("rows without predictions", 0), counts.get("ignored rows", 0)
    matrix = rows_as_csr(listed_scores(placed.rows(), match.names), len(match.names))
    matrix.label_names = match.names  # which order equal scores
    return Named(matrix, [*match.row_names], labels, *n_rows, unknown)


def score_pieces(placed: PlacedRows, match: Match) -> Pieces:
    """Return matched scores, some rows at a time."""
    names = LabelNames(match.names)
    return placed.pieces(match.n_labels, lambda rows: as_scores(rows, names))


def set_pieces(placed: PlacedRows, match: Match, grades: bool = False) -> Pieces:
    """Return matched label sets, or all grades."""
    names = match.names
    return placed.pieces(match.n_labels, lambda rows: as_sets(rows, grades)._replace(names=names))
