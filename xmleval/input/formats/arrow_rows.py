"""Rows of Parquet and Arrow files, of ids or with names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.input import columns as names_of
from xmleval.input.columns import LABEL_COLUMN, LABELS_COLUMN, OWN_INSTANCE, ColumnHashes, named_as, only_one
from xmleval.input.csr import MOST_LABELS, as_signed
from xmleval.input.formats.arrow import (
    EXPECTED,
    MOST_ROWS,
    Opened,
    import_pyarrow,
    is_list,
    is_text,
    opened,
    save_table,
)
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npy import ROW_ENTRY_BYTES
from xmleval.input.formats.npz import ROWS_FOR_NOTHING, ROWS_PER_ENTRY
from xmleval.input.glances import VectorRows
from xmleval.input.lines import SHOWN, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.input.pieces import Pieces
from xmleval.input.rows import BY_KEY, Facts, Rows, pointer, rows_by_id
from xmleval.message import counted
from xmleval.records import Bools, Ints

BATCH_BYTES = 1 << 22
ADVICE = "write the ids of the ones, or label names as texts"
RENAME = "rename it to 'instance' where it names the rows"


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
        if columns is None and (entries := names_of.find_entries(names, is_truth)) is not None:
            columns = TableColumns(False, *entries, [])
    except names_of.AmbiguousError as error:
        raise ValueError(f"its columns {error}; keep the one that is") from None
    if columns is None:
        raise ValueError(f"its columns are {', '.join(map(shown, names[:9])) or 'none'}")
    lists, instance, label, value, *_ = columns
    if kind == "truth" and named_as([value], names_of.SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ValueError(f"a column {value!r} in what should be relevant labels; grades need gains")
    if kind == "scores" and value is None and not lists:
        raise ValueError(f"no column {names_of.SCORE_COLUMNS[0]!r} beside {label!r}")
    if (twice := next((name for name in columns.read if name not in stored), None)) is not None:
        raise ValueError(f"{names.count(twice)} columns {twice!r}")
    for name, type_ in stored.items() if is_truth and not lists and value is None else ():
        is_number = types.is_integer(type_) or types.is_floating(type_)
        if is_number and name not in columns.read and names_of.may_hold_values(name):
            advice = f"rename it to {names_of.JUDGEMENT[0]!r}, or leave it out"
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
    predicted = named_as(lists, names_of.PRED)
    labels = [LABELS_COLUMN] if LABELS_COLUMN in lists else named_as(lists, names_of.TRUE)
    label = only_one(predicted if predicted and not is_truth else labels)
    label = label or (LABELS_COLUMN if LABELS_COLUMN in names else None)
    if label is None:
        return None
    value = only_one(named_as(stored, names_of.JUDGEMENT)) if is_truth else None
    if value is None and not (is_truth and predicted):
        value = only_one(named_as(stored, names_of.SCORE_COLUMNS[1:]))
    instance, is_integer = names_of.find_instance(names), import_pyarrow().types.is_integer
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


def named_rows(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the rows of a file, one for each instance or for each label; integers are called by their digits.

    Of kind "grades" are judged labels with their values, or with 1 without them.
    """
    with naming(path, EXPECTED):
        yield from _batches(InputFile(path), kind, True, allowance, BATCH_BYTES)


def _batches(file: InputFile, kind: str, named: bool, allowance: Allowance, n_bytes: int) -> Iterator[Rows]:
    """Yield the rows of a table, ``named`` or by number; those of a long one have one label each."""
    first = n_entries = 0
    with opened(file) as table:
        columns = find_columns(table, kind)
        hashes = ColumnHashes(columns.beside if named else ())
        facts = Facts("row", columns=hashes, how_to_join=RENAME)
        if columns.lists and columns.instance is not None and columns.instance not in OWN_INSTANCE:
            facts.told.append(f"ids in {shown(columns.instance)}")
            columns = columns if named else columns._replace(instance=None)  # by number, nothing is joined
        is_unscored = (
            columns.lists and kind != "scores" and columns.value is None and columns.n_labels is None
        )
        vectors = VectorRows(ADVICE, repr(columns.label)) if is_unscored else None
        for batch in table.batches(columns.read + hashes.names, n_bytes):
            rows = _rows_of(batch, kind, columns, named, first)
            first, n_entries = first + rows.n_rows, n_entries + rows.labels.size
            _refuse_empty_rows(first, n_entries)
            allowance.check(ROW_ENTRY_BYTES * int(np.diff(rows.ptr).max(initial=0)))
            if vectors is not None and not is_text(batch.column(columns.label).type.value_type):
                vectors.take(rows.ptr, np.array(rows.names, np.int64)[rows.labels] if named else rows.labels)
            yield rows._replace(beside=facts)
            _add_cells(hashes, batch, allowance)
        if vectors is not None:
            vectors.close()


def _rows_of(batch: Any, kind: str, columns: TableColumns, named: bool, first: int) -> Rows:
    """Return the rows of a batch, of which row ``first`` of the table is the first."""
    lists, instance, label, value, _, n_labels, _ = columns
    places, is_list = first + np.arange(batch.num_rows), lists and kind == "scores"
    keys: Any = None
    if instance is not None:
        cells = cells_of(batch, instance, first, False)
        if named:
            codes, texts = cells.coded()
            keys = [texts[code] for code in codes.tolist()]  # each once, however many rows have it
        else:
            keys = cells.ids()
            wrong = ", where lists stand in the order of their rows" if lists else " is negative"
            cells.refuse(keys != places if lists else keys < 0, f"{instance} {{}}{wrong}", keys)
    cells = cells_of(batch, label, first, lists)
    ptr, names, values = cells.ptr, None, None
    if named:
        labels, names = cells.coded()
    else:
        labels, most = cells.ids(), n_labels or MOST_LABELS
        cells.refuse((labels < -is_list) | (labels >= most), f"label id {{}} is not in 0..{most - 1}", labels)
    if value is not None:
        scores = cells_of(batch, value, first, lists)
        if (differs := np.diff(ptr) != np.diff(scores.ptr)).any():
            at = int(np.argmax(differs))
            n, n_scores = (int(np.diff(each)[at]) for each in (ptr, scores.ptr))
            raise ValueError(f"row {first + at}: {counted(n, 'labels')} with {counted(n_scores, 'scores')}")
        values = scores.numbers(kind)
        scores.refuse(np.isnan(values) & (labels >= 0), "a score is NaN")
        values = values.astype(np.float64) if named else values
    of_rows = Rows(keys, None, ptr, labels, names, values, is_list, is_written=not lists)
    match = BY_KEY if named and keys is not None else None
    return of_rows._replace(match=match, places=places, is_long=not lists) if named else of_rows


def _instances(batches: Iterator[Rows], instance: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield instances 0, 1, ... of a long table; the last of a batch waits, as more of it may follow."""
    columns, start, n_entries = list[NDArray[Any]](), 0, 0
    for rows in batches:
        added: list[Any] = [rows.keys, rows.labels, *([] if rows.values is None else [rows.values])]
        columns = [*map(np.concatenate, zip(columns, added, strict=True))] if columns else added
        n_entries += rows.labels.size
        keys = columns[0]
        if (falls := keys[1:] < keys[:-1]).any():
            at = 1 + int(np.argmax(falls))
            told = f"row {n_entries - keys.size + at}: {instance} {keys[at]} after {keys[at - 1]}"
            raise ValueError(f"{told}; sort the table by it")
        last = int(keys[-1]) if keys.size else start
        _refuse_empty_rows(last + 1, n_entries)
        yield from _between(start, last, *columns)
        start, columns = last, [column[np.searchsorted(keys, last) :] for column in columns]
        allowance.check(ROW_ENTRY_BYTES * columns[0].size)
    if n_entries:
        yield from _between(start, start + 1, *columns)


def _between(
    start: int, stop: int, keys: Ints, labels: Ints, values: NDArray[Any] | None = None
) -> Iterator[Rows]:
    """Yield instances ``start..stop-1`` of entries that are in order; far more may be empty."""
    for first in range(start, stop, MOST_ROWS):
        ptr = np.searchsorted(keys, np.arange(first, min(first + MOST_ROWS, stop) + 1))
        yield rows_by_id(ptr, labels, values)._replace(is_written=True).part(0, ptr.size - 1)


def _refuse_empty_rows(n_rows: int, n_entries: int) -> None:
    """Refuse far more rows than labels: a false row count would make us allocate that much memory."""
    if n_rows > ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_entries:
        raise ValueError(f"{n_rows} instances with {n_entries} labels")


def read_pieces(path: Path, kind: str, allowance: Allowance) -> Pieces:
    """Return the rows of a file by number; the instances of a long table must not fall."""
    file = InputFile(path)
    with naming(path, EXPECTED), opened(file) as table:
        columns = find_columns(table, kind)
        named, first = columns.named, 0
        names = [columns.instance] if not named and columns.lists and columns.instance else []
        for batch in table.batches(names, BATCH_BYTES) if names else ():
            numbers = cells_of(batch, names[0], first, False).ids()
            if named := bool((numbers != first + np.arange(batch.num_rows)).any()):
                break  # it does not number the rows in their order
            first += batch.num_rows

    def read(n_bytes: int) -> Iterator[Rows]:
        batches = _batches(file, kind, False, allowance, n_bytes)
        with naming(path, EXPECTED):
            yield from batches if columns.lists else _instances(batches, columns.instance or "", allowance)

    return Pieces(None, columns.n_labels, read, named=named)


def columns_beside(path: Path, kind: str) -> list[str]:
    """Return the columns of texts or integers beside the lists of a file whose rows have no names."""
    with naming(path, EXPECTED), opened(InputFile(path)) as table:
        return find_columns(table, kind).beside


def hash_columns(paths: Sequence[Path], names: list[str], allowance: Allowance) -> ColumnHashes:
    """Return hashes of some columns of files that follow one another."""
    hashes = ColumnHashes(names)
    for path in paths:
        with naming(path, EXPECTED), opened(InputFile(path)) as table:
            for batch in table.batches(names, BATCH_BYTES):
                _add_cells(hashes, batch, allowance)
    return hashes


def _add_cells(hashes: ColumnHashes, batch: Any, allowance: Allowance) -> None:
    for cells in zip(*(batch.column(name).to_pylist() for name in hashes.names), strict=True):
        hashes.add(cells)
    allowance.check(hashes.n_bytes)


ARROW = Format(
    name="arrow",
    title="Parquet or Arrow file",
    files="NAME.parquet, NAME.arrow or NAME.feather",
    extensions=(".parquet", ".arrow", ".feather"),
    pieces=read_pieces,
    rows=named_rows,
    write=save_table,
    by_pieces=True,
    keeps_order=True,
)
