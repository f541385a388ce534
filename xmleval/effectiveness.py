"""Effectiveness, threshold errors and the bounds on measures that follow from them.

Definitions and theorems are those of Wu & Zhou 2017, "A Unified View of Multi-Label Performance
Measures" (ICML). Margins are the measures ``margin.samples`` and ``margin.macro``;
``report.per_row()`` and ``report.per_label()`` give those of single rows and labels.

Numbers of labels of each row, or of rows of each label, and threshold errors are integers from 0
on: vectors of the same length (also 1 x n or n x 1), or a scalar. ValueError is raised where they
are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xmleval.base.arrays import MOST_LABELS, Ints
from xmleval.base.errors import InputError, positive_integer, shown

MOST_ROWS = 1 << 52  # counts up to here, and their sums, do not wrap

__all__ = ["Effectiveness", "effectiveness", "f1_bound", "hamming_bound", "threshold_error"]


class Effectiveness(NamedTuple):
    """Whether all margins of rows, of labels, and of both are positive (definitions 3 to 5).

    Examples
    --------
    >>> Effectiveness(label_wise=True, instance_wise=False, double=False).label_wise
    True
    """

    label_wise: bool
    instance_wise: bool
    double: bool


def effectiveness(values: Mapping[str, float]) -> Effectiveness:
    """Determine from the shares of positive margins whether scores are effective.

    ``values``, such as a report, has ``margin_share.samples`` and ``margin_share.macro``; KeyError
    is raised where one is missing. A NaN share, where no row or label has both relevant and
    irrelevant entries, counts as effective. Scores are label-wise effective if the relevant labels
    of each row score above the irrelevant ones, and instance-wise effective if the relevant rows of
    each label do.

    Examples
    --------
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> y_score = np.array([[0.6, 0.1, 0.5], [0.7, 0.8, 0.4]])
    >>> shares = ["margin_share.samples", "margin_share.macro"]
    >>> effectiveness(evaluate(y_true, y_score, metrics=shares))
    Effectiveness(label_wise=True, instance_wise=False, double=False)
    """
    # a NaN share is not below 1
    label_wise = not values["margin_share.samples"] < 1.0
    instance_wise = not values["margin_share.macro"] < 1.0
    return Effectiveness(label_wise, instance_wise, label_wise and instance_wise)


def threshold_error(n_relevant: ArrayLike, n_predicted: ArrayLike) -> Ints:
    """Return the threshold error ``|n_relevant - n_predicted|`` (definition 6), int64.

    For label-wise effective scores it is the number of wrongly predicted labels of a row, for
    instance-wise effective scores that of wrongly predicted rows of a label.

    Examples
    --------
    >>> threshold_error([1, 100], [1, 1])
    array([ 0, 99])
    """
    relevant, predicted = _align_counts("n_relevant", n_relevant, "n_predicted", n_predicted)
    errors: Ints = np.abs(relevant - predicted)
    return errors


def hamming_bound(errors: ArrayLike, n_cells: int) -> float:
    """Return the tight upper bound on Hamming loss for given threshold errors (theorems 4 and 5).

    ``errors`` are those of rows for label-wise effective scores, of labels for instance-wise
    effective ones, and ``n_cells`` is the number of rows times that of labels, which their sum must
    not exceed.

    Examples
    --------
    >>> hamming_bound([0, 99], n_cells=2 * 1000)
    0.0495
    """
    total = sum(_check_counts("errors", errors).reshape(-1).tolist())
    if total > positive_integer("n_cells", n_cells, at_most=MOST_ROWS * MOST_LABELS):
        raise InputError("errors", f"sum {total} exceeds n_cells={n_cells}")
    return total / n_cells


def f1_bound(n_relevant: ArrayLike, errors: ArrayLike) -> float:
    """Return the lower bound on F1 for given threshold errors.

    It bounds F1 samples for label-wise effective scores, from counts of rows (theorem 4), and F1
    macro for instance-wise effective scores, from counts of labels (theorem 5): the mean of 2 (R -
    e) / (2 R - e), or 0 where e > R or R = 0. It does not bound F1 micro, although theorem 4 says
    so: rows with R = 1 and 100, e = 0 and 99 give 0.51, but F1 micro can be 4 / 103.

    Examples
    --------
    >>> round(f1_bound([1, 100], [0, 99]), 4)
    0.5099
    """
    relevant, missed = _align_counts("n_relevant", n_relevant, "errors", errors)
    hits = np.maximum(relevant - missed, 0)
    bounds = np.divide(2.0 * hits, hits + relevant, out=np.zeros(hits.shape), where=relevant > 0)
    return float(bounds.mean())


def _check_counts(argument: str, value: ArrayLike) -> Ints:
    """Return counts as a vector or a scalar, int64, or refuse them."""
    counts = np.asarray(value)
    if counts.size == 0 or counts.dtype.kind not in "iu" or counts.min() < 0:
        raise InputError(argument, f"{shown(value)} is not a vector of counts (integers >= 0)")
    if counts.max() > MOST_ROWS:
        raise InputError(argument, f"count {counts.max()} is more than 2^52")
    if counts.ndim == 2 and 1 in counts.shape:
        counts = counts.reshape(-1)  # sums of SciPy's matrices have two dimensions
    if counts.ndim > 1:
        raise InputError(argument, f"shape {counts.shape} is not a vector")
    return counts.astype(np.int64)


def _align_counts(
    argument: str, value: ArrayLike, second_argument: str, second_value: ArrayLike
) -> tuple[Ints, Ints]:
    """Return two vectors of the same length."""
    first = _check_counts(argument, value)
    second = _check_counts(second_argument, second_value)
    if first.ndim and second.ndim and first.size != second.size:
        raise InputError(
            second_argument,
            f"length {second.size} does not match length {first.size} of {argument}",
        )
    shape = first.shape or second.shape
    return np.broadcast_to(first, shape), np.broadcast_to(second, shape)
