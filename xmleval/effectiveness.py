"""What margins say about measures: effectiveness, threshold errors and the bounds that follow.

Definitions and theorems are those of Wu & Zhou 2017, "A Unified View of Multi-Label Performance Measures"
(ICML). Margins themselves are the measures ``margin.samples`` and ``margin.macro`` of `xmleval.evaluate`; of
single rows and labels they are in ``report.per_row()`` and ``report.per_label()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.errors import InputError, positive_integer
from xmleval.records import Ints

__all__ = ["Effectiveness", "effectiveness", "f1_bound", "hamming_bound", "threshold_error"]


class Effectiveness(NamedTuple):
    """Whether all margins of rows, of labels, and of both are positive (definitions 3 to 5)."""

    label_wise: bool
    instance_wise: bool
    double: bool


def effectiveness(values: Mapping[str, float]) -> Effectiveness:
    """Tell from the shares of positive margins which way scores are effective.

    Parameters
    ----------
    values : mapping of str to float
        ``margin_share.samples`` and ``margin_share.macro``, such as a report that has them. A share is NaN
        where no row, or no label, has both kinds of cells; then nothing speaks against it.

    Returns
    -------
    Effectiveness
        ``label_wise``: every relevant label of a row is above every irrelevant one; ``instance_wise``: every
        relevant row of a label is above every irrelevant one; ``double``: both.

    Raises
    ------
    KeyError
        If a share is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import evaluate
    >>> from xmleval.effectiveness import effectiveness
    >>> y_true, y_score = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.6, 0.1, 0.5], [0.7, 0.8, 0.4]])
    >>> effectiveness(evaluate(y_true, y_score, metrics=["margin_share.samples", "margin_share.macro"]))
    Effectiveness(label_wise=True, instance_wise=False, double=False)
    """
    by_row, by_label = (not values[f"margin_share.{average}"] < 1.0 for average in ("samples", "macro"))
    return Effectiveness(by_row, by_label, by_row and by_label)


def threshold_error(n_relevant: Any, n_predicted: Any) -> Ints:
    """Return by how many cells thresholds miss the number of relevant ones (definition 6).

    For label-wise effective scores it is the number of labels of a row that are predicted wrongly, for
    instance-wise effective scores that of the rows of a label.

    Parameters
    ----------
    n_relevant, n_predicted : int or array of int
        Relevant and predicted labels of each row, or rows of each label: vectors of one length, which may be
        written as a row or a column, or one number for all.

    Returns
    -------
    ndarray of int64
        In 0..l for rows, 0..m for labels.

    Raises
    ------
    ValueError
        If a number is negative or no integer, or lengths differ.

    Examples
    --------
    >>> from xmleval.effectiveness import threshold_error
    >>> threshold_error([1, 100], [1, 1])
    array([ 0, 99])
    """
    relevant, predicted = _aligned("n_relevant", n_relevant, "n_predicted", n_predicted)
    missed: Ints = np.abs(relevant - predicted)
    return missed


def hamming_bound(errors: Any, n_cells: int) -> float:
    """Return the largest Hamming loss that threshold errors allow (theorems 4 and 5); it is reached.

    Parameters
    ----------
    errors : int or array of int
        Threshold errors of the rows of label-wise effective scores, or of the labels of instance-wise
        effective ones.
    n_cells : int
        Rows times labels.

    Returns
    -------
    float
        In 0..1.

    Raises
    ------
    ValueError
        If an error is negative or no integer, errors are more than cells, or ``n_cells`` is not a positive
        integer.

    Examples
    --------
    >>> from xmleval.effectiveness import hamming_bound
    >>> hamming_bound([0, 99], n_cells=2 * 1000)
    0.0495
    """
    total = int(_counts("errors", errors).sum())
    if total > positive_integer("n_cells", n_cells):
        raise InputError("errors", f"{total} in all are more than the {n_cells} of n_cells")
    return total / n_cells


def f1_bound(n_relevant: Any, errors: Any) -> float:
    """Return the least F1 that threshold errors allow.

    It is a bound of instance-F1 for label-wise effective scores, from numbers of rows (theorem 4), and of
    macro-F1 for instance-wise effective scores, from numbers of labels (theorem 5): the mean of
    2 (R - e) / (2 R - e), or 0 where e > R. It is none of micro-F1, for which theorem 4 states it too: rows
    with R = 1 and 100, e = 0 and 99 give 0.51, but their micro-F1 may be 4 / 103.

    Parameters
    ----------
    n_relevant : int or array of int
        Relevant labels of each row, or rows of each label.
    errors : int or array of int
        Their threshold errors, as many or one for all.

    Returns
    -------
    float
        In 0..1; F1 of what has nothing relevant counts 0.

    Raises
    ------
    ValueError
        If a number is negative or no integer, or lengths differ.

    Examples
    --------
    >>> from xmleval.effectiveness import f1_bound
    >>> round(f1_bound([1, 100], [0, 99]), 4)
    0.5099
    """
    relevant, missed = _aligned("n_relevant", n_relevant, "errors", errors)
    hits = np.maximum(relevant - missed, 0)
    bounds = np.divide(2.0 * hits, hits + relevant, out=np.zeros(hits.shape), where=relevant > 0)
    return float(bounds.mean())


def _counts(argument: str, value: Any) -> Ints:
    counts = np.asarray(value)
    if counts.size == 0 or counts.dtype.kind not in "iu" or counts.min() < 0:
        raise InputError(argument, f"{value!r} does not hold numbers of cells: integers from 0 on")
    if counts.ndim == 2 and 1 in counts.shape:
        counts = counts.reshape(-1)  # sums of SciPy's matrices are columns or rows
    if counts.ndim > 1:
        raise InputError(argument, f"shape {counts.shape} is not a vector of numbers")
    return counts.astype(np.int64)


def _aligned(argument: str, value: Any, other: str, other_value: Any) -> tuple[Ints, Ints]:
    """Return two vectors of numbers of one length."""
    one, two = _counts(argument, value), _counts(other, other_value)
    if one.ndim and two.ndim and one.size != two.size:
        raise InputError(other, f"{two.size} numbers do not match the {one.size} of {argument}")
    shape = one.shape or two.shape
    return np.broadcast_to(one, shape), np.broadcast_to(two, shape)
