"""Faults of Parquet and Arrow files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.faults.fault import Fault
from tests.made_tables import ENDINGS, lists, save

COLUMNS: list[tuple[dict[str, Any], str, str]] = [
    ({"a": ["x"], "b": ["y"]}, "truth", "no column has labels; the columns are 'a', 'b'..."),
    (
        {"row": [1], "instance": [1], "label": [1]},
        "truth",
        "columns 'row' and 'instance' may both...",
    ),
    (
        {"labels": [[1]], "scores": [[0.5]]},
        "truth",
        "column 'scores' has scores, but relevant...",
    ),
    ({"row": [0], "label": [1]}, "scores", "no column 'score' next to 'label'..."),
    ({"labels": [1, 2]}, "truth", "column 'labels' has no lists..."),
    ({"labels": [[0.5]]}, "truth", "column 'labels' contains double, not integers..."),
    ({"row": ["a"], "label": [1]}, "truth", "column 'row' contains string, names..."),
    (
        {"labels": [[1]], "scores": [["x"]]},
        "scores",
        "column 'scores' contains string, not floating-point...",
    ),
    ({"labels": [[1], [2], None]}, "truth", "row 2: 'labels' is null..."),
    ({"labels": [[1], [2], [3, None]]}, "truth", "row 2: a null in 'labels'..."),
    (
        {"labels": [[1], [], [2]], "scores": [[1.0], [], [None]]},
        "scores",
        "row 2: a null in 'scores'...",
    ),
    (
        {"labels": [[1], [1], [2]], "scores": [[1.0], [1.0], [np.nan]]},
        "scores",
        "row 2: a score is NaN...",
    ),
    (
        {"labels": [[1], [], [2]], "scores": [[1.0], [], [1.0, 2]]},
        "scores",
        "row 2: 1 label, but 2...",
    ),
    ({"labels": [[1], [], [-2]]}, "scores", "row 2: label id -2 is not in 0..4..."),
    ({"row": [0, 1, -1], "label": [1, 1, 1]}, "truth", "row 2: row -1 is negative..."),
    ({"row": [0, 1, None], "label": [1, 1, 1]}, "truth", "row 2: 'row' is null..."),
    ({"row": [0, 1, 2], "label": [1, 1, 5]}, "truth", "row 2: label id 5 is not in 0..4..."),
    (
        {"row": [0, 1, 2], "label": [1, 1, 1], "score": [1, 1, np.nan]},
        "scores",
        "row 2: a score is NaN...",
    ),
    (
        {"row": [0, 1, 10**15], "label": [1, 1, 1]},
        "truth",
        "1000000000000001 instances with 3 labels...",
    ),
]


def table(columns: dict[str, Any], n_labels: Any = 5) -> Callable[[Path], Any]:
    """Write a table."""
    return lambda path: save(path.parent, columns, path.name.removeprefix("f."), n_labels)


def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    """Write a table, and change its bytes."""

    def write(path: Path) -> None:
        table({"labels": lists()})(path)
        path.write_bytes(change(path.read_bytes()))

    return write


BYTES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data[: len(data) // 2], "..."),
    (lambda data: data[:7] + os.urandom(500), "..."),
    (lambda data: b"FEA1" * 9, "it begins neither as Parquet nor as Arrow IPC..."),
]
SIZES = ("0", "many", "9" * 99)
LARGE = pa.array([[2**64 - 1]], pa.list_(pa.uint64()))
FAULTS = [
    *(
        Fault(f"f.{end}", table(columns), text, (kind,))
        for columns, kind, text in COLUMNS
        for end in ENDINGS
    ),
    *(
        Fault("f.parquet", table({"labels": [[1]]}, n), "n_labels in its metadata is ...")
        for n in SIZES
    ),
    Fault("f.parquet", table({"labels": LARGE}, None), "row 0: label id...", ("truth",)),
    Fault(
        "f.arrow",
        table({"labels": pa.array([[]] * 5, pa.list_(pa.int64(), 0))}, None),
        "...not lists...",
    ),
    *(
        Fault(f"f.{ending}", changed(change), message)
        for ending in ENDINGS
        for change, message in BYTES
    ),
]
