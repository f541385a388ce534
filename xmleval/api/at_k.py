"""Measures at k, a float each."""

from __future__ import annotations

from typing import Any

from xmleval.api.evaluate import evaluate


def precision_at_k(y_true: Any, y_score: Any, k: int = 5) -> float:
    """Compute precision at k: hits among the first k labels over k.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.

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
    Manning, Raghavan & Schutze 2008, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import precision_at_k
    >>> precision_at_k(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]), k=1)
    1.0
    """
    name = f"p@{k}"
    return evaluate(y_true, y_score, metrics=[name])[name]


def recall_at_k(y_true: Any, y_score: Any, k: int = 5) -> float:
    """Compute recall at k: hits among the first k labels over the relevant ones.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.

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
    Manning, Raghavan & Schutze 2008, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import recall_at_k
    >>> recall_at_k(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]), k=1)
    1.0
    """
    name = f"r@{k}"
    return evaluate(y_true, y_score, metrics=[name])[name]


def ndcg_at_k(y_true: Any, y_score: Any, k: int = 5) -> float:
    """Compute normalised discounted cumulative gain at k.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.

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
    Jarvelin & Kekalainen 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import ndcg_at_k
    >>> ndcg_at_k(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]), k=1)
    1.0
    """
    name = f"ndcg@{k}"
    return evaluate(y_true, y_score, metrics=[name])[name]


def psp_at_k(y_true: Any, y_score: Any, k: int = 5, *, inverse_propensity: Any) -> float:
    """Compute propensity-scored precision at k.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.
    inverse_propensity : array of shape (l,)
        Inverse propensities, see `inverse_propensity`.

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
    Jain, Prabhu & Varma 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import psp_at_k
    >>> y_true, y_score = np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]])
    >>> psp_at_k(y_true, y_score, k=1, inverse_propensity=np.array([2, 3, 4]))
    1.0
    """
    name = f"psp@{k}"
    return evaluate(y_true, y_score, metrics=[name], inverse_propensity=inverse_propensity)[name]


def psndcg_at_k(y_true: Any, y_score: Any, k: int = 5, *, inverse_propensity: Any) -> float:
    """Compute propensity-scored nDCG at k.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.
    inverse_propensity : array of shape (l,)
        Inverse propensities, see `inverse_propensity`.

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
    Jain, Prabhu & Varma 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import psndcg_at_k
    >>> y_true, y_score = np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]])
    >>> psndcg_at_k(y_true, y_score, k=1, inverse_propensity=np.array([2, 3, 4]))
    1.0
    """
    name = f"psndcg@{k}"
    return evaluate(y_true, y_score, metrics=[name], inverse_propensity=inverse_propensity)[name]


def hit_rate_at_k(y_true: Any, y_score: Any, k: int = 5) -> float:
    """Compute hit rate at k: share of instances with a relevant label among the first k.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.

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
    Manning, Raghavan & Schutze 2008, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import hit_rate_at_k
    >>> hit_rate_at_k(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]), k=1)
    1.0
    """
    name = f"hit@{k}"
    return evaluate(y_true, y_score, metrics=[name])[name]


def mean_reciprocal_rank_at_k(y_true: Any, y_score: Any, k: int = 5) -> float:
    """Compute mean reciprocal rank at k of the first relevant label.

    Parameters
    ----------
    y_true : sparse matrix or array, or dense 0/1 array, of shape (m, l)
        Relevant labels of each instance.
    y_score : sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)
        Scores, or top-k lists.
    k : int, default 5
        Cutoff.

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
    Voorhees 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import mean_reciprocal_rank_at_k
    >>> mean_reciprocal_rank_at_k(np.array([[1, 0, 0]]), np.array([[0.9, 0.5, 0.2]]), k=1)
    1.0
    """
    name = f"mrr@{k}"
    return evaluate(y_true, y_score, metrics=[name])[name]
