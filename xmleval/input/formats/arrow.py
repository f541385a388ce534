"""Parquet and Arrow IPC files: opened, read a record batch at a time, and written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.budget import LEAST_WHOLE
from xmleval.errors import printable
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.input.writing import canonical, known_labels

EXPECTED = (
    "a Parquet or Arrow file with a row for each instance (columns labels, scores: lists) "
    "or for each of its labels (columns instance or row, label, score)"
)
BUFFER_BYTES, REMOTE_BUFFER_BYTES = 1 << 20, 1 << 22  # of a column
SAMPLED_ROWS, MOST_ROWS = 256, 1 << 16
BYTES_PER_ROW = 16


class Opened(NamedTuple):
    """An open file: its schema, its metadata, and its record batches of some of its columns."""

    schema: Any
    metadata: dict[bytes, bytes]
    batches: Callable[[list[str], int], Iterator[Any]]


@contextlib.contextmanager
def opened(file: InputFile) -> Iterator[Opened]:
    """Open a file of either format, told by its first bytes.

    Every batch is validated whole before it is given out: compiled code trusts offsets, and files lie.
    """
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


def import_pyarrow() -> Any:
    """Return pyarrow with what is used of it, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ValueError("pyarrow is not installed: pip install 'xmleval[arrow]'") from None
    return pyarrow


def is_text(type_: Any) -> bool:
    """Tell whether a type is that of texts, also where a dictionary holds each of them once."""
    types = import_pyarrow().types
    type_ = type_.value_type if types.is_dictionary(type_) else type_
    return any(check(type_) for check in (types.is_string, types.is_large_string, types.is_string_view))


def is_list(type_: Any) -> bool:
    """Tell whether a type is that of lists."""
    types = import_pyarrow().types
    return any(check(type_) for check in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _open_parquet(pa: Any, source: Any, file: InputFile) -> Opened:
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

    def batches(columns: list[str], n_bytes: int) -> Iterator[Any]:
        if not parquet.num_row_groups:
            return
        # how large rows are is told by some of them: pyarrow aborts where metadata of columns are damaged
        first = next(parquet.iter_batches(SAMPLED_ROWS, columns=columns, use_threads=False), None)
        size = SAMPLED_ROWS if first is None else _rows_of(first, n_bytes)
        del first  # a row may be very long
        for batch in parquet.iter_batches(size, columns=columns, use_threads=False):
            batch.validate(full=True)
            yield batch

    return Opened(parquet.schema_arrow, metadata.metadata or {}, batches)


def _open_ipc(pa: Any, source: Any, open_reader: Callable[..., Any]) -> Opened:
    schema = open_reader(source).schema

    def batches(columns: list[str], n_bytes: int) -> Iterator[Any]:
        source.seek(0)
        fields = [place for place, name in enumerate(schema.names) if name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        reader = open_reader(source, options=options)
        is_file = open_reader is pa.ipc.open_file
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            batch.validate(full=True)
            size = _rows_of(batch, n_bytes)  # so few that their copies are small
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)

    return Opened(schema, schema.metadata or {}, batches)


def _rows_of(batch: Any, n_bytes: int) -> int:
    """Return how many rows like those of a batch are of about ``n_bytes``."""
    stored = [column for column in batch.columns if not hasattr(column, "dictionary")]
    for column in batch.columns:
        if hasattr(column, "dictionary"):  # which may hold many more values than these rows
            stored += [column.indices, column.dictionary.take(column.indices.unique().drop_null())]
    row_bytes = BYTES_PER_ROW + sum(column.nbytes for column in stored) // max(batch.num_rows, 1)
    return int(min(max(n_bytes // row_bytes, 1), MOST_ROWS))


def save_table(path: Path, data: Any, kind: str, n_labels: int | None = None) -> None:
    """Write relevant labels or scores, as `xmleval.io.write_parquet` does."""
    pa = import_pyarrow()
    is_ipc = str(path).lower().endswith((".arrow", ".feather"))
    make_writer = pa.ipc.new_file if is_ipc else pa.parquet.ParquetWriter
    known = known_labels(data, n_labels)
    metadata = None if known is None else {"n_labels": str(known)}
    with replacing(path) as file, contextlib.ExitStack() as closing:
        writer = None
        for _, block in canonical(data, kind, n_labels):
            columns = {"labels": _lists(pa, block.ptr, block.labels.astype(np.int64))}
            scores = getattr(block, "scores", None)
            if scores is not None:
                columns["scores"] = _lists(pa, block.ptr, scores)
            batch = pa.record_batch(columns)
            if writer is None:
                schema = batch.schema.with_metadata(metadata)
                writer = closing.enter_context(make_writer(file, schema))
            if not batch.schema.equals(schema):
                raise ValueError(f"{kind}: rows of {batch.schema.types[-1]} after rows of another type")
            writer.write_batch(batch)
        if writer is None:  # no rows at all
            schema = pa.schema({"labels": pa.list_(pa.int64())}, metadata)
            closing.enter_context(make_writer(file, schema))


def _lists(pa: Any, ptr: Any, values: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(ptr, pa.int32()), pa.array(values))
