"""Dicts of models by name, and how they differ from dicts of rows."""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, shown
from xmleval.files.remote import is_file
from xmleval.input.objects.frames import FrameColumns
from xmleval.input.objects.named import LABEL_TYPES, NUMBERS, is_pair_dict
from xmleval.input.objects.records import fields_of_record
from xmleval.input.rows import Named
from xmleval.input.tensors import shape_of

ROW_TYPES = (Mapping, Set, list, tuple)  # of rows of labels
FIELDS = {"labels", "scores"}  # of a row, or the rows of a model that have these names


class PredictionKind(Enum):
    """What a value of a dict of predictions is."""

    MODEL = "the rows of a model"
    ROW = "one row"
    EITHER = "either of both"
    EMPTY = "a row without labels, or a model without rows"


def models_of(argument: str, value: object) -> Mapping[str, Any] | None:
    """Return predictions of models by name; None for those of one model, and its rows by name.

    A dict is of models where each value holds rows: a file, a matrix, a frame, a pair of matrices,
    or a dict whose values are rows. InputError is raised where only some do, and where a value may
    be the rows of a model or one row. The first value that is not empty decides.
    """
    # a DOK matrix is a dict, too, and has a shape
    if not isinstance(value, Mapping) or hasattr(value, "shape") or is_pair_dict(value):
        return None
    filled = (name for name in value if kind_of_value(value[name]) != PredictionKind.EMPTY)
    first = next(filled, None)
    kind = None if first is None else kind_of_value(value[first])
    if kind == PredictionKind.EITHER:
        hint = "give models as arrays or as dicts by row, and a row as (label, score) tuples"
        raise InputError(argument, f"{shown(first)} may be a model or a row; {hint}")
    if kind != PredictionKind.MODEL:
        return None
    for name, predictions in value.items():
        if not isinstance(name, str):
            raise InputError(argument, f"{shown(name)} is not the name of a model; give a text")
        if kind_of_value(predictions) != PredictionKind.MODEL:
            text = f"{shown(first)} has the rows of a model, but {shown(name)} has not"
            hint = "give models as arrays or as dicts by row, or the rows of one model"
            raise InputError(argument, f"{text}; {hint}")
    return value


def kind_of_value(value: object) -> PredictionKind:
    """Return whether a value of a dict is the rows of a model or one row."""
    if hasattr(value, "shape"):
        return PredictionKind.MODEL if shape_of(value) else PredictionKind.ROW
    if isinstance(value, ROW_TYPES):
        return _kind_of_rows(value) if value else PredictionKind.EMPTY
    is_run = hasattr(value, "to_dict")  # of ranx
    is_model = is_run or isinstance(value, Named | FrameColumns) or is_file(value)
    return PredictionKind.MODEL if is_model else PredictionKind.ROW


def _kind_of_rows(value: Any) -> PredictionKind:
    """Return the kind of a dict, a list, a set or a tuple that is not empty."""
    if isinstance(value, list):
        return _kind_of_list(value)
    if isinstance(value, tuple):
        return PredictionKind.MODEL if shape_of(value[0]) else PredictionKind.ROW
    if not isinstance(value, Mapping):
        return PredictionKind.ROW
    if {*value} == FIELDS:
        return PredictionKind.EITHER
    is_model = is_pair_dict(value) or all(map(_is_row, value.values()))
    return PredictionKind.MODEL if is_model else PredictionKind.ROW


def _is_row(value: object) -> bool:
    """Return whether a value is a row: several labels, with or without scores."""
    return isinstance(value, ROW_TYPES) or getattr(value, "ndim", 0) == 1


def _kind_of_list(values: list[Any]) -> PredictionKind:
    """Return whether a list that is not empty is one row, of labels or of pairs, or either.

    Records of a row and a label, such as those of ir_measures, are a model.
    """
    if fields_of_record(values[0]) is not None:
        return PredictionKind.MODEL
    are_rows = all(isinstance(entry, ROW_TYPES) and not _is_pair(entry) for entry in values)
    return PredictionKind.EITHER if are_rows else PredictionKind.ROW


def _is_pair(entry: Any) -> bool:
    """Return whether an entry is a label with its score; a list of two integers may be two ids."""
    if isinstance(entry, Mapping):
        return "score" in entry
    if isinstance(entry, tuple):
        return True
    if not isinstance(entry, list) or len(entry) != 2:
        return False
    label, score = entry
    if isinstance(label, str):
        return isinstance(score, NUMBERS)
    return isinstance(label, LABEL_TYPES) and isinstance(score, float | np.floating)
