"""`xmleval threshold`: tune a decision rule on scores in a file, and apply it to others."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import counted
from xmleval.cli.convert import WRITTEN
from xmleval.cli.files import FILE, RULE, Scanning
from xmleval.cli.messages import notes_told, on_terminal, tell_notes
from xmleval.cli.options import FIELDS_ALONE, FORMAT, INPUTS, REQUIRED, RESOURCES, Opt, command
from xmleval.cli.output import write_text
from xmleval.cli.types import COUNT, NUMBER, Choice
from xmleval.thresholds import fit as fit_files
from xmleval.thresholds.applying import apply_to_files
from xmleval.thresholds.fitting import FALLBACKS
from xmleval.view.rule import RULES, TUNABLE

FIT = {
    "measure": Opt(str, "NAME", f"What to tune to: {', '.join(TUNABLE)}, f1.macro@5."),
    "rule": Opt(Choice([*RULES])),
    "k": Opt(COUNT, "N"),
    "fbr": Opt(NUMBER, "NUMBER"),
    "fallback": Opt(Choice(FALLBACKS)),
    "unlisted": FIELDS_ALONE["unlisted"],
    "features": Opt(FILE),
    "labels": INPUTS["labels"],
    **FORMAT,
    **RESOURCES,
    "output": Opt(RULE, "RULE", "File for the rule, an .npz archive.", extra=REQUIRED),
}  # fmt: skip
APPLY = {
    "saved": Opt(FILE, "RULE", "File that `xmleval threshold fit` wrote.", "--rule", REQUIRED),
    "features": Opt(FILE),
    "labels": INPUTS["labels"],
    **{n: o for n, o in FORMAT.items() if n != "label_field"},
    "output": WRITTEN._replace(metavar="SETS"),
}


@click.group()
def threshold() -> None:
    """Tune a decision rule on one data set and apply it to others."""


@command({"Options": FIT}, fit_files, evaluate, group=threshold, short_help="Tune a rule.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
def fit(
    truth: Path, scores: Path, output: Path, how: Scanning, measure: str | None, rule: str | None,
    k: int | None, fbr: float | None, fallback: str | None, features: Path | None, labels: Path | None,
    memory: str, threads: int | None, conventions: str | None = None,
) -> None:  # fmt: skip
    """Tune a rule on SCORES against the relevant labels in TRUTH.

    Every threshold that changes the result is tried. The best is kept, the highest if several are equally
    good. `xmleval evaluate --decision RULE` measures the rule on other scores. Labels with names are matched
    by name.
    """
    with notes_told():
        fitted = fit_files(
            how.truth(truth),
            how.scores(scores),
            measure,
            rule=rule,
            k=k,
            fbr=fbr,
            fallback=fallback,
            features=features,
            labels=labels,
            conventions=conventions,
            memory=memory,
            threads=threads,
            progress=on_terminal(),
        )
    fitted.save(output)
    write_text(str(fitted))


@command({"Options": APPLY}, fit_files, evaluate, group=threshold, short_help="Apply a rule.")
@click.argument("scores", type=FILE)
def apply(
    scores: Path, saved: Path, output: Path, how: Scanning, features: Path | None, labels: Path | None
) -> None:
    """Write the sets that a rule makes of SCORES, as `xmleval evaluate --pred` reads them.

    Where SCORES has names, SETS has them, too. Its rows are in the order in which SCORES names them first; in
    a matrix (.npz), columns are in the order of --labels, or else of the labels that the rule was fitted to.
    """
    with notes_told():
        applied = apply_to_files(saved, how.scores(scores), output, features, labels, on_terminal())
        n_rows, n_labels, n_predicted, notes = applied
    tell_notes(notes)
    write_text(f"{counted(n_rows, 'rows')} x {counted(n_labels, 'labels')}, {n_predicted} predicted")
