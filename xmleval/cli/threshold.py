"""`xmleval threshold`: tune a decision rule on scores in a file, and apply it to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import scipy.sparse

from xmleval.cli.help import Choice
from xmleval.cli.messages import notes_told, on_terminal
from xmleval.cli.options import (
    FILE,
    FORMAT,
    INPUTS,
    NUMBER,
    REQUIRED,
    RESOURCES,
    WHOLE,
    Opt,
    command,
)
from xmleval.cli.output import check_outputs, refuse_compressed, write_result
from xmleval.cli.patterns import hinting
from xmleval.errors import counted
from xmleval.files.output import replacing
from xmleval.thresholds import fit as fit_files
from xmleval.thresholds.applying import apply_to_files
from xmleval.thresholds.fitting import FALLBACKS
from xmleval.view.rule import MEASURES, TUNABLE

FEATURES = {
    "features": Opt(
        FILE, None,
        "For row: features of the rows that it is linear in instead, an .npy array or a sparse .npz matrix.",
    )
}  # fmt: skip
FIT = {
    "measure": Opt(str, "NAME", f"What to tune to: {', '.join(TUNABLE)}, f1.macro@5."),
    "rule": Opt(
        Choice([*MEASURES]), None,
        "One threshold; one that predicts as many labels as are relevant; one for each label; the best r "
        "of every row; one for each row, linear in its best scores or in features; the best k of every row; "
        "the best k by weighted scores. Default: weighted for measures at k, else constant.",
    ),
    "k": Opt(WHOLE, "N", "For top, how many labels; for row, how many scores it is linear in."),
    "fbr": Opt(NUMBER, "NUMBER", "For label: labels whose best F1 is below it take the fallback."),
    "fallback": Opt(Choice(FALLBACKS), None, "Predict them never, or above their highest score."),
    "unlisted": Opt(str, "SCORE", "'below', or the score of labels without a stored one."),
    **FEATURES,
    "labels": INPUTS["labels"],
    **FORMAT,
    **RESOURCES,
    "output": Opt(FILE, "RULE", "File for the rule, an .npz archive.", more=REQUIRED),
}  # fmt: skip
APPLY = {
    "saved": Opt(FILE, "RULE", "File that `xmleval threshold fit` wrote.", "--rule", REQUIRED),
    **FEATURES,
    "labels": INPUTS["labels"],
    **{n: o for n, o in FORMAT.items() if n != "true_field"},
    "output": Opt(FILE, "SETS", "File for the sets, a sparse 0/1 matrix (.npz).", more=REQUIRED),
}


@click.group()
def threshold() -> None:
    """Tune a decision rule on one data set and apply it to others."""


@command({"Options": FIT}, fit_files, group=threshold, short_help="Tune a rule.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
def fit(truth: Path, scores: Path, output: Path, **options: Any) -> None:
    """Tune a rule on SCORES against the relevant labels in TRUTH.

    Every threshold that changes the result is tried. The best is kept, the highest if several are equally
    good. `xmleval evaluate --decision RULE` measures the rule on other scores. Labels with names are matched
    by name.
    """
    refuse_compressed(output)
    check_outputs([], [truth, scores, *options.values()], [output], options["input_format"])
    with hinting(truth), notes_told():
        rule = fit_files(truth, scores, progress=on_terminal(), **options)
    rule.save(output)
    write_result(str(rule), None)


@command({"Options": APPLY}, fit_files, group=threshold, short_help="Apply a rule.")
@click.argument("scores", type=FILE)
def apply(scores: Path, saved: Path, output: Path, **options: Any) -> None:
    """Write the sets that a rule makes of SCORES, as `xmleval evaluate --pred` reads them.

    Where SCORES has names, rows are in the order in which it names them first, and columns in that of
    --labels, or else of the labels that the rule was fitted to.
    """
    refuse_compressed(output)
    check_outputs([], [scores, saved, *options.values()], [output], options["input_format"])
    options["progress"] = on_terminal()
    with notes_told():
        sets = apply_to_files(saved, scores, options.pop("features"), options.pop("labels"), options)
    with replacing(output) as file:
        scipy.sparse.save_npz(file, sets)
    n_rows, n_labels = sets.shape
    write_result(f"{counted(n_rows, 'rows')} x {counted(n_labels, 'labels')}, {sets.nnz} predicted", None)
