"""Rows of Parquet and Arrow files, of ids or with names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.columns import OWN_INSTANCE, ColumnHashes
from xmleval.input.csr import MOST_LABELS
from xmleval.input.formats.arrow import EXPECTED, MOST_ROWS, Opened, is_text, opened
from xmleval.input.formats.arrow_columns import TableColumns, cells_of, find_columns
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npy import ROW_ENTRY_BYTES
from xmleval.input.formats.npz import ROWS_FOR_NOTHING, ROWS_PER_ENTRY
from xmleval.input.formats.write_parquet import write_parquet
from xmleval.input.glances import VectorRows
from xmleval.input.lines import shown
from xmleval.input.names import scores_named, truth_named
from xmleval.input.pieces import Pieces
from xmleval.input.rows import BY_KEY, Facts, Named, Rows, rows_by_id
from xmleval.message import counted
from xmleval.records import Ints

BATCH_BYTES = 1 << 22
ADVICE = "write the ids of the ones, or label names as texts"
RENAME = "rename it to 'instance' where it names the rows"


def read_arrow_truth(path: str | os.PathLike[str], labels: list[str] | None = None) -> Named:
    """Read relevant labels that have names from a Parquet or Arrow file.

    Parameters
    ----------
    path : path
        With columns ``instance`` (or ``row``) and ``label``, or ``labels``, a list for each instance, and
        ``instance`` or none: then instances are called by their numbers from 0. Integers are called by
        their digits.
    labels : list of str, optional
        Names of all labels by column, as `read_names` reads them; by default those of the file, in the
        order in which they appear first.

    Returns
    -------
    Named

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, its columns are others, an instance has a label twice, or pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from xmleval.io import read_arrow_truth
    >>> table = pa.table({"instance": ["q1", "q2"], "labels": [["cat"], ["dog", "cat"]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(table, Path(folder) / "truth.parquet")
    ...     truth = read_arrow_truth(Path(folder) / "truth.parquet")
    >>> truth.label_names, truth.matrix.toarray().tolist()
    (['cat', 'dog'], [[1, 0], [1, 1]])
    """
    return truth_named(str(path), partial(named_rows, as_path(path), "truth", UNLIMITED), labels, False)


def read_arrow_scores(path: str | os.PathLike[str], like: Named | list[str]) -> Named:
    """Read scores of labels that have names, brought in line with the truth.

    Parameters
    ----------
    path : path
        A file as `read_arrow_truth` reads it, with a column ``score``, or ``scores`` of lists.
    like : Named or list of str
        The truth, as `read_arrow_truth` or `read_qrels` reads it, or names of labels: rows are
        then in the order in which they appear first.

    Returns
    -------
    Named
        Scores in float64, in rows as the truth has them. Labels that the truth does not name are in columns
        behind its own.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, its columns are others, a score is NaN or given twice, or pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from xmleval.io import read_arrow_scores
    >>> table = pa.table({"instance": ["q1"], "labels": [["dog", "cat"]], "scores": [[0.75, 0.5]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(table, Path(folder) / "model.parquet")
    ...     scores = read_arrow_scores(Path(folder) / "model.parquet", ["cat", "dog"])
    >>> scores.matrix.toarray().tolist()
    [[0.5, 0.75]]
    """
    return scores_named(str(path), partial(named_rows, as_path(path), "scores", UNLIMITED), like)


@contextlib.contextmanager
def _opened(file: InputFile, kind: str) -> Iterator[tuple[Opened, TableColumns]]:
    with opened(file) as table:
        yield table, find_columns(table, kind)


def named_rows(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the rows of a file, one for each instance or for each label; integers are called by their digits.

    Of kind "grades" are judged labels with their values, or with 1 without them.
    """
    with naming(path, EXPECTED):
        yield from _batches(InputFile(path), kind, True, allowance, BATCH_BYTES)


def _batches(file: InputFile, kind: str, named: bool, allowance: Allowance, n_bytes: int) -> Iterator[Rows]:
    """Yield the rows of a table, ``named`` or by number; those of a long one have one label each."""
    first = n_entries = 0
    with _opened(file, kind) as (table, columns):
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
    match = BY_KEY if named and keys is not None else None
    rows = Rows(keys, match, ptr, labels, names, values, is_list, places, named and not lists)
    return rows._replace(is_written=not lists)


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
    with naming(path, EXPECTED), _opened(file, kind) as (_, columns):
        pass

    def read(n_bytes: int) -> Iterator[Rows]:
        batches = _batches(file, kind, False, allowance, n_bytes)
        with naming(path, EXPECTED):
            yield from batches if columns.lists else _instances(batches, columns.instance or "", allowance)

    return Pieces(None, columns.n_labels, read)


def _by_number(path: Path, kind: str, allowance: Allowance) -> Pieces | None:
    with naming(path, EXPECTED), _opened(InputFile(path), kind) as (table, columns):
        if columns.named:
            return None
        names, first = [columns.instance] if columns.lists and columns.instance else [], 0
        for batch in table.batches(names, BATCH_BYTES) if names else ():
            numbers = cells_of(batch, names[0], first, False).ids()
            if (numbers != first + np.arange(batch.num_rows)).any():
                return None  # it does not number the rows in their order
            first += batch.num_rows
    return read_pieces(path, kind, allowance)


def columns_beside(path: Path, kind: str) -> list[str]:
    """Return the columns of texts or integers beside the lists of a file whose rows have no names."""
    with naming(path, EXPECTED), _opened(InputFile(path), kind) as (_, columns):
        return columns.beside


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
    container="arrow",
    extensions=(".parquet", ".arrow", ".feather"),
    pieces=read_pieces,
    rows=named_rows,
    by_number=_by_number,
    write=lambda path, data, kind, n_labels: write_parquet(path, data, kind, n_labels=n_labels),
    by_pieces=True,
    keeps_order=True,
)
