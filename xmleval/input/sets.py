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
from xmleval.input.objects.named import read_id_rows
from xmleval.input.plausibility import refuse_vectors
from xmleval.input.rows import Rows, array_rows, pointer
from xmleval.input.tensors import as_plain, is_sparse

GRADED = ("linear", "exp")  # conventions for a truth with grades
# between these gains, sums over a row are exact
LEAST_GAIN = 2.0**-30
MOST_GAIN = 2.0**32
MOST_EXPONENT = 32  # 2^32 is the largest gain


def list_sets(argument: str, value: object, n_labels: int | None) -> object:
    """Return lists of label ids, which need ``n_labels``, as rows by id; other values unchanged."""
    if n_labels is None or not isinstance(value, list | tuple) or isinstance(value, Rows | Source):
        return value
    rows = read_id_rows(argument, value)
    if rows.are_lists:
        refuse_vectors(argument, rows.ptr, rows.labels, n_labels)
    return rows._replace(best_first=False)


def set_rows(
    argument: str, value: object, n_labels: int | None = None, gains: str | None = None
) -> Source[Truth]:
    """Check label sets without names: a matrix, rows by id, or a source, returned unchanged.

    ``n_labels`` is None if only a matrix can show it. ``gains`` is the convention of a truth that
    may have grades: stored entries, and all cells of a dense array, are then judged; otherwise all
    must be 0 or 1.
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
        _, width = check_shape(argument, array.shape, n_labels)
        rows = array_rows(array)
    n_names = len(rows.names or ())
    width = max(width, n_names)

    def block(start: int, stop: int) -> Truth:
        part = rows.part(start, stop, zeros=is_graded)
        if not part.are_columns:
            part, _ = sorted_part(argument, part, width, start)
        return _truth(argument, part, start, gains, width)

    n_bytes = _entry_bytes(rows, is_graded) * int(rows.ptr[-1])
    row_bytes = n_bytes / max(rows.n_rows, 1)
    return Source(rows.n_rows, width, row_bytes, block)


def _entry_bytes(rows: Rows, is_graded: bool) -> float:
    """Return the memory of an entry of a block, about."""
    if is_graded:
        return 32.0
    if rows.values is None or rows.values.ndim == 1:
        return 16.0
    return float(rows.values.dtype.itemsize)


def refuse_ids(argument: str, value: object, array: NDArray[Any], n_labels: int | None) -> None:
    """Refuse integers that are label ids, one or a few per row, instead of zeros and ones."""
    is_vector = array.ndim == 1
    has_few_columns = array.ndim == 2 and n_labels is not None and array.shape[1] != n_labels
    if not (has_few_columns or is_vector) or array.dtype.kind not in "iu" or not array.size:
        return
    outside = np.flatnonzero((array != 0) & (array != 1))
    if not (is_vector or outside.size):
        return
    lists = _code_for_lists(argument, value, array)
    numbers = "one number" if is_vector else "numbers"
    reason = f"shape {array.shape} has {numbers} in each row"
    if not outside.size:
        column = lists.removesuffix(".tolist()")
        advice = f"for one label, give {column}; for rows end to end, xmleval.from_df(df, ...)"
        raise InputError(argument, f"{reason}; {advice}")
    example = array.flat[outside[0]]
    reason = f"{reason}, such as {example}, not zeros and ones of all labels"
    message = Message(
        f"{reason}; for label ids, give {lists} with ",
        Keyword("n_labels"),
        ", the number of labels",
    )
    raise InputError(argument, message)


def _code_for_lists(argument: str, value: object, array: NDArray[Any]) -> str:
    """Return the Python expression that converts an argument to lists of ids."""
    if array.ndim == 1:
        if isinstance(value, np.ndarray) or hasattr(value, "detach"):
            return f"{argument}[:, None].tolist()"
        return f"[[label] for label in {argument}]"
    if isinstance(value, Rows):
        return f"{argument}.to_numpy().tolist()"
    if isinstance(value, list | tuple):
        return "the lists"
    if (array < 0).any():
        return f"[[i for i in row if i >= 0] for row in {argument}.tolist()]"
    return f"{argument}.tolist()"


def cache_blocks(truth: Source[Truth]) -> Source[Truth]:
    """Return a truth that keeps each block and its facts, for several models compared on it."""

    @cache
    def facts(start: int, stop: int) -> Facts:
        return Facts(truth.block(start, stop), {})

    def block(start: int, stop: int) -> Truth:
        return facts(start, stop).truth

    return truth._replace(block=block, facts=facts)


def relevant_of(truth: Truth, least_gain: float = 0.0) -> Truth:
    """Return the labels with a positive gain of at least ``least_gain``; all without gains."""
    if truth.gains is None:
        return truth
    relevant = (truth.gains > 0) & (truth.gains >= least_gain)
    return Truth(pointer(relevant)[truth.ptr], truth.labels[relevant])


def _truth(argument: str, rows: Rows, start: int, gains: str | None, width: int) -> Truth:
    """Return the labels of checked rows with the gains of their grades, or labels with value 1."""
    if gains in GRADED:
        row_gains = _gains(argument, rows, start, exponential=gains == "exp")
        return Truth(rows.ptr, rows.labels, row_gains)
    if rows.values is None or (rows.values == 1).all():
        return Truth(rows.ptr, rows.labels)
    rows = rows.only(rows.values != 0)
    values = rows.values
    assert values is not None
    is_bad = values != 1
    if is_bad.any():
        hints = hints_of_value(values[is_bad.argmax()], gains is not None, width)
        reason = "is neither 0 nor 1 in a label set"
        rows.refuse_first(argument, "value", is_bad, start, reason, *hints)
    return Truth(rows.ptr, rows.labels)


def hints_of_value(value: float, may_be_grade: bool, width: int) -> list[object]:
    """Return advice on a value that is neither 0 nor 1, in rows of ``width`` labels."""
    unmarked = "; give 0 if it means not relevant"
    if math.isnan(value):
        return [unmarked, *_hint_of_unjudged('"nan"')]
    if math.isinf(value):
        return []
    hints: list[object] = []
    if value != int(value):
        hints.append("; it looks like a score: are the truth and the scores swapped?")
        if may_be_grade:
            hints += [" Grades need ", Field("gains", "linear"), " or exp"]
        return hints
    if width == 1:
        need = "; for label ids, give a list for each row, [[id], ..], with "
        return [need, Keyword("n_labels"), ", the number of labels"]
    if may_be_grade:
        hints += ["; grades need ", Field("gains", "linear"), " or exp"]
    if value == -1:
        hints += [unmarked, *_hint_of_unjudged("-1")]
    return hints


def _hint_of_unjudged(mark: str) -> list[object]:
    """Return advice on a cell with a mark of cells that nobody judged."""
    return ["; if nobody judged it, evaluate with ", Keyword("unjudged", mark)]


def _gains(argument: str, rows: Rows, start: int, exponential: bool) -> Floats:
    """Return the gains of grades, 0 for negative ones; refuse the first grade that has no gain."""
    if rows.values is None:
        return np.ones(rows.labels.size)
    grades = rows.values.astype(np.float64)
    positive = np.maximum(grades, 0.0)
    rows.refuse_first(argument, "grade", ~np.isfinite(grades), start, "is not a finite number")
    if not exponential:
        is_outside = (positive > MOST_GAIN) | ((positive > 0) & (positive < LEAST_GAIN))
        reason = "is neither 0 nor within 2^-30..2^32; scale the grades"
        rows.refuse_first(argument, "grade", is_outside, start, reason)
        return positive
    linear = Field("gains", "linear")
    exp = Field("gains", "exp")
    is_fraction = positive != np.floor(positive)
    needs_whole = ("is not a whole number, which ", exp, " needs; ", linear, " takes any number")
    rows.refuse_first(argument, "grade", is_fraction, start, *needs_whole)
    is_too_large = positive > MOST_EXPONENT
    limit = f"is above {MOST_EXPONENT}, the most that "
    rows.refuse_first(argument, "grade", is_too_large, start, limit, exp, " takes")
    return np.ldexp(1.0, positive.astype(np.int32)) - 1.0
