"""Measures of predicted sets, a float each."""

from __future__ import annotations

from typing import Any

from xmleval.api.evaluate import evaluate


def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Compute Hamming loss: share of label decisions that are wrong.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_pred : as y_true
        Predicted labels of each instance.

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
    Zhang & Zhou 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import hamming_loss
    >>> hamming_loss(np.array([[1, 0, 1]]), np.array([[1, 0, 1]]))
    0.0
    """
    name = "hamming_loss"
    return evaluate(y_true, y_pred=y_pred, metrics=[name])[name]


def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """Compute subset accuracy: share of instances whose predicted set is the relevant one.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_pred : as y_true
        Predicted labels of each instance.

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
    Zhang & Zhou 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import subset_accuracy
    >>> subset_accuracy(np.array([[1, 0, 1]]), np.array([[1, 0, 1]]))
    1.0
    """
    name = "subset_accuracy"
    return evaluate(y_true, y_pred=y_pred, metrics=[name])[name]


def micro_f1(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of the decisions of all labels pooled.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_pred : as y_true
        Predicted labels of each instance.

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
    >>> from xmleval import micro_f1
    >>> micro_f1(np.array([[1, 0, 1]]), np.array([[1, 0, 1]]))
    1.0
    """
    name = "f1.micro"
    return evaluate(y_true, y_pred=y_pred, metrics=[name])[name]


def macro_f1(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of each label, averaged over all labels (0/0 = 0).

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_pred : as y_true
        Predicted labels of each instance.

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
    >>> from xmleval import macro_f1
    >>> macro_f1(np.array([[1, 1, 1]]), np.array([[1, 1, 1]]))
    1.0
    """
    name = "f1.macro"
    return evaluate(y_true, y_pred=y_pred, metrics=[name])[name]


def instance_f1(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of each instance, averaged (0/0 = 0).

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_pred : as y_true
        Predicted labels of each instance.

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
    >>> from xmleval import instance_f1
    >>> instance_f1(np.array([[1, 0, 1]]), np.array([[1, 0, 1]]))
    1.0
    """
    name = "f1.samples"
    return evaluate(y_true, y_pred=y_pred, metrics=[name])[name]
