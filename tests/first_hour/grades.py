"""Grades of relevance: qrels and runs of TREC, matrices and frames, mistakes included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task

QRELS = "q1 0 d1 3\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 2\nq2 0 d4 -1\n"
RUN = "q1 Q0 d2 1 9.5 bm25\nq1 Q0 d1 2 8 bm25\nq2 Q0 d1 1 7 bm25\nq2 Q0 d5 2 1 bm25\n"


def make(folder: Path) -> None:
    """Write qrels with grades, a run, and a matrix of grades with one of scores."""
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "run.txt").write_text(RUN)
    sp.save_npz(folder / "Y.npz", sp.csr_array(np.array([[3.0, 0, 1], [0, 2, 0]])))
    sp.save_npz(folder / "S.npz", sp.csr_array(np.array([[0.2, 0.9, 0.5], [0.3, 0.8, 0.1]])))


FILES = "qrels.txt run.txt --input-format qrels"
DICTS = "qrels = {'q': {'a': 3, 'b': 0, 'c': 1}}; run = {'q': {'b': 0.9, 'a': 0.8, 'd': 0.1}}; "
ARRAYS = "Y = np.array([[3, 0, 1]]); S = np.array([[0.2, 0.9, 0.5]]); "

TASKS = [
    Task(f"xmleval evaluate {FILES} --metrics ndcg@10 --gains linear", ("nDCG ↑   0.7606", "gains=linear")),
    Task(f"xmleval evaluate {FILES} --metrics ndcg@10 --gains exp", ("nDCG ↑   0.7894", "gains=exp")),
    Task(
        f"xmleval evaluate {FILES} --metrics judged@2,p@2 --gains linear",
        ("Judged   0.7500", "P ↑      0.5000"),
    ),
    Task(
        "xmleval evaluate Y.npz S.npz --metrics judged@2 --gains linear",
        ("Judged   0.5000", "only relevant labels are judged and judged@2 is the precision"),
    ),
    Task(f"xmleval evaluate {FILES} --metrics ndcg@10", ("nDCG ↑", "grades above 1 count as 1, unless")),
    Task(
        f"xmleval evaluate {FILES} --metrics judged@2",
        ("judged@2 needs --gains, as for a truth", "exit code 2"),
    ),
    Task(f"xmleval evaluate {FILES} --metrics ndcg@10 --gains log", ("'log' is not one of 'linear', 'exp'",)),
    Task(
        "xmleval evaluate Y.npz S.npz --metrics ndcg@3",
        ("row 0: value 3.0 is neither 0 nor 1", "need --gains"),
    ),
    Task("xmleval evaluate Y.npz S.npz --metrics ndcg@3 --gains linear", ("nDCG ↑   0.7934", "exit code 0")),
    Task(
        "xmleval evaluate S.npz Y.npz --metrics ndcg@3",
        ("are the truth and the scores swapped? Grades need",),
    ),
    Task(
        ARRAYS + "xmleval.evaluate(Y, S, metrics='ndcg@3')",
        ("value 3 is neither 0 nor 1", "grades need gains="),
    ),
    Task(
        ARRAYS + "xmleval.evaluate(Y, S, metrics='ndcg@3', gains='linear')", ("nDCG ↑   0.58", "gains=linear")
    ),
    Task(DICTS + "xmleval.evaluate(qrels, run, metrics='ndcg@3', gains='exp')", ("nDCG ↑   0.5788",)),
    Task(
        DICTS + "xmleval.evaluate(qrels, run, metrics='ndcg@3')",
        ("y_true: grades above 1 count as 1, unless",),
    ),
]
