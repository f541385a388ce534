"""Operating points of curves, and rows to abstain from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and scores."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0]])))
    scores = np.array([[0.9, 0.5, 0.2, 0], [0.3, 0.7, 0.6, 0]], np.float32)
    sp.save_npz(folder / "S.npz", sp.csr_array(scores))


ARRAYS = "Y = np.array([[1, 0, 1, 0], [0, 1, 0, 0]]); S = np.array([[.9, .5, .2, 0], [.3, .7, .6, 0]]); "
EVALUATE = "xmleval evaluate Y.npz S.npz --metrics "
TASKS = [
    Task(
        f"{EVALUATE}'recall_at_precision.micro(p=0.9)'",
        ("Recall micro (precision >= 0.9)", "0.6667", "best threshold (predict scores >= it)", "0.699999"),
    ),
    Task(f"{EVALUATE}'precision_at_recall.micro(r=1)'", ("Precision micro (recall >= 1)", "0.5000")),
    Task(f"{EVALUATE}'fpr_at_tpr.macro(tpr=0.95)'", ("FPR macro (TPR >= 0.95)", "0.3333")),
    Task(f"{EVALUATE}'auc.micro(max_fpr=0.1)'", ("AUC micro (FPR <= 0.1)", "0.8246")),
    Task(f"{EVALUATE}'auc.micro(max_fpr=10)'", ("max_fpr=10 is not above 0 and at most 1", "exit code 2")),
    Task(f"{EVALUATE}recall_at_precision", ("needs an average", "recall_at_precision.micro", "exit code 2")),
    Task(
        f"{EVALUATE}recall_at_precision.micro",
        ("needs p, as in recall_at_precision.micro(p=0.9)", "exit code 2"),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='fpr_at_tpr.micro(tpr=0.95)').thresholds",
        ("{'fpr_at_tpr.micro(tpr=0.95)': 0.2}",),
    ),
    Task(
        f"{EVALUATE}'risk(coverage=0.5)@1,aurc@1'",
        ("Risk (coverage 0.5)", "threshold (accept rows whose largest score is >= it)", "0.8999999"),
    ),
    Task(
        f"{EVALUATE}aurc --k 2 --confidence 0.95",
        ("AURC", "@2", "0.5000", "exit code 0"),
    ),
    Task(f"{EVALUATE}'risk@1'", ("needs coverage, as in risk(coverage=0.8)@1", "exit code 2")),
    Task("xmleval metrics recall_at_precision", ("largest recall over thresholds", "exit code 0")),
]
