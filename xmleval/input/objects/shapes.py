"""Lists that may be dense arrays, and what other libraries return for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.errors import InputError
from xmleval.input.csr import as_array
from xmleval.input.tensors import shape_of

CLASS_ONE = "y_score: a list as predict_proba returns it; the scores of class 1, its second column, are taken"


def dense_list(argument: str, value: Any, width: int | None) -> Any:
    """Return a list of the rows of a dense array of that width as an array, any other value as it is."""
    dense = isinstance(value, list) and width and not are_ids(value, width)
    return as_array(argument, value) if dense else value


def are_ids(rows: list[Any], width: int | None) -> bool:
    """Tell whether lists can only be of ids, not the rows of a dense array of that width."""
    if not width or not all(hasattr(row, "__len__") and not isinstance(row, str) for row in rows):
        return False
    if any(isinstance(row, set | frozenset) for row in rows):
        return True
    sizes = {len(row) for row in rows}
    if len(sizes) != 1 or sizes in ({0}, {width}):
        return len(sizes) > 1 or sizes == {0}
    return any(isinstance(item, tuple) or item not in (0, 1) for row in rows for item in row)


def as_own_rows(argument: str, value: Any) -> Any:
    """Return ranx objects as dicts and lists of arrays as one array or pair; other values as they are."""
    if not (isinstance(value, list) and value and all(map(shape_of, value))):
        is_run = hasattr(value, "to_dict") and hasattr(value, "keys") and not hasattr(value, "iloc")
        return value.to_dict() if is_run and not isinstance(value, dict) else value
    are_floats = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in value)
    are_scores = argument == "y_score" and are_floats
    if len(value) == 2 and not are_scores:
        return tuple(value)  # a pair of labels and scores, and no list of rows
    n_rows, n_classes = ({array.shape[axis] for array in value} for axis in (0, 1))
    if are_scores and len(n_rows) == 1 and n_classes <= {1, 2}:
        return class_one_scores(argument, value)
    raise InputError(
        argument,
        f"a list of {len(value)} arrays, the first of shape {value[0].shape}; concatenate batches of rows "
        "(np.concatenate), and of predict_proba's classes give the scores of class 1",
    )


def class_one_scores(
    argument: str, arrays: list[Any], classes: Sequence[Any] | None = None
) -> NDArray[np.float64]:
    """Return the scores (m, l) of class 1 from an array (m, n_classes) for each label.

    They are 0 where ``classes``, those of each label, lack class 1. Without ``classes``, two are 0 and 1, and
    a single one is refused.
    """
    scores = np.zeros((len(arrays[0]), len(arrays)))
    for label, columns in enumerate(arrays):
        known = [0, 1] if classes is None else [*classes[label]]
        if not np.isin(known, (0, 1)).all():
            raise InputError(argument, f"label {label} has classes {known}; expected 0 and 1")
        if columns.shape[1] != len(known):
            raise InputError(
                argument,
                f"predict_proba's array of label {label} has one class, which may be 0 or 1; give an array "
                "(m, n_labels) of the scores of class 1, or xmleval.integrations.sklearn.make_scorer",
            )
        scores[:, label] = columns[:, known.index(1)] if 1 in known else 0
    return scores
