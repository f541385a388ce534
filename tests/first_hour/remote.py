"""Files on object storage: here in the memory of fsspec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task

FSSPEC = ("fsspec",)


def make(folder: Path) -> None:
    """Write a truth, a list of predictions, the same in two shards, and names; and put all of them."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    (folder / "pred").mkdir()
    for number, rows in enumerate((slice(0, 1), slice(1, None))):
        np.savez(folder / f"pred/part_{number}.npz", indices=LABELS[rows], scores=SCORES[rows])
    (folder / "docs.csv").write_text("id,tags,predicted\n1,a;b,a\n2,b,b;c\n")
    try:
        import fsspec
    except ImportError:
        return
    system = fsspec.filesystem("memory")
    for path in folder.rglob("*.*"):
        system.pipe_file(f"/bucket/{path.relative_to(folder)}", path.read_bytes())


TASKS = [
    Task(
        "xmleval evaluate memory://bucket/Y.npz memory://bucket/m.npz --metrics p@1",
        ("P ↑", "exit code 0"),
        FSSPEC,
    ),
    Task(
        "xmleval evaluate Y.npz 'memory://bucket/pred/part_*' --metrics p@1", ("P ↑", "exit code 0"), FSSPEC
    ),
    Task("xmleval evaluate Y.npz memory://bucket/pred --metrics p@1", ("P ↑", "exit code 0"), FSSPEC),
    Task("xmleval evaluate Y.npz memory://bucket/m --metrics p@1", ("P ↑", "exit code 0"), FSSPEC),
    Task(
        "xmleval evaluate memory://bucket/docs.csv", ("F1 micro", "predicted labels in 'predicted'"), FSSPEC
    ),
    Task("xmleval stats memory://bucket/Y.npz", ("label_cardinality", "exit code 0"), FSSPEC),
    Task("xmleval convert memory://bucket/m.npz m.txt --kind scores --n-labels 9", ("exit code 0",), FSSPEC),
    Task(
        "xmleval evaluate Y.npz memory://bucket/mm.npz",
        ("memory://bucket/mm.npz: No such file or directory\n", "exit code 2"),
        FSSPEC,
    ),
    Task("xmleval evaluate Y.npz 'memory://bucket/*.npy'", ("no file matches", "exit code 2"), FSSPEC),
    Task("xmleval evaluate Y.npz s4://bucket/m.npz", ("Protocol not known: s4", "exit code 2"), FSSPEC),
    Task(
        "xmleval evaluate Y.npz m.npz --metrics p@1 --output s3://bucket/out.json",
        ("s3://bucket/out.json: is not on this machine; expected a local file", "exit code 2"),
    ),
    Task("xmleval.io.read_truth('memory://bucket/Y.npz').shape", (str(Y_TEST.shape),), FSSPEC),
    Task(
        "xmleval.io.read_scores('memory://bucket/none.npz')",
        ("FileNotFoundError", "memory://bucket/none.npz"),
        FSSPEC,
    ),
]
