"""Vectors with a value for each row or label, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.input.errors import InputError
from xmleval.input.objects.named import as_list
from xmleval.message import Keyword, Message


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
    index = getattr(value, "index", None)
    keys = [*value] if isinstance(value, dict) else None if callable(index) else as_list(index)
    if keys is None and not in_order:
        which = "has no names, and labels are numbered as y_true names them; give ", Keyword("labels")
        raise InputError(argument, Message(*which))
    if keys is None or keys == names:
        return np.array([*value.values()]) if isinstance(value, dict) else value
    counts = keys == [*range(len(keys))]  # an index that names nothing
    if names is None or (counts and in_order and keys[0] not in names):
        if isinstance(value, dict):
            raise InputError(argument, "has names, and y_true has none")
        return value
    numbers = {key: number for number, key in enumerate(keys)}
    if len(numbers) < len(keys):
        twice = next(key for number, key in enumerate(keys) if numbers[key] != number)
        raise InputError(argument, f"two values for {twice!r}")
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        raise InputError(argument, f"no value for {missing!r}, which y_true has")
    values = np.array([*value.values()]) if isinstance(value, dict) else value.to_numpy()
    return values[[numbers[name] for name in names]]
