"""Records of query and document, as of ir_measures, and of a query with its results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, shown
from xmleval.input.columns import DOCUMENT, INSTANCE, QUERY, ChosenColumns, named_as
from xmleval.input.objects.frames import Frame, FrameColumns, ListColumn
from xmleval.input.tensors import refuse_other


def list_records_of_models(argument: str, value: Any) -> Any:
    """Return records as `list_records` does, also those of models by name."""
    if not isinstance(value, dict) or not any(
        isinstance(each, Iterator) for each in value.values()
    ):
        return list_records(argument, value)
    return {name: list_records(argument, records) for name, records in value.items()}


def list_records(argument: str, value: Any) -> Any:
    """Return the records of an iterator as a list, to read them again; other values unchanged."""
    if not isinstance(value, Iterator):
        return value
    first = next(value, None)
    if fields_of_record(first) is None:
        refuse_other(argument, value)
        return value
    return [*chain([first], value)]


def table_of_records(argument: str, value: object) -> FrameColumns | None:
    """Return a list of records as a table with a column for each field; None for other values."""
    if not isinstance(value, list) or not value:
        return None
    fields = fields_of_record(value[0])
    if fields is None:
        return None
    read: Callable[[Any, Any], Any] = getattr
    if isinstance(value[0], Mapping):
        read = dict.__getitem__
    columns = {name: ListColumn() for name in fields}
    for row, record in enumerate(value):
        if fields_of_record(record) is None:
            raise InputError(argument, f"{shown(record)} has other fields than row 0", row=row)
        for name, column in columns.items():
            try:
                column.append(read(record, name))
            except (AttributeError, KeyError):
                raise InputError(argument, f"no {shown(name)}, as row 0 has", row=row) from None

    def to_matrix(names: list[Any]) -> Any:
        return np.column_stack([np.array(columns[name]) for name in names])

    frame = Frame([*columns], columns.__getitem__, to_matrix, value)
    return FrameColumns(frame, ChosenColumns())


def fields_of_record(record: object) -> list[Hashable] | None:
    """Return the names of the fields of a record, None for what may be a row of labels.

    A record is a named tuple of a query and a document, or a dict of an instance and a list.
    """
    names = getattr(type(record), "_fields", None)
    if names is not None:
        is_record = bool(named_as(names, QUERY) and named_as(names, DOCUMENT))
        return [*names] if is_record else None
    if not isinstance(record, Mapping) or not named_as(record, INSTANCE):
        return None
    has_list = any(isinstance(member, list) for member in record.values())
    return [*record] if has_list else None
