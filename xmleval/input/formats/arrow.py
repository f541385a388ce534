"""Parquet and Arrow IPC files: rows of ids or with names, read a record batch at a time, and written."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import MOST_LABELS, Bools, Ints
from xmleval.base.budget import LEAST_WHOLE, memory_limit
from xmleval.base.errors import counted, printable, shown
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.columns import (
    LABEL_COLUMN,
    OWN_INSTANCE,
    ColumnsError,
    DecidingColumnError,
    TableColumns,
    choose_columns,
    hashed,
)
from xmleval.input.csr import as_signed
from xmleval.input.formats.arrays import ROW_ENTRY_BYTES, ROWS_FOR_NOTHING, ROWS_PER_ENTRY
from xmleval.input.formats.format import Format, naming
from xmleval.input.further_columns import Coded, EntryColumns, ListColumns, notes_on_ranks
from xmleval.input.glances import LIKE_A_SCORE, VectorGlance, without_vectors
from xmleval.input.lines import SHOWN
from xmleval.input.match import HELD_SHARE
from xmleval.input.pieces import Pieces, joined
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Origin, Rows, pointer
from xmleval.input.writing import canonical, known_labels, names_of

EXPECTED = (
    "a Parquet or Arrow file with a row for each instance (columns labels, scores: lists) "
    "or for each of its labels (columns instance or row, label, score)"
)
BUFFER_BYTES, REMOTE_BUFFER_BYTES = 1 << 20, 1 << 22  # of a column
SAMPLED_ROWS, MOST_ROWS = 256, 1 << 16
BYTES_PER_ROW = 16
BATCH_BYTES = 1 << 22
PLACED_BYTES = 32  # of memory for a row of a table with a row for each label
ADVICE = "write the ids of the ones, or label names as texts"
RENAME = "rename it to 'instance' where it names the rows"
HOW = "rename columns, or leave some out"


class RecordBatch(Protocol):
    """Some rows of a table of pyarrow."""

    num_rows: int
    columns: list[Any]

    def column(self, name: str) -> Any:
        """Return a column."""

    def slice(self, offset: int, length: int | None = None) -> RecordBatch:
        """Return some of the rows, by default all from one on."""


class Opened(NamedTuple):
    """An open file: its schema, its metadata, and its record batches of some of its columns."""

    schema: Any
    metadata: dict[bytes, bytes]
    batches: Callable[[list[str], int], Iterator[RecordBatch]]


@contextlib.contextmanager
def opened(file: InputFile) -> Iterator[Opened]:
    """Open a file of either format, told by its first bytes; its batches are validated, as files lie."""
    with file.open(0) as stream:
        begins = stream.read(8)
        stream.seek(0)
        pa = import_pyarrow()
        source = pa.PythonFile(stream, "r")  # no map: cut short while it is read, it would end the process
        try:
            if begins.startswith(b"PAR1"):
                yield _open_parquet(pa, source, file)
            elif begins.startswith(b"ARROW1"):
                yield _open_ipc(pa, source, pa.ipc.open_file)
            elif begins.startswith(b"\xff\xff\xff\xff"):
                yield _open_ipc(pa, source, pa.ipc.open_stream)
            else:
                raise ValueError("it begins neither as Parquet nor as Arrow IPC (Feather version 2) does")
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None) is not None:
                raise  # of others, damaged Parquet has none
            raise ValueError(printable(" ".join(str(error)[:200].split()))) from None


def import_pyarrow() -> ModuleType:
    """Return pyarrow with what is used of it, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ValueError("pyarrow is not installed: pip install 'xmleval[arrow]'") from None
    module: ModuleType = pyarrow
    return module


def is_text(type_: Any) -> bool:
    """Tell whether a type is that of texts, also where a dictionary holds each of them once."""
    types = import_pyarrow().types
    type_ = type_.value_type if types.is_dictionary(type_) else type_
    return any(check(type_) for check in (types.is_string, types.is_large_string, types.is_string_view))


def is_list(type_: Any) -> bool:
    """Tell whether a type is that of lists."""
    types = import_pyarrow().types
    return any(check(type_) for check in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _open_parquet(pa: ModuleType, source: Any, file: InputFile) -> Opened:
    metadata = pa.parquet.read_metadata(source)
    # names stay what the file holds: once each, however many rows have them
    texts = [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]
    source.seek(0)
    size = REMOTE_BUFFER_BYTES if file.is_remote else BUFFER_BYTES
    if file.size <= LEAST_WHOLE:  # a buffer would take what a damaged page says, up to 2 GiB
        size = 0
    parquet = pa.parquet.ParquetFile(
        source, metadata=metadata, read_dictionary=texts, buffer_size=size, pre_buffer=False
    )

    def batches(columns: list[str], n_bytes: int) -> Iterator[RecordBatch]:
        if not parquet.num_row_groups:
            return
        # how large rows are is told by some of them: pyarrow aborts where metadata of columns are damaged
        first = next(parquet.iter_batches(SAMPLED_ROWS, columns=columns, use_threads=False), None)
        size = SAMPLED_ROWS if first is None else _rows_in(n_bytes, first)
        del first  # a row may be very long
        for batch in parquet.iter_batches(size, columns=columns, use_threads=False):
            batch.validate(full=True)
            yield batch

    return Opened(parquet.schema_arrow, metadata.metadata or {}, batches)


def _open_ipc(pa: ModuleType, source: Any, open_reader: Callable[..., Any]) -> Opened:
    schema = open_reader(source).schema

    def batches(columns: list[str], n_bytes: int) -> Iterator[RecordBatch]:
        source.seek(0)
        fields = [place for place, name in enumerate(schema.names) if name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        reader = open_reader(source, options=options)
        is_file = open_reader is pa.ipc.open_file
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            batch.validate(full=True)
            size = _rows_in(n_bytes, batch)  # so few that their copies are small
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)

    return Opened(schema, schema.metadata or {}, batches)


def _rows_in(n_bytes: int, batch: RecordBatch) -> int:
    """Return how many rows like those of a batch are of about ``n_bytes``."""
    stored = [column for column in batch.columns if not hasattr(column, "dictionary")]
    for column in batch.columns:
        if hasattr(column, "dictionary"):  # which may hold many more values than these rows
            stored += [column.indices, column.dictionary.take(column.indices.unique().drop_null())]
    row_bytes = BYTES_PER_ROW + sum(column.nbytes for column in stored) // max(batch.num_rows, 1)
    return int(min(max(n_bytes // row_bytes, 1), MOST_ROWS))


class Table(NamedTuple):
    """What a file tells of its columns, and of the number of labels."""

    columns: TableColumns[str]
    n_labels: int | None
    named: bool  # whether instances or labels are texts, or their columns are not named as those of numbers
    joining: list[str]  # of lists whose rows have no names: further columns of texts or integers
    notes: tuple[str, ...] = ()  # of rows by number


def look_at(table: Opened, kind: str) -> Table:
    """Tell what the columns of a file are; lists without scores are a ranking."""
    stored = _types_of(table)
    names: list[str] = table.schema.names
    try:
        columns = choose_columns(names, kind, lambda name: is_list(stored[name]))
    except ColumnsError as error:
        raise ValueError(f"{error}; {HOW}") from None
    named = any(_is_name(stored[name]) for name in (columns.instance, columns.label) if name is not None)
    joining = list[str]()
    if not columns.lists:
        named |= columns.instance not in OWN_INSTANCE or columns.label != LABEL_COLUMN
    elif columns.instance is None:
        joining = [name for name in columns.unused if _may_join(stored[name])]
    return Table(columns, _promised_labels(table.metadata), named, joining)


def _types_of(table: Opened) -> dict[str, Any]:
    """Return the types of columns by name."""
    return {field.name: field.type for field in table.schema}


def _is_name(type_: Any) -> bool:
    """Tell whether a type, or that of the values of lists, is one of names."""
    type_ = type_.value_type if is_list(type_) else type_
    return is_text(type_) or bool(import_pyarrow().types.is_dictionary(type_))


def _may_join(type_: Any) -> bool:
    """Tell whether a column of a type may name the rows."""
    return is_text(type_) or bool(import_pyarrow().types.is_integer(type_))


def _promised_labels(metadata: dict[bytes, bytes]) -> int | None:
    """Return the number of labels in metadata, None if it is missing."""
    number = metadata.get(b"n_labels", b"")
    if not number:
        return None
    if not (number.isdigit() and len(number) < 14 and 1 <= int(number) <= MOST_LABELS):
        raise ValueError(f"n_labels in its metadata is {shown(number[:40])}")
    return int(number)


def notes_on_columns(table: Opened, columns: TableColumns[str], kind: str) -> list[str]:
    """Return notes on the columns of a file that are left out or may be ranks, or refuse one that decides."""
    key = columns.label
    further: EntryColumns[str] | ListColumns[str]
    if columns.lists:
        stored = _types_of(table)
        further = ListColumns(columns, kind, [name for name in columns.unused if is_list(stored[name])])
    else:
        assert columns.instance is not None
        key = columns.instance
        further = EntryColumns(columns, kind)
    try:
        n_seen = 0
        while names := further.undecided:  # once a column is decided, it is read no further
            n_seen = _look_at_cells(table.batches([key, *names], BATCH_BYTES), key, further, n_seen)
            if further.undecided == names:
                break
        return [*notes_on_ranks(columns, kind), *further.notes()]
    except DecidingColumnError as error:
        if error.column is None:
            raise ValueError(str(error)) from None
        usual = "score" if kind == "scores" else "relevance"
        raise ValueError(f"{error}; call it {usual!r} if so, or leave it out") from None


def _coded(column: Any) -> Coded:
    """Return the cells of a column by their places among its different values, a null among them."""
    column = column.dictionary_decode() if hasattr(column, "dictionary") else column
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
    except (NotImplementedError, import_pyarrow().ArrowException):  # of lists
        return Coded(np.arange(len(column)), column.to_pylist())
    return Coded(as_numpy(encoded.indices), encoded.dictionary.to_pylist())


def _look_at_cells(
    batches: Iterator[RecordBatch], key: str, further: EntryColumns[str] | ListColumns[str], n_seen: int
) -> int:
    """Look at the rows after ``n_seen`` until a column is decided, and return how many rows were seen."""
    undecided = further.undecided
    n_rows = 0
    for batch in batches:
        unseen = batch.slice(max(n_seen - n_rows, 0))
        n_rows += batch.num_rows
        if isinstance(further, EntryColumns):
            codes, values = _coded(unseen.column(key))
            keys = [values[code] for code in codes.tolist()]
            further.add(keys, {name: _coded(unseen.column(name)) for name in undecided})
        else:
            cells = {name: unseen.column(name).to_pylist() for name in undecided}
            sizes = unseen.column(key).value_lengths().fill_null(0).to_pylist()
            for row, n_labels in enumerate(sizes):
                further.add(n_labels, {name: column[row] for name, column in cells.items()})
        n_seen = max(n_seen, n_rows)
        if further.undecided != undecided:
            break
    return n_seen


class Cells(NamedTuple):
    """The values of a column of a batch, one after another, and where those of each row begin and end."""

    name: str
    first: int  # row of the table that is the first of the batch
    ptr: Ints
    column: Any

    def refuse(self, bad: Bools, message: str, values: NDArray[Any] | None = None) -> None:
        """Refuse the first bad value, which ``{}`` stands for, with its row."""
        if bad.any():
            at = int(np.argmax(bad))
            row = self.first + int(np.searchsorted(self.ptr, at, side="right")) - 1
            raise ValueError(f"row {row}: {message if values is None else message.format(values[at])}")

    def ids(self) -> Ints:
        """Return integers, or say that names are read otherwise."""
        type_ = self.column.type
        if not import_pyarrow().types.is_integer(type_):
            hint = "names, not numbers" if is_text(type_) else "not integers"
            raise ValueError(f"column {shown(self.name)} holds {_called(type_)}, {hint}")
        return as_signed(as_numpy(self.column)).astype(np.int64, copy=False)

    def coded(self) -> tuple[Ints, list[str]]:
        """Return names as places among the distinct ones, and these; integers are called by their digits."""
        if not is_text(self.column.type):
            distinct, codes = np.unique(self.ids(), return_inverse=True)
            return codes, [str(number) for number in distinct.tolist()]
        column = self.column if hasattr(self.column, "dictionary") else self.column.dictionary_encode()
        codes = as_numpy(column.indices)
        used = np.zeros(len(column.dictionary), np.bool_)
        used[codes] = True  # of a dictionary that may be that of many more rows
        names = column.dictionary.filter(import_pyarrow().array(used)).to_pylist()
        if None in names:
            raise ValueError(f"a null among the values of the dictionary of {shown(self.name)}")
        return (np.cumsum(used) - 1)[codes], names

    def numbers(self, kind: str) -> NDArray[Any]:
        """Return scores or grades as the file has them, or ones and zeros for judgements of a truth."""
        values = as_numpy(self.column)
        if values.dtype.kind not in ("f" if kind == "scores" else "fiub"):
            type_name = _called(self.column.type)
            raise ValueError(f"column {shown(self.name)} holds {type_name}, not floating-point numbers")
        if kind == "truth":
            message = f"column {shown(self.name)} holds {{}}, no integer; {LIKE_A_SCORE}; grades need gains"
            self.refuse(values != np.floor(values.astype(np.float64)), message, values)
        return (values > 0).astype(np.uint8) if kind == "truth" or values.dtype == np.bool_ else values


def cells_of(batch: RecordBatch, name: str, first: int, lists: bool) -> Cells:
    """Return the values of a column, those of lists with ``lists``, else one in each row; none is null."""
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


def _called(type_: Any) -> str:
    return str(type_.value_type if is_text(type_) and hasattr(type_, "value_type") else type_)[:SHOWN]


def named_rows(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of files, one for each instance or for each label; the names of integers are digits."""
    glance = VectorGlance(ADVICE)
    facts = Origin("row", how_to_join=RENAME)
    first: TableColumns[str] | None = None
    for path in paths:
        file = InputFile(path)
        with naming(path, EXPECTED):
            with opened(file) as opened_table:
                columns = look_at(opened_table, kind).columns
                notes = [f"ids in {shown(columns.instance)}"] if columns.is_usual else []
                notes += notes_on_columns(opened_table, columns, kind)
                facts.notes += [note for note in notes if note not in facts.notes]
            first = first or columns
            if columns._replace(unused=first.unused) != first:
                raise ValueError(f"columns {shown(', '.join(columns.read))}, unlike those of {paths[0]}")
            for rows in _batches(file, kind, True, BATCH_BYTES, facts.of_file(path, paths)):
                glance.refuse(rows)
                yield rows
            if path is paths[-1]:
                glance.close()


def _batches(
    file: InputFile, kind: str, named: bool, n_bytes: int, facts: Origin, start: int = 0
) -> Iterator[Rows]:
    """Yield the rows of a table, ``named`` or by number; those of a long one have one label each.

    ``start`` is the number that its first row has among those of several files.
    """
    first = 0
    with opened(file) as opened_table:
        table = look_at(opened_table, kind)
        columns = table.columns
        joining = table.joining if named else []
        for name in joining:
            facts.columns.setdefault(name, array("q"))
        if columns.is_usual:
            columns = columns if named else columns._replace(instance=None)  # by number, nothing is joined
        is_unscored = columns.lists and kind != "scores" and columns.value is None and table.n_labels is None
        for batch in opened_table.batches(columns.read + joining, n_bytes):
            rows = _rows_of(batch, kind, table._replace(columns=columns), named, first, start)
            first += rows.n_rows
            memory_limit().check(ROW_ENTRY_BYTES * int(np.diff(rows.ptr).max(initial=0)))
            are_lists = is_unscored and not is_text(batch.column(columns.label).type.value_type)
            yield rows._replace(origin=facts, are_lists=are_lists)
            _hash_cells(facts.columns, batch)


def _rows_of(batch: RecordBatch, kind: str, table: Table, named: bool, first: int, start: int) -> Rows:
    """Return the rows of a batch, of which row ``first`` of the table is the first."""
    columns = table.columns
    lists = columns.lists
    is_ranking = lists and kind == "scores"
    places = first + np.arange(batch.num_rows)
    keys: Any = None
    if columns.instance is not None:
        instances = cells_of(batch, columns.instance, first, False)
        keys = _names_in(instances) if named else _row_numbers(instances, start + places if lists else None)
    cells = cells_of(batch, columns.label, first, lists)
    names: list[str] | None = None
    if named:
        labels, names = cells.coded()
    else:
        labels = _label_ids(cells, -1 if is_ranking else 0, table.n_labels or MOST_LABELS)
    values: NDArray[Any] | None = None
    if columns.value is not None:
        values = _values_of(cells_of(batch, columns.value, first, lists), cells.ptr, labels, kind)
        if named:
            values = values.astype(np.float64)
    return Rows(
        keys,
        BY_KEY if named and keys is not None else None,
        cells.ptr,
        labels,
        names,
        values,
        best_first=is_ranking,
        places=None if lists and not named else places,
        is_long=named and not lists,
        is_written=not lists,
    )


def _names_in(instances: Cells) -> list[str]:
    codes, texts = instances.coded()
    return [texts[code] for code in codes.tolist()]  # each once, however many rows have it


def _row_numbers(instances: Cells, expected: Ints | None) -> Ints:
    """Return the numbers of rows, or refuse others than the expected ones, or negative ones if None are."""
    numbers = instances.ids()
    if expected is None:
        instances.refuse(numbers < 0, f"{instances.name} {{}} is negative", numbers)
    else:
        message = f"{instances.name} {{}}, where lists stand in the order of their rows"
        instances.refuse(numbers != expected, message, numbers)
    return numbers


def _label_ids(cells: Cells, lowest: int, end: int) -> Ints:
    labels = cells.ids()
    cells.refuse((labels < lowest) | (labels >= end), f"label id {{}} is not in 0..{end - 1}", labels)
    return labels


def _values_of(scores: Cells, ptr: Ints, labels: Ints, kind: str) -> NDArray[Any]:
    """Return the scores or judgements of labels of rows, or refuse a row that has more or fewer."""
    sizes = np.diff(ptr)
    n_scores = np.diff(scores.ptr)
    differs = sizes != n_scores
    if differs.any():
        at = int(np.argmax(differs))
        numbers = f"{counted(int(sizes[at]), 'labels')} with {counted(int(n_scores[at]), 'scores')}"
        raise ValueError(f"row {scores.first + at}: {numbers}")
    values = scores.numbers(kind)
    scores.refuse(np.isnan(values) & (labels >= 0), "a score is NaN")
    return values


def _placed(batches: Iterator[Rows], path: Path, instance: str) -> PlacedRows:
    """Return the instances 0, 1, ... of a table with a row for each label, which may be in any order.

    ``path`` is what messages about all of it name.
    """
    placed = PlacedRows(instance, memory_limit().left / HELD_SHARE)
    n_rows = n_entries = 0
    for rows in batches:
        keys = np.asarray(rows.keys)
        n_rows = max(n_rows, int(keys.max(initial=-1)) + 1)
        n_entries += keys.size
        with naming(path, EXPECTED):
            # a false number would make us allocate that much memory
            if n_rows > min(ROWS_FOR_NOTHING + ROWS_PER_ENTRY * n_entries, 1 << 31):
                raise ValueError(f"{n_rows} instances with {n_entries} labels")
            memory_limit().check(PLACED_BYTES * n_rows)
            placed.add(rows, rows.labels, keys)
    with naming(path, EXPECTED):
        placed.close(n_rows)
        memory_limit().check(ROW_ENTRY_BYTES * placed.most_labels)
    return placed


def read_pieces(paths: Sequence[Path], kind: str) -> Pieces:
    """Return the rows of files that follow one another by number."""
    files = [*map(InputFile, paths)]
    tables = list[Table]()
    shards = list[tuple[str, Pieces]]()
    named = False
    start = 0
    for path, file in zip(paths, files, strict=True):
        read = partial(_read_lists, file, kind, start)
        table, start = _look_at_numbers(file, kind, start)
        named |= table.named
        shards.append((str(path), Pieces(None, table.n_labels, read, notes=table.notes)))
        tables.append(table)
    first = tables[0].columns
    for path, table in zip(paths, tables, strict=True):
        if (table.columns.lists, table.columns.instance) != (first.lists, first.instance):
            columns = shown(", ".join(table.columns.read))
            raise ValueError(f"{path}: columns {columns}, unlike those of {paths[0]}; expected {EXPECTED}")
    pieces = replace(joined(shards), named=named)
    if first.lists:
        return pieces
    instance = first.instance
    assert instance is not None

    def read_long(n_bytes: int) -> Iterator[Rows]:
        whole = paths[0].parent if len(paths) > 1 else paths[0]
        yield from _placed(_long_batches(files, kind, n_bytes), whole, instance).read(n_bytes)

    return replace(pieces, read=read_long, locate=None)


def _look_at_numbers(file: InputFile, kind: str, start: int) -> tuple[Table, int]:
    """Return a table, with names where it does not number its rows from ``start`` on, and the next number."""
    with naming(file.path, EXPECTED), opened(file) as opened_table:
        table = look_at(opened_table, kind)
        instance = table.columns.instance
        first = 0
        if instance is not None and table.columns.lists and not table.named:
            for batch in opened_table.batches([instance], BATCH_BYTES):
                numbers = cells_of(batch, instance, first, False).ids()
                if (numbers != start + first + np.arange(batch.num_rows)).any():
                    return table._replace(named=True), start
                first += batch.num_rows
        notes = () if table.named else (*notes_on_columns(opened_table, table.columns, kind),)
    return table._replace(notes=notes), start + first


def _read_lists(file: InputFile, kind: str, start: int, n_bytes: int) -> Iterator[Rows]:
    """Yield the rows of a table of lists by number."""
    with naming(file.path, EXPECTED):
        yield from without_vectors(_batches(file, kind, False, n_bytes, Origin("row"), start), ADVICE)


def _long_batches(files: Sequence[InputFile], kind: str, n_bytes: int) -> Iterator[Rows]:
    """Yield the rows of tables with a row for each label, and refuse an instance of two files."""
    file_of: Ints = np.zeros(1, np.int32)
    for place, file in enumerate(files, 1):
        with naming(file.path, EXPECTED):
            for rows in _batches(file, kind, False, n_bytes, Origin("row")):
                yield rows  # whose numbers are checked now
                instances = np.asarray(rows.keys)
                if (n_instances := int(instances.max(initial=-1)) + 1) > file_of.size:
                    file_of.resize(2 * n_instances, refcheck=False)
                places = file_of[instances]
                if (is_other := (places > 0) & (places < place)).any():
                    row = int(is_other.argmax())
                    other = files[places[row] - 1].path
                    text = f"row {instances[row]} is also in {other}; expected each row in one file"
                    raise ValueError(text)
                file_of[instances] = place


def columns_beside(path: Path, kind: str) -> list[str]:
    """Return the columns of texts or integers beside the lists of a file whose rows have no names."""
    with naming(path, EXPECTED), opened(InputFile(path)) as opened_table:
        return look_at(opened_table, kind).joining


def hash_columns(paths: Sequence[Path], names: list[str]) -> dict[str, array[int]]:
    """Return hashes of some columns of files that follow one another."""
    columns = {name: array("q") for name in names}
    for path in paths:
        with naming(path, EXPECTED), opened(InputFile(path)) as opened_table:
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
    width = known_labels(data, n_labels) if names is None else None
    metadata = None if width is None else {"n_labels": str(width)}
    key_type = {} if keys is None else {"instance": pa.string()}
    label_type = pa.int64() if names is None and keys is None else pa.string()
    with replacing(path) as file, contextlib.ExitStack() as closing:
        writer = None
        row = 0
        for _, block in canonical(data, kind, n_labels):
            columns = dict[str, Any]()
            stop = row + block.ptr.size - 1
            if keys is not None:
                columns["instance"] = pa.array(keys[row:stop], pa.string())
            labels = pa.array(block.labels.astype(np.int64))
            if names is not None:
                labels = pa.array(names, pa.string()).take(labels)
            columns["labels"] = _lists(block.ptr, labels.cast(label_type))
            scores = getattr(block, "scores", None)
            if scores is not None:
                columns["scores"] = _lists(block.ptr, pa.array(scores))
            batch = pa.record_batch(columns)
            row = stop
            if writer is None:
                schema = batch.schema.with_metadata(metadata)
                writer = closing.enter_context(make_writer(file, schema))
            if not batch.schema.equals(schema):
                raise ValueError(f"{kind}: rows of {batch.schema.types[-1]} after rows of another type")
            writer.write_batch(batch)
        if writer is None:  # no rows at all
            schema = pa.schema({**key_type, "labels": pa.list_(label_type)}, metadata)
            closing.enter_context(make_writer(file, schema))


def _lists(ptr: Ints, values: Any) -> Any:
    pa = import_pyarrow()
    return pa.ListArray.from_arrays(pa.array(ptr, pa.int32()), values)


ARROW = Format(
    name="arrow",
    title="Parquet or Arrow file",
    extensions=(".parquet", ".arrow", ".feather"),
    pieces=lambda path, kind: read_pieces([path], kind),
    together=read_pieces,
    rows=named_rows,
    write=save_table,
    keeps_names=True,
    keeps_order=True,
)
