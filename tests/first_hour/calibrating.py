"""Calibration: measures at k, logits, the bins, and maps fitted to held-out data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, probabilities, logits, and a list without scores."""
    truth = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]])
    chances = np.array([[0.9, 0.5, 0.2], [0.3, 0.7, 0.6], [0.4, 0.3, 0.1], [0.2, 0.8, 0.6]], np.float32)
    sp.save_npz(folder / "Y.npz", sp.csr_array(truth))
    sp.save_npz(folder / "P.npz", sp.csr_array(chances))
    sp.save_npz(folder / "L.npz", sp.csr_array(8 * chances - 4))
    np.save(folder / "bare_indices.npy", np.argsort(-chances, axis=1).astype(np.int32))


ARRAYS = "Y = np.array([[1, 0, 0], [0, 1, 1]]); P = np.array([[.9, .5, .2], [.3, .7, .6]]); "
TASKS = [
    Task(
        "xmleval evaluate Y.npz P.npz --metrics ece@2,brier@2", ("ECE (15 bins) ↓", "@2", "0.4250", "0.2200")
    ),
    Task("xmleval evaluate Y.npz P.npz --metrics calibration --k 1", ("ACE (15 bins)", "Log loss", "over")),
    Task("xmleval evaluate Y.npz P.npz --metrics ECE@2 --format json", ('"reliability"', '"hit_rate"')),
    Task(
        "xmleval evaluate Y.npz L.npz --metrics ece@2",
        (
            "L.npz: row 0: score 3.2 of label 0 is outside 0..1",
            "--link 'sigmoid' makes them",
            "`xmleval calibrate` of any",
        ),
    ),
    Task("xmleval evaluate Y.npz L.npz --metrics p@1,ece@2 --link sigmoid", ("link=sigmoid", "exit code 0")),
    Task("xmleval evaluate Y.npz bare --metrics ece@2", ("ece(bins=15)@2 needs scores in SCORES",)),
    Task("xmleval evaluate Y.npz P.npz --metrics 'ece(bin=5)@2'", ("ece has no parameter 'bin'",)),
    Task("xmleval evaluate Y.npz P.npz --metrics ece@2 --lower-is-better", ("not distances: --lower-is",)),
    Task("xmleval calibrate fit Y.npz L.npz --output m.json", ("isotonic, ", "11 pairs: all listed labels")),
    Task(
        "xmleval calibrate fit Y.npz L.npz --method platt --k 2 --output m.json",
        ("platt, slope", "8 pairs: the"),
    ),
    Task("xmleval calibrate fit Y.npz L.npz", ("Missing option '--output'", "exit code 2")),
    Task(
        "xmleval calibrate apply P.npz L.npz --output out.npz",
        ("P.npz: not a saved calibrator, or damaged (not JSON)",),
    ),
    Task(f"{ARRAYS}xmleval.evaluate(Y, P, metrics='ece@2').reliability['ece@2']['n'].sum()", ("4.0",)),
    Task(f"{ARRAYS}xmleval.calibrate.fit(Y, P, 'platt').apply(P).round(1)", ("[[0.9 0.5 0.1]",)),
    Task(
        "xmleval evaluate Y.npz P.npz --metrics ece@2,gini@2 --per-label l.csv",
        ("l.csv: ece(bins=15)@2, gini@2: no values by label", "exit code 0"),
    ),
    Task(
        f"{ARRAYS}xmleval.calibrate.fit(Y, P, 'platt').apply({{'q1': {{'cat': 0.5}}, 'q2': {{}}}})",
        ("{'q1': {'cat': 0.", "'q2': {}}"),
    ),
    Task(f"{ARRAYS}xmleval.evaluate(Y, P - 1, metrics='brier')", ("link='sigmoid' makes them of logits",)),
]
