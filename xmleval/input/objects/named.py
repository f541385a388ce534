"""Rows whose labels have names: dicts, lists and series of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import is_sparse
from xmleval.input.errors import InputError
from xmleval.input.missing import is_missing
from xmleval.input.objects.wide import Wide, as_list
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, numbered, pointer, without_empty_names
from xmleval.input.tensors import refuse_other
from xmleval.records import Ints

IDS, SCORE = ("corpus_id", "label"), "score"  # of hits, as search and pipelines return them
PLAIN = frozenset({int, str})  # types of labels alone

NamedInput = Wide | Rows


def matched_by_ids(rows: NamedInput) -> NamedInput:
    """Return rows that are matched by the column that names them, if there is one."""
    if rows.match == BY_KEY or rows.beside is None or rows.beside.keyed is None:
        return rows
    return rows._replace(keys=rows.beside.values(rows.beside.keyed), match=BY_KEY)


def read_rows(argument: str, value: Any) -> Rows | None:
    """Return what dicts, series and lists hold, None if it has neither names nor keys.

    A row is a list of labels, a dict of labels with values, or a list of (label, score) pairs or of dicts
    with ``corpus_id`` or ``label`` and ``score``.
    """
    keys, match = None, None
    if isinstance(value, dict) and not is_sparse(value) and not is_pair_dict(value):
        keys, match, rows = [*value], BY_KEY, [*value.values()]
    elif isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "OU":
            return None
        rows = value.tolist()
    elif isinstance(value, list) or (isinstance(value, tuple) and argument != "y_score"):
        rows = value if isinstance(value, list) else [*value]
    else:
        column = as_list(value)
        if column is None:
            return None
        rows, index = column, getattr(value, "index", None)
        if index is not None and not callable(index):
            keys, match = as_list(index), BY_INDEX
    _refuse_once(argument, rows)
    at, first = next(((at, row) for at, row in enumerate(rows) if not _is_empty(row)), (0, None))
    plain = isinstance(value, list | tuple)  # of numbers: lists of ids or a dense array
    if first is None:
        return None if plain else _empty_rows(len(rows), keys, match)
    if isinstance(first, str):
        _refuse_text(argument, at, first)
    if plain and not has_names(first):
        return None
    if not isinstance(first, dict) and not hasattr(first, "__iter__"):
        return None  # a vector of numbers
    return flat_rows(argument, rows, keys, match)


def read_array(argument: str, array: NDArray[Any]) -> Rows | None:
    """Return rows of names, of which empty and missing ones do not count; None of numbers, as text, too."""
    if array.dtype.kind not in "OTU":
        return None
    rows = array.tolist()
    items = [item for row in rows for item in row]
    if not all(isinstance(item, str) or is_missing(item) for item in items):
        return None
    names = [[item for item in row if isinstance(item, str) and item] for row in rows]
    if all(_is_number(name) for row in names for name in row):
        return None
    return flat_rows(argument, names, None, None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_once(argument: str, rows: list[Any]) -> None:
    for number, row in enumerate(rows):
        if hasattr(row, "__next__"):
            refuse_other(argument, row, number)


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


def _is_empty(row: Any) -> bool:
    return row is None or (hasattr(row, "__len__") and len(row) == 0)


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
                    labels.append(_member(argument, number, item, IDS))
                    values.append(_member(argument, number, item, (SCORE,)))
                elif isinstance(item, tuple | list):
                    if len(item) != 2:
                        raise InputError(argument, f"{item!r} is not a (label, score) pair", row=number)
                    labels.append(item[0])
                    values.append(item[1])
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


def _member(argument: str, row: int, hit: dict[Any, Any], names: Iterable[str]) -> Any:
    name = next((name for name in names if name in hit), None)
    if name is None:
        raise InputError(argument, f"{hit!r} has no {' or '.join(map(repr, names))}", row=row, value=hit)
    return hit[name]


def numbered_labels(argument: str, labels: list[Any], sizes: Ints) -> tuple[Ints, list[Any] | None]:
    """Return labels as places among their names, and these; or as ids. Neither text nor integers are refused.

    ``sizes`` are the numbers of labels of the rows.
    """
    kinds = [*dict.fromkeys(map(type, labels))]
    texts = [issubclass(kind, str) for kind in kinds]
    for kind, text in zip(kinds, texts, strict=True):
        whole = issubclass(kind, int | np.integer) and kind is not bool
        if not (text or whole) or text != texts[0]:
            other = f", as {labels[0]!r} is" if text or whole else ""
            expected = "text" if texts[0] else "a name or an integer id"
            entry = next(entry for entry, label in enumerate(labels) if type(label) is kind)
            _refuse_label(argument, entry, labels, sizes, f"is not {expected}{other}")
    if all(texts):
        return numbered(labels)
    try:
        return np.array(labels, np.int64), None
    except OverflowError:
        entry = next(entry for entry, label in enumerate(labels) if not -(2**63) <= label < 2**63)
        _refuse_label(argument, entry, labels, sizes, "is no id of a label")


def _refuse_label(argument: str, entry: int, labels: list[Any], sizes: Ints, reason: str) -> NoReturn:
    row = int(np.searchsorted(np.cumsum(sizes), entry, side="right"))
    raise InputError(argument, f"label {labels[entry]!r} {reason}", row=row, value=labels[entry])


def _as_values(argument: str, rows: Rows, values: list[Any]) -> NDArray[Any]:
    """Return scores as an array of their common type, or refuse what is no number."""
    try:
        found = np.array(values)
    except (ValueError, TypeError, RuntimeError):
        found = np.empty(0, object)
    if found.shape == (len(values),) and found.dtype.kind in "biuf":
        if found.dtype.kind != "f" or {*map(type, values)} == {float}:
            return found
        lost = (i for i, value in enumerate(values) if isinstance(value, int) and int(found[i]) != value)
        bad = next(lost, None)
    else:
        numbers = (int, float, np.integer, np.floating)
        bad = next((i for i, value in enumerate(values) if not isinstance(value, numbers)), 0)
    if bad is None:
        return found
    raise InputError(
        argument, f"score {values[bad]!r} is not a number of float64", row=rows.row_of(bad), value=values[bad]
    )


def _refuse_text(argument: str, row: int, text: Any) -> NoReturn:
    if not isinstance(text, str):
        raise InputError(argument, f"{text!r} is not a list of labels", row=row, value=text)
    cut = next((sign for sign in ",;|" if sign in text), None)
    how = f"split it at {cut!r}" if cut else f"one label is a list, too: [{text!r}]"
    raise InputError(argument, f"{text!r} is text, not a list of labels; {how}", row=row, value=text)
