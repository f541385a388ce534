"""Data that gives wrong values without an error, and rows that would count twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.damage import answer
from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, lists of two depths, distances, predicted sets, and states."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    sp.save_npz(folder / "sets.npz", sp.csr_array(Y_TEST[::-1]))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    np.savez(folder / "short.npz", indices=LABELS[:, :1], scores=SCORES[:, :1])
    np.savez(folder / "faiss.npz", indices=LABELS, scores=-SCORES)
    np.savez(folder / "m1.npz", indices=np.where(LABELS > 0, LABELS, -1), scores=SCORES)
    sp.save_npz(folder / "Y1.npz", sp.csr_array(Y_TEST * (np.arange(5) > 0)))
    (folder / "Y1.txt").write_text("4 5\n2:1\n1:1\n3:1 4:1\n2:1\n")
    (folder / "tags.jsonl").write_text('{"labels": ["b"], "predicted": ["c"]}\n')
    (folder / "names.txt").write_text("a\nb\nc\n")
    sp.save_npz(folder / "none.npz", sp.csr_array(Y_TEST.shape))
    np.save(folder / "p.npy", np.full(5, 0.5))
    answer(["evaluate", "Y.npz", "m.npz", "--metrics", "p@1", "--save", "s.npz"])


SETS = "y_score = np.array([[1., 1, 0], [0, 1, 1]]); y_true = np.eye(3, dtype=int)[:2]; "
TASKS = [
    Task("xmleval evaluate Y.npz sets.npz --metrics p@1", ("score is 0 or 1", "sets as --pred")),
    Task(SETS + "xmleval.evaluate(y_true, y_score, metrics='p@1')", ("every score is 0 or 1", "y_pred=")),
    Task(
        "xmleval.evaluate([[1], [2]], [[1, 2], [2, 1]], n_labels=3, metrics='p@1')",
        ("id 0 occurs nowhere, and ids 1 to 2 do: if ids count from 1, subtract 1",),
    ),
    Task(
        "xmleval evaluate Y1.npz m1.npz --metrics p@1,f1.macro --decision top1",
        ("ids 1 to 4 do: if ids count from 1, subtract 1, or drop the first column", "averages over labels"),
    ),
    Task("xmleval evaluate Y1.txt m1.npz m.npz --metrics p@1", ("m1.npz: note: id 0 occurs nowhere",)),
    Task(
        "xmleval evaluate tags.jsonl --labels names.txt --metrics f1.macro",
        ("decision=pred\nnote: tags.jsonl: relevant",),
    ),
    Task("xmleval evaluate Y.npz m.npz --metrics p@1,p@5", ("lists hold at most 3 labels", "@5 count")),
    Task(
        "xmleval evaluate Y.npz faiss.npz --metrics p@1",
        ("scores rise along every row", "give distances with --lower-is-better"),
    ),
    Task("xmleval evaluate none.npz m.npz --metrics p@1", ("no row of the truth has a relevant label",)),
    Task(
        "xmleval evaluate Y.npz m.npz --metrics psp@1 --inverse-propensity p.npy --format json",
        ('"notes": [', "values below 1", "inverses, which are 1 / p"),
    ),
    Task(
        "xmleval evaluate Y.npz m.npz short.npz --metrics lrap",
        ("lists hold different numbers of labels a row", "no value is marked as best for lrap"),
    ),
    Task("xmleval merge s.npz s.npz", ("s.npz: rows 0..3 of ", "Y.npz", "are counted already", "code 2")),
    Task(
        "e = xmleval.Evaluator('p@1', n_labels=3); e.update(np.eye(3), np.eye(3)); e.merge(e)",
        ("merge: 3 rows that both hold are counted already; count each row once",),
    ),
]  # fmt: skip
