"""The arguments of an evaluation with the same labels in the same columns, and the same rows in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, positive_integer, renaming, shown
from xmleval.files.remote import is_file
from xmleval.input.columns import INSTANCE, is_written_index, named_as
from xmleval.input.csr import Source
from xmleval.input.glances import refuse_vectors
from xmleval.input.match import Match, as_scores, as_sets, names_of_truth, numbers_of_columns, refuse_scores
from xmleval.input.objects.frames import Columns, open_frame, read_frame
from xmleval.input.objects.named import (
    CLASS_ONE,
    PAIRED,
    as_own_rows,
    dense_list,
    is_pair_dict,
    numbered_labels,
    read_array,
    read_pair,
    read_rows,
    rows_of_ids,
    without_labels,
)
from xmleval.input.rows import BY_KEY, Named, Rows, missing_names_note
from xmleval.input.sets import list_sets, refuse_ids
from xmleval.input.tensors import as_list, is_sparse, refuse_other, shape_of


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
    nodes: Collection[Any] = (),
    **sets: Any,
) -> Taken:
    """Match row keys and label names to those of the truth; arguments without names stay as they are.

    With ``graded``, values of the truth are grades of relevance, which they cannot be where it is None. Where
    something ``fits`` to the predictions, all labels that they name must be ``labels``, or become labels.
    ``nodes`` of a hierarchy that are no labels have the first numbers behind these.
    """
    arguments = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred, **sets}
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels)
    label_list = None if labels is None else check_labels(labels, n_labels)
    if all(map(is_nameless, arguments, arguments.values())):
        _refuse_transposed(arguments, n_labels)
        notes = [] if label_list is None else missing_names_note(label_list)
        width = n_labels if label_list is None else len(label_list)
        return Taken(tuple(arguments.values()), width, label_list, notes=tuple(notes))
    arguments = {argument: as_own_rows(argument, value) for argument, value in arguments.items()}
    notes = [CLASS_ONE] * (isinstance(y_score, list) and isinstance(arguments["y_score"], np.ndarray))
    opened = {argument: read_named(argument, value, label_list) for argument, value in arguments.items()}
    if any(rows is not None for rows in opened.values()):  # lists that are all empty may have names, too
        opened = {a: without_labels(arguments[a]) if rows is None else rows for a, rows in opened.items()}
    inputs = {argument: rows for argument, rows in opened.items() if rows is not None}
    _refuse_transposed(arguments | inputs, n_labels)
    for argument, rows in inputs.items() if label_list is None else ():
        for name in named_as(rows.names or [], INSTANCE) if rows.are_columns else ():
            notes.append(f"{argument}: column {shown(name)} is read as a label")
    for argument, rows in inputs.items():
        notes += rows.origin.noted(argument) if rows.origin is not None else []
    inputs = join_by_ids(inputs, notes)
    names = label_list if label_list or y_true is None else names_of_truth(arguments, inputs, notes)
    match = Match("y_true", names, listed=labels is not None, fits=fits)
    match.notes, match.n_labels = notes, max(n_labels or 0, match.n_labels)
    if "y_true" not in inputs and any(rows.match == BY_KEY for rows in inputs.values()):
        match.n_rows = _count_rows(arguments["y_true"])
    if match.closed:
        refuse_other_count(n_labels, match.n_labels)
    shapes = map(shape_of, (arguments | inputs).values())
    width = match.n_labels or next((shape[1] for shape in shapes if shape), None)
    if n_labels is None:
        lists = {a: value for a, value in arguments.items() if isinstance(value, list) and a not in inputs}
        arguments |= {a: dense_list(a, value, width) for a, value in lists.items()}
        if match.number is None and (inputs or any(isinstance(arguments[a], list) for a in lists if width)):
            n_labels, match.n_labels = width, width or 0
    matched = dict[str, Rows]()
    for argument, value in arguments.items():  # the truth first
        if argument in inputs:
            rows = inputs[argument]
            rows = rows._replace(keys=None, match=None) if y_true is None else rows
            if argument != "y_score" and not rows.are_columns:
                refuse_scores(argument, rows, graded)
                if rows.are_lists and rows.names is None and rows.values is None:
                    refuse_vectors(argument, rows.ptr, rows.labels, match.n_labels)
            matched[argument] = match.place_rows(argument, argument, rows)
        elif value is not None and argument != "y_true":
            if match.number is not None and not match.closed:
                raise match.unlike(argument)
            match.row_numbers(argument, argument, None)
        if argument == "y_true":
            match.add_nodes(nodes)
    if fits:
        match.know_all()
    all_names, label_names = match.names, match.label_names
    if match.number is not None:
        if n_labels and len(label_names) > n_labels:
            refuse_other_count(n_labels, len(label_names))
        n_labels = match.n_labels
    if inputs and not n_labels:
        raise _unsized(inputs, "y_score" if y_true is None else "y_true")
    are_texts = isinstance(next(iter(all_names), None), str)
    for argument, value in arguments.items():
        if argument in matched:
            rows = matched[argument]
            width = max(n_labels or 0, int(rows.labels.max(initial=-1)) + 1)
            by_name = argument == "y_score" and are_texts and inputs[argument].names is not None
            used_names = all_names[:width] if by_name or width != n_labels else None
            if argument == "y_score":
                arguments[argument] = as_scores(rows, used_names)
            else:
                label_sets = as_sets(rows, graded if argument == "y_true" else None)
                arguments[argument] = label_sets._replace(names=used_names)
        elif argument == "y_score" and isinstance(value, list) and n_labels is not None:
            arguments[argument] = rows_of_ids(argument, value)._replace(best_first=True)
        elif isinstance(value, list) or argument not in PAIRED:
            arguments[argument] = list_sets(argument, value, n_labels)
    values = getattr(inputs.get("y_true"), "values", None)
    return Taken(
        tuple(arguments.values()),
        n_labels,
        label_names if label_names and n_labels == len(label_names) else None,
        match.number is None or match.closed,
        match.keys,
        (*match.notes, *missing_names_note(match.number or (), match.unknown_names)),
        not graded and values is not None and bool((values > 1).any()),
        match.unknown_names,
        match.keys if match.by == BY_KEY else None,
        match.n_unmatched_pairs,
    )


def _count_rows(truth: Any) -> int | None:
    """Return the number of rows of a truth without names, whose numbers may be keys; None if it has none."""
    shape = shape_of(truth)
    return shape[0] if shape else len(truth) if isinstance(truth, list) else None


def _unsized(inputs: dict[str, Rows], argument: str) -> InputError:
    """Return what to raise where no input tells the labels: of ids, not even how many there are."""
    which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", a list of all"
    example = next((rows.label(0) for rows in inputs.values() if rows.labels.size), None)
    hint = f"; or ids as text, {str(example)!r} for {example}, which are names"
    is_id = isinstance(example, int)
    message = "does not tell what labels there are; give ", *which, hint if is_id else ""
    return InputError(argument, Message(*message))


def keyed(rows: Rows) -> Rows:
    """Return rows that are matched by the column that names them, if there is one."""
    column = getattr(rows.origin, "id_column", None)
    return rows if column is None else rows._replace(keys=rows.origin.values(column), match=BY_KEY)


def join_by_ids(inputs: dict[str, Rows], notes: list[str]) -> dict[str, Rows]:
    """Return rows by their columns of ids, or an index of ids, if the truth and predictions have keys."""
    with_ids = {argument: keyed(rows) for argument, rows in inputs.items()}
    truth = with_ids.get("y_true")
    joined = {a for a, rows in with_ids.items() if a != "y_true" and truth and _have_keys(rows, truth)}
    for argument, rows in inputs.items():
        for name in filter(is_written_index, rows.origin.columns if rows.are_columns else ()):
            notes.append(f"{argument}: column {shown(name)} is left out, as an index that pandas wrote")
        column = getattr(rows.origin, "id_column", None)
        if argument in joined:
            column = getattr(inputs["y_true"].origin, "id_column", None) if column is None else column
            notes += [f"{argument}: rows are matched by column {shown(column)}"] * (column is not None)
        elif column is not None and not (joined and argument == "y_true"):
            side = "y_true has" if argument != "y_true" else "predictions have"
            left_out = f"{argument}: column {shown(column)} is left out"
            notes.append(f"{left_out}; {side} no ids of rows, so they are in order")
    joined |= {"y_true"} if joined else set()
    return {a: with_ids[a] if a in joined else rows for a, rows in inputs.items()}


def _have_keys(rows: Rows, truth: Rows) -> bool:
    """Tell whether rows and those of the truth can be matched by key; one side may have an index instead."""
    if rows.keys is None or truth.keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    keys, true_keys = {*rows.keys}, {*truth.keys}
    return rows.match == truth.match or keys <= true_keys or true_keys <= keys


def as_rows(rows: Rows) -> Rows:
    """Return rows of names; a matrix lists all columns, or what it stores; an index that counts is none."""
    rows = keyed(rows)
    if rows.are_columns:
        ids, names = numbered_labels("y_score", rows.names or [], np.array([0]))
        rows = rows.part(0, rows.n_rows)
        rows = rows._replace(labels=ids[rows.labels], names=names, are_columns=False)
    is_counting = rows.match != BY_KEY and rows.keys == [*range(rows.n_rows)]
    return rows._replace(keys=None, match=None) if is_counting else rows


def take_truth(argument: str, value: Any, n_labels: int | None, labels: Any = None) -> Taken:
    """Return a truth that is called otherwise, in memory or in a file, without names, as `take` does."""
    if is_file(value):
        from xmleval.input.shards import read_sets  # imports all formats

        value = read_sets(value)
    with renaming("y_true", argument):
        return take(value, None, None, n_labels, labels)


def labels_of(truth: Any) -> tuple[int, list[Any] | None]:
    """Return the number of labels that the columns of a truth tell, and their names if they have any."""
    rows = read_named("y_true", truth, None)
    if (shape := shape_of(truth if rows is None else rows)) is None:
        which = "give the number of labels, or ", Keyword("labels"), ", their names"
        raise InputError("n_labels", Message(*which))
    names = rows.names if rows is not None and rows.are_columns else None
    has_names = names is not None and numbers_of_columns(names) is None
    return shape[1], check_labels(names, None) if has_names else None


def has_label_names(argument: str, value: Any) -> bool:
    """Tell whether a truth names its labels."""
    rows = read_named(argument, value, None)
    return rows is not None and (rows.are_columns or rows.named)


def refuse_other_count(n_labels: int | None, n_names: int) -> None:
    """Refuse a number of labels other than that of their names."""
    if n_labels not in (None, n_names):
        raise InputError("n_labels", f"{shown(n_labels)} does not match the {n_names} names of labels")


def check_labels(labels: Any, n_labels: int | None) -> list[Any]:
    """Return the names of all labels, or refuse what is no list of distinct ones, or of another length."""
    refuse_other("labels", None if isinstance(labels, str) else labels)
    is_list = hasattr(labels, "__iter__") and not isinstance(labels, str)
    names: list[Any] = (as_list(labels) or [*labels]) if is_list else []
    if not names:
        raise InputError("labels", f"{shown(labels)} is not a list of names")
    first: dict[Any, int] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool) or name == "":
            raise InputError(
                "labels", f"name {place}, {shown(name)}, is neither a text nor an integer, or empty"
            )
        if first.setdefault(name, place) != place:
            raise InputError("labels", f"{shown(name)} occurs twice, the second time in place {place}")
    refuse_other_count(n_labels, len(names))
    return [str(name) if isinstance(name, str) else int(name) for name in names]


def is_nameless(argument: str, value: Any) -> bool:
    """Tell whether a value is None, rows by id, a sparse matrix, an array of numbers, or a pair of these."""
    arrays = value if type(value) is tuple and argument in PAIRED else (value,)
    for array in arrays:
        if array is not None and not (isinstance(array, np.ndarray) and array.dtype.kind in "biuf"):
            return isinstance(value, Rows | Source) or is_sparse(value)
    return True


def read_named(argument: str, value: Any, names: list[Any] | None) -> Rows | None:
    """Return rows or columns that have names, None for numbers alone."""
    if is_nameless(argument, value):
        return None
    value = as_own_rows(argument, value)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return read_array(argument, value)
    if argument == "y_score" and (isinstance(value, tuple) or is_pair_dict(value)):
        return read_pair(argument, value)
    refuse_other(argument, value)
    if isinstance(value, Columns | Named):
        return value.rows(argument)
    frame = None if isinstance(value, list | Mapping | np.ndarray) else open_frame(argument, value)
    return read_rows(argument, value) if frame is None else read_frame(argument, frame, names)


def _refuse_ids_beside(truth: Any, n_labels: int) -> None:
    """Refuse a truth whose columns hold label ids, next to arrays of all labels."""
    array = truth.values if isinstance(truth, Rows) else truth
    if isinstance(array, np.ndarray) and array.ndim == 2:
        refuse_ids("y_true", truth, array, n_labels)


def _refuse_transposed(arguments: dict[str, Any], n_labels: int | None) -> None:
    truth = shape_of(arguments["y_true"])
    for argument in ("y_score", "y_pred"):
        shape = shape_of(arguments[argument])
        if truth is None or shape is None or shape == truth:
            continue
        if shape[0] == truth[0]:
            _refuse_ids_beside(arguments["y_true"], shape[1])
        if shape[::-1] != truth:
            continue
        wrong, right = ("y_true", shape) if n_labels == shape[1] else (argument, truth)
        message = f"shape {right[::-1]} is the transpose of {right}; rows are instances: give {wrong}.T"
        raise InputError(wrong, message)
