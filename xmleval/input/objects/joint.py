"""Predictions of several models with names of rows or labels, brought in line with one another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.csr import is_sparse
from xmleval.input.errors import InputError
from xmleval.input.objects.named import BY_KEY, NamedInput, NamedRows, Wide, matched_by_ids, without_labels
from xmleval.input.objects.numbered import numbered_entries
from xmleval.input.objects.take import read_named
from xmleval.message import NO_MATCH, counted
from xmleval.records import Ints


class Joint(NamedTuple):
    """Scores of several models by number, the names of their labels, and of rows, None for the same order."""

    scores: list[Any]
    label_names: list[Any]
    row_names: list[Any] | None


class Numbering:
    """Numbers of names that several models have in common, rows by first mention and labels sorted.

    Parameters
    ----------
    row_names : sequence of lists
        Names of the rows of each model.
    label_names : sequence of iterables
        Names of the labels of each model.
    first : sequence
        Names of labels that take the first numbers as they are.
    """

    def __init__(
        self, row_names: Sequence[list[Any]], label_names: Iterable[Iterable[Any]], first: Sequence[Any] = ()
    ) -> None:
        self.rows = [*dict.fromkeys(chain.from_iterable(row_names))]
        others = {*chain.from_iterable(label_names)}.difference(first)
        by_name = any(isinstance(name, str) for name in others)  # of equal scores, the later name is first
        self.labels = [*first, *sorted(others, reverse=by_name)]
        self._number = {name: number for number, name in enumerate(self.labels)}

    def codes(self, label_names: Sequence[Any]) -> Ints:
        """Return the numbers of labels."""
        return np.array([self._number[name] for name in label_names], np.int64)

    def order(self, row_names: Sequence[Any]) -> Ints:
        """Return the place of each row among those of a model, -1 for none."""
        places = {name: place for place, name in enumerate(row_names)}
        return np.array([places.get(name, -1) for name in self.rows], np.int64)


def join_names(predictions: Sequence[Any]) -> Joint | None:
    """Return the predictions of several models by number, None where none of them has names.

    Rows with names are matched by them: the predictions of a model for a row that it does not have are empty.
    """
    held: list[NamedInput | None] = []
    for number, value in enumerate(predictions):
        with naming_model(number):
            held.append(read_named("y_score", value, None))
    if not any(held):
        return None
    found: list[NamedRows] = []
    for number, (value, one) in enumerate(zip(predictions, held, strict=True)):
        rows = _as_rows(one) if one is not None else without_labels(value)
        if rows is None:
            other = next(place for place, one in enumerate(held) if one is not None)
            raise InputError(f"predictions[{number}]", f"has no names, which predictions[{other}] has")
        found.append(rows)
    _refuse_other_kind(
        {number: rows.named for number, rows in enumerate(found) if rows.labels},
        "labels of number {} are text, and those of number {} integers",
    )
    _refuse_other_kind(
        {number: rows.keys is not None for number, rows in enumerate(found)},
        "rows of number {} have names, and those of number {} have none",
    )
    if found[0].keys is None:
        for number, rows in enumerate(found):
            if rows.sizes.size != found[0].sizes.size:
                told = f"{counted(rows.sizes.size, *NO_MATCH)} the {found[0].sizes.size} of predictions[0]"
                raise InputError(f"predictions[{number}]", told)
    numbering = Numbering([rows.keys or [] for rows in found], [rows.labels for rows in found])
    if not numbering.labels:
        raise InputError("predictions", "none of them lists a label")
    scores = []
    for number, rows in enumerate(found):
        with naming_model(number):
            order = None if rows.keys is None else _order(rows, found[0], numbering)
            codes = numbering.codes(rows.labels)
            scores.append(numbered_entries("y_score", rows, codes, order, len(numbering.labels)))
    return Joint(scores, numbering.labels, None if found[0].keys is None else numbering.rows)


@contextlib.contextmanager
def naming_model(number: int) -> Iterator[None]:
    """Raise errors about scores as errors about those of one of several models."""
    try:
        yield
    except InputError as error:
        if error.argument != "y_score":
            raise
        name = f"predictions[{number}]"
        raise InputError(name, error.reason, row=error.row, value=error.value) from None


def _as_rows(held: NamedInput) -> NamedRows:
    """Return rows of names; a matrix lists all columns, or what it stores; an index that counts is none."""
    held = matched_by_ids(held)
    if isinstance(held, Wide):
        matrix = held.matrix.tocsr() if is_sparse(held.matrix) else held.matrix
        sizes = np.full(matrix.shape[0], matrix.shape[1])
        columns: list[Any] = held.columns * matrix.shape[0]
        values = matrix.reshape(-1) if not is_sparse(matrix) else matrix.data
        if is_sparse(matrix):
            sizes, columns = np.diff(matrix.indptr), [held.columns[place] for place in matrix.indices]
        held = NamedRows(held.keys, held.match, sizes.astype(np.int64), columns, values, False)
    if held.match != BY_KEY and held.keys == [*range(held.sizes.size)]:
        return held._replace(keys=None, match=None)
    return held


def _order(rows: NamedRows, first: NamedRows, numbering: Numbering) -> Ints:
    assert rows.keys is not None
    assert first.keys is not None
    if len({*rows.keys}) < len(rows.keys):
        twice = next(key for place, key in enumerate(rows.keys) if key in rows.keys[:place])
        raise InputError("y_score", f"two rows are called {twice!r}", value=twice)
    if rows.keys and first.keys and not {*rows.keys} & {*first.keys}:
        told = f"no row is one of predictions[0], as {rows.keys[0]!r} is not"
        raise InputError("y_score", f"{told}; expected names like {first.keys[0]!r}")
    return numbering.order(rows.keys)


def _refuse_other_kind(kinds: dict[int, bool], told: str) -> None:
    """Refuse predictions of which some, but not all, are of a kind; ``told`` says which are and are not."""
    if len({*kinds.values()}) > 1:
        one, other = (next(n for n, kind in kinds.items() if kind is wanted) for wanted in (True, False))
        raise InputError("predictions", told.format(one, other))
