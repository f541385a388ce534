"""Truth and scores of rows and labels with names, from Parquet and Arrow files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.columns import ColumnHashes
from xmleval.input.formats.arrow import EXPECTED, Opened, opened
from xmleval.input.formats.arrow_columns import (
    WRITE_IDS,
    TableColumns,
    coded_texts,
    find_columns,
    flat_lists,
    ids,
    listed_scores,
    numbers,
    refuse_nan,
    refuse_null,
    texts,
)
from xmleval.input.formats.format import naming
from xmleval.input.glances import VectorRows
from xmleval.input.lines import shown
from xmleval.input.names import Named, scores_named, truth_named
from xmleval.input.rows import BY_KEY, Facts, Rows

BATCH_BYTES = 1 << 22
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
    return truth_named(str(path), batches(as_path(path), "truth", UNLIMITED), labels, False)


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
        Scores in float64, in rows as the truth has them. Labels that the truth does not name stand behind
        its own; `Named.widened` gives the truth their columns. If the truth was read with a list of labels,
        other labels are refused.

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
    return scores_named(str(path), batches(as_path(path), "scores", UNLIMITED), like)


def has_names(file: InputFile, kind: str) -> bool:
    """Tell whether instances or labels of a file are called by names, not by numbers."""
    with naming(file.path, EXPECTED), opened(file) as table:
        columns = find_columns(table.schema, kind, unscored=True)
        kinds = [str(table.schema.field(name).type) for name in columns.read if name != columns.value]
        if any("string" in stored or "dictionary" in stored for stored in kinds):
            return True
        if not columns.lists:
            return not columns.own_names
        return columns.instance is not None and not _numbers_rows(table, columns.instance)


def _numbers_rows(table: Opened, column: str) -> bool:
    """Tell whether a column numbers the rows in their order."""
    first = 0
    for batch in table.batches([column], BATCH_BYTES):
        refuse_null(batch.column(column), column, first)
        if (ids(batch.column(column), column) != first + np.arange(batch.num_rows)).any():
            return False
        first += batch.num_rows
    return True


def columns_beside(paths: Sequence[Path], kind: str) -> list[str]:
    """Return the columns of texts or integers, next to the lists, that all files have."""
    shared: list[str] | None = None
    for path in paths:
        with naming(path, EXPECTED), opened(InputFile(path)) as file:
            columns = find_columns(file.schema, kind, unscored=True)
        own = columns.others if columns.lists and columns.instance is None else []
        shared = own if shared is None else [name for name in shared if name in own]
    return shared or []


def values_beside(paths: Sequence[Path], names: list[str], allowance: Allowance) -> ColumnHashes:
    """Read the values of some columns of files that follow one another."""
    beside = ColumnHashes(names)
    for path in paths:
        with naming(path, EXPECTED), opened(InputFile(path)) as file:
            for batch in file.batches(names, BATCH_BYTES):
                _add_cells(beside, batch)
                allowance.check(beside.n_bytes)
    return beside


def _add_cells(hashes: ColumnHashes, batch: Any) -> None:
    """Add the rows of a batch."""
    columns = [batch.column(name).to_pylist() for name in hashes.names]
    for cells in zip(*columns, strict=True):
        hashes.add(cells)


def batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the rows of a file, one for each instance or for each label; integers are called by their digits.

    Of kind "grades" are judged labels with a column ``score`` or ``scores``, or with 1 without it.
    """
    first = 0
    with naming(path, EXPECTED), opened(InputFile(path)) as file:
        columns = find_columns(file.schema, kind, unscored=False)
        facts = Facts("row", columns=ColumnHashes(columns.others), how_to_join=RENAME)
        if columns.lists and not columns.own_names:
            facts.told.append(f"ids in {shown(columns.instance or '')}")
        is_unscored = columns.lists and kind != "scores" and columns.value is None
        vectors = VectorRows(WRITE_IDS, repr(columns.label)) if is_unscored else None
        for batch in file.batches(columns.read + columns.others, BATCH_BYTES):
            yield _rows_of(batch, kind, columns, first, vectors)._replace(beside=facts)
            assert facts.columns is not None
            _add_cells(facts.columns, batch)
            first += batch.num_rows
            allowance.check(facts.columns.n_bytes)
        if vectors is not None:
            vectors.close()


def _rows_of(batch: Any, kind: str, columns: TableColumns, first: int, vectors: VectorRows | None) -> Rows:
    """Return the rows of a batch, of which row ``first`` of the file is the first."""
    lists, instance, label, value, _ = columns
    keys, values = None, None
    if instance is not None:
        refuse_null(batch.column(instance), instance, first)
        keys = texts(batch.column(instance), instance)
    places = first + np.arange(batch.num_rows)
    if lists:
        ptr, flat = flat_lists(batch, label, first)
        if vectors is not None and "int" in str(flat.type):
            vectors.take(ptr, ids(flat, label))
        values = listed_scores(batch, value, ptr, first, kind) if value else None
    else:
        flat, ptr = batch.column(label), np.arange(batch.num_rows + 1)
        refuse_null(flat, label, first)
        if value:
            refuse_null(batch.column(value), value, first)
            values = numbers(batch.column(value), value, kind)
    if values is not None:
        refuse_nan(values, np.ones(values.size, bool), np.repeat(places, np.diff(ptr)))
        values = values.astype(np.float64)
    match = None if keys is None else BY_KEY
    return Rows(keys, match, ptr, *coded_texts(flat, label), values, lists, places, not lists)
