"""Dicts, lists and series: rows whose labels have names, lists of ids, and lists that are arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints
from xmleval.base.errors import InputError, counted
from xmleval.input.csr import as_array, can_be_numbers
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, is_missing, no_labels, numbered
from xmleval.input.tensors import as_list, as_plain, is_sparse, refuse_other, shape_of

NUMBERS = (int, float, np.integer, np.floating)
PLAIN = frozenset({int, str})  # types of labels alone
CLASS_ONE = "y_score: a list as predict_proba returns it; the scores of class 1, its second column, are taken"


def read_rows(argument: str, value: Any) -> Rows | None:
    """Return what dicts, series and lists of rows hold, None if it has neither names nor keys."""
    keys, match = None, None
    is_plain = isinstance(value, list | tuple)  # of numbers: lists of ids or a dense array
    if isinstance(value, dict):
        keys, match, rows = [*value], BY_KEY, None if is_pair_dict(value) else [*value.values()]
    elif isinstance(value, np.ndarray):
        rows = value.tolist() if value.ndim == 1 and value.dtype.kind in "OU" else None
    else:
        rows, index = [*value] if is_plain else as_list(value), getattr(value, "index", None)
        if index is not None and not callable(index):
            keys, match = as_list(index), BY_INDEX
    if rows is None:
        return None
    for number, row in enumerate(rows):
        if hasattr(row, "__next__"):
            refuse_other(argument, row, number)
    if is_sparse(matrix := next((row for row in rows if row is not None), None)):
        message = f"a {type(matrix).__name__} is no list of labels; `xmleval.compare` takes models by name"
        raise InputError(argument, message, row=0)
    filled = (n for n, row in enumerate(rows) if row is not None and getattr(row, "__len__", lambda: 1)())
    if (filled_row := next(filled, None)) is None:
        return None if is_plain else no_labels(len(rows))._replace(keys=keys, match=match)
    first = rows[filled_row]
    if isinstance(first, str):
        raise _no_list(argument, filled_row, first)
    is_row = has_names(first) if is_plain else hasattr(first, "__iter__")  # of a vector, entries are numbers
    return flat_rows(argument, rows)._replace(keys=keys, match=match) if is_row else None


def read_array(argument: str, array: NDArray[Any]) -> Rows | None:
    """Return rows of names, of which empty and missing ones do not count; None of numbers, as text, too."""
    rows = [] if array.dtype.kind not in "OTU" or can_be_numbers(array) else array.tolist()
    if not rows or not all(isinstance(item, str) or is_missing(item) for row in rows for item in row):
        return None
    return flat_rows(argument, [[item for item in row if isinstance(item, str)] for row in rows])


def read_pair(argument: str, pair: tuple[Any, ...]) -> Rows | None:
    """Return lists of names with scores, from a pair of arrays or lists; None of ids."""
    labels, scores = pair if len(pair) == 2 else (None, None)
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "OU":
        labels = labels.tolist()
    lists = labels if isinstance(labels, list) else []
    if not has_names(next((row for row in lists if not isinstance(row, list | tuple) or row), ())):
        return None
    return flat_rows(argument, lists, None if scores is None else as_plain(argument, scores))


def without_labels(value: Any) -> Rows | None:
    """Return lists that are all empty, None if there is anything in them."""
    are_empty = isinstance(value, list) and all(
        isinstance(row, list | tuple | dict) and not row for row in value
    )
    return no_labels(len(value)) if are_empty else None


def is_pair_dict(value: dict[Any, Any]) -> bool:
    """Tell whether a dict holds arrays of ``indices`` and ``scores``, not rows."""
    return "indices" in value and {*value} <= {"indices", "scores"}


def has_names(row: Any) -> bool:
    """Tell whether a row of a list is more than numbers."""
    if isinstance(row, np.ndarray):
        return row.dtype.kind in "OU"
    if isinstance(row, dict | set | frozenset):
        return True
    first = next(iter(row), None) if hasattr(row, "__iter__") and not hasattr(row, "detach") else None
    first = next(iter(first), None) if isinstance(first, tuple | list) else first
    return isinstance(first, str | dict)


def flat_rows(argument: str, rows: list[Any], scores: Any = None) -> Rows:
    """Return rows of one kind, and ``scores`` in lists of their own, end to end; refuse another kind."""
    scores = scores.to_numpy() if hasattr(scores, "iloc") else scores
    if scores is not None:
        if is_sparse(scores) or getattr(scores, "shape", None) == () or not hasattr(scores, "__len__"):
            raise InputError(argument, f"{type(scores).__name__} is no list of scores for each row")
        if len(rows) != len(scores):
            raise InputError(argument, f"{counted(len(rows), 'rows')} of labels with {len(scores)} of scores")
    ends = np.zeros(len(rows) + 1, np.int64)
    labels, values = list[Any](), list[Any]()
    best_first = are_lists = True
    for number, row in enumerate(rows):
        if isinstance(row, np.ndarray) or hasattr(row, "detach"):
            row = row.tolist()
        if scores is not None:
            for part in (row, scores[number]):
                if isinstance(part, str | dict | set | frozenset) or not hasattr(part, "__len__"):
                    raise InputError(argument, f"{part!r} is not a list", row=number, value=part)
            values.extend(part.tolist() if isinstance(part, np.ndarray) else part)
        if isinstance(row, dict):
            labels.extend(row)
            values.extend(row.values())
            best_first = are_lists = False
        elif isinstance(row, str) or not hasattr(row, "__iter__"):
            raise _no_list(argument, number, row)
        else:
            if isinstance(row, set | frozenset):
                are_lists = False
                if argument == "y_score":
                    raise InputError(argument, "a set has no order; give y_pred, or scores", row=number)
            if PLAIN.issuperset(map(type, row)):
                labels.extend(row)
                row = ()
            for item in row:
                pair = item
                if isinstance(item, dict):
                    names = "corpus_id" if "corpus_id" in item else "label", "score"
                    pair = [item[name] for name in names if name in item]
                if not isinstance(pair, tuple | list):
                    pair = [item]
                elif len(pair) != 2:
                    raise InputError(argument, f"{item!r} is not a label with its score", row=number)
                labels.append(pair[0])
                values.extend(pair[1:])
        ends[number + 1] = len(labels)
        if (values or scores is not None) and len(values) != len(labels):
            raise InputError(argument, "expected one score for each label, or for none", row=number)
    flat = Rows(None, None, ends, *numbered_labels(argument, labels, ends), None, best_first)
    scores = _as_values(argument, flat, values) if values else None
    return flat._replace(values=scores, are_lists=are_lists).without_empty_names()


def rows_of_ids(argument: str, lists: Any) -> Rows:
    """Return lists of label ids, or of (id, score) pairs, as rows, or refuse the first other label."""
    rows = flat_rows(argument, lists)
    for entry in np.flatnonzero((rows.labels < 0) | rows.named)[:1].tolist():
        label, row = rows.label(entry), rows.row_of(entry)
        raise InputError(argument, f"label {label!r} is not an integer id from 0 up", row=row, value=label)
    return rows


def numbered_labels(argument: str, labels: list[Any], ptr: Ints) -> tuple[Ints, list[Any] | None]:
    """Return labels as places among their names, and these, or as ids and None; refuse any others."""
    text = not labels or isinstance(labels[0], str)
    kind: Any = str if text else (int, np.integer)
    kinds = {*map(type, labels)}
    if bool not in kinds and all(issubclass(type_, kind) for type_ in kinds):
        if text:
            return numbered(labels)
        with contextlib.suppress(OverflowError):
            return np.array(labels, np.int64), None
    entry = next(
        entry
        for entry, label in enumerate(labels)
        if not isinstance(label, kind) or isinstance(label, bool) or not (text or abs(label) < 2**63)
    )
    row = int(np.searchsorted(ptr, entry, side="right")) - 1
    expected = f"text, as {labels[0]!r} is" if text else "a name or an integer id"
    raise InputError(argument, f"label {labels[entry]!r} is not {expected}", row=row, value=labels[entry])


def _as_values(argument: str, rows: Rows, values: list[Any]) -> NDArray[Any]:
    """Return scores as an array of their common type, or refuse what is no number."""
    try:
        array = np.array(values)
    except (ValueError, TypeError, RuntimeError):
        array = np.empty(0, object)
    is_fine = array.shape == (len(values),) and array.dtype.kind in "biuf"
    if is_fine and (array.dtype.kind != "f" or {*map(type, values)} == {float}):
        return array
    wrong = (
        isinstance(value, int) and int(array[entry]) != value if is_fine else not isinstance(value, NUMBERS)
        for entry, value in enumerate(values)
    )
    bad = next((entry for entry, is_wrong in enumerate(wrong) if is_wrong), None if is_fine else 0)
    if bad is None:
        return array
    message = f"score {values[bad]!r} is not a number of float64"
    raise InputError(argument, message, row=rows.row_of(bad), value=values[bad])


def _no_list(argument: str, row: int, value: Any) -> InputError:
    reason = "not a list of labels"
    if isinstance(value, str):
        reason = f"text, {reason}; split it, or give [{value!r}]"
    return InputError(argument, f"{value!r} is {reason}", row=row, value=value)


def dense_list(argument: str, value: Any, width: int | None) -> Any:
    """Return a list of the rows of a dense array of that width as an array, any other value as it is."""
    if not isinstance(value, list) or not width:
        return value
    if all(hasattr(row, "__len__") and not isinstance(row, str) for row in value):
        sizes = {len(row) for row in value}
        are_ids = len(sizes) > 1 or sizes == {0} or any(isinstance(row, set | frozenset) for row in value)
        if not are_ids and sizes not in (set(), {width}):
            are_ids = any(isinstance(item, tuple) or item not in (0, 1) for row in value for item in row)
        if are_ids:
            return value
    return as_array(argument, value)


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
    hint = "concatenate batches of rows (np.concatenate), and of predict_proba's classes give the scores of "
    message = f"a list of {len(value)} arrays, the first of shape {value[0].shape}; {hint}class 1"
    raise InputError(argument, message)


def class_one_scores(
    argument: str, arrays: list[Any], classes: Sequence[Any] | None = None
) -> NDArray[np.float64]:
    """Return the scores (m, l) of class 1, 0 where ``classes`` lack it, from an array for each label."""
    scores = np.zeros((len(arrays[0]), len(arrays)))
    for label, columns in enumerate(arrays):
        class_values = [0, 1] if classes is None else [*classes[label]]
        if not np.isin(class_values, (0, 1)).all():
            raise InputError(argument, f"label {label} has classes {class_values}; expected 0 and 1")
        if columns.shape[1] != len(class_values):
            hint = "(m, n_labels) of the scores of class 1, or xmleval.integrations.sklearn.make_scorer"
            message = f"predict_proba's array of label {label} has one class, which may be 0 or 1"
            raise InputError(argument, f"{message}; give an array {hint}")
        scores[:, label] = columns[:, class_values.index(1)] if 1 in class_values else 0
    return scores
