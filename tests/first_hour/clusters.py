"""Evaluation by several processes, and what a cluster is refused."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.data import make_files
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write shards, and files that cannot be divided."""
    make_files(folder)
    (folder / "Y.svm").write_text("0 1:1\n1 2:1\n")
    (folder / "docs.csv").write_text("id,tags,predicted\n1,a;b,a\n2,b,b\n")


CLIENT = """
from distributed import Client
from xmleval.dask import evaluate, evaluate_blocks
def predict(number):
    return np.eye(4), np.random.rand(4, 4)
with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    found = CALL
found"""
XMLEVAL = "xmleval evaluate 'Y_*' 'm_*' --metrics p@1,ndcg@5"
COMMANDS = [
    (f"{XMLEVAL} --workers 1", ("200 rows x 30 labels", "nDCG", "exit code 0")),
    (f"{XMLEVAL} --workers 0", ("--workers", "exit code 2")),
    (f"{XMLEVAL} --workers 2 --scheduler tcp://a:1", ("--workers and --scheduler exclude each other",)),
    (f"{XMLEVAL} --workers 2 --resume", ("--resume needs --checkpoint",)),
    (
        f"{XMLEVAL} --checkpoint s3://b/run",
        ("s3://b/run: is not on this machine; expected",),
    ),
    (f"{XMLEVAL} --checkpoint https://b/run --workers 2", ("Read-only file system", "exit code 2")),
    (
        "xmleval evaluate Y.svm --metrics label_cardinality --workers 2",
        ("Y.svm: only reading it whole", "`xmleval convert` makes an .npz", "exit code 2"),
    ),
    ("xmleval evaluate docs.csv --workers 2", ("docs.csv: its rows or labels have names", "exit code 2")),
    (
        "xmleval evaluate 'Y_*' m_1 --metrics p@1 --workers 2",
        ("m_1: 80 rows do not match the 200 of Y_*", "exit code 2"),
    ),
]
CALLS = [
    ("evaluate('Y_*', 'm_*', metrics='p@1', client=client)", ("200 rows x 30 labels", "P")),
    (
        "evaluate(['Y_0.npz', 'Y_1.npz'], 'm_*', metrics='p@1', row_groups=['a', 'b'])",
        ("row_groups: 2 rows do not match the 200 of Y_0.npz",),
    ),
    (
        "evaluate('Y_*', 'm_*', metrics='p@1', exchange='memory://run', progress=print)",
        ("200 rows x 30 labels", "P"),
    ),
    (
        "evaluate_blocks([client.submit(predict, n) for n in range(3)], metrics='p@1')",
        ("12 rows x 4 labels",),
    ),
    (
        "evaluate_blocks(client.map(predict, range(3)), metrics='f1.macro')",
        ("needs y_pred= or decision=",),
    ),
    ("evaluate_blocks([np.eye(4)], metrics='p@1')", ("blocks: ndarray is not (y_true, y_score)",)),
]
TASKS = [
    Task(typed, says, ("distributed",))
    for typed, says in [*COMMANDS, *((CLIENT.replace("CALL", call), says) for call, says in CALLS)]
]
