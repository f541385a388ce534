"""Predicted labels beside those that a list fixes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and predictions, of which some labels are not in the list."""
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    (folder / "truth.json").write_text(json.dumps({"q1": {"red": 1, "green": 1}, "q2": {"blue": 1}}))
    (folder / "run.json").write_text(
        json.dumps({"q1": {"pink": 0.9, "green": 0.8}, "q2": {"blue": 0.5, "red": 0.4}})
    )
    (folder / "other.json").write_text(json.dumps({"q1": {"red": 0.9, "teal": 0.8}, "q2": {"blue": 0.5}}))
    (folder / "strange.json").write_text(json.dumps({"q1": {"mauve": 1}, "q2": {"blue": 1}}))
    (folder / "pairs.csv").write_text("id,tags,predicted\n1,red;green,pink;green\n2,blue,blue\n")
    (folder / "q.txt").write_text("3\n2\n1\n")


IN_MEMORY = (
    "L = ['red', 'green', 'blue']; T = {'q1': {'red': 1, 'green': 1}, 'q2': {'blue': 1}}; "
    "R = {'q1': {'pink': 0.9, 'green': 0.8}, 'q2': {'blue': 0.5, 'red': 0.4}}\n"
)
TOLD = "1 predicted label is not among {}, such as '{}'; it counts as wrong"
IN_FILE = f"run.json: {TOLD.format('--labels', 'pink')}"
UNLISTED = f"y_score: {TOLD.format('labels=', 'pink')}"
FILES = "xmleval evaluate truth.json run.json --labels labels.txt"

TASKS = [
    Task(f"{FILES} --metrics p@1,r@2", ("2 rows x 3 labels", "0.5000", "0.7500", IN_FILE, "exit code 0")),
    Task(f"{FILES} --metrics f1.macro@2", ("0.6667", "rows that predict labels beside those that are")),
    Task(
        f"{FILES} --metrics ndcg@2 --format json",
        (f"run.json: {TOLD.format('labels=', 'pink')}", '"n_labels": 3'),
    ),
    Task(
        f"{FILES} --metrics p@1 --conventions sklearn",
        ("run.json: lists labels beside --labels, and --unlisted 0 gives all of them a score", "exit code 2"),
    ),
    Task(
        "xmleval evaluate strange.json run.json --labels labels.txt --metrics p@1",
        ("strange.json: label 'mauve' is not one of the 3 of labels.txt; add it there", "exit code 2"),
    ),
    Task(
        "xmleval evaluate truth.json run.json other.json --labels labels.txt --metrics p@1",
        (IN_FILE, f"other.json: {TOLD.format('--labels', 'teal')}"),
    ),
    Task(
        "xmleval diff truth.json run.json other.json --labels labels.txt --metric ndcg@2",
        ("pink; green*", "red*; teal"),
    ),
    Task(
        "xmleval evaluate pairs.csv --labels labels.txt --metrics f1.micro",
        ("0.6667", f"pairs.csv: {TOLD.format('--labels', 'pink')}"),
    ),
    Task(
        "xmleval evaluate truth.json run.json --metrics psp@1 --inverse-propensity q.txt",
        ("q.txt: has no names, and labels are numbered as TRUTH names them; give --labels", "exit code 2"),
    ),
    Task(f"{FILES} --metrics psp@1 --inverse-propensity q.txt", ("0.2500", "exit code 0")),
    Task(f"{IN_MEMORY}xmleval.evaluate(T, R, labels=L, metrics='p@1')", ("0.5000", UNLISTED)),
    Task(
        f"{IN_MEMORY}xmleval.evaluate(T, y_pred=R, labels=L, metrics='f1.macro')['f1.macro']",
        ("y_pred: row 0: value 0.9 is no judgement",),
    ),
    Task(
        f"{IN_MEMORY}e = xmleval.Evaluator('p@1', labels=L); e.update(T, R); e.compute()",
        ("0.5000", UNLISTED, "note: rows that predict labels beside those that are"),
    ),
    Task(
        f"{IN_MEMORY}xmleval.compare({{'a': R, 'b': R}}, T, labels=L, metrics='p@1')",
        ("0.5000", UNLISTED),
    ),
    Task(
        f"{IN_MEMORY}xmleval.evaluate(R, T, labels=L, metrics='p@1')",
        ("y_true: row 0: label 'pink' is not one of the 3 given ones; labels= must name 1 label more",),
    ),
]
