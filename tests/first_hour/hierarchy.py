"""Measures in a hierarchy of labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, scores, edges by number, and the same by name."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(np.array([[0, 0, 1, 0], [0, 1, 0, 0]])))
    scores = np.array([[0, 0, 0.2, 0.9], [0.1, 0.8, 0, 0]], np.float32)
    sp.save_npz(folder / "S.npz", sp.csr_array(scores))
    (folder / "edges.tsv").write_text("child\tparent\n2\t1\n3\t1\n")
    (folder / "blanks.txt").write_text("2 1\n3 1\n")
    (folder / "cycle.csv").write_text("2,1\n1,3\n3,2\n")
    (folder / "other.csv").write_text("2,1\n3,root\n")
    (folder / "gold.json").write_text('{"q1": {"dog": 1}}')
    (folder / "run.json").write_text('{"q1": {"cat": 0.9}}')
    (folder / "names.tsv").write_text("dog\tpet\ncat\tpet\nowl\tbird\n")


RUN = "xmleval evaluate Y.npz S.npz --metrics h_f1.micro@1,h_f1.samples@1"
ARRAYS = "Y = np.array([[0, 0, 1, 0]]); S = np.array([[0, 0, .2, .9]]); "
TASKS = [
    Task(f"{RUN} --hierarchy edges.tsv", ("hF1 micro ↑", "0.6667", "hierarchy=(2 edges", "exit code 0")),
    Task(f"{RUN} --hierarchy blanks.txt", ("0.6667", "exit code 0")),
    Task(RUN, ("h_f1.micro@1 needs --hierarchy", "exit code 2")),
    Task(f"{RUN} --hierarchy cycle.csv", ("cycle.csv: a cycle: 1 -> 3 -> 2 -> 1, each a child of the next",)),
    Task(
        f"{RUN} --hierarchy other.csv",
        ("other.csv: line 2: 'root' is not a label id; here, labels have no names", "exit code 2"),
    ),
    Task(f"{RUN} --hierarchy nowhere.tsv", ("nowhere.tsv: No such file or directory", "exit code 2")),
    Task(
        "xmleval evaluate Y.npz S.npz --hierarchy edges.tsv",
        ("--hierarchy has no effect: the measures in it, such as h_f1.micro, are not among p@1",),
    ),
    Task(
        "xmleval evaluate gold.json run.json --metrics h_f1.micro@1 --hierarchy names.tsv",
        ("hF1 micro ↑", "0.5000", "exit code 0"),
    ),
    Task(
        "xmleval compare Y.npz S.npz Y.npz --metrics h_f1.micro@1 --hierarchy edges.tsv",
        ("hF1 micro@1", "exit code 0"),
    ),
    Task("xmleval metrics h_f1", ("hierarchy", "2 |h+ and Y+| / (|h+| + |Y+|)", "Kiritchenko")),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='h_f1@1', hierarchy={{2: 1, 3: 1}})",
        ("needs an average; choose from h_f1.samples, h_f1.micro",),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='h_f1.micro@1', hierarchy={{2: 1, 3: 1}})",
        ("hF1 micro ↑", "0.5"),
    ),
    Task(
        f"{ARRAYS}xmleval.evaluate(Y, S, metrics='h_f1.micro@1', hierarchy=[(2, 9)])",
        ("hierarchy: edge 0: 9 is not one of 0..3; leave out edges to what is no label, such as a root",),
    ),
]
