"""Thresholds tuned to held-out scores, within memory and in threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and scores."""
    truth = np.array([[1, 0, 0], [0, 1, 1]])
    sp.save_npz(folder / "Y.npz", sp.csr_array(truth))
    sp.save_npz(folder / "S.npz", sp.csr_array(np.array([[0.9, 0.5, 0.2], [0.3, 0.7, 0.6]], np.float32)))


ARRAYS = "Y = np.array([[1, 0, 0], [0, 1, 1]]); S = np.array([[.9, .5, .2], [.3, .7, .6]]); "
FIT = "xmleval threshold fit Y.npz S.npz"
TASKS = [
    Task(
        f"{ARRAYS}xmleval.thresholds.fit(Y, S, 'f1.micro', memory='64MB', threads=2)",
        ("one threshold, 0.5 (constant, tuned to f1.micro)",),
    ),
    Task(
        f"{ARRAYS}xmleval.thresholds.fit(Y, S, rule='cardinality')",
        ("one threshold, 0.5 (cardinality, matched",),
    ),
    Task(
        f"{ARRAYS}xmleval.thresholds.fit(Y, S, 'f1.macro', rule='label', memory='64MB').decision.numbers",
        ("[0.3 0.5 0.2]",),
    ),
    Task(f"{ARRAYS}xmleval.thresholds.fit(Y, S, 'f1.micro', memory='lots')", ("memory: 'lots' is not an",)),
    Task(f"{ARRAYS}xmleval.thresholds.fit(Y, S, 'f1.micro', threads=0)", ("threads: 0 is not a positive",)),
    Task(
        f"{FIT} --measure f1.micro --memory 64MB --threads 2 --output rule.npz",
        ("one threshold, 0.5 (constant, tuned to f1.micro)", "exit code 0"),
    ),
    Task(f"{FIT} --rule cardinality --memory 1GB --output rule.npz", ("one threshold, 0.5", "exit code 0")),
    Task(
        f"{FIT} --measure f1.micro --memory 1kB --output rule.npz",
        ("xmleval: --memory: '1kB' is below 16 MB, the least that can be given", "exit code 2"),
    ),
    Task(f"{FIT} --measure f1.micro --threads 0 --output rule.npz", ("--threads", "exit code 2")),
    Task(
        f"{FIT} --measure ece@5 --output rule.npz",
        (
            "xmleval: --measure: 'ece@5': rules are tuned to hamming_loss, f1.micro",
            "f1.macro@k",
            "exit code 2",
        ),
    ),
    Task(
        f"{ARRAYS}xmleval.thresholds.fit(Y, 9 * S, 'f1.macro@2')",
        ("row 0: score 8.1 is no probability; a weighted rule needs them (`xmleval calibrate`)",),
    ),
    Task(
        f"{ARRAYS}xmleval.thresholds.fit(Y, S, 'f1.macro@2').apply(9 * S)",
        ("y_score: row 0: score 8.1 is no probability; a weighted rule needs them",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='auc.micro', curve_points=9999, memory='16kB').notes[-1]",
        ("curve_points=9999: at most 1000 points are kept, the share of memory=",),
    ),
]
