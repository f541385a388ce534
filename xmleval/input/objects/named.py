"""Rows whose labels have names: dicts, lists and series of them."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import can_be_numbers, is_sparse
from xmleval.input.errors import InputError
from xmleval.input.missing import is_missing
from xmleval.input.objects.wide import as_list
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, numbered, pointer, without_empty_names
from xmleval.input.tensors import as_plain, refuse_other
from xmleval.message import counted
from xmleval.records import Ints

NUMBERS = (int, float, np.integer, np.floating)
PLAIN = frozenset({int, str})  # types of labels alone


def read_rows(argument: str, value: Any) -> Rows | None:
    """Return what dicts, series and lists hold, None if it has neither names nor keys.

    A row is a list of labels, a dict of labels with values, or a list of (label, score) pairs or of dicts
    with ``corpus_id`` or ``label`` and ``score``.
    """
    rows: list[Any] | None
    keys, match = None, None
    plain = isinstance(value, list | tuple)  # of numbers: lists of ids or a dense array
    if plain:
        rows = [*value]
    elif isinstance(value, dict):
        keys, match, rows = [*value], BY_KEY, None if is_pair_dict(value) else [*value.values()]
    elif isinstance(value, np.ndarray):
        rows = value.tolist() if value.ndim == 1 and value.dtype.kind in "OU" else None
    else:
        rows, index = as_list(value), getattr(value, "index", None)
        if index is not None and not callable(index):
            keys, match = as_list(index), BY_INDEX
    if rows is None:
        return None
    for number, row in enumerate(rows):
        if hasattr(row, "__next__"):
            refuse_other(argument, row, number)
    filled = (n for n, row in enumerate(rows) if row is not None and getattr(row, "__len__", lambda: 1)())
    number = next(filled, -1)
    if number < 0:
        return None if plain else _empty_rows(len(rows), keys, match)
    first = rows[number]
    if isinstance(first, str):
        _refuse_text(argument, number, first)
    is_row = has_names(first) if plain else hasattr(first, "__iter__")  # of a vector, entries are numbers
    return flat_rows(argument, rows, keys, match) if is_row else None


def read_array(argument: str, array: NDArray[Any]) -> Rows | None:
    """Return rows of names, of which empty and missing ones do not count; None of numbers, as text, too."""
    if array.dtype.kind not in "OTU" or can_be_numbers(array):
        return None
    rows = array.tolist()
    if not all(isinstance(item, str) or is_missing(item) for row in rows for item in row):
        return None
    return flat_rows(argument, [[item for item in row if isinstance(item, str)] for row in rows], None, None)


def read_pair(argument: str, pair: tuple[Any, ...]) -> Rows | None:
    """Return lists of names with scores, from a pair of arrays or lists; None of ids."""
    labels, scores = pair if len(pair) == 2 else (None, None)
    if isinstance(labels, np.ndarray):
        labels = labels.tolist() if labels.ndim == 2 and labels.dtype.kind in "OU" else None
    if not isinstance(labels, list):
        return None
    if not has_names(next((row for row in labels if not isinstance(row, list | tuple) or row), ())):
        return None
    rows = labels if scores is None else paired(argument, labels, as_plain(argument, scores))
    return flat_rows(argument, rows, None, None)


def paired(argument: str, labels: Any, scores: Any) -> list[Any]:
    """Return lists of (label, score) pairs from lists of labels, and of their scores."""
    scores = scores.to_numpy() if hasattr(scores, "iloc") else scores
    if is_sparse(scores) or getattr(scores, "shape", None) == () or not hasattr(scores, "__len__"):
        raise InputError(argument, f"{type(scores).__name__} is no list of scores for each row")
    if len(labels) != len(scores):
        raise InputError(argument, f"{counted(len(labels), 'rows')} of labels with {len(scores)} of scores")
    rows: list[Any] = []
    for number, (names, values) in enumerate(zip(labels, scores, strict=True)):
        for row in (names, values):
            if isinstance(row, str | dict | set | frozenset) or not hasattr(row, "__len__"):
                raise InputError(argument, f"{row!r} is not a list", row=number, value=row)
        if len(names) != len(values):
            message = f"{counted(len(names), 'labels')} with {counted(len(values), 'scores')}"
            raise InputError(argument, message, row=number)
        values = values.tolist() if isinstance(values, np.ndarray) else values
        rows.append([*zip(names, values, strict=True)])
    return rows


def without_labels(value: Any) -> Rows | None:
    """Return lists that are all empty, None if there is anything in them."""
    if not isinstance(value, list) or not all(
        isinstance(row, list | tuple | dict) and not row for row in value
    ):
        return None
    return _empty_rows(len(value))


def _empty_rows(n_rows: int, keys: list[Any] | None = None, match: str | None = None) -> Rows:
    return Rows(keys, match, np.zeros(n_rows + 1, np.int64), np.empty(0, np.int64), [], best_first=True)


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
    if isinstance(first, tuple | list):
        first = next(iter(first), None)
    return isinstance(first, str | dict)


def flat_rows(argument: str, rows: list[Any], keys: list[Any] | None, match: str | None) -> Rows:
    """Return rows of one kind end to end, or refuse the first row of another kind."""
    sizes = np.zeros(len(rows), np.int64)
    labels: list[Any] = []
    values: list[Any] = []
    ranked = listed = True
    for number, row in enumerate(rows):
        if isinstance(row, np.ndarray) or hasattr(row, "detach"):
            row = row.tolist()
        before = len(labels)
        if isinstance(row, dict):
            labels.extend(row)
            values.extend(row.values())
            ranked = listed = False
        elif isinstance(row, str) or not hasattr(row, "__iter__"):
            _refuse_text(argument, number, row)
        else:
            if isinstance(row, set | frozenset):
                if argument == "y_score":
                    raise InputError(argument, "a set has no order; give y_pred, or scores", row=number)
                listed = False
            if PLAIN.issuperset(map(type, row)):
                labels.extend(row)
                row = ()
            for item in row:
                if isinstance(item, dict):
                    names = "corpus_id" if "corpus_id" in item else "label", "score"
                    pair = [item[name] for name in names if name in item]
                else:
                    pair = item
                if isinstance(pair, tuple | list):
                    if len(pair) != 2:
                        raise InputError(argument, f"{item!r} is not a label with its score", row=number)
                    labels.append(pair[0])
                    values.append(pair[1])
                else:
                    labels.append(item)
        sizes[number] = len(labels) - before
        if values and len(values) != len(labels):
            raise InputError(argument, "some labels have a score and others have none", row=number)
    found = Rows(keys, match, pointer(sizes), *numbered_labels(argument, labels, sizes), None, ranked)
    if values:
        found = found._replace(values=_as_values(argument, found, values))
    return without_empty_names(found._replace(are_lists=listed))


def rows_of_ids(argument: str, lists: Any) -> Rows:
    """Return lists of label ids, or of (id, score) pairs, as rows, or refuse the first other label."""
    rows = flat_rows(argument, lists, None, None)
    wrong = (rows.labels < 0) | rows.named
    if wrong.any():
        entry = int(wrong.argmax())
        label, row = rows.label(entry), rows.row_of(entry)
        raise InputError(argument, f"label {label!r} is not an integer id from 0 up", row=row, value=label)
    return rows


def numbered_labels(argument: str, labels: list[Any], sizes: Ints) -> tuple[Ints, list[Any] | None]:
    """Return labels as places among their names, and these; or as ids. Neither text nor integers are refused.

    ``sizes`` are the numbers of labels of the rows.
    """
    text = not labels or isinstance(labels[0], str)

    def is_label(label: Any) -> bool:
        whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
        return isinstance(label, str) if text else whole and -(2**63) <= label < 2**63

    kinds = {*map(type, labels)}
    if bool not in kinds and all(issubclass(kind, str if text else int | np.integer) for kind in kinds):
        if text:
            return numbered(labels)
        with contextlib.suppress(OverflowError):
            return np.array(labels, np.int64), None
    entry = next(entry for entry, label in enumerate(labels) if not is_label(label))
    row = int(np.searchsorted(np.cumsum(sizes), entry, side="right"))
    expected = f"text, as {labels[0]!r} is" if text else "a name or an integer id"
    raise InputError(argument, f"label {labels[entry]!r} is not {expected}", row=row, value=labels[entry])


def _as_values(argument: str, rows: Rows, values: list[Any]) -> NDArray[Any]:
    """Return scores as an array of their common type, or refuse what is no number."""
    try:
        found = np.array(values)
    except (ValueError, TypeError, RuntimeError):
        found = np.empty(0, object)
    fine = found.shape == (len(values),) and found.dtype.kind in "biuf"
    if fine and (found.dtype.kind != "f" or {*map(type, values)} == {float}):
        return found
    wrong = (
        isinstance(value, int) and int(found[entry]) != value if fine else not isinstance(value, NUMBERS)
        for entry, value in enumerate(values)
    )
    bad = next((entry for entry, is_wrong in enumerate(wrong) if is_wrong), None if fine else 0)
    if bad is None:
        return found
    message = f"score {values[bad]!r} is not a number of float64"
    raise InputError(argument, message, row=rows.row_of(bad), value=values[bad])


def _refuse_text(argument: str, row: int, text: Any) -> NoReturn:
    is_text, hint = ("text, not", f"; split it, or give [{text!r}]") if isinstance(text, str) else ("not", "")
    raise InputError(argument, f"{text!r} is {is_text} a list of labels{hint}", row=row, value=text)
