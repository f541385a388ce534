"""What columns of a record batch hold: ids, scores and names, each checked."""

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
from xmleval.input.csr import MOST_LABELS
from xmleval.input.formats.npz import ROWS_FOR_NOTHING, ROWS_PER_ENTRY
from xmleval.input.lines import SHOWN, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.message import counted
from xmleval.records import Ints

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
WRITE_IDS = "write the ids of the ones, or label names as texts"
FLOATS = ("halffloat", "float16", "float", "double")


class TableColumns(NamedTuple):
    """What columns of a file hold.

    lists : whether there is a row for each instance, and not for each label
    instance, label, value : columns; None where there is none
    others : of lists whose rows have no names, further ones of texts or integers
    """

    lists: bool
    instance: str | None
    label: str
    value: str | None
    others: list[str]

    @property
    def read(self) -> list[str]:
        """Names of the columns to read, but for others."""
        return [name for name in (self.instance, self.label, self.value) if name is not None]

    @property
    def own_names(self) -> bool:
        """Whether columns have our names, in which integers number rows and labels."""
        return self.instance in (None, *OWN_INSTANCE) and (self.lists or self.label == LABEL_COLUMN)


def find_columns(schema: Any, kind: str, unscored: bool) -> TableColumns:
    """Tell whether there is a row for each instance, and which columns to read.

    Those are ``labels`` with ``scores``, or ``label`` with ``score``, and the one that names the instances,
    or others of `xmleval.input.columns`. Lists without scores are a ranking, for those who take one
    (``unscored``).
    """
    names, is_truth = schema.names, kind != "scores"
    try:
        found = _find_lists(schema, is_truth)
        entries = find_entries(names, is_truth) if found is None else None
    except AmbiguousError as error:
        raise ValueError(f"its columns {error}; keep the one that is") from None
    if entries is not None:
        found = TableColumns(False, *entries, [])
    if found is None:
        raise ValueError(f"its columns are {', '.join(map(shown, names[:9])) or 'none'}")
    lists, _, label, value, _ = found
    if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ValueError(f"a column {value!r} in what should be relevant labels; grades need gains")
    if kind == "scores" and value is None and not (lists and unscored):
        raise ValueError(f"no column {SCORE_COLUMNS[lists]!r} beside {label!r}")
    for name in found.read:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} columns {name!r}")
    unknown = [name for name in names if name not in found.read and may_hold_values(name)]
    if is_truth and not lists and value is None:
        _refuse_numbers(schema, unknown)
    return found


def _find_lists(schema: Any, is_truth: bool) -> TableColumns | None:
    names = [name for name in schema.names if schema.names.count(name) == 1]
    of_lists = [name for name in names if "list" in str(schema.field(name).type)]
    predicted = named_as(of_lists, PRED)
    labels = (LABELS_COLUMN in of_lists and [LABELS_COLUMN]) or named_as(of_lists, TRUE)
    if not is_truth and predicted:
        labels = predicted
    label = only_one(labels) if labels else (LABELS_COLUMN if LABELS_COLUMN in schema.names else None)
    if label is None:
        return None
    value = only_one(named_as(names, JUDGEMENT)) if is_truth else None
    if value is None and not (is_truth and predicted):
        value = only_one(named_as(names, SCORE_COLUMNS[1:]))
    instance = find_instance(schema.names)
    others = [
        name
        for name in names
        if instance is None and (_is_text(kind := str(schema.field(name).type)) or kind in INTEGERS)
    ]
    return TableColumns(True, instance, label, value, others)


def _refuse_numbers(schema: Any, columns: list[str]) -> None:
    """Refuse numbers beside labels that may be judgements."""
    for name in columns:
        if str(schema.field(name).type) in (*INTEGERS, *FLOATS):
            raise ValueError(
                f"column {name!r} may hold judgements of the labels; rename it to {JUDGEMENT[0]!r}, or leave "
                "it out"
            )


def stored_labels(metadata: dict[bytes, bytes], given: int | None) -> int | None:
    """Return the number of labels that a file's metadata tell, or the given one; None without either."""
    text = metadata.get(b"n_labels")
    if text is None:
        return given
    if not (text.isdigit() and len(text) < 14 and 1 <= int(text) <= MOST_LABELS):
        raise ValueError(f"n_labels in its metadata is {text[:40]!r}")
    if given is not None and given != int(text):
        raise ValueError(f"{int(text)} labels by its metadata; {given} were expected")
    return int(text)


def flat_lists(batch: Any, name: str, first: int) -> tuple[Ints, Any]:
    """Return where the lists of a column begin and end, and their values end to end."""
    column = batch.column(name)
    kind = _kind(column)
    if not kind.startswith(("list<", "large_list<", "fixed_size_list<")) or kind.endswith("[0]"):
        raise ValueError(f"column {name!r} is {kind[:SHOWN]}, not lists")
    refuse_null(column, name, first)
    ptr = np.zeros(len(column) + 1, np.int64)
    np.cumsum(as_numpy(column.value_lengths()) if len(column) else [], out=ptr[1:])
    values = column.flatten()
    if values.null_count:
        row = np.searchsorted(ptr, _first_null(values), side="right") - 1
        raise ValueError(f"row {first + int(row)}: a null in {name!r}")
    return ptr, values


def listed_scores(batch: Any, name: str, ptr: Ints, first: int, kind: str = "scores") -> NDArray[Any]:
    """Return the scores, or grades, of lists of labels that begin and end at ``ptr``."""
    score_ptr, values = flat_lists(batch, name, first)
    if not np.array_equal(ptr, score_ptr):
        at = int(np.argmax(ptr != score_ptr)) - 1
        sizes = int(ptr[at + 1] - ptr[at]), int(score_ptr[at + 1] - score_ptr[at])
        raise ValueError(
            f"row {first + at}: {counted(sizes[0], 'labels')} with {counted(sizes[1], 'scores')}"
        )
    return numbers(values, name, kind)


def as_numpy(column: Any) -> NDArray[Any]:
    """Return the values of a column without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def refuse_null(column: Any, name: str, first: int) -> None:
    """Refuse nulls, naming the first row with one."""
    if column.null_count:
        raise ValueError(f"row {first + _first_null(column)}: {name!r} is null")


def _first_null(column: Any) -> int:
    return int(np.argmax(as_numpy(column.is_null())))


def ids(column: Any, name: str) -> Ints:
    """Return integers, or say that names are read otherwise."""
    kind = _kind(column)
    if kind not in INTEGERS:
        hint = "names, not numbers" if _is_text(kind) else "not integers"
        raise ValueError(f"column {name!r} holds {kind[:SHOWN]}, {hint}")
    values = as_numpy(column)
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(np.iinfo(np.int64).max))
    return values.astype(np.int64, copy=False)


def texts(column: Any, name: str) -> list[str]:
    """Return names, each once however many rows have it; integers are called by their digits."""
    places, names = coded_texts(column, name)
    return [names[place] for place in places.tolist()]


def coded_texts(column: Any, name: str) -> tuple[Ints, list[str]]:
    """Return names as places among the distinct ones, and these; integers are called by their digits."""
    if not _is_text(str(column.type)):
        distinct, codes = np.unique(ids(column, name), return_inverse=True)
        return codes, [str(number) for number in distinct.tolist()]
    held = column if str(column.type).startswith("dictionary") else column.dictionary_encode()
    names = held.dictionary.to_pylist()
    if None in names:
        raise ValueError(f"a null among the values of the dictionary of {name!r}")
    return as_numpy(held.indices).astype(np.int64), names


def _kind(column: Any) -> str:
    """Return the type of the values of a column, also where a dictionary holds each of them once."""
    return str(getattr(column.type, "value_type", column.type) if _is_text(str(column.type)) else column.type)


def _is_text(kind: str) -> bool:
    text = ("string", "large_string", "string_view")
    return kind in text or kind.startswith(tuple(f"dictionary<values={name}," for name in text))


def numbers(column: Any, name: str, kind: str = "scores") -> NDArray[Any]:
    """Return scores in the type that the file has, grades, or ones and zeros for judgements of a truth.

    Those of a truth may be integers, or truth values.
    """
    stored = _kind(column)
    if stored not in FLOATS and (kind == "scores" or stored not in (*INTEGERS, "bool")):
        raise ValueError(f"column {name!r} holds {stored[:SHOWN]}, not floating-point numbers")
    values = as_numpy(column)
    if kind != "truth":
        return values.astype(np.uint8) if values.dtype == np.bool_ else values
    bad = values != np.floor(values.astype(np.float64))
    if bad.any():
        value = values[int(np.argmax(bad))]
        raise ValueError(f"column {name!r} holds {value}, no integer; {LIKE_A_SCORE}; grades need gains")
    return (values > 0).astype(np.uint8)


def refuse_ids(labels: Ints, least: int, n_labels: int | None, rows: Ints) -> None:
    """Refuse ids of labels outside ``least..n_labels-1``; ``rows`` tells the row of each."""
    most = MOST_LABELS if n_labels is None else n_labels
    bad = (labels < least) | (labels >= most)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"row {rows[at]}: label id {labels[at]} is not in 0..{most - 1}")


def refuse_empty_rows(n_rows: int, n_entries: int) -> None:
    """Refuse far more rows than labels: a false row count would make us allocate that much memory."""
    if n_rows > ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_entries:
        raise ValueError(f"{n_rows} instances with {n_entries} labels")


def refuse_nan(scores: NDArray[Any], counted: NDArray[np.bool_], rows: Ints) -> None:
    """Refuse scores that are NaN where they count."""
    bad = np.isnan(scores) & counted
    if bad.any():
        raise ValueError(f"row {rows[int(np.argmax(bad))]}: a score is NaN")
