"""`from_groups`: values of the candidates of queries, one query after another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.errors import InputError, counted, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.input.columns import NUMBERED, ChosenColumns
from xmleval.input.csr import as_array
from xmleval.input.objects.frames import Frame, FrameColumns, ListColumn
from xmleval.input.tensors import as_list, as_plain

QUERY_COLUMN = "qid"
VALUE_COLUMN = "value"


@refusing_unknown
def from_groups(
    values: object, sizes: Sequence[int] | Any = None, *, qid: Sequence[Any] | Any = None
) -> FrameColumns:
    """Group relevance or scores by query, from arrays as LightGBM and XGBoost take them.

    A query is a row, and its candidates are its labels, numbered "0", "1", ... in their order.

    Parameters
    ----------
    values : array-like (n,)
        A grade of relevance for each candidate in a truth, or a score in predictions.
    sizes : array-like of int, optional
        Number of candidates of each query, in order, as ``group=`` of LightGBM.
    qid : array-like (n,), optional
        In place of ``sizes``, the query of each candidate, as ``qid=`` of XGBoost.

    Returns
    -------
    Columns
        Taken as ``y_true`` and ``y_score``. Queries given by ``sizes`` have no names: they are
        matched in order with others without names, and refused beside rows that have names.

    Raises
    ------
    ValueError
        If the sizes do not add up to n, or not one of ``sizes`` and ``qid`` is given.

    Examples
    --------
    >>> y = [2, 0, 1, 0, 3]
    >>> score = [0.5, 0.9, 0.1, 0.2, 0.7]
    >>> truth = xmleval.from_groups(y, [3, 2])
    >>> run = xmleval.from_groups(score, [3, 2])
    >>> round(evaluate(truth, run, metrics="ndcg@2", conventions="gains=linear")["ndcg@2"], 4)
    0.7398
    """
    array = as_array("values", values)
    if array.ndim != 1:
        raise InputError("values", f"shape {array.shape} is not (n,); give a value for each label")
    if (sizes is None) == (qid is None):
        raise InputError("sizes", "expected one of sizes and qid, the queries of the values")
    for name, given in (("sizes", sizes), ("qid", qid)):
        if given is not None and not hasattr(given, "__len__"):
            raise InputError(name, f"{shown(given)} is not a list or an array")
    queries: list[Any] | None
    if sizes is not None:
        queries = np.repeat(np.arange(len(sizes)), _check_sizes(sizes, array.size)).tolist()
    else:
        queries = as_list(qid)
        if queries is None:
            queries = np.asarray(as_plain("qid", qid)).tolist()
        if len(queries) != array.size:
            raise InputError("qid", f"expected {counted(array.size, 'values')}, one for each label")
    columns = {QUERY_COLUMN: np.array(queries, object), VALUE_COLUMN: array}

    def to_matrix(names: list[Any]) -> Any:
        return np.column_stack([columns[name] for name in names])

    frame = Frame([*columns], lambda name: ListColumn(columns[name].tolist()), to_matrix, columns)
    chosen = ChosenColumns[Hashable](QUERY_COLUMN, NUMBERED, VALUE_COLUMN)
    return FrameColumns(frame, chosen, numbers_rows=sizes is not None)


def _check_sizes(sizes: object, n_values: int) -> Ints:
    """Return the numbers of candidates, or refuse a wrong one."""
    array = as_array("sizes", sizes)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError("sizes", "expected integers, the number of labels of each query")
    is_bad = array < 1
    if is_bad.any():
        place = int(is_bad.argmax())
        text = f"{shown(array[place])} at place {place} is not a number of labels"
        raise InputError("sizes", f"{text}; leave out queries without labels")
    if array.sum() != n_values:
        text = f"add up to {array.sum()}, but there are {counted(n_values, 'values')}"
        raise InputError("sizes", f"{text}; give the number of labels of each query")
    return array
