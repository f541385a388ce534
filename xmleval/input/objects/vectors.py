"""Vectors with a value for each row or label, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.input.errors import InputError
from xmleval.input.objects.named import as_list
from xmleval.input.objects.numbered import SAME_ORDER, as_numbers, refuse_order
from xmleval.message import Keyword, Message


def of_rows(argument: str, value: Any, names: list[Any] | None) -> Any:
    """Return a vector with an entry for each row in the order of the names of rows, if both have any."""
    if value is None:  # as in most calls
        return None
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


def by_name(argument: str, value: Any, names: list[Any] | None, in_order: bool = True) -> Any:
    """Return a vector in the order of names, if its entries have names: a dict, a series, or propensities.

    Others stay as they are, and are refused unless ``in_order``, whether the caller knows the order of names.
    """
    if value is None:
        return None
    if getattr(value, "label_names", None) is not None:
        if names is None and value.numbered:
            return value
        if names is None:
            which = "knows labels by name, and y_true has none; give ", Keyword("labels")
            raise InputError(argument, Message(*which))
        return value.for_labels(names)
    keys = _keys(value)
    if keys is None and not in_order:
        which = "has no names, and labels are numbered as y_true names them; give ", Keyword("labels")
        raise InputError(argument, Message(*which))
    if keys is None or keys == names:
        return np.array([*value.values()]) if isinstance(value, dict) else value
    values = np.array([*value.values()]) if isinstance(value, dict) else value.to_numpy()
    if names is None and (ids := as_numbers(keys)) is not None:
        return values[np.argsort(ids)]
    counts = keys == [*range(len(keys))]  # an index that names nothing
    if names is None or (counts and in_order and not {*keys}.intersection(names)):
        if isinstance(value, dict):
            raise InputError(argument, "has names, and y_true has none")
        return value
    numbers = {key: number for number, key in enumerate(keys)}
    if len(numbers) < len(keys):
        twice = next(key for number, key in enumerate(keys) if numbers[key] != number)
        raise InputError(argument, f"two values for {twice!r}")
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        hint = "" if isinstance(value, dict) or len(keys) != len(names) else SAME_ORDER.format(argument)
        raise InputError(argument, f"no value for {missing!r}, which y_true has{hint}")
    return values[[numbers[name] for name in names]]
