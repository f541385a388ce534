"""Columns of Parquet and Arrow files: which are read, and the ids, names and scores in them, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.input.columns import (
    JUDGEMENT,
    LABEL_COLUMN,
    LABELS_COLUMN,
    OWN_INSTANCE,
    PRED,
    SCORE_COLUMNS,
    TRUE,
    AmbiguousError,
    find_entries,
    find_instance,
    may_hold_values,
    named_as,
    only_one,
)
from xmleval.input.csr import MOST_LABELS, as_signed
from xmleval.input.formats.arrow import Opened, import_pyarrow, is_list, is_text
from xmleval.input.lines import SHOWN, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.input.rows import pointer
from xmleval.records import Bools, Ints


class TableColumns(NamedTuple):
    """Columns of a file, None where there is none.

    lists : whether there is a row for each instance, and not for each label
    beside : of lists whose rows have no names, further columns of texts or integers
    n_labels : number of labels that the metadata tell
    named : whether instances or labels are texts, or in columns that do not number them by their names
    """

    lists: bool
    instance: str | None
    label: str
    value: str | None
    beside: list[str]
    n_labels: int | None = None
    named: bool = False

    @property
    def read(self) -> list[str]:
        """Names of the columns to read, but for those beside."""
        return [name for name in (self.instance, self.label, self.value) if name is not None]


def find_columns(table: Opened, kind: str) -> TableColumns:
    """Tell whether there is a row for each instance, and which columns to read.

    Those are ``labels`` with ``scores``, or ``label`` with ``score``, and the one that names the instances,
    or others of `xmleval.input.columns`. Lists without scores are a ranking.
    """
    names, is_truth, types = table.schema.names, kind != "scores", import_pyarrow().types
    stored = {field.name: field.type for field in table.schema if names.count(field.name) == 1}
    try:
        columns = _find_lists(names, stored, is_truth)
        if columns is None and (entries := find_entries(names, is_truth)) is not None:
            columns = TableColumns(False, *entries, [])
    except AmbiguousError as error:
        raise ValueError(f"its columns {error}; keep the one that is") from None
    if columns is None:
        raise ValueError(f"its columns are {', '.join(map(shown, names[:9])) or 'none'}")
    lists, instance, label, value, *_ = columns
    if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ValueError(f"a column {value!r} in what should be relevant labels; grades need gains")
    if kind == "scores" and value is None and not lists:
        raise ValueError(f"no column {SCORE_COLUMNS[0]!r} beside {label!r}")
    if (twice := next((name for name in columns.read if name not in stored), None)) is not None:
        raise ValueError(f"{names.count(twice)} columns {twice!r}")
    for name, type_ in stored.items() if is_truth and not lists and value is None else ():
        is_number = types.is_integer(type_) or types.is_floating(type_)
        if is_number and name not in columns.read and may_hold_values(name):
            advice = f"rename it to {JUDGEMENT[0]!r}, or leave it out"
            raise ValueError(f"column {name!r} may hold judgements of the labels; {advice}")
    named = not lists and (instance not in OWN_INSTANCE or label != LABEL_COLUMN)
    for type_ in (stored[name] for name in columns.read if name != value):
        type_ = type_.value_type if is_list(type_) else type_
        named |= is_text(type_) or types.is_dictionary(type_)
    n_labels = table.metadata.get(b"n_labels")
    if n_labels is None:
        return columns._replace(named=named)
    if not (n_labels.isdigit() and len(n_labels) < 14 and 1 <= int(n_labels) <= MOST_LABELS):
        raise ValueError(f"n_labels in its metadata is {n_labels[:40]!r}")
    return columns._replace(named=named, n_labels=int(n_labels))


def _find_lists(names: list[str], stored: dict[str, Any], is_truth: bool) -> TableColumns | None:
    lists = [name for name, type_ in stored.items() if is_list(type_)]
    predicted = named_as(lists, PRED)
    labels = [LABELS_COLUMN] if LABELS_COLUMN in lists else named_as(lists, TRUE)
    label = only_one(predicted if predicted and not is_truth else labels)
    label = label or (LABELS_COLUMN if LABELS_COLUMN in names else None)
    if label is None:
        return None
    value = only_one(named_as(stored, JUDGEMENT)) if is_truth else None
    if value is None and not (is_truth and predicted):
        value = only_one(named_as(stored, SCORE_COLUMNS[1:]))
    instance, is_integer = find_instance(names), import_pyarrow().types.is_integer
    beside = [name for name, type_ in stored.items() if is_text(type_) or is_integer(type_)]
    return TableColumns(True, instance, label, value, [] if instance is not None else beside)


class Cells(NamedTuple):
    """The values of a column of a batch, one after another, and where those of each row begin and end.

    Row ``first`` of the table is the first of the batch.
    """

    name: str
    first: int
    ptr: Ints
    column: Any

    def refuse(self, bad: Bools, told: str, values: NDArray[Any] | None = None) -> None:
        """Refuse the first bad value, which ``{}`` stands for, with its row."""
        if bad.any():
            at = int(np.argmax(bad))
            row = self.first + int(np.searchsorted(self.ptr, at, side="right")) - 1
            raise ValueError(f"row {row}: {told if values is None else told.format(values[at])}")

    def ids(self) -> Ints:
        """Return integers, or say that names are read otherwise."""
        type_ = self.column.type
        if not import_pyarrow().types.is_integer(type_):
            hint = "names, not numbers" if is_text(type_) else "not integers"
            raise ValueError(f"column {self.name!r} holds {_called(type_)}, {hint}")
        return as_signed(as_numpy(self.column)).astype(np.int64, copy=False)

    def coded(self) -> tuple[Ints, list[str]]:
        """Return names as places among the distinct ones, and these; integers are called by their digits."""
        if not is_text(self.column.type):
            distinct, codes = np.unique(self.ids(), return_inverse=True)
            return codes, [str(number) for number in distinct.tolist()]
        column = self.column if hasattr(self.column, "dictionary") else self.column.dictionary_encode()
        codes, used = as_numpy(column.indices), np.zeros(len(column.dictionary), np.bool_)
        used[codes] = True  # of a dictionary that may be that of many more rows
        names = column.dictionary.filter(import_pyarrow().array(used)).to_pylist()
        if None in names:
            raise ValueError(f"a null among the values of the dictionary of {self.name!r}")
        return (np.cumsum(used) - 1)[codes], names

    def numbers(self, kind: str) -> NDArray[Any]:
        """Return scores in the type that the file has, grades, or ones and zeros for judgements of a truth.

        Those of a truth may be integers, or truth values.
        """
        types, type_ = import_pyarrow().types, self.column.type
        is_judged = kind != "scores" and (types.is_integer(type_) or types.is_boolean(type_))
        if not (is_judged or types.is_floating(type_)):
            raise ValueError(f"column {self.name!r} holds {_called(type_)}, not floating-point numbers")
        values = as_numpy(self.column)
        if kind == "truth":
            told = f"column {self.name!r} holds {{}}, no integer; {LIKE_A_SCORE}; grades need gains"
            self.refuse(values != np.floor(values.astype(np.float64)), told, values)
        return (values > 0).astype(np.uint8) if kind == "truth" or values.dtype == np.bool_ else values


def cells_of(batch: Any, name: str, first: int, lists: bool) -> Cells:
    """Return the values of a column, those of lists with ``lists``, else one in each row; none is null."""
    column = batch.column(name)
    if lists and (not is_list(column.type) or getattr(column.type, "list_size", 1) == 0):
        raise ValueError(f"column {name!r} is {str(column.type)[:SHOWN]}, not lists")
    cells = Cells(name, first, np.arange(len(column) + 1), column)
    if column.null_count:
        cells.refuse(as_numpy(column.is_null()), f"{name!r} is null")
    if lists:
        cells = Cells(name, first, pointer(as_numpy(column.value_lengths())), column.flatten())
        if cells.column.null_count:
            cells.refuse(as_numpy(cells.column.is_null()), f"a null in {name!r}")
    return cells


def as_numpy(column: Any) -> NDArray[Any]:
    """Return the values of a column without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _called(type_: Any) -> str:
    return str(type_.value_type if is_text(type_) and hasattr(type_, "value_type") else type_)[:SHOWN]
