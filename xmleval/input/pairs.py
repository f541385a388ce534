"""Pairs of labels and scores: which of the two are the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import as_array, is_sparse
from xmleval.input.errors import InputError
from xmleval.input.rows import Rows


def pair_members(argument: str, value: Any, n_labels: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return labels and scores of a pair in either order, or of a dict of ``indices`` and ``scores``.

    The members of a dict and of `torch.topk` have names. Else the integers are the labels; two members of
    integers are refused if both can be labels.
    """
    named = isinstance(value, dict) or (hasattr(value, "indices") and hasattr(value, "values"))
    if isinstance(value, dict):
        value = value.get("indices"), value.get("scores")
    elif named:
        value = value.indices, value.values
    if len(value) != 2:
        raise InputError(argument, f"a tuple must be (labels, scores or None), not {len(value)} items")
    labels = as_array(argument, value[0])
    if value[1] is None:
        return labels, None
    scores = as_array(argument, value[1])
    if not named and scores.dtype.kind in "iu":
        if labels.dtype.kind == "f":
            return scores, labels
        both = labels.dtype.kind in "iu" and labels.size > 0 and scores.size > 0
        if both and min(labels.min(), scores.min()) >= -1 and max(labels.max(), scores.max()) < n_labels:
            message = "two arrays of integers that can both be labels"
            raise InputError(argument, f"{message}; give the scores as floating-point numbers")
    return labels, scores


def is_pair(value: Any) -> bool:
    """Tell whether a value holds labels and scores, or labels alone."""
    is_tuple = isinstance(value, tuple) and not isinstance(value, Rows)
    return is_tuple or (isinstance(value, dict) and not is_sparse(value))


def pair_has_scores(value: Any) -> bool:
    """Tell whether the labels of a pair come with scores."""
    if isinstance(value, dict):
        return value.get("scores") is not None
    return len(value) == 2 and value[1] is not None


def list_width(value: Any, n_labels: int) -> int | None:
    """Return how many labels each row of the arrays of a top-k list holds; None of anything else."""
    labels = pair_members("y_score", value, n_labels)[0] if is_pair(value) else np.empty(0)
    return int(labels.shape[1]) if labels.ndim == 2 else None
