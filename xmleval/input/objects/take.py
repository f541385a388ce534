"""The arguments of an evaluation with the same labels in the same columns, and the same rows in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.input.csr import Source, Stored, is_sparse, list_hint
from xmleval.input.errors import InputError
from xmleval.input.objects.foreign import CLASS_ONE, as_own_rows
from xmleval.input.objects.frames import Columns, open_frame, read_frame
from xmleval.input.objects.matching import Matching, Taken, refuse_other_count
from xmleval.input.objects.named import (
    NamedInput,
    NamedRows,
    Wide,
    as_list,
    has_names,
    read_array,
    read_rows,
    without_labels,
)
from xmleval.input.objects.numbered import (
    are_ids,
    dense_lists,
    name_labels,
    shape_of,
    shapes_of,
)
from xmleval.input.tensors import refuse_other
from xmleval.message import Keyword, Message


def take(
    y_true: Any,
    y_score: Any,
    y_pred: Any,
    n_labels: int | None,
    labels: Any = None,
    graded: bool | None = None,
    counts_others: bool = False,
    **sets: Any,
) -> Taken:
    """Match row keys and label names to those of the truth; arguments without names stay as they are.

    Labels are numbered in the order of ``labels``, else of the columns of a truth, else in the order in which
    a truth names them first; those that only predictions name come behind. With ``graded``, values of the
    truth are grades of relevance, which they cannot be where it is None. With ``counts_others``, predictions
    may hold labels beside ``labels``: they are then numbered behind these, in `WithOthers`.
    """
    given = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred, **sets}
    given = {argument: as_own_rows(argument, value) for argument, value in given.items()}
    _refuse_pairs(y_true=given["y_true"], y_pred=given["y_pred"])
    taken = _take(given, n_labels, labels, graded, counts_others)
    of_classes = isinstance(y_score, list) and isinstance(given["y_score"], np.ndarray)
    return taken._replace(notes=(*taken.notes, CLASS_ONE)) if of_classes else taken


def _take(
    given: dict[str, Any], n_labels: int | None, labels: Any, graded: bool | None, counts_others: bool
) -> Taken:
    names = None if labels is None else check_labels(labels, n_labels)
    held = {
        argument: found for argument, value in given.items() if (found := read_named(argument, value, names))
    }
    if held:  # lists without a single label have names as much as numbers
        given_rows = {
            argument: held.get(argument) or without_labels(value) for argument, value in given.items()
        }
        held = {argument: rows for argument, rows in given_rows.items() if rows}
    shapes = shapes_of(given, held)
    _refuse_transposed(shapes, n_labels)
    if not held:
        if names is not None:
            return Taken(tuple(dense_lists(given, len(names), n_labels).values()), len(names), names)
        lists = n_labels is None and any(isinstance(value, list) for value in given.values())
        return _with_ids(given, shapes) if lists else Taken(tuple(given.values()), n_labels)
    return Matching(given, held, n_labels, names, graded, counts_others).taken()


def take_truth(argument: str, value: Any, n_labels: int | None, labels: Any = None) -> Taken:
    """Return a truth that is called otherwise without names, as `take` does."""
    try:
        return take(value, None, None, n_labels, labels)
    except InputError as error:
        named = argument if error.argument == "y_true" else error.argument
        raise InputError(named, error.reason, row=error.row, value=error.value) from None


def labels_of(truth: Any) -> tuple[int, list[Any] | None]:
    """Return the number of labels that the columns of a truth tell, and their names if they have any."""
    held = None if isinstance(truth, list | tuple | dict) else read_named("y_true", truth, None)
    if isinstance(held, Wide):
        columns = held.columns
        return len(columns), check_labels(columns, None) if name_labels(columns) else None
    shape = None if held is not None or isinstance(truth, list | tuple | dict) else shape_of(truth)
    if shape is None:
        which = "give the number of labels, or ", Keyword("labels"), ", their names"
        raise InputError("n_labels", Message(*which))
    return shape[1], None


def has_label_names(argument: str, value: Any) -> bool:
    """Tell whether a truth names its labels."""
    held = read_named(argument, value, None)
    return isinstance(held, Wide) or (held is not None and held.named)


def check_labels(labels: Any, n_labels: int | None) -> list[Any]:
    """Return the names of all labels, or refuse what is no list of distinct ones, or of another length."""
    refuse_other("labels", None if isinstance(labels, str) else labels)
    given = as_list(labels) or labels
    listed = hasattr(given, "__iter__") and not isinstance(given, str)
    found: list[Any] = given.tolist() if isinstance(given, np.ndarray) else [*given] if listed else []
    if not found:
        raise InputError("labels", f"{labels!r} is not a list of names")
    first: dict[Any, int] = {}
    for place, name in enumerate(found):
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
            raise InputError("labels", f"{name!r} is neither a text nor an integer")
        if name == "":
            raise InputError("labels", f"name {place} is empty; an empty name is no label")
        if first.setdefault(name, place) != place:
            raise InputError("labels", f"{name!r} occurs twice, the second time in place {place}")
    refuse_other_count(n_labels, len(found))
    return [name if isinstance(name, str) else int(name) for name in found]


def read_named(argument: str, value: Any, names: list[Any] | None) -> NamedInput | None:
    """Return rows or columns that have names, None for numbers alone."""
    value = as_own_rows(argument, value)
    if value is None or is_sparse(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return read_array(argument, value)
    if isinstance(value, tuple) and argument == "y_score":
        return _pair_of_names(value)
    refuse_other(argument, value)
    if isinstance(value, Columns):
        return value.rows(argument)
    if isinstance(value, Source | Stored):
        return None
    frame = None if isinstance(value, list | dict | np.ndarray) else open_frame(argument, value)
    return read_rows(argument, value) if frame is None else read_frame(argument, frame, names)


def _pair_of_names(pair: tuple[Any, ...]) -> NamedRows | None:
    """Return lists of names with scores, from a pair of arrays."""
    if len(pair) != 2 or not isinstance(pair[0], np.ndarray | list):
        return None
    if isinstance(pair[0], np.ndarray) and pair[0].dtype.kind not in "OU":
        return None
    named = isinstance(pair[0], np.ndarray) or any(map(has_names, pair[0][:1]))
    if named and isinstance(pair[0], list) and len({len(row) for row in pair[0]}) > 1:
        raise InputError(
            "y_score", "a pair needs rows of one length; give each row as a list of (label, score)"
        )
    labels = np.asarray(pair[0]) if named else np.empty(0)
    if labels.ndim != 2 or labels.dtype.kind not in "OU":
        return None
    rows = labels.tolist()
    if pair[1] is not None:
        scores = np.asarray(pair[1])
        if scores.shape != labels.shape:
            raise InputError("y_score", f"labels of shape {labels.shape} have scores of shape {scores.shape}")
        rows = [[*zip(*both, strict=True)] for both in zip(rows, scores.tolist(), strict=True)]
    return read_rows("y_score", rows)


def _refuse_pairs(**sets: Any) -> None:
    """Refuse the two arrays of a top-k list as label sets."""
    for argument, value in sets.items():
        if not isinstance(value, list | tuple | dict) or len(value) != 2:
            continue
        pair = value.values() if isinstance(value, dict) else value
        if any(map(shape_of, pair)) and all(one is None or shape_of(one) for one in pair):
            raise InputError(argument, list_hint(argument))


def _refuse_transposed(shapes: dict[str, tuple[int, ...] | None], n_labels: int | None) -> None:
    truth = shapes["y_true"]
    for argument in ("y_score", "y_pred"):
        shape = shapes[argument]
        if truth is None or shape is None or shape == truth or shape[::-1] != truth:
            continue
        wrong, right = ("y_true", shape) if n_labels == shape[1] else (argument, truth)
        raise InputError(
            wrong, f"shape {right[::-1]} is the transpose of {right}; rows are instances: give {wrong}.T"
        )


def _with_ids(given: dict[str, Any], shapes: dict[str, tuple[int, ...] | None]) -> Taken:
    """Return arguments of numbers, where lists of ids take the number of labels from a matrix beside them."""
    width = next((shape[1] for shape in shapes.values() if shape), None)
    ids = [a for a, value in given.items() if isinstance(value, list) and width and are_ids(value, width)]
    if not ids:
        return Taken(tuple(given.values()), None)
    assert width is not None
    return Taken(tuple(dense_lists(given, width, None).values()), width)
