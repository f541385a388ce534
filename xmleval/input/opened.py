"""What is given for one argument, a value or files: what it is, is decided here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, renaming, shown
from xmleval.input.csr import Source, check_shape
from xmleval.input.match import Batches, Match, as_scores, as_sets, numbers_of_columns, refuse_scores
from xmleval.input.objects.frames import Columns, open_frame, read_frame
from xmleval.input.objects.named import (
    PAIRED,
    as_plain_rows,
    is_pair_dict,
    numbered_labels,
    read_array,
    read_pair,
    read_rows,
    rows_of_ids,
)
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import BY_KEY, Named, Rows
from xmleval.input.scores import by_number, is_pair, list_rows, refuse_padding
from xmleval.input.sets import set_rows
from xmleval.input.tensors import as_list, is_sparse, refuse_other, shape_of

UNSIZED = "does not tell what labels there are; give "


def kind_of(argument: str) -> str:
    """Return what an argument of `evaluate` holds."""
    return {"y_score": "scores", "candidates": "candidates"}.get(argument, "truth")


@dataclass(frozen=True)
class Opened:
    """What is given for one argument of `evaluate`: an `OpenedValue`, or `xmleval.input.shards.OpenedFiles`.

    name : what messages call it
    kind : "truth", "scores", "candidates", or "grades" for a truth with grades of relevance
    argument : that it is given for
    """

    name: str
    kind: str
    argument: str = ""

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return []

    @property
    def named(self) -> bool:
        """Whether rows or labels have names."""
        raise NotImplementedError

    def batches(self, kind: str) -> Batches | None:
        """Return what reads rows with names, of a truth or of scores; None where it cannot hold any."""
        raise NotImplementedError

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        raise NotImplementedError

    def numbers_labels(self, names: Sequence[str]) -> bool:
        """Tell whether its labels are numbers of listed names, and not names themselves."""
        return not self.named

    def refuse_other_order(self, truth: Opened) -> None:
        """Refuse rows without names if a column shows that those of a truth are in another order."""


@dataclass(frozen=True)
class OpenedValue(Opened):
    """A value in memory.

    n_labels : number of labels, which makes lists of integers lists of label ids
    labels : names of all labels, which pick the columns of a wide frame
    notes : what was seen in reading it by number
    """

    value: Any = None
    n_labels: int | None = None
    labels: list[Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_nameless(self) -> bool:
        """Whether it is None, rows by id, a sparse matrix, an array of numbers, or a pair of these."""
        return is_nameless(self.argument, self.value)

    @cached_property
    def plain(self) -> Any:
        """The value, with lists and dicts in place of what other libraries have for them."""
        return as_plain_rows(self.argument, self.value)

    @cached_property
    def rows(self) -> Rows | None:
        """Its rows, or its columns, where these have names; None of numbers alone."""
        return None if self.is_nameless else read_plain_rows(self.argument, self.plain, self.labels)

    @property
    def named(self) -> bool:
        """Whether rows or labels have names, as files have them."""
        return self.rows_as_in_files is not None

    @cached_property
    def columns_as_in_files(self) -> Rows | None:
        """Rows or columns as a file would hold them; of label sets, only the relevant labels."""
        with renaming(self.argument, self.name):
            rows = self.rows
            if rows is None or self.argument == "y_score" or self.kind == "grades":
                return rows
            if not rows.are_columns:
                refuse_scores(self.argument, rows, None)
                return rows
            relevant = set_rows(self.argument, rows).block(0, rows.n_rows)
        return rows._replace(ptr=relevant.ptr, labels=relevant.labels, values=None)

    @cached_property
    def rows_as_in_files(self) -> Rows | None:
        """Its rows as files have them, None if neither rows nor labels have names.

        A matrix lists all columns, or what it stores; a column of ids has the keys; an index that counts is
        none.
        """
        rows = self.columns_as_in_files
        if rows is None:
            return None
        with renaming("y_score", self.name):
            rows = keyed(rows)
            if rows.are_columns:
                rows = _listed_columns(rows)
        is_counting = rows.match != BY_KEY and rows.keys == [*range(rows.n_rows)]
        if is_counting:
            rows = rows._replace(keys=None, match=None)
        if rows.keys is None and not rows.named:
            return None
        return rows if self.argument == "y_score" else rows._replace(best_first=False)

    def batches(self, kind: str) -> Batches | None:
        """Return what gives all rows, None if they have no names."""
        rows = self.rows_as_in_files
        return None if rows is None else lambda: [rows]

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        with renaming(self.argument, self.name):
            rows, n_labels = self._rows_by_number()
            if not isinstance(rows, Rows):
                return whole(rows, check_shape(self.argument, rows.shape, None)[1])
        return whole(rows if self.kind == "scores" else rows._replace(best_first=False), n_labels)

    def _rows_by_number(self) -> tuple[Any, int | None]:
        """Return rows by id or an array, and the number of labels that these tell."""
        rows = self.columns_as_in_files
        if rows is not None and rows.are_columns:
            return self._columns_by_number(rows)
        if isinstance(self.plain, list) and self.n_labels is not None:
            return rows_of_ids(self.argument, self.plain), self.n_labels
        if rows is not None:
            return self._ids_of(rows), self.n_labels
        if self.kind == "scores" and is_sparse(self.plain):
            refuse_padding(self.argument, self.plain)
        shape = shape_of(self.plain)
        width = self.n_labels if is_pair(self.plain) else None
        return by_number(self.argument, self.plain, width), shape[1] if shape else None

    def _columns_by_number(self, rows: Rows) -> tuple[Any, int]:
        """Return the rows of columns in the order of their numbers, and how many columns there are."""
        match = Match("y_true", None)
        match.n_labels = len(rows.names or ())
        numbered = match.place_rows(self.argument, self.name, rows)
        self.notes[:] = match.notes
        return numbered, match.n_labels

    def _ids_of(self, rows: Rows) -> Rows:
        """Return rows whose labels are ids."""
        if self.argument == "y_true" and self.n_labels is None:
            which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", their names"
            raise InputError(self.argument, Message(UNSIZED, *which))
        rows = rows._replace(keys=None, match=None)
        if self.kind == "scores":
            return as_scores(rows, None)
        return as_sets(rows, self.kind == "grades")._replace(names=None)

    def as_candidates(self, width: int) -> OpenedValue:
        """Return an array of label ids, which no matrix of this width is (0 if not known), as rows by id."""
        ids = self.value
        if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
            return self
        if ids.shape[1] == (width or ids.shape[1]) and (ids >= 0).all():
            return self
        rows = list_rows("candidates", ids)
        rows = rows.only(rows.labels != -1)._replace(best_first=False)
        return replace(self, value=rows, n_labels=width or None)


def is_nameless(argument: str, value: object) -> bool:
    """Tell whether a value is None, rows by id, a sparse matrix, an array of numbers, or a pair of these."""
    arrays = value if type(value) is tuple and argument in PAIRED else (value,)
    for array in arrays:
        if array is not None and not (isinstance(array, np.ndarray) and array.dtype.kind in "biuf"):
            return isinstance(value, Rows | Source) or is_sparse(value)
    return True


def read_plain_rows(argument: str, value: Any, labels: list[Any] | None) -> Rows | None:
    """Return the rows or columns of a value of `as_plain_rows` if they have names, None of numbers alone."""
    if is_nameless(argument, value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return read_array(argument, value)
    if argument == "y_score" and (isinstance(value, tuple) or is_pair_dict(value)):
        return read_pair(argument, value)
    refuse_other(argument, value)
    if isinstance(value, Columns | Named):
        return value.rows(argument)
    frame = None if isinstance(value, list | Mapping | np.ndarray) else open_frame(argument, value)
    return read_rows(argument, value) if frame is None else read_frame(argument, frame, labels)


def keyed(rows: Rows) -> Rows:
    """Return rows that are matched by the column that names them, if there is one."""
    origin = rows.origin
    if origin is None or origin.id_column is None or origin.values is None:
        return rows
    return rows._replace(keys=origin.values(origin.id_column), match=BY_KEY)


def _listed_columns(rows: Rows) -> Rows:
    """Return the rows of a matrix as rows that list all columns, or what it stores."""
    ids, names = numbered_labels("y_score", rows.names or [], np.array([0]))
    rows = rows.part(0, rows.n_rows)
    return rows._replace(labels=ids[rows.labels], names=names, are_columns=False)


def refuse_other_count(n_labels: int | None, n_names: int) -> None:
    """Refuse a number of labels other than that of their names."""
    if n_labels not in (None, n_names):
        raise InputError("n_labels", f"{shown(n_labels)} does not match the {n_names} names of labels")


def check_labels(labels: object, n_labels: int | None) -> list[Any]:
    """Return the names of all labels, or refuse what is no list of distinct ones, or of another length."""
    refuse_other("labels", None if isinstance(labels, str) else labels)
    names = list[Any]()
    if isinstance(labels, Iterable) and not isinstance(labels, str):
        names = as_list(labels) or [*labels]
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


def labels_of(truth: object) -> tuple[int, list[Any] | None]:
    """Return the number of labels that the columns of a truth tell, and their names if they have any."""
    rows = OpenedValue("y_true", "truth", "y_true", value=truth).rows
    shape = shape_of(truth if rows is None else rows)
    if shape is None:
        which = "give the number of labels, or ", Keyword("labels"), ", their names"
        raise InputError("n_labels", Message(*which))
    if rows is None or not rows.are_columns or rows.names is None:
        return shape[1], None
    has_names = numbers_of_columns(rows.names) is None
    return shape[1], check_labels(rows.names, None) if has_names else None


def has_label_names(argument: str, value: object) -> bool:
    """Tell whether a truth names its labels."""
    rows = OpenedValue(argument, "truth", argument, value=value).rows
    return rows is not None and (rows.are_columns or rows.named)
