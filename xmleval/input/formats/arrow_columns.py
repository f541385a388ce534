"""What columns of Parquet and Arrow files hold: which are read, and their ids, names and scores, checked."""

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
from xmleval.input.formats.arrow import Opened, import_pyarrow, is_text
from xmleval.input.lines import SHOWN, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.input.rows import pointer
from xmleval.records import Bools, Ints


class TableColumns(NamedTuple):
    """Columns of a file, None where there is none.

    lists : whether there is a row for each instance, and not for each label
    beside : of lists whose rows have no names, further columns of texts or integers
    n_labels : number of labels that the metadata tell
    """

    lists: bool
    instance: str | None
    label: str
    value: str | None
    beside: list[str]
    n_labels: int | None = None

    @property
    def read(self) -> list[str]:
        """Names of the columns to read, but for those beside."""
        return [name for name in (self.instance, self.label, self.value) if name is not None]


def find_columns(table: Opened, kind: str) -> TableColumns:
    """Tell whether there is a row for each instance, and which columns to read.

    Those are ``labels`` with ``scores``, or ``label`` with ``score``, and the one that names the instances,
    or others of `xmleval.input.columns`. Lists without scores are a ranking.
    """
    schema, is_truth = table.schema, kind != "scores"
    names = schema.names
    try:
        columns = _find_lists(schema, is_truth)
        if columns is None and (entries := find_entries(names, is_truth)) is not None:
            columns = TableColumns(False, *entries, [])
    except AmbiguousError as error:
        raise ValueError(f"its columns {error}; keep the one that is") from None
    if columns is None:
        raise ValueError(f"its columns are {', '.join(map(shown, names[:9])) or 'none'}")
    lists, _, label, value, *_ = columns
    if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ValueError(f"a column {value!r} in what should be relevant labels; grades need gains")
    if kind == "scores" and value is None and not lists:
        raise ValueError(f"no column {SCORE_COLUMNS[0]!r} beside {label!r}")
    for name in columns.read:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} columns {name!r}")
    types = import_pyarrow().types
    for field in schema if is_truth and not lists and value is None else ():
        is_number = types.is_integer(field.type) or types.is_floating(field.type)
        if is_number and field.name not in columns.read and may_hold_values(field.name):
            raise ValueError(
                f"column {field.name!r} may hold judgements of the labels; rename it to {JUDGEMENT[0]!r}, or "
                "leave it out"
            )
    n_labels = table.metadata.get(b"n_labels")
    if n_labels is None:
        return columns
    if not (n_labels.isdigit() and len(n_labels) < 14 and 1 <= int(n_labels) <= MOST_LABELS):
        raise ValueError(f"n_labels in its metadata is {n_labels[:40]!r}")
    return columns._replace(n_labels=int(n_labels))


def _find_lists(schema: Any, is_truth: bool) -> TableColumns | None:
    stored = {name: schema.field(name).type for name in schema.names if schema.names.count(name) == 1}
    lists = [name for name, kind in stored.items() if _are_lists(kind)]
    predicted = named_as(lists, PRED)
    labels = [LABELS_COLUMN] if LABELS_COLUMN in lists else named_as(lists, TRUE)
    if not is_truth and predicted:
        labels = predicted
    label = only_one(labels) or (LABELS_COLUMN if LABELS_COLUMN in schema.names else None)
    if label is None:
        return None
    value = only_one(named_as(stored, JUDGEMENT)) if is_truth else None
    if value is None and not (is_truth and predicted):
        value = only_one(named_as(stored, SCORE_COLUMNS[1:]))
    instance, types = find_instance(schema.names), import_pyarrow().types
    beside = [name for name, kind in stored.items() if is_text(kind) or types.is_integer(kind)]
    return TableColumns(True, instance, label, value, [] if instance is not None else beside)


def has_names(schema: Any, columns: TableColumns) -> bool:
    """Tell whether instances or labels are texts, or in columns that do not number them by their names."""
    identified = [schema.field(name).type for name in columns.read if name != columns.value]
    dictionary = import_pyarrow().types.is_dictionary
    if any(is_text(kind) or dictionary(kind) for kind in map(_type_of_values, identified)):
        return True
    return not columns.lists and (columns.instance not in OWN_INSTANCE or columns.label != LABEL_COLUMN)


def holds_integers(stored: Any) -> bool:
    """Tell whether a type is that of integers, or of lists of them."""
    return bool(import_pyarrow().types.is_integer(_type_of_values(stored)))


def _type_of_values(stored: Any) -> Any:
    return stored.value_type if _are_lists(stored) else stored


def first_true(bad: Bools) -> int | None:
    """Return the place of the first one that is true, or None."""
    return int(np.argmax(bad)) if bad.any() else None


def row_of(ptr: Ints, entry: int) -> int:
    """Return the row of an entry."""
    return int(np.searchsorted(ptr, entry, side="right")) - 1


def read_entries(batch: Any, name: str, first: int, lists: bool) -> tuple[Ints, Any]:
    """Return where the values of each row begin and end, one in each unless ``lists``, and all of them.

    Row ``first`` of the table is the first of the batch.
    """
    column = batch.column(name)
    if lists and (not _are_lists(column.type) or getattr(column.type, "list_size", 1) == 0):
        raise ValueError(f"column {name!r} is {str(column.type)[:SHOWN]}, not lists")
    if column.null_count:
        raise ValueError(f"row {first + _first_null(column)}: {name!r} is null")
    if not lists:
        return np.arange(len(column) + 1), column
    ptr, values = pointer(as_numpy(column.value_lengths())), column.flatten()
    if values.null_count:
        raise ValueError(f"row {first + row_of(ptr, _first_null(values))}: a null in {name!r}")
    return ptr, values


def _first_null(column: Any) -> int:
    return int(np.argmax(as_numpy(column.is_null())))


def _are_lists(stored: Any) -> bool:
    types = import_pyarrow().types
    return bool(types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored))


def as_numpy(column: Any) -> NDArray[Any]:
    """Return the values of a column without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def ids(column: Any, name: str) -> Ints:
    """Return integers, or say that names are read otherwise."""
    if not import_pyarrow().types.is_integer(column.type):
        named = is_text(column.type)
        kind = str(getattr(column.type, "value_type", column.type) if named else column.type)
        hint = "names, not numbers" if named else "not integers"
        raise ValueError(f"column {name!r} holds {kind[:SHOWN]}, {hint}")
    return as_signed(as_numpy(column)).astype(np.int64, copy=False)


def coded_texts(column: Any, name: str) -> tuple[Ints, list[str]]:
    """Return names as places among the distinct ones, and these; integers are called by their digits."""
    if not is_text(column.type):
        distinct, codes = np.unique(ids(column, name), return_inverse=True)
        return codes, [str(number) for number in distinct.tolist()]
    column = column if hasattr(column, "dictionary") else column.dictionary_encode()
    codes, used = as_numpy(column.indices), np.zeros(len(column.dictionary), np.bool_)
    used[codes] = True  # of a dictionary that may be that of many more rows
    names = column.dictionary.filter(import_pyarrow().array(used)).to_pylist()
    if None in names:
        raise ValueError(f"a null among the values of the dictionary of {name!r}")
    return (np.cumsum(used) - 1)[codes], names


def numbers(column: Any, name: str, kind: str) -> NDArray[Any]:
    """Return scores in the type that the file has, grades, or ones and zeros for judgements of a truth.

    Those of a truth may be integers, or truth values.
    """
    types, stored = import_pyarrow().types, column.type
    judged = kind != "scores" and (types.is_integer(stored) or types.is_boolean(stored))
    if not (judged or types.is_floating(stored)):
        kind_of = str(stored.value_type if is_text(stored) and hasattr(stored, "value_type") else stored)
        raise ValueError(f"column {name!r} holds {kind_of[:SHOWN]}, not floating-point numbers")
    values = as_numpy(column)
    if kind != "truth":
        return values.astype(np.uint8) if values.dtype == np.bool_ else values
    bad = values != np.floor(values.astype(np.float64))
    if bad.any():
        value = values[int(np.argmax(bad))]
        raise ValueError(f"column {name!r} holds {value}, no integer; {LIKE_A_SCORE}; grades need gains")
    return (values > 0).astype(np.uint8)
