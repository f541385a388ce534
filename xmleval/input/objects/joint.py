"""Predictions of several models with names of rows or labels, brought in line with one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.input.errors import InputError, renaming
from xmleval.input.match import Joined, join_models
from xmleval.input.objects.named import numbered_labels, without_labels
from xmleval.input.objects.take import read_named
from xmleval.input.objects.wide import NamedInput, Wide, matched_by_ids
from xmleval.input.rows import BY_KEY, Rows


def join_names(predictions: Sequence[Any]) -> Joined | None:
    """Return the predictions of several models by number, None where none of them has names.

    Rows with names are matched by them: the predictions of a model for a row that it does not have are empty.
    """
    held: list[NamedInput | None] = []
    for number, value in enumerate(predictions):
        with renaming("y_score", f"predictions[{number}]"):
            held.append(read_named("y_score", value, None))
    if not any(held):
        return None
    found: list[Rows] = []
    for number, (value, one) in enumerate(zip(predictions, held, strict=True)):
        with renaming("y_score", f"predictions[{number}]"):
            rows = _as_rows(one) if one is not None else without_labels(value)
        if rows is None:
            other = next(place for place, one in enumerate(held) if one is not None)
            raise InputError(f"predictions[{number}]", f"has no names, which predictions[{other}] has")
        found.append(rows)
    return join_models([(f"predictions[{number}]", rows) for number, rows in enumerate(found)])


def _as_rows(held: NamedInput) -> Rows:
    """Return rows of names; a matrix lists all columns, or what it stores; an index that counts is none."""
    held = matched_by_ids(held)
    if isinstance(held, Wide):
        numbers, names = numbered_labels("y_score", held.names, np.array([len(held.names)]))
        held = held.cells(numbers)._replace(keys=held.keys, match=held.match, names=names)
    if held.match != BY_KEY and held.keys == [*range(held.n_rows)]:
        return held._replace(keys=None, match=None)
    return held
