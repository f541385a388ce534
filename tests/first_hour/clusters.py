"""Evaluation by several processes, and what a cluster is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.cluster.data import make_files
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write shards, and files that cannot be divided."""
    make_files(folder)
    (folder / "Y.svm").write_text("0 1:1\n1 2:1\n")
    (folder / "docs.csv").write_text("id,tags,predicted\n1,a;b,a\n2,b,b\n")
    sp.save_npz(folder / "short.npz", sp.csr_array(np.eye(3)))
    bad = np.load(folder / "m_2_indices.npy")
    bad[3, 1] = 30
    np.save(folder / "bad_indices.npy", np.vstack([np.load(folder / f"m_{n}_indices.npy") for n in (0, 1)]))


CLIENT = """
from distributed import Client
from xmleval.dask import evaluate, evaluate_blocks
client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
"""
TYPED: list[tuple[str, tuple[str, ...]]] = [
    (
        "xmleval evaluate 'Y_*' 'm_*' --metrics p@1,ndcg@5 --workers 1",
        ("nDCG", "200 rows", "exit code 0")
    ),
    ("xmleval evaluate 'Y_*' 'm_*' --workers 0", ("--workers", "x>=1", "exit code 2"),
    ("xmleval evaluate 'Y_*' m --workers 2 --scheduler tcp://a:1", ("exclude each other",),
    ("xmleval evaluate 'Y_*' 'm_*' --workers 2 --resume", ("--resume needs --checkpoint",),
    (
        "xmleval evaluate Y.svm --metrics label_cardinality --workers 2",
        ("Y.svm: only reading it whole", "`xmleval convert` makes an .npz", "exit code 2")
    ),
    (
        "xmleval evaluate docs.csv --workers 2",
        ("docs.csv: its rows or labels have names", "exit code 2")
    ),
    (
        "xmleval evaluate 'Y_*' bad_indices.npy --metrics p@1 --workers 2",
        ("bad_indices.npy: 120 rows do not match the 200 of Y_*", "exit code 2")
    ),
    (
        f"{CLIENT}evaluate('Y_*', 'm_*', metrics='p@1', client=client)", ("200 rows x 30 labels", "P"), DASK
    ),
    (
        f"{CLIENT}evaluate(['Y_0.npz', 'Y_1.npz'], 'm_*', metrics='p@1', row_groups=['a', 'b'])",
        ("row_groups: 2 rows do not match the 200 of Y_0.npz",)
    ),
    (
        f"{CLIENT}def predict(n):\n    return np.eye(4), np.random.rand(4, 4)\n"
        "evaluate_blocks([client.submit(predict, n) for n in range(3)], metrics='p@1')",
        ("12 rows x 4 labels",)
    ),
    (
        f"{CLIENT}evaluate_blocks([np.eye(4)], metrics='p@1')",
        ("blocks: ndarray is not (y_true, y_score)",)
    ),
    (
        "import xmleval.dask\nxmleval.dask.evaluate('Y_*', 'm_*')",
        ("client: there is none", "distributed.Client")
    ),
]
TASKS = [Task(typed, says, ("distributed",)) for typed, says in TYPED]
