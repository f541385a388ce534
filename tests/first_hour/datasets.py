"""Data sets and conventions by the names that people give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write truths and a list of predictions."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    sp.save_npz(folder / "train.npz", sp.csr_array(Y_TRAIN))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)


START = "xmleval evaluate Y.npz m.npz --metrics psp@1 --train train.npz"

TASKS = [
    Task(f"{START} --dataset lf-amazontitles-131k", ("a=0.6 b=2.6", "LF-AmazonTitles-131K source=DeepXML")),
    Task(f"{START} --dataset Eurlex", ("a=0.55 b=1.5", "dataset=EURLex-4K", "exit code 0")),
    Task(f"{START} --dataset Wiki10-31K", ("nothing is published", "--dataset 'default'", "exit code 2")),
    Task(f"{START} --dataset AmazonTitle-670K", ("did you mean AmazonTitles-670K", "exit code 2")),
    Task(f"{START} --dataset amazon --a 0.5", ("exclude each other", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --metrics f1.macro@1 --conventions mulan", ("both_empty",)),
    Task("xmleval evaluate Y.npz m.npz --metrics p@1 --conventions beir", ("empty=skip",)),
    Task("xmleval.evaluate([[1]], [[1]], conventions='Sklern')", ("did you mean sklearn?",)),
    Task("xmleval evaluate Y.npz m.npz --dataset amazon", ("need --train", "exit code 2")),
]
