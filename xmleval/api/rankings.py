"""Measures of whole rankings and of pooled scores, a float each."""

from __future__ import annotations

from typing import Any

from xmleval.api.evaluate import evaluate


def one_error(y_true: Any, y_score: Any) -> float:
    """Compute one-error: share of instances whose first label is irrelevant.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1], lower is better; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Schapire & Singer 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import one_error
    >>> one_error(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    0.0
    """
    name = "one_error"
    return evaluate(y_true, y_score, metrics=[name])[name]


def coverage(y_true: Any, y_score: Any) -> float:
    """Compute coverage: mean depth, less one, at which all relevant labels are covered.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, l - 1], lower is better; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Schapire & Singer 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import coverage
    >>> coverage(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    0.0
    """
    name = "coverage"
    return evaluate(y_true, y_score, metrics=[name])[name]


def ranking_loss(y_true: Any, y_score: Any) -> float:
    """Compute ranking loss: share of (relevant, irrelevant) pairs in the wrong order.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1], lower is better; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Schapire & Singer 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import ranking_loss
    >>> ranking_loss(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    0.0
    """
    name = "ranking_loss"
    return evaluate(y_true, y_score, metrics=[name])[name]


def label_ranking_average_precision(y_true: Any, y_score: Any) -> float:
    """Compute label ranking average precision.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1]; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Schapire & Singer 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import label_ranking_average_precision
    >>> label_ranking_average_precision(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    1.0
    """
    name = "lrap"
    return evaluate(y_true, y_score, metrics=[name])[name]


def instance_auc(y_true: Any, y_score: Any) -> float:
    """Compute area under the ROC curve of each instance, averaged.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1]; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Wu & Zhou 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import instance_auc
    >>> instance_auc(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    1.0
    """
    name = "auc.samples"
    return evaluate(y_true, y_score, metrics=[name])[name]


def micro_auc(y_true: Any, y_score: Any) -> float:
    """Compute area under the ROC curve of all cells pooled.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1]; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Wu & Zhou 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import micro_auc
    >>> micro_auc(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]))
    1.0
    """
    name = "auc.micro"
    return evaluate(y_true, y_score, metrics=[name])[name]


def macro_auc(y_true: Any, y_score: Any) -> float:
    """Compute area under the ROC curve of each label with both classes, averaged.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.

    Returns
    -------
    float
        Within [0, 1]; NaN where it is undefined.

    Raises
    ------
    ValueError
        If input is not valid; the message names argument, row and value.

    References
    ----------
    Wu & Zhou 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import macro_auc
    >>> macro_auc(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.5], [0.5, 0.6]]))
    1.0
    """
    name = "auc.macro"
    return evaluate(y_true, y_score, metrics=[name])[name]
