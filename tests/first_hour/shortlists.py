"""Labels of rows that are taken out, or within which alone labels are ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, a list of predictions, and shortlists as sets and as a list."""
    truth = sp.csr_array(Y_TEST)
    sp.save_npz(folder / "Y.npz", truth)
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    sp.save_npz(folder / "short.npz", sp.csr_array(np.roll(Y_TEST, 1, axis=1)))
    np.save(folder / "ann_indices.npy", LABELS[:, :2])
    np.save(folder / "ids.npy", LABELS[:, :2])
    sp.save_npz(folder / "part.npz", truth[:3])
    (folder / "truth.csv").write_text("id,tags\n1,python;sorting\n2,sql\n")
    (folder / "model.csv").write_text("id,predicted\n1,sql;python\n2,sql\n")
    (folder / "pool.csv").write_text("id,predicted\n2,sql\n1,python;css\n")
    study: Any = {"prediction_ids": LABELS, "scores": SCORES}
    np.savez(folder / "study.npz", labels=np.argwhere(Y_TEST), **study)
    np.savez(folder / "hits.npz", labels=[[0, 1], [9, 0]], **study)


LINE = "xmleval evaluate Y.npz m.npz --metrics p@1"
ARRAYS = "Y = np.eye(3, dtype=int); S = np.array([[3., 2, 1], [1, 3, 2], [1, 2, 3]]); "
TASKS = [
    Task(f"{LINE} --candidates short.npz", ("note: candidates: hold ", "allows at most P@1", "code 0")),
    Task(
        "xmleval evaluate truth.csv model.csv --metrics p@1 --candidates pool.csv",
        ("1.0000", "candidates: hold 2 of 3", "code 0"),
    ),
    Task(f"{LINE} --candidates pool.csv", ("pool.csv: has names, and Y.npz has none", "code 2")),
    Task(f"{LINE} --candidates ann", ("note: candidates: hold ", "code 0")),
    Task(
        f"{LINE} --candidates ids.npy",
        ("ids.npy: 2 labels do not match the 5 of Y.npz; a list of ids is called NAME_indices.npy",),
    ),
    Task(f"{LINE} --candidates part.npz", ("3 rows do not match the 4 of Y.npz", "code 2")),
    Task(f"{LINE},lrap --candidates short.npz", ("lrap needs all labels of a row (no --candidates)",)),
    Task(
        "xmleval evaluate Y.npz m.npz --metrics p@1,ranking --candidates short.npz",
        ("not computed without all labels of a row (no --candidates): ", "lrap"),
    ),
    Task("xmleval evaluate Y.npz --candidates short.npz", ("--candidates needs SCORES", "code 2")),
    Task("xmleval evaluate study.npz study.npz --metrics p@1", ("4 rows x ", "code 0")),
    Task(
        "xmleval evaluate hits.npz study.npz --metrics p@1",
        ("hits.npz: pair 1 is of instance 9 and label 0, for 4 instances", "code 2"),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, candidates=[[0, 1]] * 3, n_labels=3, metrics='p@1')",
        ("0.6667", "hold 2 of 3 relevant labels, which allows at most P@1 0.6667"),
    ),
    Task(
        f"{ARRAYS}e = xmleval.Evaluator('p@1', n_labels=3); e.update(Y, S, candidates=Y); e.compute()",
        ("1.0000", "hold 3 of 3"),
    ),
    Task(
        f"{ARRAYS}e = xmleval.Evaluator('p@1', n_labels=3); e.update(Y, S, exclude=[(0, 0)]); e.compute()",
        ("0.6667",),
    ),
]  # fmt: skip
