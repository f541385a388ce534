"""The arguments of an evaluation with the same labels in the same columns, and the same rows in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.csr import Source, is_sparse, list_hint
from xmleval.input.errors import InputError
from xmleval.input.glances import refuse_vectors
from xmleval.input.match import Match, as_scores, as_sets, refuse_scores
from xmleval.input.missing import missing_names_note
from xmleval.input.objects.foreign import CLASS_ONE, as_own_rows
from xmleval.input.objects.frames import Columns, open_frame, read_frame
from xmleval.input.objects.named import NamedInput, has_names, read_array, read_rows, without_labels
from xmleval.input.objects.row_ids import joined_by_ids, notes_on_indexes
from xmleval.input.objects.shapes import are_ids, dense_lists, shape_of, shapes_of
from xmleval.input.objects.wide import (
    Wide,
    as_list,
    column_numbers,
    labels_of_columns,
    name_labels,
    named_columns,
    numbered_matrix,
)
from xmleval.input.rows import BY_KEY, Named, Rows
from xmleval.input.tensors import refuse_other
from xmleval.message import Keyword, Message


class Taken(NamedTuple):
    """Truth, scores and sets without names, the names that were there, and what was seen in matching them."""

    inputs: tuple[Any, ...]
    n_labels: int | None
    label_names: list[Any] | None = None
    closed: bool = True  # whether all labels were known before the rows, in this order
    row_names: list[Any] | None = None
    notes: tuple[str, ...] = ()
    grades: bool = False  # whether the truth has grades that are not asked for
    unknown: Sequence[Any] = ()  # names of labels that the truth does not have, whose ids are the next ones
    keys: list[Any] | None = None  # names of rows that tell them apart from those of other batches
    n_unmatched_pairs: int = 0  # to exclude, whose row or label is in no other argument

    @property
    def by_id(self) -> bool:
        """Whether labels have no names, or are called by their numbers."""
        return self.label_names is None or self.label_names == [*range(len(self.label_names))]


def take(
    y_true: Any,
    y_score: Any,
    y_pred: Any,
    n_labels: int | None,
    labels: Any = None,
    graded: bool | None = None,
    fits: bool = False,
    **sets: Any,
) -> Taken:
    """Match row keys and label names to those of the truth; arguments without names stay as they are.

    Labels are numbered in the order of ``labels``, else of the columns of a truth, else in the order in which
    a truth names them first; unknown ones have the next numbers. With ``graded``, values of the truth are
    grades of relevance, which they cannot be where it is None. Where something ``fits`` to the predictions,
    labels beyond ``labels`` are refused; without a list, all that predictions name are labels.
    """
    given = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred, **sets}
    given = {argument: as_own_rows(argument, value) for argument, value in given.items()}
    _refuse_pairs(y_true=given["y_true"], y_pred=given["y_pred"])
    taken = _take(given, n_labels, labels, graded, fits)
    of_classes = isinstance(y_score, list) and isinstance(given["y_score"], np.ndarray)
    return taken._replace(notes=(*taken.notes, CLASS_ONE)) if of_classes else taken


def _take(given: dict[str, Any], n_labels: int | None, labels: Any, graded: bool | None, fits: bool) -> Taken:
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
    return _by_name(given, held, n_labels, names, graded, fits)


def _by_name(
    given: dict[str, Any],
    held: dict[str, NamedInput],
    n_labels: int | None,
    names: list[Any] | None,
    graded: bool | None,
    fits: bool,
) -> Taken:
    """Match arguments, of which some are ``held`` with names; ``names`` are those of all labels, if told."""
    notes = notes_on_indexes(held)
    held = joined_by_ids(held, notes)
    match = _match_of(given, held, n_labels, names, fits, notes)
    if match.closed:
        refuse_other_count(n_labels, len(match.label_names))
    told = n_labels
    if match.number is None and n_labels is None:
        n_labels = _width(given, held)
    matched: dict[str, Any] = {}
    for argument, value in given.items():  # the truth first
        rows = held.get(argument)
        if given["y_true"] is None and rows is not None:
            rows = rows._replace(keys=None, match=None)
        if value is not None:
            matched[argument] = _matched(match, argument, rows, n_labels, graded)
    if fits:
        match.know_all()
    label_names = match.label_names
    if match.number is not None:
        if not match.n_labels:
            raise InputError("y_true", Message("names no label; give ", Keyword("labels"), ", their names"))
        if n_labels and len(label_names) > n_labels:
            told_less = f"{n_labels} is less than the {len(label_names)} labels with names"
            raise InputError("n_labels", told_less)
        n_labels = match.n_labels
    inputs: list[Any] = []
    for argument, value in given.items():
        if argument not in matched:
            inputs.append(None)
        elif argument in held:
            inputs.append(_as_input(match, argument, held[argument], matched[argument], n_labels, graded))
        else:
            one = {argument: value}
            inputs.append((dense_lists(one, n_labels, told) if n_labels else one)[argument])
    values = getattr(held.get("y_true"), "values", None)
    return Taken(
        tuple(inputs),
        n_labels,
        label_names if match.number is not None and n_labels == len(label_names) else None,
        match.number is None or match.closed,
        match.keys,
        (*match.notes, *missing_names_note(match.number or (), match.unknown)),
        not graded and values is not None and bool((values > 1).any()),
        [*match.unknown],
        match.keys if match.by == BY_KEY else None,
        match.n_unmatched_pairs,
    )


def _match_of(
    given: dict[str, Any],
    held: dict[str, NamedInput],
    n_labels: int | None,
    names: list[Any] | None,
    fits: bool,
    notes: list[str],
) -> Match:
    """Return what numbers the labels: as listed, as the columns of a truth, or as a truth names them."""
    truth, known = held.get("y_true"), names
    lists = [rows for rows in held.values() if isinstance(rows, Rows)]
    if names is None and isinstance(truth, Wide):
        nameless = [a for a, value in given.items() if value is not None and not _has_names(held.get(a))]
        known = labels_of_columns(truth.columns, nameless, notes)
    elif names is None and isinstance(given["y_true"], Named):
        known = [*given["y_true"].label_names, *given["y_true"].unknown_labels]
    elif names is None and truth is not None:
        empty = isinstance(truth, Rows) and truth.names == []
        named = isinstance(truth, Rows) and truth.named
        known = [] if named or (empty and any(rows.named for rows in lists)) else None
    match = Match("y_true", known, n_labels=n_labels, listed=names is not None, fits=fits)
    match.notes = notes
    if isinstance(truth, Wide):
        match.beside, match.keys = truth.beside, truth.keys
        match.by = None if truth.keys is None else truth.match
    return match


def _has_names(rows: NamedInput | None) -> bool:
    """Tell whether labels have names, as much as those of rows without any."""
    return isinstance(rows, Wide) or (rows is not None and (rows.named or not rows.labels.size))


def _width(given: dict[str, Any], held: dict[str, NamedInput]) -> int | None:
    """Return the number of labels, where the arguments without names of labels tell it."""
    lists = [argument for argument, rows in held.items() if isinstance(rows, Rows)]
    width = next((shape[1] for shape in shapes_of(given, held).values() if shape), None)
    if width is None and lists:
        which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", their names"
        raise InputError(lists[0], Message("labels that are integers need ", *which))
    return width


def _matched(
    match: Match,
    argument: str,
    rows: NamedInput | None,
    n_labels: int | None,
    graded: bool | None,
) -> Any:
    """Return rows by number; of a matrix the numbers of its rows and of its columns."""
    if isinstance(rows, Rows):
        if argument != "y_score":
            refuse_scores(argument, argument, rows, graded)
            if rows.are_lists and rows.names is None and rows.values is None:
                refuse_vectors(argument, rows.ptr, rows.labels, n_labels or match.n_labels)
        return match.place_rows(argument, argument, rows)
    if rows is None and match.number is not None and not match.closed and argument != "y_true":
        which = " has none; give ", Keyword("labels"), ", the name of each column"
        raise InputError(argument, Message("y_true has names of labels and this", *which))
    of_row = None
    if argument != "y_true":
        of_row = match.row_numbers(argument, argument, rows)
    if rows is None:
        return None
    if match.number is None:
        return of_row, column_numbers(argument, rows.columns, n_labels, match.notes)
    return of_row, named_columns(match, argument, rows.columns)


def _as_input(
    match: Match, argument: str, rows: NamedInput, matched: Any, n_labels: int | None, graded: bool | None
) -> Any:
    """Return what was matched as a matrix, sets or scores of ``n_labels`` labels."""
    names = match.names
    by_name = argument == "y_score" and bool(names) and isinstance(names[0], str)
    of_row, ids = matched if isinstance(rows, Wide) else (None, matched.labels)
    if ids is None and n_labels and isinstance(rows, Wide) and len(rows.columns) < n_labels:
        ids = np.arange(len(rows.columns))  # predictions to fit to name more labels
    wider = n_labels is not None and ids is not None and int(ids.max(initial=-1)) >= n_labels
    names = names if wider else names[:n_labels]
    if isinstance(rows, Wide):
        return numbered_matrix(rows, ids, of_row, n_labels, names if by_name or wider else None, by_name)
    own = names if wider or (by_name and rows.names is not None) else None
    if argument == "y_score":
        return as_scores(matched, own)
    return as_sets(matched, graded if argument == "y_true" else None)._replace(names=own)


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


def refuse_other_count(n_labels: int | None, known: int) -> None:
    """Refuse a number of labels other than that of their names."""
    if n_labels not in (None, known):
        raise InputError("n_labels", f"{n_labels!r} does not match the {known} names of labels")


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
    if isinstance(value, Columns | Named):
        return value.rows(argument)
    if isinstance(value, Source | Rows):
        return None
    frame = None if isinstance(value, list | dict | np.ndarray) else open_frame(argument, value)
    return read_rows(argument, value) if frame is None else read_frame(argument, frame, names)


def _pair_of_names(pair: tuple[Any, ...]) -> Rows | None:
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
