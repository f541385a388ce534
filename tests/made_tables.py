"""Tables that tests save, and the lists in them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

ENDINGS = ["parquet", "arrow", "stream.arrow"]
LISTS = [[3, 1], [], [0], [2, 0, 3]]


def save(
    folder: Path,
    columns: dict[str, Any],
    ending: str = "parquet",
    n_labels: Any = None,
    size: int = 2,
) -> Path:
    """Save columns in row groups or record batches of some rows."""
    table = pa.table(columns)
    if n_labels is not None:
        table = table.replace_schema_metadata({"n_labels": str(n_labels)})
    path = folder / f"f.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=size)
    else:
        is_stream = ending.startswith("stream")
        make = ipc.new_stream if is_stream else ipc.new_file
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=size)
    return path


def lists(of: Any = None) -> Any:
    return pa.array(LISTS, of or pa.list_(pa.int64()))
