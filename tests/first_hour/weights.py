"""Weights of instances in measures of pooled scores."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Need no files."""


ARRAYS = (
    "Y = np.array([[1, 0, 0], [0, 1, 0]]); S = np.array([[.9, .5, .2], [.3, .1, .7]]); w = [3, 1]; "
    "names = ['auc.micro', 'ap.micro', 'peak_f1.micro', 'auc.macro', 'ap.weighted']; "
)
REPORT = f"{ARRAYS}r = xmleval.evaluate(Y, S, metrics=names, sample_weight=w); "
COUNTED = f"{ARRAYS}e = xmleval.Evaluator(names, n_labels=3); e.update(Y, S, sample_weight=w); "
FLAT = "(Y.ravel(), S.ravel(), sample_weight=np.repeat(w, 3))"
TASKS = [
    Task(f"{REPORT}r", ("AUC micro", "0.7500", "sample_weight=given")),
    Task(f"{REPORT}r['auc.micro']", ("0.75",)),
    Task(
        f"{REPORT}dict(xmleval.evaluate(Y[[0, 0, 0, 1]], S[[0, 0, 0, 1]], metrics=names)) == dict(r)",
        ("True",),
    ),
    Task(
        f"{REPORT}from sklearn.metrics import roc_auc_score; r['auc.micro'] == roc_auc_score{FLAT}",
        ("True",),
        ("sklearn",),
    ),
    Task(
        f"{REPORT}import sklearn.metrics as m; round(m.average_precision_score{FLAT} - r['ap.micro'], 15)",
        ("0.0",),
        ("sklearn",),
    ),
    Task(f"{REPORT}r.thresholds", ("'peak_f1.micro': 0.9",)),
    Task(f"{COUNTED}e.update(Y, S, sample_weight=w); e.compute()['auc.micro']", ("0.75",)),
    Task(f"{COUNTED}e.save('e.npz'); xmleval.Evaluator.load('e.npz').compute()['auc.micro']", ("0.75",)),
    Task(f"{COUNTED}e.update(Y, S)", ("sample_weight: given earlier, but not now",)),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='auc.micro(bits=8)', sample_weight=w)",
        ("lower", "upper", "sample_weight=given"),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='auc.micro', sample_weight=[3, -1])",
        ("sample_weight: row 1: weight -1.0 is neither 0 nor within 2^-30..2^20",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics=names, sample_weight=[0, 0])",
        ("AUC micro ↑      undefined", "labels left out as undefined: auc.macro 3, ap.weighted 3"),
    ),
]
