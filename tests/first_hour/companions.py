"""Several models in one command, each with labels of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and models that name labels which it does not."""
    (folder / "truth.csv").write_text("id,tags\n1,python;sorting\n2,sql\n")
    (folder / "bert.csv").write_text("id,predicted\n1,python\n2,sql\n")
    (folder / "gpt.csv").write_text("id,predicted\n1,python;quicksort\n2,database;joins\n")
    (folder / "truth.qrels").write_text("0 0 0 1\n1 0 2 1\n")
    (folder / "numbers.txt").write_text("0\n2\n")
    (folder / "few.txt").write_text("python\nsorting\n")
    for name in ("ids_1", "ids_2", "top_1", "top_2"):
        (folder / f"{name}.txt").write_text("0 2\n1\n5\n")
    (folder / "ids.txt").write_text("0 2\n1\n5\n")
    np.save(folder / "small_indices.npy", np.array([[0, 1], [1, 2], [5, 0]]))
    np.save(folder / "large_indices.npy", np.array([[0, 8], [1, 2], [5, 0]]))
    (folder / "names.txt").write_text("python:0.9\n2:0.5\n")


TASKS = [
    Task(
        "xmleval evaluate ids_1.txt ids_2.txt top_1.txt top_2.txt --metrics p@1",
        ("quote the patterns: 'ids_*.txt' 'top_*.txt'", "exit code 2"),
    ),
    Task(
        "xmleval evaluate truth.csv bert.csv --labels few.txt --metrics p@1",
        ("truth.csv: ", "label 'sql' is not one of the 2 of few.txt", "exit code 2"),
    ),
    Task(
        "xmleval evaluate ids.txt small large --metrics p@1 --save s.npz", ("put {} where", "as in s_{}.npz")
    ),
    Task("xmleval evaluate ids.txt small large --metrics p@1 --save s_{}.npz", ("exit code 0",)),
    Task(
        "xmleval evaluate ids.txt small large --metrics f1.macro@1",
        ("3 rows x 6 (small), 9 (large) labels", "0.5000 *", "0.3333", "beyond the 6 of ids.txt"),
    ),
    Task(
        "xmleval evaluate truth.csv bert.csv gpt.csv --metrics f1.macro@1",
        ("2 rows x 3 (bert), 6 (gpt) labels", "0.6667 *", "0.1667"),
    ),
    Task("xmleval evaluate truth.csv bert.csv --metrics f1.macro@1", ("2 rows x 3 labels", "0.6667")),
    Task("xmleval evaluate truth.csv gpt.csv --metrics f1.macro@1", ("2 rows x 6 labels", "0.1667")),
    Task(
        "xmleval evaluate truth.qrels names.txt numbers.txt --metrics p@1",
        ("names.txt: its labels have names, those of numbers.txt are numbers", "exit code 2"),
    ),
]
