"""Gates on saved results, as people put them into continuous integration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.first_hour.task import Task
from xmleval import evaluate
from xmleval.cli.details import write_rows
from xmleval.report.comparison import Comparison


def make(folder: Path) -> None:
    """Write results and row values of two runs, of both together, and of one under other conventions."""
    rng = np.random.default_rng(3)
    truth = (rng.random((200, 8)) < 0.3).astype(np.int8)
    noise = rng.normal(size=truth.shape)
    scores = {"last": truth + noise, "new": truth + noise + 0.1 * rng.normal(size=truth.shape)}
    scores["bad"] = truth + 3 * noise
    metrics = ["p@1", "ndcg@5", "coverage"]
    reports = {name: evaluate(truth, own, metrics=metrics, keep_rows=True) for name, own in scores.items()}
    for name, report in reports.items():
        (folder / f"{name}.json").write_text(report.to_json())
        write_rows({name: report}, folder / f"{name}.csv")
    (folder / "all.json").write_text(Comparison(reports).to_json())
    other = evaluate(truth, scores["new"], metrics=metrics, conventions="sklearn")
    (folder / "other.json").write_text(other.to_json())


CHECK = "xmleval check new.json"
TASKS = [
    Task(f"{CHECK} --min ndcg@5=0.6 --max coverage=6", ("2 measures hold", "exit code 0")),
    Task(f"{CHECK} --min NDCG5=0.99", ("ndcg@5 0.", "is below the minimum 0.99\n", "exit code 1")),
    Task(f"{CHECK} --min ngcg@5=0.6", ("did you mean ndcg", "exit code 2")),
    Task(f"{CHECK} --min ndcg@5=60", ("ndcg@5 is between 0 and 1", "exit code 2")),
    Task(f"{CHECK} --min ndcg@5", ("is not NAME=VALUE, as in ndcg@5=", "exit code 2")),
    Task(f"{CHECK} --min psp@5=0.1", ("'psp@5' is not in this report", "exit code 1")),
    Task(CHECK, ("nothing to check: give --min, --max or --no-worse-than", "exit code 2")),
    Task(f"{CHECK} --no-worse-than last.json --margin 0.02", ("3 measures hold", "exit code 0")),
    Task(
        "xmleval check bad.json --no-worse-than last.json --rows bad.csv --last-rows last.csv",
        ("coverage ", "is worse than", "95% interval of the difference", "over 200 rows", "exit code 1"),
    ),
    Task(f"{CHECK} --no-worse-than last.json --rows bad.csv --last-rows last.csv", ("expected their rows",)),
    Task(
        f"{CHECK} --no-worse-than other.json",
        ("not comparable: ", "ndcg_ties is average instead of order", "exit code 2"),
    ),
    Task(f"{CHECK} --no-worse-than last.csv", ("last.csv: line 1: not JSON", "exit code 2")),
    Task("xmleval check all.json --min p@1=0.5", ("bad: p@1 0.", "exit code 1")),
    Task("xmleval check all.json --min p@1=0.5 --model news", ("did you mean new", "exit code 2")),
]
