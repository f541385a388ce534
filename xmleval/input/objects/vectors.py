"""Vectors with a value for each row or label, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import InputError, Keyword, Message
from xmleval.input.columns import LABEL_COLUMN
from xmleval.input.match import BY_POSITION, SAME_ORDER, as_numbers, numbers_of_columns, refuse_order
from xmleval.input.objects.frames import open_frame
from xmleval.input.tensors import as_list


def of_rows(argument: str, value: Any, names: list[Any] | None) -> Any:
    """Return a vector with an entry for each row in the order of the names of rows, if both have any."""
    index = _keys(value)
    if index is None:
        refuse_order("y_true", names, argument)
    if names is None and not isinstance(value, dict):
        refuse_order(argument, index, "y_true")
    return by_name(argument, value, names)


def _keys(value: Any) -> list[Any] | None:
    """Return the names of the entries of a vector, None if they have none."""
    index = getattr(value, "index", None)
    return [*value] if isinstance(value, dict) else None if callable(index) else as_list(index)


def for_names(values: Any, names: Sequence[Any], wanted: Sequence[Any], missing: Any) -> NDArray[Any]:
    """Return the entries of wanted names, in the first dimension of an array, ``missing`` for others."""
    places = {name: place for place, name in enumerate(names)}
    return np.concatenate([values, [missing]])[[places.get(name, len(places)) for name in wanted]]


def _places(argument: str, keys: list[Any]) -> dict[Any, int]:
    """Return the place of each name, or refuse names that have two values."""
    places = {key: place for place, key in enumerate(keys)}
    if len(places) < len(keys):
        twice = next(key for place, key in enumerate(keys) if places[key] != place)
        raise InputError(argument, f"two values for {twice!r}")
    return places


def of_labels(argument: str, value: Any, names: list[Any] | None) -> tuple[Any, list[str]]:
    """Return values of labels, of a frame as a dict by name, or as a list where it names none; and notes.

    A frame has columns ``label`` and another, one column, or one row. A note tells of names of labels beside
    a truth that has none.
    """
    frame = None if isinstance(value, np.ndarray | list | tuple | dict) else open_frame(argument, value)
    if frame is not None:
        keys, columns = frame.keys, frame.columns
        others = [name for name in columns if name != LABEL_COLUMN]
        if len(others) == 1:
            values = frame.values(others[0])
            keys = frame.values(LABEL_COLUMN) if LABEL_COLUMN in columns else keys
        elif len(rows := frame.matrix(columns).tolist()) == 1:
            keys, values = columns, rows[0]
        else:
            shape = f"a frame of {len(rows)} rows and {len(columns)} columns has no value for each label"
            raise InputError(argument, f"{shape}; give one with columns {LABEL_COLUMN!r} and the value")
        is_numbered = keys is None or keys == [*range(len(keys))]
        value = values if is_numbered else dict(zip(_places(argument, keys or []), values, strict=True))
    keys = getattr(value, "label_names", None) or _keys(value)
    by_position = names is None and keys is not None and numbers_of_columns(keys) is None
    return value, [f"{argument}: {BY_POSITION.format('y_true')}"] * by_position


def nameless(argument: str) -> InputError:
    """Return what to raise of values by number, where only a truth tells the order of labels."""
    which = "has no names, and labels are numbered as y_true names them; give ", Keyword("labels")
    return InputError(argument, Message(*which))


def by_name(argument: str, value: Any, names: list[Any] | None, in_order: bool = True) -> Any:
    """Return a vector in the order of names, if its entries have names: a dict, a series, or propensities.

    Others stay as they are, and are refused unless ``in_order``, whether the caller knows the order of names.
    """
    if getattr(value, "label_names", None) is not None:
        if names is None and not value.numbered:
            which = "knows labels by name, and y_true has none; give ", Keyword("labels")
            raise InputError(argument, Message(*which))
        return value if names is None else value.for_labels(names)
    keys, is_dict = _keys(value), isinstance(value, dict)
    if keys is None and in_order:
        return value
    if keys is None:
        raise nameless(argument)
    cells = [*value.values()] if is_dict else value.to_numpy()
    are_texts = is_dict and any(isinstance(cell, str) for cell in cells)
    values = np.array(cells, object) if are_texts else np.asarray(cells)  # not texts of all where one is
    if names is None:
        if (ids := as_numbers(keys)) is None and is_dict:
            raise InputError(argument, "has names, and y_true has none")
        return values if ids is None else values[np.argsort(ids)]
    is_numbered = keys == [*range(len(keys))] and not {*keys}.intersection(names)
    if keys == names or (is_numbered and in_order and not is_dict):  # an index that names nothing
        return values
    places = _places(argument, keys)
    if (missing := next((name for name in names if name not in places), None)) is not None:
        hint = "" if is_dict or len(keys) != len(names) else SAME_ORDER.format(argument)
        raise InputError(argument, f"no value for {missing!r}, which y_true has{hint}")
    return values[[places[name] for name in names]]
