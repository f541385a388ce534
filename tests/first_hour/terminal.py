"""What is seen on a terminal, and what is written to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth, a list of predictions, and the same list in two parts."""
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y_TEST))
    np.savez(folder / "m.npz", indices=LABELS, scores=SCORES)
    np.savez(folder / "n.npz", indices=LABELS[::-1], scores=SCORES[::-1])
    sp.save_npz(folder / "turned.npz", sp.csr_array(Y_TEST.T))
    np.save(folder / "own_indices.npy", LABELS)
    np.save(folder / "turned_indices.npy", LABELS.T)
    np.savez(folder / "turned_m.npz", indices=LABELS.T, scores=SCORES.T)
    for number, rows in enumerate((slice(0, 2), slice(2, 4)), 1):
        sp.save_npz(folder / f"Y_h{number}.npz", sp.csr_array(Y_TEST[rows]))
        np.savez(folder / f"m_h{number}.npz", indices=LABELS[rows], scores=SCORES[rows])
    np.savez(folder / "part_1.npz", indices=LABELS[:2], scores=SCORES[:2])
    np.savez(folder / "part_2.npz", indices=LABELS[2:], scores=SCORES[2:])


SWAPPED = "it holds predictions: TRUTH comes first, then SCORES\n"


def written(words: str) -> str:
    """Python that shows the file which a command line writes."""
    line = f"evaluate Y.npz {words} found.csv"
    return f"from xmleval.cli import main\nmain({line.split()})\nopen('found.csv').read()"


TASKS = [
    Task("xmleval evaluate Y.npz m.npz --metrics none@1", ("unknown measure", "exit code 2")),
    Task("xmleval evaluate none.npz m.npz --metrics none@1", ("unknown measure", "exit code 2")),
    Task(
        "xmleval evaluate Y.npz part_1.npz part_2.npz",
        ("2 rows do not match the 4 of Y.npz", "quote the pattern: 'part_*.npz'", "exit code 2"),
    ),
    Task(
        "xmleval evaluate Y_h1.npz Y_h2.npz m.npz --metrics p@1",
        (
            "do Y_h1.npz and Y_h2.npz follow one another as TRUTH? quote the pattern: 'Y_h*.npz'",
            "exit code 2",
        ),
    ),
    Task(
        "xmleval evaluate Y_h1.npz Y_h2.npz m_h1.npz m_h2.npz", ("quote the patterns: 'Y_h*.npz' 'm_h*.npz'",)
    ),
    Task(
        "xmleval evaluate Y_h1.npz m_h1.npz m_h2.npz --metrics p@1",
        ("m_h2.npz: evaluated on Y_h1.npz, though Y_h2.npz is there", "'Y_h*.npz' 'm_h*.npz'", "exit code 0"),
    ),
    Task(
        "xmleval evaluate turned.npz m.npz --metrics p@1",
        ("m.npz: 4 rows do not match the 5 of turned.npz; turned.npz looks transposed", "exit code 2"),
    ),
    *[
        Task(
            f"xmleval evaluate Y.npz {name} --metrics p@1",
            (f"{name}: 3 rows do not match the 4 of Y.npz; it looks transposed: rows are", "save the .T of"),
        )
        for name in ("turned_m.npz", "turned_indices.npy")
    ],
    Task(
        "xmleval evaluate Y.npz m.npz --train turned.npz --metrics psp@1",
        ("turned.npz: shape (5, 4) has 4 labels; 5 were expected; it looks transposed", "exit code 2"),
    ),
    *[
        Task(
            f"xmleval {typed}",
            (f"m.npz: no array 'format' in it; {SWAPPED}exit code 2",),
        )
        for typed in (
            "evaluate m.npz Y.npz",
            "compare m.npz Y.npz turned.npz",
            "calibrate fit m.npz Y.npz --output c.json",
            "evaluate m.npz n.npz",  # without any truth
            "evaluate m.npz missing.npz",
        )
    ],
    Task(
        "xmleval evaluate own_indices.npy Y.npz",
        (f"own_indices.npy: a top-k list holds no truth; {SWAPPED}",),
    ),
    Task("xmleval evaluate Y.npz turned.npz", ("transpose of the other: rows are instances", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --output m.xlsx", ("no result is written as .xlsx", "--format")),
    *[
        Task(
            typed,
            (
                f": results are not written compressed; expected a name without .gz, such as {plain}",
                "exit code 2",
            ),
        )
        for typed, plain in (
            ("xmleval evaluate Y.npz m.npz --output m.json.gz", "m.json"),
            ("xmleval evaluate Y.npz m.npz --metrics p@1 --per-row rows.csv.gz", "rows.csv"),
            ("xmleval compare Y.npz m.npz n.npz --format csv --output found.csv.gz", "found.csv"),
            ("xmleval stats Y.npz --output Y.gz", "result.json"),
            ("xmleval threshold fit Y.npz m.npz --output rule.npz.gz", "rule.npz"),
        )
    ],
    Task(
        "xmleval stats Y.npz --output Y.csv", ("no result is written as .csv", "table, json", "exit code 2")
    ),
    Task("xmleval evaluate Y.npz m.npz --metrics R-Precision", ("R-Prec ↑", "exit code 0")),
    Task("xmleval evaluate Y.npz m.npz --metrics label_ranking_average_precision", ("LRAP ↑", "exit code 0")),
    Task(written("m.npz --metrics p@1,f1.macro@1 --per-label"), ("label,support,tp@1,fp@1,fn@1,f1@1\n",)),
    Task(written("m.npz --metrics p@1,auc.macro --per-label"), ("label,support,tp@1,fp@1,fn@1,auc\n",)),
    Task(written("m.npz n.npz --metrics p@1,lrap --per-row"), ("scores,row,p@1,lrap\nm.npz,", "n.npz,")),
    Task("xmleval evaluate Y.npz m.npz --metrics f1.micro@1 --per-row rows.csv", ("mean over rows",)),
    Task("xmleval evalute Y.npz m.npz", ("did you mean 'evaluate'?", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --conventions sklern", ("did you mean 'sklearn'?", "exit code 2")),
    Task("xmleval evaluate Y.npz m.npz --metric p@1", ("did you mean '--metrics'?", "exit code 2")),
    Task(
        "xmleval compare Y.npz m.npz n.npz --pred Y.npz",
        ("No such option", "; see `xmleval compare --help`", "exit code 2"),
    ),
    Task("xmleval evaluate --help", ("Predictions to sets:", "Examples:", "exit code 0")),
    Task("xmleval evaluate Y.npz 'part_*.npz' --metrics p@1", ("4 rows x 5 labels", "exit code 0")),
]
