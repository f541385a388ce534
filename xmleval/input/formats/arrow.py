"""Parquet and Arrow IPC files: rows by id or by name, read and written in record batches."""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import MOST_LABELS, Bools, Floats, Ints
from xmleval.base.budget import LEAST_WHOLE, memory_limit
from xmleval.base.errors import ONE_BASED, counted, printable, shown
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.columns import (
    LABEL_COLUMN,
    OWN_INSTANCE,
    PRED,
    TRUE,
    DecidingColumnError,
    NoLabelsError,
    TableColumns,
    hashed,
    named_as,
)
from xmleval.input.csr import as_signed
from xmleval.input.formats.arrays import ROW_ENTRY_BYTES, ROWS_FOR_NOTHING, ROWS_PER_ENTRY
from xmleval.input.formats.field_names import choose_fields, naming_labels, without_values_of_rows
from xmleval.input.formats.format import Fields, FileAt, Format, RowCells, naming, naming_each
from xmleval.input.formats.label_columns import (
    CELL_BYTES,
    LabelColumns,
    LabelColumnsReader,
    are_named_labels,
    choose_label_columns,
)
from xmleval.input.formats.label_columns import EXPECTED as EXPECTED_TABLE
from xmleval.input.further_columns import Coded, EntryColumns, ListColumns, notes_on_ranks
from xmleval.input.lines import SHOWN
from xmleval.input.match import MATCHED_SHARE
from xmleval.input.matched_rows import PlacedRows
from xmleval.input.numbered_labels import LabelCounter
from xmleval.input.pieces import Pieces, joined, with_names
from xmleval.input.plausibility import LIKE_A_SCORE, VectorGlance, without_vectors
from xmleval.input.rows import BY_KEY, Origin, Rows, numbered, pointer
from xmleval.input.writing import canonical, known_labels, names_of

EXPECTED = (
    "a Parquet or Arrow file with a row for each instance (columns labels, scores: lists) "
    "or for each of its labels (columns instance or row, label, score)"
)
BUFFER_BYTES = 1 << 20  # for each column that is read
REMOTE_BUFFER_BYTES = 1 << 22
FEW_COLUMNS = 16  # with more of them, buffers are smaller
SAMPLED_ROWS = 256
REPEATED_ROWS = 10_000  # in which a query without names of labels has several
MOST_ROWS = 1 << 16
BYTES_PER_ROW = 16
BATCH_BYTES = 1 << 22
PLACED_BYTES = 32  # of memory for a row of a table with a row for each label
ADVICE = "write the ids of the labels that are 1, or label names as text"
USUAL_FIELDS = Fields()
RENAME = "rename it to 'instance' to match rows by it"


class RecordBatch(Protocol):
    """Some rows of a table of pyarrow."""

    num_rows: int
    columns: list[Any]
    schema: Any

    def column(self, name: str) -> Any:
        """Return a column."""

    def slice(self, offset: int, length: int | None = None) -> RecordBatch:
        """Return some of the rows, by default all from one on."""


class OpenedTable(NamedTuple):
    """An open file: its schema, its metadata, and a reader of record batches of columns."""

    schema: Any
    metadata: dict[bytes, bytes]
    batches: Callable[[list[str], int], Iterator[RecordBatch]]


@contextlib.contextmanager
def open_table(file: InputFile, fields: Fields = USUAL_FIELDS) -> Iterator[OpenedTable]:
    """Open a file in the format that its first bytes show; batches are validated.

    Texts of labels are lists where ``fields`` have a separator.
    """
    with _open_as_written(file) as table:
        yield _with_texts_as_lists(table, fields)


@contextlib.contextmanager
def _open_as_written(file: InputFile) -> Iterator[OpenedTable]:
    """Open a file with the columns that are in it."""
    with file.open(0) as stream:
        first_bytes = stream.read(8)
        stream.seek(0)
        pa = import_pyarrow()
        # not memory-mapped: a file that is cut short while it is read would end the process
        source = pa.PythonFile(stream, "r")
        try:
            if first_bytes.startswith(b"PAR1"):
                yield _open_parquet(pa, source, file)
            elif first_bytes.startswith(b"ARROW1"):
                yield _open_ipc(pa, source, pa.ipc.open_file)
            elif first_bytes.startswith(b"\xff\xff\xff\xff"):
                yield _open_ipc(pa, source, pa.ipc.open_stream)
            else:
                raise ValueError(
                    "it begins neither as Parquet nor as Arrow IPC (Feather version 2) does"
                )
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None) is not None:
                raise  # a system error; pyarrow's errors about damaged Parquet have no number
            raise ValueError(printable(" ".join(str(error)[:200].split()))) from None


def _with_texts_as_lists(table: OpenedTable, fields: Fields) -> OpenedTable:
    """Return a table whose texts of labels are cut at a separator, if one is given."""
    names = named_as(without_values_of_rows(table.schema.names, fields), (*TRUE, *PRED))
    names += [name for name in (fields.true, fields.pred) if name is not None]
    types = _column_types(table)
    texts = {name for name in names if name in types and is_text(types[name])}
    if fields.separator is None or not texts:
        return table
    pa = import_pyarrow()
    schema = table.schema
    for place, name in enumerate(schema.names):
        if name in texts:
            schema = schema.set(place, pa.field(name, pa.list_(pa.string())))

    def read_batches(columns: list[str], n_bytes: int) -> Iterator[RecordBatch]:
        for batch in table.batches(columns, n_bytes):
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in texts & arrays.keys():
                arrays[name] = _cut_texts(arrays[name], fields.separator)
            yield pa.record_batch(arrays)

    return OpenedTable(schema, table.metadata, read_batches)


def _cut_texts(column: Any, separator: str | None) -> Any:
    """Return a column of texts as lists of their parts, without blanks around them."""
    pa = import_pyarrow()
    if hasattr(column, "dictionary"):
        column = column.dictionary_decode()
    lists = pa.compute.split_pattern(column.cast(pa.string()), separator)
    parts = pa.compute.utf8_trim_whitespace(lists.flatten())
    sizes = lists.value_lengths().fill_null(0)
    ptr = pa.array(pointer(as_numpy(sizes)), pa.int32())
    return pa.ListArray.from_arrays(ptr, parts, mask=lists.is_null())


def import_pyarrow() -> ModuleType:
    """Return pyarrow with its modules for both formats, or raise an error on how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ValueError("pyarrow is not installed: pip install 'xmleval[arrow]'") from None
    module: ModuleType = pyarrow
    return module


def is_text(type_: Any) -> bool:
    """Return whether a type is a text type, or a dictionary of texts."""
    types = import_pyarrow().types
    if types.is_dictionary(type_):
        type_ = type_.value_type
    text_types = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_type(type_) for is_type in text_types)


def is_list(type_: Any) -> bool:
    """Return whether a type is a list type."""
    types = import_pyarrow().types
    list_types = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_type(type_) for is_type in list_types)


def _open_parquet(pa: ModuleType, source: Any, file: InputFile) -> OpenedTable:
    metadata = pa.parquet.read_metadata(source)
    # read as dictionaries: each text once, however many rows have it
    texts = [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]
    source.seek(0)
    parquet = pa.parquet.ParquetFile(
        source,
        metadata=metadata,
        read_dictionary=texts,
        buffer_size=_buffer_bytes(file, len(metadata.schema)),
        pre_buffer=False,
    )

    def read_batches(columns: list[str], n_bytes: int) -> Iterator[RecordBatch]:
        if not parquet.num_row_groups:
            return
        # the size of rows is estimated from a sample: pyarrow aborts on damaged metadata of columns
        sample = next(parquet.iter_batches(SAMPLED_ROWS, columns=columns, use_threads=False), None)
        n_rows = SAMPLED_ROWS
        if sample is not None:
            n_rows = _count_rows_of(n_bytes, sample)
        del sample  # a row may be very long
        for batch in parquet.iter_batches(n_rows, columns=columns, use_threads=False):
            batch.validate(full=True)
            yield batch

    return OpenedTable(parquet.schema_arrow, metadata.metadata or {}, read_batches)


def _buffer_bytes(file: InputFile, n_columns: int) -> int:
    """Return the size of pyarrow's read buffer for a column, 0 for no buffer."""
    if file.size <= LEAST_WHOLE:  # a buffer would be as large as a damaged page claims, up to 2 GiB
        return 0
    n_bytes = REMOTE_BUFFER_BYTES if file.is_remote else BUFFER_BYTES
    return n_bytes // max(1, n_columns // FEW_COLUMNS)


def _open_ipc(pa: ModuleType, source: Any, open_reader: Callable[..., Any]) -> OpenedTable:
    schema = open_reader(source).schema

    def read_batches(columns: list[str], n_bytes: int) -> Iterator[RecordBatch]:
        source.seek(0)
        fields = [place for place, name in enumerate(schema.names) if name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        reader = open_reader(source, options=options)
        if open_reader is pa.ipc.open_file:
            reader = map(reader.get_batch, range(reader.num_record_batches))
        for batch in reader:
            batch.validate(full=True)
            n_rows = _count_rows_of(n_bytes, batch)  # so few that copies of them are small
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)

    return OpenedTable(schema, schema.metadata or {}, read_batches)


def _count_rows_of(n_bytes: int, batch: RecordBatch) -> int:
    """Return how many rows like those of a batch take about ``n_bytes``."""
    arrays = [column for column in batch.columns if not hasattr(column, "dictionary")]
    for column in batch.columns:
        if hasattr(column, "dictionary"):  # it may contain many more values than these rows
            used = column.indices.unique().drop_null()
            arrays += [column.indices, column.dictionary.take(used)]
    n_stored = sum(array.nbytes for array in arrays)
    row_bytes = BYTES_PER_ROW + n_stored // max(batch.num_rows, 1)
    return int(min(max(n_bytes // row_bytes, 1), MOST_ROWS))


class TableReading(NamedTuple):
    """What is read from files: the kind of rows, names of columns, and how files are opened."""

    kind: str
    fields: Fields = USUAL_FIELDS
    file_at: FileAt = InputFile


class ArrowTable(NamedTuple):
    """Roles of the columns of a file, and its number of labels.

    named : whether instances or labels are texts, or their columns lack the names of numbers
    joining : further columns of texts or integers, where rows are lists without names
    notes : notes on rows that are read by number
    """

    columns: TableColumns[str]
    n_labels: int | None
    named: bool
    joining: list[str]
    notes: tuple[str, ...] = ()


def describe_table(
    table: OpenedTable, reading: TableReading, facts: Origin | None = None
) -> ArrowTable:
    """Return the roles of the columns of a file; lists without scores are a ranking.

    ``facts`` records which column judges the labels of a truth.
    """
    types = _column_types(table)
    columns = choose_fields(
        table.schema.names,
        reading.kind,
        reading.fields._replace(joined=True),
        facts or Origin(),
        is_list=lambda name: is_list(types[name]),
        repeats=partial(_repeats, table),
    )
    named = _is_name(types[columns.label])
    if columns.instance is not None:
        named = named or _is_name(types[columns.instance])
    joining = list[str]()
    if not columns.lists:
        named |= columns.instance not in OWN_INSTANCE or columns.label != LABEL_COLUMN
    elif columns.instance is None:
        joining = [name for name in columns.unused if _may_join(types[name])]
    return ArrowTable(columns, _promised_labels(table.metadata), named, joining)


def _repeats(table: OpenedTable, name: str) -> bool:
    """Return whether a column has one value in several of its first rows."""
    cells = list[Any]()
    for batch in table.batches([name], BATCH_BYTES):
        cells += batch.slice(0, REPEATED_ROWS - len(cells)).column(name).to_pylist()
        if len(cells) >= REPEATED_ROWS:
            break
    return len({*map(str, cells)}) < len(cells)


def _column_types(table: OpenedTable) -> dict[str, Any]:
    """Return the types of columns by name."""
    return {field.name: field.type for field in table.schema}


def _is_name(type_: Any) -> bool:
    """Return whether a type, or the type of the values of lists, is one of names."""
    if is_list(type_):
        type_ = type_.value_type
    return is_text(type_) or bool(import_pyarrow().types.is_dictionary(type_))


def _may_join(type_: Any) -> bool:
    """Return whether a column of a type may name the rows."""
    return is_text(type_) or bool(import_pyarrow().types.is_integer(type_))


def _promised_labels(metadata: dict[bytes, bytes]) -> int | None:
    """Return the number of labels in metadata, None if it is missing."""
    number = metadata.get(b"n_labels", b"")
    if not number:
        return None
    if not (number.isdigit() and len(number) < 14 and 1 <= int(number) <= MOST_LABELS):
        raise ValueError(f"n_labels in its metadata is {shown(number[:40])}")
    return int(number)


def notes_on_columns(
    table: OpenedTable,
    columns: TableColumns[str],
    kind: str,
    counter: LabelCounter | None = None,
) -> list[str]:
    """Return notes on columns that are ignored or may be ranks; refuse one that must be chosen.

    ``counter`` gets the digests of columns that are not read.
    """
    key = columns.label
    further: EntryColumns[str] | ListColumns[str]
    if columns.lists:
        types = _column_types(table)
        list_names = [name for name in columns.unused if is_list(types[name])]
        further = ListColumns(columns, kind, list_names)
    else:
        assert columns.instance is not None
        key = columns.instance
        further = EntryColumns(columns, kind)
    try:
        n_seen = 0
        while names := further.undecided:  # a column is not read again once it is decided
            n_seen = _add_cells(table.batches([key, *names], BATCH_BYTES), key, further, n_seen)
            if further.undecided == names:
                break
        if counter is not None and isinstance(further, EntryColumns):
            counter.add_digests(further.digests)
        return [*notes_on_ranks(columns, kind), *further.notes()]
    except DecidingColumnError as error:
        if error.labels is not None:
            raise ValueError(naming_labels(error, kind)) from None
        if error.column is None:
            raise ValueError(str(error)) from None
        usual = "score" if kind == "scores" else "relevance"
        raise ValueError(f"{error}; call it {usual!r} if it does, or leave it out") from None


def _encode_column(column: Any) -> Coded:
    """Return the cells of a column as codes of its distinct values, null being one of them."""
    if hasattr(column, "dictionary"):
        column = column.dictionary_decode()
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
    except (NotImplementedError, import_pyarrow().ArrowException):  # for lists
        return Coded(np.arange(len(column)), column.to_pylist())
    return Coded(as_numpy(encoded.indices), encoded.dictionary.to_pylist())


def _add_cells(
    batches: Iterator[RecordBatch],
    key: str,
    further: EntryColumns[str] | ListColumns[str],
    n_seen: int,
) -> int:
    """Add the rows after ``n_seen`` until a column is decided; return the number of rows seen."""
    undecided = further.undecided
    n_rows = 0
    for batch in batches:
        unseen = batch.slice(max(n_seen - n_rows, 0))
        n_rows += batch.num_rows
        if isinstance(further, EntryColumns):
            _add_entries(unseen, key, further, undecided)
        else:
            _add_lists(unseen, key, further, undecided)
        n_seen = max(n_seen, n_rows)
        if further.undecided != undecided:
            break
    return n_seen


def _add_entries(
    batch: RecordBatch, key: str, further: EntryColumns[str], undecided: list[str]
) -> None:
    codes, values = _encode_column(batch.column(key))
    keys = [values[code] for code in codes.tolist()]
    further.add(keys, {name: _encode_column(batch.column(name)) for name in undecided})


def _add_lists(
    batch: RecordBatch, key: str, further: ListColumns[str], undecided: list[str]
) -> None:
    columns = {name: batch.column(name).to_pylist() for name in undecided}
    sizes = batch.column(key).value_lengths().fill_null(0).to_pylist()
    for row, n_labels in enumerate(sizes):
        further.add(n_labels, {name: column[row] for name, column in columns.items()})


class Cells(NamedTuple):
    """The values of a column of a batch, end to end.

    first : row of the table that is the first of the batch
    ptr : where the values of each row begin, and where the last ones end
    """

    name: str
    first: int
    ptr: Ints
    column: Any

    def refuse(
        self, is_bad: Bools, message: str, values: NDArray[Any] | None = None, after: str = ""
    ) -> None:
        """Raise an error with the row of the first bad value, if any.

        With ``values``, the value stands between ``message`` and ``after``.
        """
        if is_bad.any():
            entry = int(np.argmax(is_bad))
            row = self.first + int(np.searchsorted(self.ptr, entry, side="right")) - 1
            if values is not None:
                message = f"{message}{values[entry]}{after}"
            raise ValueError(f"row {row}: {message}")

    def ids(self) -> Ints:
        """Return the values as int64, or refuse a column that is not one of integers."""
        type_ = self.column.type
        if not import_pyarrow().types.is_integer(type_):
            hint = "names, not numbers" if is_text(type_) else "not integers"
            raise ValueError(f"column {shown(self.name)} contains {_type_name(type_)}, {hint}")
        return as_signed(as_numpy(self.column)).astype(np.int64, copy=False)

    def encode(self) -> tuple[Ints, list[str]]:
        """Return codes and the distinct names they index; integers are named by their digits."""
        if not is_text(self.column.type):
            distinct, codes = np.unique(self.ids(), return_inverse=True)
            return codes, [str(number) for number in distinct.tolist()]
        column = self.column
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        codes = as_numpy(column.indices)
        used = np.zeros(len(column.dictionary), np.bool_)
        used[codes] = True  # the dictionary may serve many more rows
        names = column.dictionary.filter(import_pyarrow().array(used)).to_pylist()
        if None in names:
            raise ValueError(f"a null among the values of the dictionary of {shown(self.name)}")
        return (np.cumsum(used) - 1)[codes], names

    def numbers(self, kind: str) -> NDArray[Any]:
        """Return scores or grades with their dtype, or a truth's judgements as zeros and ones."""
        values = as_numpy(self.column)
        if values.dtype.kind not in ("f" if kind == "scores" else "fiub"):
            type_name = _type_name(self.column.type)
            raise ValueError(
                f"column {shown(self.name)} contains {type_name}, not floating-point numbers"
            )
        if kind == "truth":
            is_fraction = values != np.floor(values.astype(np.float64))
            hint = f", not an integer; {LIKE_A_SCORE}; grades need gains"
            self.refuse(is_fraction, f"column {shown(self.name)} contains ", values, hint)
        if kind == "truth" or values.dtype == np.bool_:
            return (values > 0).astype(np.uint8)
        return values


def read_cells(batch: RecordBatch, name: str, first: int, lists: bool) -> Cells:
    """Return the values of a column of lists (``lists``) or of cells; refuse nulls."""
    column = batch.column(name)
    if lists and (not is_list(column.type) or getattr(column.type, "list_size", 1) == 0):
        raise ValueError(f"column {shown(name)} is {str(column.type)[:SHOWN]}, not lists")
    cells = Cells(name, first, np.arange(len(column) + 1), column)
    if column.null_count:
        cells.refuse(as_numpy(column.is_null()), f"{shown(name)} is null")
    if lists:
        cells = Cells(name, first, pointer(as_numpy(column.value_lengths())), column.flatten())
        if cells.column.null_count:
            cells.refuse(as_numpy(cells.column.is_null()), f"a null in {shown(name)}")
    return cells


def as_numpy(column: Any) -> NDArray[Any]:
    """Return the values of a column without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _type_name(type_: Any) -> str:
    if is_text(type_) and hasattr(type_, "value_type"):
        type_ = type_.value_type
    return str(type_)[:SHOWN]


def named_rows(paths: Sequence[Path], reading: TableReading) -> Iterator[Rows]:
    """Yield the rows of files, one per instance or per label; integers become names."""
    with naming(paths[0], EXPECTED):
        names, columns = _find_label_columns(reading.file_at(paths[0]), reading)
    if columns is not None:
        table = LabelColumnsReader(names, columns, reading.kind, Origin("row", how_to_join=RENAME))
        yield from _read_label_tables(table, paths, reading)
        return
    glance = VectorGlance(ADVICE)
    facts = Origin("row", how_to_join=RENAME)
    first: TableColumns[str] | None = None
    for path in paths:
        file = reading.file_at(path)
        with naming(path, EXPECTED):
            columns_of_file, notes = _describe_columns(file, reading, facts)
            facts.notes += [note for note in notes if note not in facts.notes]
            first = first or columns_of_file
            if columns_of_file._replace(unused=first.unused) != first:
                columns_read = shown(", ".join(columns_of_file.read))
                raise ValueError(f"has columns {columns_read}, unlike {paths[0]}")
            for rows in _batches(file, reading, True, BATCH_BYTES, facts.of_file(path, paths)):
                glance.refuse(rows)
                yield rows
            if path is paths[-1]:
                glance.close()


def _find_label_columns(
    file: InputFile, reading: TableReading
) -> tuple[list[str], LabelColumns | None]:
    """Return the columns of a file, and their roles if there is a column for each label."""
    with open_table(file, reading.fields) as table:
        names: list[str] = table.schema.names
        types = _column_types(table)
        choose = partial(
            choose_label_columns,
            names,
            reading.kind,
            reading.fields,
            lambda name: _is_number(types[name]),
            partial(_sample_rows, table),
            _index_columns(table.metadata),
        )
        if are_named_labels(names, reading.fields):
            return names, choose()
        try:
            describe_table(table, reading)
        except NoLabelsError:
            columns = choose()
            if columns is None:
                raise
            return names, columns
    return names, None


def _sample_rows(table: OpenedTable) -> Iterator[Sequence[object]]:
    """Yield the cells of the rows of a table; nothing if its first column has no integers."""
    names: list[str] = table.schema.names
    if import_pyarrow().types.is_integer(table.schema.field(0).type):
        for batch in table.batches(names, BATCH_BYTES):
            for start in range(0, batch.num_rows, SAMPLED_ROWS):
                part = batch.slice(start, SAMPLED_ROWS)
                columns = [part.column(name).to_pylist() for name in names]
                yield from zip(*columns, strict=True)


def _is_number(type_: Any) -> bool | None:
    """Return whether a type is one of numbers; None for a column of nulls."""
    types = import_pyarrow().types
    if types.is_null(type_):
        return None
    number_types = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(is_type(type_) for is_type in number_types)


def _index_columns(metadata: dict[bytes, bytes]) -> list[str]:
    """Return the columns that pandas wrote as the index of a frame."""
    try:
        index = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        return []
    return [name for name in index if isinstance(name, str)]


def _read_label_tables(
    table: LabelColumnsReader, paths: Sequence[Path], reading: TableReading
) -> Iterator[Rows]:
    """Yield the rows of files with a column for each label."""
    columns = table.columns
    most_rows = max(1, BATCH_BYTES // (CELL_BYTES * (1 + len(columns.labels))))
    for path in paths:
        origin = table.facts.of_file(path, paths)
        with naming(path, EXPECTED_TABLE), open_table(reading.file_at(path)) as opened_table:
            _refuse_other_names(opened_table.schema.names, table.names, paths[0])
            first = 0
            for batch in opened_table.batches(columns.read, BATCH_BYTES):
                for start in range(0, batch.num_rows, most_rows):
                    part = batch.slice(start, most_rows)
                    yield _label_rows(part, table, first, origin)
                    first += part.num_rows
                _hash_cells(table.facts.columns, batch)


def _refuse_other_names(names: Sequence[str], expected: Sequence[str], first: Path) -> None:
    """Refuse a table that has other columns than the first one."""
    other = {*names} ^ {*expected}
    if other:
        name = next(name for name in (*names, *expected) if name in other)
        raise ValueError(f"column {shown(name)} is not in both, this file and {first}")


def _label_rows(batch: RecordBatch, table: LabelColumnsReader, first: int, origin: Origin) -> Rows:
    """Return the rows of a batch of a table with a column for each label."""
    keys = None
    if table.columns.instance is not None:
        keys = _row_names(read_cells(batch, table.columns.instance, first, False))
    cells = np.empty((batch.num_rows, len(table.columns.labels)))
    for place, name in enumerate(table.columns.labels):
        cells[:, place] = _numbers_or_nan(batch.column(name), name)
    return table.rows(cells, keys, first + np.arange(batch.num_rows), origin)


def _numbers_or_nan(column: Any, name: str) -> Floats:
    """Return the numbers in a column, NaN for nulls."""
    pa = import_pyarrow()
    if not _is_number(column.type) and not pa.types.is_null(column.type):
        raise ValueError(f"column {shown(name)} contains {_type_name(column.type)}, not numbers")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return as_numpy(column.cast(pa.float64(), safe=False))


def _describe_columns(
    file: InputFile, reading: TableReading, facts: Origin
) -> tuple[TableColumns[str], list[str]]:
    """Return the roles of the columns of a file whose rows are named, and notes on them."""
    with open_table(file, reading.fields) as table:
        columns = describe_table(table, reading, facts).columns
        notes = list[str]()
        if columns.is_usual:
            notes.append(f"ids in {shown(columns.instance)}")
        notes += notes_on_columns(table, columns, reading.kind, facts.counter)
    return columns, notes


def _batches(
    file: InputFile, reading: TableReading, named: bool, n_bytes: int, facts: Origin, start: int = 0
) -> Iterator[Rows]:
    """Yield the rows of a table, ``named`` or by number; those of a long one have one label each.

    ``start`` is the number of its first row among the rows of several files.
    """
    first = 0
    kind = reading.kind
    with open_table(file, reading.fields) as opened_table:
        table = describe_table(opened_table, reading)
        columns = table.columns
        joining = table.joining if named else []
        for name in joining:
            facts.columns.setdefault(name, array("q"))
        if columns.is_usual and not named:
            # rows that are read by number are not joined
            columns = columns._replace(instance=None)
        table = table._replace(columns=columns)
        is_unscored = (
            columns.lists and kind != "scores" and columns.value is None and table.n_labels is None
        )
        for batch in opened_table.batches(columns.read + joining, n_bytes):
            rows = _rows_of(batch, kind, table, named, first, start, facts.counter)
            first += rows.n_rows
            memory_limit().check(ROW_ENTRY_BYTES * int(np.diff(rows.ptr).max(initial=0)))
            are_lists = is_unscored and not is_text(batch.column(columns.label).type.value_type)
            yield rows._replace(origin=facts, are_lists=are_lists)
            _hash_cells(facts.columns, batch)


def _rows_of(
    batch: RecordBatch,
    kind: str,
    table: ArrowTable,
    named: bool,
    first: int,
    start: int,
    counter: LabelCounter | None,
) -> Rows:
    """Return the rows of a batch that begins at row ``first`` of the table.

    ``counter`` numbers labels that no column has.
    """
    columns = table.columns
    lists = columns.lists
    is_ranking = lists and kind == "scores"
    places = first + np.arange(batch.num_rows)
    keys: Any = None
    if columns.instance is not None:
        instances = read_cells(batch, columns.instance, first, False)
        if named:
            keys = _row_names(instances)
        elif lists:
            keys = _read_ordered_numbers(instances, start + places)
        else:
            keys = _read_row_numbers(instances)
    cells = read_cells(batch, columns.label, first, lists)
    names: list[str] | None = None
    if counter is not None:
        labels, names = numbered(counter.names(keys))
    elif named:
        labels, names = cells.encode()
    else:
        labels = _read_label_ids(cells, -1 if is_ranking else 0, table.n_labels or MOST_LABELS)
    values: NDArray[Any] | None = None
    if columns.value is not None:
        scores = read_cells(batch, columns.value, first, lists)
        values = _read_values(scores, cells.ptr, labels, kind)
        if named:
            values = values.astype(np.float64)
    is_matched = named and keys is not None
    has_places = named or not lists
    return Rows(
        keys,
        BY_KEY if is_matched else None,
        cells.ptr,
        labels,
        names,
        values,
        best_first=is_ranking,
        places=places if has_places else None,
        is_long=named and not lists,
        is_written=not lists,
    )


def _row_names(instances: Cells) -> list[str]:
    codes, texts = instances.encode()
    return [texts[code] for code in codes.tolist()]  # one object per name, however many rows


def _read_row_numbers(instances: Cells) -> Ints:
    """Return the numbers of rows, or refuse the first negative one."""
    numbers = instances.ids()
    instances.refuse(numbers < 0, f"{instances.name} ", numbers, " is negative")
    return numbers


def _read_ordered_numbers(instances: Cells, expected: Ints) -> Ints:
    """Return the numbers of rows, or refuse the first that is not the expected one."""
    numbers = instances.ids()
    hint = ", but lists must be in the order of their rows"
    instances.refuse(numbers != expected, f"{instances.name} ", numbers, hint)
    return numbers


def _read_label_ids(cells: Cells, lowest: int, end: int) -> Ints:
    labels = cells.ids()
    is_outside = (labels < lowest) | (labels >= end)
    hint = ONE_BASED if is_outside.any() and labels[is_outside.argmax()] == end else ""
    cells.refuse(is_outside, "label id ", labels, f" is not in 0..{end - 1}{hint}")
    return labels


def _read_values(scores: Cells, ptr: Ints, labels: Ints, kind: str) -> NDArray[Any]:
    """Return the scores or judgements of labels; refuse a row with more or fewer of them."""
    sizes = np.diff(ptr)
    n_scores = np.diff(scores.ptr)
    differs = sizes != n_scores
    if differs.any():
        row = int(np.argmax(differs))
        n_labels = counted(int(sizes[row]), "labels")
        n_values = counted(int(n_scores[row]), "scores")
        raise ValueError(f"row {scores.first + row}: {n_labels}, but {n_values}")
    values = scores.numbers(kind)
    scores.refuse(np.isnan(values) & (labels >= 0), "a score is NaN")
    return values


def _place_rows(batches: Iterator[Rows], path: Path, instance: str) -> PlacedRows:
    """Return the instances 0, 1, ... of a table with a row for each label, in any order.

    Messages about the whole table name ``path``.

    ``path`` is what messages about all of it name.
    """
    placed = PlacedRows(instance, memory_limit().left / MATCHED_SHARE)
    n_rows = n_entries = 0
    for rows in batches:
        keys = np.asarray(rows.keys)
        n_rows = max(n_rows, int(keys.max(initial=-1)) + 1)
        n_entries += keys.size
        with naming(path, EXPECTED):
            # a wrong number would make us allocate that much memory
            if n_rows > min(ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_entries, 1 << 31):
                raise ValueError(f"{n_rows} instances with {n_entries} labels")
            memory_limit().check(PLACED_BYTES * n_rows)
            placed.add(rows, rows.labels, keys)
    with naming(path, EXPECTED):
        placed.close(n_rows)
        memory_limit().check(ROW_ENTRY_BYTES * placed.most_labels)
    return placed


def read_pieces(paths: Sequence[Path], reading: TableReading) -> Pieces:
    """Return the rows of files in order, by number."""
    files = [*map(reading.file_at, paths)]
    with naming(paths[0], EXPECTED):
        if _find_label_columns(files[0], reading)[1] is not None:
            return with_names(paths[0])
    tables = list[ArrowTable]()
    shards = list[tuple[str, Pieces]]()
    named = False
    start = 0
    for path, file in zip(paths, files, strict=True):
        read = partial(_read_lists, file, reading, start)
        table, start = _describe_numbered(file, reading, start)
        named |= table.named
        shards.append((str(path), Pieces(None, table.n_labels, read, notes=table.notes)))
        tables.append(table)
    first = tables[0].columns
    _refuse_other_columns(paths, tables)
    pieces = replace(joined(shards), named=named)
    if first.lists:
        return pieces
    instance = first.instance
    assert instance is not None

    def read_long(n_bytes: int) -> Iterator[Rows]:
        whole = paths[0].parent if len(paths) > 1 else paths[0]
        placed = _place_rows(_long_batches(files, reading, n_bytes), whole, instance)
        yield from placed.read(n_bytes)

    return replace(pieces, read=read_long, locate=None)


def _refuse_other_columns(paths: Sequence[Path], tables: Sequence[ArrowTable]) -> None:
    """Refuse the first file whose columns are unlike those of the first file."""
    first = tables[0].columns
    for path, table in zip(paths, tables, strict=True):
        if (table.columns.lists, table.columns.instance) != (first.lists, first.instance):
            columns = shown(", ".join(table.columns.read))
            raise ValueError(
                f"{path}: has columns {columns}, unlike {paths[0]}; expected {EXPECTED}"
            )


def _describe_numbered(
    file: InputFile, reading: TableReading, start: int
) -> tuple[ArrowTable, int]:
    """Return a table and the number of the row after its last.

    It has names if the numbers of its rows do not count from ``start``.
    """
    with naming(file.path, EXPECTED), open_table(file, reading.fields) as opened_table:
        table = describe_table(opened_table, reading)
        instance = table.columns.instance
        first = 0
        if instance is not None and table.columns.lists and not table.named:
            for batch in opened_table.batches([instance], BATCH_BYTES):
                numbers = read_cells(batch, instance, first, False).ids()
                if (numbers != start + first + np.arange(batch.num_rows)).any():
                    return table._replace(named=True), start
                first += batch.num_rows
        notes = list[str]()
        if not table.named:
            notes = notes_on_columns(opened_table, table.columns, reading.kind)
    return table._replace(notes=tuple(notes)), start + first


def _read_lists(file: InputFile, reading: TableReading, start: int, n_bytes: int) -> Iterator[Rows]:
    """Yield the rows of a table of lists by number."""
    with naming(file.path, EXPECTED):
        batches = _batches(file, reading, False, n_bytes, Origin("row"), start)
        yield from without_vectors(batches, ADVICE)


def _long_batches(
    files: Sequence[InputFile], reading: TableReading, n_bytes: int
) -> Iterator[Rows]:
    """Yield the rows of tables with a row for each label; refuse an instance in two files."""
    # for each instance the number of its file, from 1 up, or 0
    file_of: Ints = np.zeros(1, np.int32)
    for place, file in enumerate(files, 1):
        with naming(file.path, EXPECTED):
            for rows in _batches(file, reading, False, n_bytes, Origin("row")):
                yield rows  # the caller checks the numbers of rows before the next line
                instances = np.asarray(rows.keys)
                n_instances = int(instances.max(initial=-1)) + 1
                if n_instances > file_of.size:
                    file_of.resize(2 * n_instances, refcheck=False)
                places = file_of[instances]
                is_elsewhere = (places > 0) & (places < place)
                if is_elsewhere.any():
                    entry = int(is_elsewhere.argmax())
                    row = instances[entry]
                    other = files[places[entry] - 1].path
                    raise ValueError(f"row {row} is also in {other}; expected each row in one file")
                file_of[instances] = place


def columns_of(file: InputFile) -> list[str]:
    """Return the names of the columns of a file."""
    with naming(file.path, EXPECTED), open_table(file) as table:
        names: list[str] = table.schema.names
    return names


def row_cells_of(file: InputFile, reading: TableReading, wanted: Sequence[str]) -> RowCells:
    """Return the cells of some columns of a file."""
    instance: str | None = None
    named = True
    with naming(file.path, EXPECTED):
        names, label_columns = _find_label_columns(file, reading)
        for name in wanted:
            if name not in names:
                raise ValueError(f"no column {shown(name)}")
        if label_columns is None:
            with open_table(file, reading.fields) as opened_table:
                table = describe_table(opened_table, reading)
            named = table.named
            instance = None if table.columns.lists else table.columns.instance
    entries = _cells_of_batches(file, instance, named, wanted)
    return RowCells("row", naming_each(file.path, EXPECTED, entries))


def _cells_of_batches(
    file: InputFile, instance: str | None, named: bool, wanted: Sequence[str]
) -> Iterator[tuple[Any, list[Any], int]]:
    """Yield the key, the wanted cells and the row of rows that differ in these from the last.

    Where each row of the table is an instance, ``instance`` is None, and all rows are yielded,
    without keys. Integer keys of a table with names are named by their digits.
    """
    names = [*wanted]
    if instance is not None:
        names.append(instance)
    first = 0
    with open_table(file) as opened_table:
        for batch in opened_table.batches([*dict.fromkeys(names)], BATCH_BYTES):
            columns = [_encode_column(batch.column(name)) for name in names]
            is_new = np.full(batch.num_rows, instance is None)
            is_new[:1] = True
            for coded in columns:
                is_new[1:] |= coded.codes[1:] != coded.codes[:-1]
            for place in np.flatnonzero(is_new).tolist():
                cells = [coded.values[coded.codes[place]] for coded in columns]
                key = None if instance is None else cells.pop()
                if named and key is not None:
                    key = str(key)
                yield key, cells, first + place
            first += batch.num_rows


def further_columns_of(path: Path, kind: str, fields: Fields) -> list[str]:
    """Return the further columns of texts or integers in a file of lists of unnamed rows."""
    with naming(path, EXPECTED), open_table(InputFile(path), fields) as opened_table:
        return describe_table(opened_table, TableReading(kind, fields)).joining


def hash_columns(paths: Sequence[Path], names: list[str]) -> dict[str, array[int]]:
    """Return hashes of columns of files, the rows of all files in order."""
    columns = {name: array("q") for name in names}
    for path in paths:
        with naming(path, EXPECTED), open_table(InputFile(path)) as opened_table:
            for batch in opened_table.batches(names, BATCH_BYTES):
                _hash_cells(columns, batch)
    return columns


def _hash_cells(columns: dict[Any, array[int]], batch: RecordBatch) -> None:
    for name, hashes in columns.items():
        hashes += hashed(batch.column(name).to_pylist())
    memory_limit().check(sum(hashes.itemsize * len(hashes) for hashes in columns.values()))


def save_table(path: Path, data: object, kind: str, n_labels: int | None = None) -> None:
    """Write relevant labels or scores, as `xmleval.io.write_parquet` does."""
    pa = import_pyarrow()
    is_ipc = str(path).lower().endswith((".arrow", ".feather"))
    make_writer = pa.ipc.new_file if is_ipc else pa.parquet.ParquetWriter
    keys, names = names_of(data)
    metadata = None
    if names is None:
        width = known_labels(data, n_labels)
        if width is not None:
            metadata = {"n_labels": str(width)}
    label_type = pa.string()
    if names is None and keys is None:
        label_type = pa.int64()
    with replacing(path) as file, contextlib.ExitStack() as closing:
        writer = None
        row = 0
        for _, block in canonical(data, kind, n_labels):
            stop = row + block.ptr.size - 1
            block_keys = None if keys is None else keys[row:stop]
            batch = _make_batch(block, block_keys, names, label_type)
            row = stop
            if writer is None:
                schema = batch.schema.with_metadata(metadata)
                writer = closing.enter_context(make_writer(file, schema))
            if not batch.schema.equals(schema):
                raise ValueError(
                    f"{kind}: rows of {batch.schema.types[-1]} after rows of another type"
                )
            writer.write_batch(batch)
        if writer is None:  # there are no rows
            fields = {"labels": pa.list_(label_type)}
            if keys is not None:
                fields = {"instance": pa.string(), **fields}
            closing.enter_context(make_writer(file, pa.schema(fields, metadata)))


def _make_batch(
    block: Any, keys: Sequence[str] | None, names: Sequence[str] | None, label_type: Any
) -> Any:
    """Return a record batch of rows, with their keys and with names in place of label ids."""
    pa = import_pyarrow()
    columns = dict[str, Any]()
    if keys is not None:
        columns["instance"] = pa.array(keys, pa.string())
    labels = pa.array(block.labels.astype(np.int64))
    if names is not None:
        labels = pa.array(names, pa.string()).take(labels)
    columns["labels"] = _make_lists(block.ptr, labels.cast(label_type))
    scores = getattr(block, "scores", None)
    if scores is not None:
        columns["scores"] = _make_lists(block.ptr, pa.array(scores))
    return pa.record_batch(columns)


def _make_lists(ptr: Ints, values: Any) -> Any:
    pa = import_pyarrow()
    return pa.ListArray.from_arrays(pa.array(ptr, pa.int32()), values)


def _make_format(fields: Fields, file_at: FileAt) -> Format:
    """Return the format with readers of tables whose columns have the given names."""

    def reading(kind: str) -> TableReading:
        return TableReading(kind, fields, file_at)

    def read_label_columns(path: Path, kind: str) -> Sequence[str] | None:
        with naming(path, EXPECTED):
            columns = _find_label_columns(file_at(path), reading(kind))[1]
            return None if columns is None else columns.labels

    def holds_both(path: Path) -> bool:
        with naming(path, EXPECTED), open_table(file_at(path)) as table:
            names = without_values_of_rows(table.schema.names, fields)
            return fields.pred is not None or bool(named_as(names, PRED))

    return Format(
        name="arrow",
        title="Parquet or Arrow file",
        extensions=(".parquet", ".arrow", ".feather"),
        pieces=lambda path, kind: read_pieces([path], reading(kind)),
        together=lambda paths, kind: read_pieces(paths, reading(kind)),
        rows=lambda paths, kind: named_rows(paths, reading(kind)),
        columns=lambda path: columns_of(file_at(path)),
        label_columns=read_label_columns,
        row_cells=lambda path, kind, wanted: row_cells_of(file_at(path), reading(kind), wanted),
        holds_both=holds_both,
        for_fields=_make_format,
        write=save_table,
        keeps_names=True,
        keeps_order=True,
    )


ARROW = _make_format(USUAL_FIELDS, InputFile)
