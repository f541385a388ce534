"""Comparing models: what is typed, mistakes included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.first_hour.task import Task

N, L = 300, 10


def make(folder: Path) -> None:
    """Write a truth, lists of two models, of one as good as the first, and of several seeds."""
    rng = np.random.default_rng(3)
    truth = (rng.random((N, L)) < 0.3).astype(np.float32)
    sp.save_npz(folder / "Y.npz", sp.csr_array(truth))
    for name, signal in (("bert", 1.6), ("tree", 0.8), ("other", 1.6), *((f"a_{n}", 1.2) for n in range(3))):
        scores = (truth * signal + rng.normal(size=(N, L))).astype(np.float32)
        order = np.argsort(-scores, axis=1)[:, :5]
        np.savez(folder / f"{name}.npz", indices=order, scores=np.take_along_axis(scores, order, 1))
    for n in range(3):
        np.savez(folder / f"b_{n}.npz", **np.load(folder / f"a_{n}.npz"))
    (folder / "names.txt").write_text("".join(f"label {n}\n" for n in range(L)))
    (folder / "topics.csv").write_text("".join(f"{n},{'art' if n < 3 else 'sport'}\n" for n in range(L)))
    (folder / "languages.txt").write_text("de\nen\nen\n" * (N // 3))
    (folder / "docs.csv").write_text("id,labels\n1,cat;dog\n2,dog\n3,bird\n")
    for name, third in (("m.csv", "bird"), ("n.csv", "cat")):
        (folder / name).write_text(f"id,predicted\n1,cat;dog\n2,dog\n3,{third}\n")


MODELS = """
rng = np.random.default_rng(0); Y = rng.random((200, 8)) < 0.3
a, b = Y + rng.normal(size=(2, 200, 8)) * 0.8
"""

TASKS = [
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics p,ndcg@5",
        ("bert - tree", "p (Holm)", "wins/ties/losses", "bert better", "Holm over 4 tests, n = 300 rows"),
    ),
    Task("xmleval compare Y.npz bert.npz other.npz --metrics p@1", ("no difference seen", "exit code 0")),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz other.npz --baseline tree --metrics p@1",
        ("letters: better than that model", "bert - tree", "other - tree", "Holm over 2 tests"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics p@1 --label-groups topics.csv "
        "--row-groups languages.txt",
        (
            "group of labels art: 3 labels",
            "bert - tree within groups of labels",
            "sport, P@1",
            "bert - tree within groups of rows",
            "Holm over 4 tests, those within groups included",
            "group art: lists hold different numbers of labels a row (bert.npz 0.985, tree.npz 0.94)",
        ),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics p@1 --label-groups topics.csv --format csv",
        ("better,group_of,group\n", ",labels,art\n", "code 0"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --label-groups 0,10",
        ("--label-groups 0,10 needs --train", "exit code 2"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --clusters languages.txt --test paired_t",
        ("which --clusters says they are not; expected 't' or 'randomisation'", "exit code 2"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics p@3 --worst 2 --labels names.txt",
        ("bert - tree: labels that differ most by tp@3", "rows with it", "label ", "exit code 0"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics lrap --worst 2",
        ("--worst: none of lrap has values by label, or a cutoff to count hits at", "exit code 2"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --baseline tre.npz",
        ("did you mean tree.npz or bert.npz?", "exit code 2"),
    ),
    Task("xmleval compare Y.npz bert.npz", ("takes two or more SCORES", "xmleval evaluate", "exit code 2")),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --test wilcoxon --metrics p@1,f1.macro@5",
        ("no Wilcoxon signed-rank test of rows, as no mean over rows: f1.macro@5", "exit code 0"),
    ),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --test wilcoxen", ("did you mean 'wilcoxon'", "exit code 2")
    ),
    Task("xmleval compare Y.npz bert.npz tree.npz --confidence 95", ("not a probability", "exit code 2")),
    Task(
        "xmleval compare Y.npz bert.npz tree.npz --metrics p@1 --format latex",
        (r"\toprule", "$^*$", r"{\footnotesize $^*$ better, p \textless{} 0.05"),
    ),
    Task(
        "xmleval compare Y.npz 'a_*.npz' 'b_*.npz' --seeds --metrics p@1",
        (
            "mean and standard deviation over (n) seeds, which ± does not cover",
            "(3)",
            " sd 0.",
            "no difference",
        ),
    ),
    Task("xmleval compare Y.npz a_0.npz b_0.npz --seeds", ("expected patterns in quotes", "exit code 2")),
    Task(
        "xmleval compare docs.csv m.csv n.csv --metrics p@1 --separator ;",
        ("m - n", "1/2/0", "too few for a good one", "exit code 0"),
    ),
    Task(
        "xmleval evaluate Y.npz bert.npz other.npz --metrics p@1 --confidence 0.95",
        ("labels; * better", "* better than the next best, p < 0.05", "over test rows, not over training"),
    ),
    Task("xmleval evaluate Y.npz bert.npz other.npz --metrics p@1", ("labels; * best",)),
    Task(
        f'{MODELS}xmleval.compare({{"a": a, "b": b}}, Y, metrics=["p@1"])',
        ("a - b", "p (Holm)", "no difference seen"),
    ),
    Task(
        f'{MODELS}c = xmleval.compare({{"a": a, "b": b}}, Y, metrics="p@1", row_groups=["x", "y"] * 100)\n'
        'c.row_groups["y"].difference("p@1", "a", "b").outcomes',
        ("Outcomes(wins=", "losses="),
    ),
    Task(f"{MODELS}xmleval.compare([a, b], Y)", ("list is not a dict; give models by name",)),
    Task(
        "xmleval diff Y.npz bert.npz tree.npz --metric ndcg@5 --worst 2",
        ("nDCG@5 ↑: ", "rows better", "\n  truth", "labels by tp@5", "* relevant"),
    ),
    Task(
        "xmleval diff Y.npz bert.npz tree.npz --metric f1.macro@5", ("labels by f1@5", "is no mean over rows")
    ),
    Task("xmleval diff docs.csv m.csv n.csv --metric p@1 --separator ;", ("row 2 3: ", "bird*", "cat")),
    Task("xmleval diff Y.npz bert.npz --worst 2", ("exit code 2",)),
    Task("xmleval diff Y.npz bert.npz tree.npz --metric ngcg@5", ("did you mean", "exit code 2")),
    Task(
        f'{MODELS}xmleval.diff({{"a": a, "b": b}}, Y, metric="p@1", worst=1)',
        ("P@1 ↑: ", "truth", "labels by"),
    ),
]
