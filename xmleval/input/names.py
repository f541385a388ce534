"""Rows and labels that have names, and the columns that the names stand for."""

from __future__ import annotations

from collections.abc import Sequence

from xmleval.base.notes import Note
from xmleval.input.match import Batches, Match, as_scores, as_sets, listed_scores
from xmleval.input.pieces import Pieces
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Named
from xmleval.input.stack import rows_as_csr
from xmleval.input.ties import LabelNames

LIKE_A_SCORE = "it looks like a score, as if TRUTH, which comes first, and SCORES were swapped"


def read_named(name: str, batches: Batches, kind: str, like: Named | Sequence[str] | None) -> Named:
    """Return rows in line with those of a truth, or as they come, with labels of these names."""
    if isinstance(like, Named):
        match = Match("the truth", like.label_names, keys=like.row_names, by=BY_KEY)
        placed = match.place("y_score", name, batches)
    else:
        match = Match(name, like or (), listed=like is not None and kind != "scores")
        placed = match.place("y_true", name, batches)
    names, of_truth = match.names, like.label_names if isinstance(like, Named) else like
    if kind == "scores":
        matrix = rows_as_csr(listed_scores(placed.rows(), names), len(names))
        matrix.label_names = names  # which order equal scores
    else:
        matrix = rows_as_csr(as_sets(placed.rows(), kind == "grades"), len(names))
        matrix.sort_indices()
    counts = {note.fields[1]: note.fields[2] for note in match.notes if isinstance(note, Note)}
    n_rows = counts.get("rows without predictions", 0), counts.get("ignored rows", 0)
    n_labels = len(names if of_truth is None else of_truth)
    return Named(matrix, [*match.row_names], names[:n_labels], *n_rows, names[n_labels:])


def score_pieces(placed: PlacedRows, match: Match) -> Pieces:
    """Return matched scores, some rows at a time."""
    names = LabelNames(match.names)
    return placed.pieces(match.n_labels, lambda rows: as_scores(rows, names))


def set_pieces(placed: PlacedRows, match: Match, grades: bool = False) -> Pieces:
    """Return matched label sets, or all grades."""
    names = match.names
    return placed.pieces(match.n_labels, lambda rows: as_sets(rows, grades)._replace(names=names))
