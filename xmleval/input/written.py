"""Scores of labels with names, as a sparse array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scipy.sparse


class NamedScores(scipy.sparse.csr_array):  # type: ignore[misc]
    """A CSR array whose entries stand as they were written, and equal scores in the order in which they rank.

    ``label_names`` order unlisted labels that compete by their score.
    """

    label_names: Sequence[Any] | None = None
