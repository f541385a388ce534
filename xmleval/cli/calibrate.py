"""`xmleval calibrate`: fit a map from scores to probabilities on validation data, and apply it."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import counted
from xmleval.calibrate import fit as fit_files
from xmleval.calibrate.applying import apply_to_files
from xmleval.calibrate.calibrator import METHODS
from xmleval.cli.convert import WRITTEN
from xmleval.cli.files import FILE, MODEL, Scanning
from xmleval.cli.messages import on_terminal, print_notes, printing_notes
from xmleval.cli.options import FORMAT, INPUTS, REQUIRED, RESOURCES, Opt, command
from xmleval.cli.output import write_text
from xmleval.cli.types import COUNT, Choice

FIT = {
    "method": Opt(Choice([*METHODS])),
    "k": Opt(COUNT, "N"),
    "labels": INPUTS["labels"],
    "unjudged": INPUTS["unjudged"],
    "judged": INPUTS["judged"],
    **FORMAT,
    **RESOURCES,
    "output": Opt(MODEL, "MAP", "File for the map, JSON.", extra=REQUIRED),
}
APPLY = {
    "saved": Opt(FILE, "MAP", "File that `xmleval calibrate fit` wrote.", "--map", REQUIRED),
    **{name: opt for name, opt in FORMAT.items() if name != "label_field"},
    "output": WRITTEN,
}


@click.group()
def calibrate() -> None:
    """Fit probabilities to scores on one data set and apply them to others."""


@command(
    {"Options": FIT},
    fit_files,
    evaluate,
    group=calibrate,
    short_help="Fit probabilities to scores.",
)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
def fit(  # noqa: PLR0913 - one for each option
    truth: Path,
    scores: Path,
    output: Path,
    scanning: Scanning,
    method: str,
    k: int | None,
    labels: Path | None,
    unjudged: str | Path | None,
    judged: str | Path | None,
    memory: str,
    threads: int | None,
) -> None:
    """Fit a map from SCORES to probabilities against the relevant labels in TRUTH.

    Both are of held-out data. `xmleval calibrate apply SCORES --map MAP` makes probabilities of
    other scores. Labels with names are matched by name.
    """
    with printing_notes():
        calibrator = fit_files(
            scanning.truth(truth),
            scanning.scores(scores),
            method,
            k=k,
            labels=labels,
            unjudged=unjudged,
            judged=judged,
            memory=memory,
            threads=threads,
            progress=on_terminal(),
        )
    calibrator.save(output)
    write_text(str(calibrator))


@command({"Options": APPLY}, group=calibrate, short_help="Write probabilities in place of scores.")
@click.argument("scores", type=FILE)
def apply(scores: Path, saved: Path, output: Path, scanning: Scanning) -> None:
    """Write SCORES with the probabilities that a map gives in place of the scores.

    A list keeps its order. Names of rows and labels are kept.
    """
    n_rows, n_entries, notes = apply_to_files(saved, scanning.scores(scores), output, on_terminal())
    print_notes(notes)
    write_text(f"{counted(n_rows, 'rows')}, {counted(n_entries, 'probabilities', 'probability')}")
