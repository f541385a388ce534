"""Parquet files, written."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.files.output import replacing
from xmleval.input.formats.arrow import import_pyarrow
from xmleval.input.writing import canonical, known_labels


def write_parquet(path: str | os.PathLike[str], data: Any, kind: str, *, n_labels: int | None = None) -> None:
    """Write relevant labels or scores to a Parquet or Arrow file, a row for each instance.

    Parameters
    ----------
    path : path
        File to write; it appears when it is whole. It is Arrow IPC if its name ends in .arrow or .feather.
    data : sparse or dense array of shape (m, l), (labels, scores) arrays of shape (m, k), or Pieces
        As `xmleval.evaluate` takes them, or as a reader gives them.
    kind : str
        "truth" writes a column ``labels``, lists of ids; "scores" writes them best first and, where there
        are scores, a column ``scores``.
    n_labels : int, optional
        Number of labels, where the data do not tell it; kept in the schema's metadata.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If data are refused as `xmleval.evaluate` would, or pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import read_truth, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(Path(folder) / "truth.parquet", np.eye(2), "truth")
    ...     truth = read_truth(Path(folder) / "truth.parquet")
    >>> truth.toarray().tolist()
    [[1, 0], [0, 1]]
    """
    pa = import_pyarrow()
    is_ipc = str(path).lower().endswith((".arrow", ".feather"))
    make_writer = pa.ipc.new_file if is_ipc else pa.parquet.ParquetWriter
    known = known_labels(data, n_labels)
    metadata = None if known is None else {"n_labels": str(known)}
    with replacing(Path(path)) as file, contextlib.ExitStack() as closing:
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
