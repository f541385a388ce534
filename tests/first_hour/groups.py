"""Groups of labels, by training rows or by name, and groups of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, training labels, lists of predictions, and groups in files."""
    truth = sp.csr_array(Y_TEST)
    n_rows, n_labels = truth.shape
    counts = [0, 1, 2, 12, 20, *[1] * n_labels][:n_labels]
    train = np.zeros((30, n_labels), int)
    for label, n in enumerate(counts):
        train[:n, label] = 1
    sp.save_npz(folder / "Y.npz", truth)
    sp.save_npz(folder / "Y_train.npz", sp.csr_array(train))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    np.savez(folder / "n.npz", indices=LABELS[::-1].copy(), scores=SCORES[::-1].copy())
    (folder / "topics.tsv").write_text("label\tgroup\n0\tsport\n1\tsport\n2\tart\n")
    (folder / "languages.txt").write_text("de\nen\n" * (n_rows // 2))
    (folder / "few.txt").write_text("de\nen\n")
    (folder / "outside.csv").write_text("0,sport\n99,art\n")
    (folder / "twice.csv").write_text("0,sport\n0,art\n")
    (folder / "gap.txt").write_text("de\n\nen\nen\n")
    (folder / "truth.csv").write_text("id,tags\n1,python;sorting\n2,sql\n")
    (folder / "model.csv").write_text("id,predicted\n1,sql;python\n2,sql\n")
    (folder / "tags.csv").write_text("label,group\npython,languages\nsql,languages\ncss,web\n")
    (folder / "sources.csv").write_text("id,group\n2,blog\n1,forum\n")


LINE = "xmleval evaluate Y.npz m.npz --metrics p@1,f1.macro@1"
ARRAYS = (
    "Y = np.array([[1, 0, 0], [0, 1, 1]]); S = np.array([[.9, .5, .2], [.3, .1, .7]]); "
    "T = np.array([[1, 1, 0]] + [[1, 0, 0]] * 11); "
)
TASKS = [
    Task(
        f"{LINE} --train Y_train.npz --label-groups 0,10,100",
        (
            "within groups of labels by training rows: zero-shot 0, tail 1-10, torso 11-100",
            "shares",
            "code 0",
        ),
    ),
    Task(f"{LINE} --train Y_train.npz --label-groups deciles", ("decile 1", "zero-shot", "code 0")),
    Task(
        f"{LINE} --train Y_train.npz --label-groups 0,10 --format json",
        ('"training_rows": "1-10"', '"shares"'),
    ),
    Task(
        f"{LINE} --train Y_train.npz --label-groups 0,10 --format csv",
        ("groups few,groups frequent,shares", "code 0"),
    ),
    Task(f"{LINE} --label-groups topics.tsv", ("sport", "art", "other", "code 0")),
    Task(f"{LINE} --row-groups languages.txt", ("groups of rows", "de", "en", "code 0")),
    Task(
        "xmleval evaluate Y.npz m.npz n.npz --metrics p@1 --label-groups topics.tsv",
        ("group of labels sport: 2 labels", "code 0"),
    ),
    Task(
        "xmleval evaluate truth.csv --pred model.csv --metrics f1.macro "
        "--label-groups tags.csv --row-groups sources.csv",
        ("tags.csv: 1 label occurs in no other input; it is ignored", "languages", "blog", "code 0"),
    ),
    Task(f"{LINE} --label-groups 0,10", ("--label-groups 0,10 needs --train, the training labels", "code 2")),
    Task(
        f"{LINE} --train Y_train.npz --label-groups 10,5",
        ("--label-groups: [10, 5] are not rising numbers", "code 2"),
    ),
    Task(f"{LINE} --label-groups outside.csv", ("outside.csv: line 2: label '99' is not in 0..4", "code 2")),
    Task(f"{LINE} --label-groups twice.csv", ("twice.csv: line 2: a second group for label '0'", "code 2")),
    Task(f"{LINE} --row-groups few.txt", ("few.txt: 2 groups do not match the 4 rows of Y.npz", "code 2")),
    Task(f"{LINE} --row-groups gap.txt", ("gap.txt: line 2 is blank", "code 2")),
    Task(f"{LINE} --label-groups languages.csv", ("languages.csv: No such file or directory", "code 2")),
    Task(
        f"{ARRAYS}xmleval.label_groups(T)",
        ("<LabelGroups: zero-shot (0) 1, tail (1-10) 1, torso (11-100) 1>",),
    ),
    Task(
        f"{ARRAYS}g = xmleval.label_groups(T); "
        "xmleval.evaluate(Y, S, metrics='p@1', label_groups=g).groups['tail']['P@1']",
        ("1.0",),
    ),
    Task(
        f"{ARRAYS}r = xmleval.evaluate(Y, S, metrics='p@1', label_groups={{0: 'a', 2: 'b'}}); "
        "{name: own['p@1'] for name, own in r.shares.items()}",
        ("{'a': 0.5, 'b': 0.5, 'other': 0.0}",),
    ),
    Task(
        f"{ARRAYS}dict(xmleval.evaluate(Y, S, metrics='p@1', row_groups=['de', 'en']).row_groups['de'])",
        ("{'p@1': 1.0}",),
    ),
    Task(
        f"{ARRAYS}import pandas as pd; g = pd.Series(['de', None]); "
        "xmleval.evaluate(Y, S, metrics='p@1', row_groups=g)",
        ("row_groups: row 1: ", " is neither a text nor an integer"),
        ("pandas",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='p@1', label_groups=['a', 'b'])",
        ("label_groups: has groups of 2 labels, not 3: one for each",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='p@1', label_groups='deciles')",
        ("label_groups: 'deciles' are numbers of training rows; give y_train=, or the group of each of 3",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='p@1').groups['tail']",
        ("no group 'tail'; there are none: give label_groups= or row_groups=",),
    ),
]
