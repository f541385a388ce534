"""Lists of several models joined into one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, two matrices of scores, a list without scores and two runs."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(np.array([[1, 0, 0], [0, 1, 1]])))
    sp.save_npz(folder / "A.npz", sp.csr_array(np.array([[0.9, 0.5, 0], [0.3, 0, 0.6]], np.float32)))
    sp.save_npz(folder / "B.npz", sp.csr_array(np.array([[0.2, 0.7, 0], [0, 0.8, 0.4]], np.float32)))
    sp.save_npz(folder / "short.npz", sp.csr_array(np.array([[0.2, 0.7, 0]], np.float32)))
    np.save(folder / "C_indices.npy", np.array([[2, 1], [1, 2]]))
    (folder / "a.run").write_text("q1 Q0 red 1 0.9 a\nq1 Q0 blue 2 0.5 a\n")
    (folder / "b.run").write_text("q1 Q0 blue 1 7 b\nq2 Q0 red 1 3 b\n")


ARRAYS = "A = np.array([[.9, .5, 0]]); B = np.array([[.2, .7, .1]]); "
TASKS = [
    Task(
        "xmleval fuse A.npz B.npz --rule rrf --output out.npz",
        ("2 rows x 3 labels, 5 listed (rrf of 2)", "exit code 0"),
    ),
    Task("xmleval fuse A.npz B.npz C --output out.txt", ("(rrf of 3)", "exit code 0")),
    Task(
        "xmleval fuse A.npz B.npz --rule average --weights 2,1 --k 1 --output o.npz",
        ("2 listed (mean of 2)",),
    ),
    Task("xmleval fuse a.run b.run --output out.run", ("2 rows x 2 labels, 3 listed (rrf of 2)",)),
    Task("xmleval fuse a.run b.run --output out.npz", ("a.run: has names; expected a TREC run (.run) as",)),
    Task(
        "xmleval fuse A.npz C --rule mean --output out.npz",
        (
            "C: lists without scores; the rule mean adds scores, and rrf, rank, borda, round_robin",
            "exit code 2",
        ),
    ),
    Task(
        "xmleval fuse A.npz short.npz --output out.npz", ("short.npz: 1 row does not match the 2 of A.npz",)
    ),
    Task(
        "xmleval fuse A.npz B.npz --rule rff --output out.npz", ("'rff' is not one of", "did you mean 'rrf'")
    ),
    Task("xmleval fuse A.npz B.npz -o out.npz", ("No such option", "-o", "exit code 2")),
    Task(f"{ARRAYS}xmleval.fuse([A, B], 'mean').toarray().round(2).tolist()", ("[[0.55, 0.6, 0.05]]",)),
    Task(f"{ARRAYS}xmleval.fuse([A, B], 'rank', k=1).indices", ("[0]",)),
    Task(f"{ARRAYS}xmleval.fuse([A, B], 'rank_fusion')", ("rule: 'rank_fusion' is not one of rrf, mean",)),
    Task(f"{ARRAYS}xmleval.fuse(A, B)", ("predictions: ndarray is no list of those of each model",)),
    Task(
        "xmleval.fuse([{'q1': {'red': .9}}, {'q1': {'red': .5, 'blue': .8}}], 'sum')",
        ("{'q1': {'red': 1.4, 'blue': 0.8}}",),
    ),
    Task("xmleval.fuse([{'q1': {'red': .9}}, {'x': {'red': .5}}])", ("predictions[1]: no row is one of",)),
]
