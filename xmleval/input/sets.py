"""Label sets: the truth, whose labels may have grades, and predicted sets."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import MOST_LABELS, Floats
from xmleval.base.errors import Field, InputError, Keyword, Message, positive_integer
from xmleval.input.canonical import Facts, Truth
from xmleval.input.csr import Source, as_array, check_shape, matrix_rows, sorted_part
from xmleval.input.glances import refuse_vectors
from xmleval.input.objects.named import rows_of_ids
from xmleval.input.rows import Rows, array_rows, pointer
from xmleval.input.tensors import as_plain, is_sparse

GRADED = ("linear", "exp")  # conventions of a truth that holds grades
LEAST_GAIN, MOST_GAIN = 2.0**-30, 2.0**32  # so that sums over a row are exact
MOST_EXPONENT = 32  # of 2, which is the largest gain


def list_sets(argument: str, value: object, n_labels: int | None) -> object:
    """Return lists of label ids, which need ``n_labels``, as rows by id; anything else as it is."""
    if n_labels is None or not isinstance(value, list | tuple) or isinstance(value, Rows | Source):
        return value
    rows = rows_of_ids(argument, value)
    if rows.are_lists:
        refuse_vectors(argument, rows.ptr, rows.labels, n_labels)
    return rows._replace(best_first=False)


def set_rows(
    argument: str, value: object, n_labels: int | None = None, gains: str | None = None
) -> Source[Truth]:
    """Accept label sets without names: a matrix, rows by id, or a source, which is returned as it is.

    ``n_labels`` is None where nothing but a matrix tells it. ``gains`` is the convention of a truth that may
    hold grades: stored entries, and all cells of a dense array, are then judged; else all must be 0 or 1.
    """
    if isinstance(value, Source):
        return value
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels, at_most=MOST_LABELS)
    plain = as_plain(argument, value)
    is_graded = gains in GRADED
    width = n_labels or 0
    if is_sparse(plain):
        rows = matrix_rows(argument, plain, n_labels)
        width = plain.shape[1]
    elif isinstance(plain, Rows):
        rows = plain
    else:
        array = as_array(argument, plain)
        if not is_graded:
            refuse_ids(argument, plain, array, n_labels)
        width = check_shape(argument, array.shape, n_labels)[1]
        rows = array_rows(array)
    width = max(width, len(rows.names or ()))
    values = rows.values
    entry_bytes = 16.0 if values is None or values.ndim == 1 else float(values.dtype.itemsize)

    def block(start: int, stop: int) -> Truth:
        part = rows.part(start, stop, zeros=is_graded)
        part = part if part.are_columns else sorted_part(argument, part, width, start)[0]
        return _truth(argument, part, start, gains, width)

    row_bytes = (32.0 if is_graded else entry_bytes) * int(rows.ptr[-1]) / max(rows.n_rows, 1)
    return Source(rows.n_rows, width, row_bytes, block)


def refuse_ids(argument: str, value: object, array: NDArray[Any], n_labels: int | None) -> None:
    """Refuse integers that are label ids, one or a few in each row, not zeros and ones of all labels."""
    is_vector = array.ndim == 1
    are_few = array.ndim == 2 and n_labels is not None and array.shape[1] != n_labels
    if not (are_few or is_vector) or array.dtype.kind not in "iu" or not array.size:
        return
    outside = np.flatnonzero((array != 0) & (array != 1))
    if not (is_vector or outside.size):
        return
    rows = _text_of_lists(argument, value, array)
    holds = f"shape {array.shape} has {'one number' if is_vector else 'numbers'} in each row"
    if not outside.size:
        one = rows.removesuffix(".tolist()")
        message = f"{holds}; of one label, give {one}; of rows end to end, xmleval.from_df(df, ...)"
        raise InputError(argument, message)
    holds = f"{holds}, such as {array.flat[outside[0]]}, not zeros and ones of all labels"
    advice = f"{holds}; of label ids, give {rows} with ", Keyword("n_labels"), ", the number of labels"
    raise InputError(argument, Message(*advice))


def _text_of_lists(argument: str, value: object, array: NDArray[Any]) -> str:
    """Return how Python makes lists of ids of an array."""
    if array.ndim == 1:
        is_array = isinstance(value, np.ndarray) or hasattr(value, "detach")
        return f"{argument}[:, None].tolist()" if is_array else f"[[label] for label in {argument}]"
    if isinstance(value, Rows):
        return f"{argument}.to_numpy().tolist()"
    if isinstance(value, list | tuple):
        return "the lists"
    if (array < 0).any():
        return f"[[i for i in row if i >= 0] for row in {argument}.tolist()]"
    return f"{argument}.tolist()"


def remembered(truth: Source[Truth]) -> Source[Truth]:
    """Return a source that keeps each block and what is found of it, for several models on a truth."""
    facts = cache(lambda start, stop: Facts(truth.block(start, stop), {}))
    return truth._replace(block=lambda start, stop: facts(start, stop).truth, facts=facts)


def relevant_of(truth: Truth) -> Truth:
    """Return the labels with a positive gain, all of those without gains."""
    if truth.gains is None:
        return truth
    relevant = truth.gains > 0
    return Truth(pointer(relevant)[truth.ptr], truth.labels[relevant])


def _truth(argument: str, rows: Rows, start: int, gains: str | None, width: int) -> Truth:
    """Return the labels of checked rows with the gains of their grades, or those with 1, not 0."""
    if gains in GRADED:
        return Truth(rows.ptr, rows.labels, _gains(argument, rows, start, gains == "exp"))
    if rows.values is None or (rows.values == 1).all():
        return Truth(rows.ptr, rows.labels)
    rows = rows.only(rows.values != 0)
    values = rows.values
    assert values is not None
    bad = values != 1
    hints = _hints_of_value(values[bad.argmax()], gains is not None, width) if bad.any() else ()
    rows.refuse_first(argument, "value", bad, start, "is neither 0 nor 1 in a label set", *hints)
    return Truth(rows.ptr, rows.labels)


def _hints_of_value(value: float, may_be_grade: bool, width: int) -> list[object]:
    """Return what to do about a value that is neither 0 nor 1, in rows of so many labels."""
    unmarked = "; give 0 where it means not relevant"
    if math.isnan(value):
        return [unmarked]
    if math.isinf(value):
        return []
    grades: list[object] = [Field("gains", "linear"), " or exp"] if may_be_grade else []
    if value != int(value):
        swapped = "; it looks like a score: are the truth and the scores swapped?"
        return [swapped, " Grades need ", *grades] if grades else [swapped]
    if width == 1:
        need = "; of label ids, give a list for each row, [[id], ..], with "
        return [need, Keyword("n_labels"), ", the number of labels"]
    hints: list[object] = ["; grades need ", *grades] if grades else []
    return [*hints, unmarked] if value == -1 else hints


def _gains(argument: str, rows: Rows, start: int, exponential: bool) -> Floats:
    """Return the gains of grades, 0 of negative ones, or refuse the first that has none."""
    if rows.values is None:
        return np.ones(rows.labels.size)
    grades = rows.values.astype(np.float64)
    positive = np.maximum(grades, 0.0)
    rows.refuse_first(argument, "grade", ~np.isfinite(grades), start, "is no number")
    if not exponential:
        outside = (positive > MOST_GAIN) | ((positive > 0) & (positive < LEAST_GAIN))
        reason = "is neither 0 nor within 2^-30..2^32; scale the grades"
        rows.refuse_first(argument, "grade", outside, start, reason)
        return positive
    linear, exp = Field("gains", "linear"), Field("gains", "exp")
    broken, whole = positive != np.floor(positive), ("is not a whole number, as ", exp, " needs; ", linear)
    rows.refuse_first(argument, "grade", broken, start, *whole, " takes any")
    limit = f"is above {MOST_EXPONENT}, the most that "
    rows.refuse_first(argument, "grade", positive > MOST_EXPONENT, start, limit, exp, " takes")
    return np.ldexp(1.0, positive.astype(np.int32)) - 1.0
