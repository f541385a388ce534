"""Gates on saved results, as people put them into continuous integration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

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
    reports = {name: evaluate(truth, own, metrics=metrics, per_row=True) for name, own in scores.items()}
    for name, report in reports.items():
        (folder / f"{name}.json").write_text(report.to_json())
        write_rows({name: report}, folder / f"{name}.csv")
    (folder / "all.json").write_text(Comparison(reports).to_json())
    of_labels = [*"aabbccdd"]
    for name, own in scores.items():
        grouped = evaluate(truth, own, metrics="p@1", label_groups=of_labels, row_groups=["de", "en"] * 100)
        (folder / f"{name}_groups.json").write_text(grouped.to_json())
    np.savez(folder / "m.npz", indices=np.argsort(-scores["new"], axis=1)[:, :5])
    sp.save_npz(folder / "Y.npz", sp.csr_array(truth))
    for name in ("pairs.txt", "same.txt"):
        (folder / name).write_text("0 1\n")
    (folder / "more.txt").write_text("0 1\n5 1\n")
    other = evaluate(truth, scores["new"], metrics=metrics, conventions="sklearn")
    (folder / "other.json").write_text(other.to_json())


CHECK = "xmleval check new.json"
RUN = """
from xmleval.cli import main
def run(words, out): main(f"evaluate Y.npz m.npz --metrics p@1 {words} --output {out}".split())
"""
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
    Task("xmleval check new_groups.json --min a:p@1=0.1,en:p@1=0.2", ("2 measures hold", "exit code 0")),
    Task(
        "xmleval check new_groups.json --min tail:p@1=0.1",
        ("no group 'tail' in this report; it has a, b", "exit code 1"),
    ),
    Task(
        "xmleval check bad_groups.json --no-worse-than last_groups.json --margin 0.01",
        ("\na:p@1 0.", "\nen:p@1 0.", "is worse than", "exit code 1"),
    ),
    Task("xmleval check new_groups.json --no-worse-than new.json", ("'ndcg@5' is not in", "exit code 1")),
    Task(
        "xmleval evaluate Y.npz m.npz --metrics p@1 --exclude pairs.txt --format json",
        ('"exclude": {', '"file": "pairs.txt"', '"sha256": "', '"from": "both"', "exit code 0"),
    ),
    Task(
        f"{RUN}run('--exclude pairs.txt', 'old.json'); run('--exclude same.txt', 'same.json')\n"
        "xmleval.check('same.json', no_worse_than='old.json')",
        ("1 measure holds",),
    ),
    Task(
        f"{RUN}run('--exclude pairs.txt', 'old.json'); run('--exclude more.txt', 'more.json')\n"
        "xmleval.check('more.json', no_worse_than='old.json')",
        ("old.json: not comparable: exclude is pairs.txt (SHA-256 ", "instead of more.txt (SHA-256 "),
    ),
    Task(
        f"{RUN}run('--candidates Y.npz', 'old.json'); run('', 'whole.json')\n"
        "xmleval.check('whole.json', no_worse_than='old.json')",
        ("candidates is Y.npz (SHA-256 ", "instead of none"),
    ),
    Task("xmleval.check('new.json', min={'ndcg@5': 0.99})", ("ndcg@5 0.", "is below the minimum 0.99")),
    Task("xmleval.check('new.json', min={'ndcg@5': 0.1, 'p@1': 0.1})", ("2 measures hold",)),
    Task("xmleval.check('new.json', minimum={'p@1': 0.1})", ("unexpected keyword argument 'minimum'",)),
    Task("xmleval.check([0.5], min={'p@1': 0.1})", ("results: list is no results; expected a report",)),
    Task("xmleval check all.json --min p@1=0.5 --model news", ("did you mean new", "exit code 2")),
]
