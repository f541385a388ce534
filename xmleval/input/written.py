"""Sparse scores whose entries stand in an order that someone wrote, and scores of labels with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scipy.sparse


class WrittenRows(scipy.sparse.csr_array):  # type: ignore[misc]
    """A CSR array whose entries stand in the order of a file, a dict or a frame, where users see it.

    How scores run in that order tells distances. Other arrays have whatever order they were made in.
    """

    is_written = True


class NamedScores(WrittenRows):
    """Scores of labels with names, whose equal scores stand in the order in which they rank.

    ``label_names``, where known, order unlisted labels that compete by their score.
    """

    ties_in_order = True
    label_names: Sequence[Any] | None = None


class NamedCells(NamedScores):
    """Scores of the columns of a frame, which were put in order by name."""

    is_written = False


def of_kind(matrix: Any, parts: tuple[Any, ...], shape: tuple[int, int]) -> Any:
    """Return other entries as an array of the kind of ``matrix``, with its names of labels."""
    made = type(matrix)(parts, shape=shape)
    if isinstance(matrix, NamedScores):
        made.label_names = matrix.label_names
    return made
