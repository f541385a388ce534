"""Opened arguments, values or files: what an argument contains is decided here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, renaming, shown
from xmleval.input.cell_marks import CANDIDATES, GRADES, JUDGED, keeps_values
from xmleval.input.csr import Source, check_shape
from xmleval.input.match import (
    Batches,
    Match,
    as_scores,
    as_sets,
    numbers_of_columns,
    refuse_scores,
)
from xmleval.input.objects.frames import FrameColumns, open_frame, read_frame
from xmleval.input.objects.named import (
    PAIRED,
    as_plain_rows,
    is_pair_dict,
    numbered_labels,
    read_array,
    read_id_rows,
    read_pair,
    read_rows,
)
from xmleval.input.objects.records import table_of_records
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import BY_KEY, Named, Rows
from xmleval.input.scores import by_number, is_pair, list_rows, refuse_padding
from xmleval.input.sets import set_rows
from xmleval.input.tensors import as_list, is_sparse, refuse_other, shape_of

UNSIZED = "the labels are not known; give "
# of arguments that are no truth, or of which labels with 0 count, too
KINDS = {"y_score": "scores", CANDIDATES: "candidates", JUDGED: GRADES}


def kind_of(argument: str) -> str:
    """Return the kind of an argument of `evaluate`."""
    return KINDS.get(argument, "truth")


@dataclass(frozen=True)
class Opened:
    """One argument of `evaluate`: an `OpenedValue`, or `xmleval.input.shards.OpenedFiles`.

    name : its name in messages
    kind : "truth", "scores", "candidates", "grades" for a truth with grades of relevance, or
        with a mark of cells (`marked_kind`)
    argument : the name of the argument
    remarks : how its files were chosen, for a note
    """

    name: str
    kind: str
    argument: str = ""
    remarks: Sequence[str] = ()

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return []

    @property
    def named(self) -> bool:
        """Whether rows or labels have names."""
        raise NotImplementedError

    @property
    def label_columns(self) -> Sequence[Any] | None:
        """The labels of a table with a column for each label, None of other inputs."""
        raise NotImplementedError

    def batches(self, kind: str) -> Batches | None:
        """Return a reader of rows with names, of a truth or scores; None if there are no names."""
        raise NotImplementedError

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        raise NotImplementedError

    def numbers_labels(self, names: Sequence[str]) -> bool:
        """Return whether its labels are positions in ``names`` and not names themselves."""
        return not self.named

    def refuse_other_order(self, truth: Opened) -> None:
        """Refuse rows without names if a column shows that their order is not that of the truth."""


@dataclass(frozen=True)
class OpenedValue(Opened):
    """A value in memory.

    n_labels : number of labels; if given, lists of integers are lists of label ids
    labels : names of all labels, which select the columns of a wide frame
    notes : notes of reading it by number
    """

    value: Any = None
    n_labels: int | None = None
    labels: list[Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_nameless(self) -> bool:
        """Whether the value has no names; see the function `is_nameless`."""
        return is_nameless(self.argument, self.value)

    @cached_property
    def plain(self) -> Any:
        """The value, with objects of other libraries as lists and dicts, and records as a table."""
        table = table_of_records(self.argument, self.value)
        if table is not None:
            return table
        return as_plain_rows(self.argument, self.value)

    @cached_property
    def rows(self) -> Rows | None:
        """Rows or columns with names; None for numbers alone."""
        if self.is_nameless:
            return None
        return read_plain_rows(self.argument, self.plain, self.labels)

    @property
    def named(self) -> bool:
        """Whether rows or labels have names."""
        return self.rows_as_in_files is not None

    @property
    def label_columns(self) -> Sequence[Any] | None:
        """The labels of a table with a column for each label, None of other values."""
        rows = self.columns_as_in_files
        if rows is None or not rows.are_columns:
            return None
        return rows.names

    @cached_property
    def columns_as_in_files(self) -> Rows | None:
        """Rows or columns as in a file; of label sets, only the relevant labels."""
        with renaming(self.argument, self.name):
            rows = self.rows
            if rows is None or self.argument == "y_score" or keeps_values(self.kind):
                return rows
            if not rows.are_columns:
                refuse_scores(self.argument, rows, None)
                return rows
            relevant = set_rows(self.argument, rows).block(0, rows.n_rows)
        return rows._replace(ptr=relevant.ptr, labels=relevant.labels, values=None)

    @cached_property
    def rows_as_in_files(self) -> Rows | None:
        """Rows as in a file, None if neither rows nor labels have names.

        A matrix lists all columns or, if sparse, its stored entries. A column of ids provides the
        keys; an index 0, 1, .. is ignored.
        """
        rows = self.columns_as_in_files
        if rows is None:
            return None
        with renaming("y_score", self.name):
            rows = keyed(rows)
            if rows.are_columns:
                rows = _columns_as_lists(rows)
        has_default_index = rows.match != BY_KEY and rows.keys == [*range(rows.n_rows)]
        if has_default_index:
            rows = rows._replace(keys=None, match=None)
        if rows.keys is None and not rows.named:
            return None
        if self.argument == "y_score":
            return rows
        return rows._replace(best_first=False)

    def batches(self, kind: str) -> Batches | None:
        """Return a reader of all rows, None if they have no names."""
        rows = self.rows_as_in_files
        if rows is None:
            return None
        return lambda: [rows]

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        with renaming(self.argument, self.name):
            rows, n_labels = self._rows_by_number()
            if not isinstance(rows, Rows):
                _, width = check_shape(self.argument, rows.shape, None)
                return whole(rows, width)
        if self.kind != "scores":
            rows = rows._replace(best_first=False)
        return whole(rows, n_labels)

    def _rows_by_number(self) -> tuple[Any, int | None]:
        """Return rows by id or an array, and the number of labels, None if unknown."""
        rows = self.columns_as_in_files
        if rows is not None and rows.are_columns:
            return self._columns_by_number(rows)
        if isinstance(self.plain, list) and self.n_labels is not None:
            return read_id_rows(self.argument, self.plain), self.n_labels
        if rows is not None:
            return self._rows_of_ids(rows), self.n_labels
        if self.kind == "scores" and is_sparse(self.plain):
            refuse_padding(self.argument, self.plain)
        shape = shape_of(self.plain)
        width = shape[1] if shape else None
        n_labels_of_pair = self.n_labels if is_pair(self.plain) else None
        return by_number(self.argument, self.plain, n_labels_of_pair), width

    def _columns_by_number(self, rows: Rows) -> tuple[Any, int]:
        """Return the rows of columns sorted by number, and the number of columns."""
        match = Match("y_true", None)
        match.n_labels = len(rows.names or ())
        numbered_rows = match.place_rows(self.argument, self.name, rows)
        self.notes[:] = match.notes
        return numbered_rows, match.n_labels

    def _rows_of_ids(self, rows: Rows) -> Rows:
        """Return rows whose labels are ids."""
        if self.argument == "y_true" and self.n_labels is None:
            options = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", their names"
            raise InputError(self.argument, Message(UNSIZED, *options))
        rows = rows._replace(keys=None, match=None)
        if self.kind == "scores":
            return as_scores(rows, None)
        return as_sets(rows, keeps_values(self.kind))._replace(names=None)

    def as_candidates(self, width: int) -> OpenedValue:
        """Return an array of label ids as rows by id; other values are returned unchanged.

        ``width`` is the number of labels, 0 if unknown; a matrix has so many columns.
        """
        ids = self.value
        if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
            return self
        has_width_of_matrix = width in (0, ids.shape[1])
        if has_width_of_matrix and (ids >= 0).all():
            return self
        rows = list_rows("candidates", ids)
        rows = rows.only(rows.labels != -1)._replace(best_first=False)
        return replace(self, value=rows, n_labels=width or None)


def is_nameless(argument: str, value: object) -> bool:
    """Return whether a value has no names.

    It is then None, rows by id, a sparse matrix, an array of numbers, or a pair of arrays.
    """
    arrays: tuple[Any, ...] = (value,)
    if type(value) is tuple and argument in PAIRED:
        arrays = value
    for array in arrays:
        is_numeric = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        if array is not None and not is_numeric:
            return isinstance(value, Rows | Source) or is_sparse(value)
    return True


def read_plain_rows(argument: str, value: Any, labels: list[Any] | None) -> Rows | None:
    """Return the named rows or columns of a value of `as_plain_rows`; None for numbers alone."""
    if is_nameless(argument, value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return read_array(argument, value)
    if argument == "y_score" and (isinstance(value, tuple) or is_pair_dict(value)):
        return read_pair(argument, value)
    refuse_other(argument, value)
    if isinstance(value, FrameColumns | Named):
        return value.rows(argument)
    if not isinstance(value, list | Mapping | np.ndarray):
        frame = open_frame(argument, value)
        if frame is not None:
            return read_frame(argument, frame, labels)
    return read_rows(argument, value)


def keyed(rows: Rows) -> Rows:
    """Return rows with the column that names them as keys, if there is one."""
    origin = rows.origin
    if origin is None or origin.id_column is None or origin.values is None:
        return rows
    return rows._replace(keys=origin.values(origin.id_column), match=BY_KEY)


def _columns_as_lists(rows: Rows) -> Rows:
    """Return rows that list all columns of a matrix or, if it is sparse, its stored entries."""
    ids, names = numbered_labels("y_score", rows.names or [], np.array([0]))
    rows = rows.part(0, rows.n_rows)
    return rows._replace(labels=ids[rows.labels], names=names, are_columns=False)


def refuse_other_count(n_labels: int | None, n_names: int) -> None:
    """Refuse a number of labels that is not the number of their names."""
    if n_labels not in (None, n_names):
        message = f"{shown(n_labels)} does not match the {n_names} names of labels"
        raise InputError("n_labels", message)


def check_labels(labels: object, n_labels: int | None) -> list[Any]:
    """Return the names of all labels; refuse other values, duplicates and another length."""
    names = list[Any]()
    if not isinstance(labels, str):
        refuse_other("labels", labels)
        if isinstance(labels, Iterable):
            names = as_list(labels) or [*labels]
    if not names:
        raise InputError("labels", f"{shown(labels)} is not a list of names")
    place_of: dict[Any, int] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool) or name == "":
            message = f"name {place}, {shown(name)}, is empty, or neither a text nor an integer"
            raise InputError("labels", message)
        if place_of.setdefault(name, place) != place:
            message = f"{shown(name)} occurs twice, the second time in place {place}"
            raise InputError("labels", message)
    refuse_other_count(n_labels, len(names))
    return [*map(_plain_name, names)]


def _plain_name(name: Any) -> str | int:
    """Return a name as Python's own type, in place of NumPy's."""
    if isinstance(name, str):
        return str(name)
    return int(name)


def labels_of(truth: object) -> tuple[int, list[Any] | None]:
    """Return the number of columns of a truth, and the names of its labels, if any."""
    rows = OpenedValue("y_true", "truth", "y_true", value=truth).rows
    shape = shape_of(truth if rows is None else rows)
    if shape is None:
        options = "give the number of labels, or ", Keyword("labels"), ", their names"
        raise InputError("n_labels", Message(*options))
    n_labels = shape[1]
    if rows is None or not rows.are_columns or rows.names is None:
        return n_labels, None
    if numbers_of_columns(rows.names) is not None:
        return n_labels, None
    return n_labels, check_labels(rows.names, None)


def has_label_names(argument: str, value: object) -> bool:
    """Return whether a truth names its labels."""
    rows = OpenedValue(argument, "truth", argument, value=value).rows
    return rows is not None and (rows.are_columns or rows.named)


def lists_names(argument: str, value: object) -> bool:
    """Return whether a truth names its labels, or lists ids that can be names."""
    return OpenedValue(argument, "truth", argument, value=value).rows is not None
