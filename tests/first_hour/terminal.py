"""What is seen on a terminal, and what is written to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, a list of predictions, and the same list in two parts."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    np.savez(folder / "part_1.npz", indices=LABELS[:2], scores=SCORES[:2])
    np.savez(folder / "part_2.npz", indices=LABELS[2:], scores=SCORES[2:])


TASKS = [
    Task("xmleval evaluate Y.npz m.npz --metrics none@1", ("unknown measure", "exit code 2")),
    Task("xmleval evaluate none.npz m.npz --metrics none@1", ("unknown measure", "exit code 2")),
    Task(
        "xmleval evaluate Y.npz part_1.npz part_2.npz",
        ("2 rows do not match the 4 of Y.npz", "quote the pattern: 'part_*.npz'", "exit code 2"),
    ),
    Task("xmleval evaluate Y.npz m.npz --metrics p@1,f1.macro@1 --per-label labels.csv", ("exit code 0",)),
    Task("open('labels.csv').read()", ("label,support,tp@1,fp@1,fn@1,f1@1\n",)),
    Task(
        "xmleval evaluate Y.npz m.npz part.npz --metrics p@1 --per-row rows.csv", ("part.npz", "exit code 0")
    ),
    Task("xmleval evaluate Y.npz m.npz --metrics f1.micro@1 --per-row rows.csv", ("mean over rows",)),
    Task("xmleval evaluate Y.npz 'part_*.npz' --metrics p@1", ("4 rows x 5 labels", "exit code 0")),
]
