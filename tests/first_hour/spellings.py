"""Names and options as people type them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and a list of predictions."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)


TASKS = [
    Task("xmleval evaluate Y.npz m.npz --metrics p@1 --metrics p@3", ("@1", "@3", "exit code 0")),
    Task("xmleval evaluate Y.npz m.npz --metrics p --k 1-2", ("@1", "@2")),
    Task("xmleval evaluate Y.npz m.npz --metrics P@k,prec@1 --k 2", ("@1", "@2")),
    Task(
        "xmleval evaluate Y.npz m.npz --metrics macro_f1,micro-F1 --decision top1", ("F1 macro", "F1 micro")
    ),
    Task("xmleval evaluate Y.npz m.npz --metrics pp@1", ("did you mean", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --memory 512", ("below 16 MB", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --output out.json", ("exit code 0",)),
]
