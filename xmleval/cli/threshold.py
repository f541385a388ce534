"""`xmleval threshold`: tune a decision rule on scores in a file, and apply it to others."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import counted
from xmleval.cli.convert import WRITTEN
from xmleval.cli.files import FILE, RULE, Scanning
from xmleval.cli.messages import on_terminal, print_notes, printing_notes
from xmleval.cli.options import FIELDS_ALONE, FORMAT, INPUTS, REQUIRED, RESOURCES, Opt, command
from xmleval.cli.output import write_text
from xmleval.cli.types import COUNT, NUMBER, Choice
from xmleval.thresholds import fit as fit_files
from xmleval.thresholds.applying import apply_to_files
from xmleval.thresholds.fitting import FALLBACKS
from xmleval.view.rule import RULES, TUNABLE

FIT = {
    "measure": Opt(str, "NAME", f"Measure to tune to: {', '.join(TUNABLE)}, f1.macro@5."),
    "rule": Opt(Choice([*RULES])),
    "k": Opt(COUNT, "N"),
    "fbr": Opt(NUMBER, "NUMBER"),
    "fallback": Opt(Choice(FALLBACKS)),
    "unlisted": FIELDS_ALONE["unlisted"],
    "features": Opt(FILE),
    "labels": INPUTS["labels"],
    "unjudged": INPUTS["unjudged"],
    "judged": INPUTS["judged"],
    **FORMAT,
    **RESOURCES,
    "output": Opt(RULE, "RULE", "File for the rule, an .npz archive.", extra=REQUIRED),
}
APPLY = {
    "saved": Opt(FILE, "RULE", "File that `xmleval threshold fit` wrote.", "--rule", REQUIRED),
    "features": Opt(FILE),
    "labels": INPUTS["labels"],
    **{name: opt for name, opt in FORMAT.items() if name != "label_field"},
    "output": WRITTEN._replace(metavar="SETS"),
}


@click.group()
def threshold() -> None:
    """Tune a decision rule on one data set and apply it to others."""


@command({"Options": FIT}, fit_files, evaluate, group=threshold, short_help="Tune a rule.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
def fit(  # noqa: PLR0913 - one for each option
    truth: Path,
    scores: Path,
    output: Path,
    scanning: Scanning,
    measure: str | None,
    rule: str | None,
    k: int | None,
    fbr: float | None,
    fallback: str | None,
    features: Path | None,
    labels: Path | None,
    unjudged: str | Path | None,
    judged: str | Path | None,
    memory: str,
    threads: int | None,
    conventions: str | None = None,
) -> None:
    """Tune a rule on SCORES against the relevant labels in TRUTH.

    Every threshold that changes the result is tried. The best is kept, the highest if several are
    equally good. `xmleval evaluate --decision RULE` measures the rule on other scores. Labels with
    names are matched by name.
    """
    with printing_notes():
        fitted_rule = fit_files(
            scanning.truth(truth),
            scanning.scores(scores),
            measure,
            rule=rule,
            k=k,
            fbr=fbr,
            fallback=fallback,
            features=features,
            labels=labels,
            unjudged=unjudged,
            judged=judged,
            conventions=conventions,
            memory=memory,
            threads=threads,
            progress=on_terminal(),
        )
    fitted_rule.save(output)
    write_text(str(fitted_rule))


@command({"Options": APPLY}, fit_files, evaluate, group=threshold, short_help="Apply a rule.")
@click.argument("scores", type=FILE)
def apply(
    scores: Path,
    saved: Path,
    output: Path,
    scanning: Scanning,
    features: Path | None,
    labels: Path | None,
) -> None:
    """Write the sets that a rule makes of SCORES, as `xmleval evaluate --pred` reads them.

    Where SCORES has names, SETS has them, too. Its rows are in the order in which SCORES names them
    first; in a matrix (.npz), columns are in the order of --labels, or else of the labels that the
    rule was fitted to.
    """
    with printing_notes():
        n_rows, n_labels, n_predicted, notes = apply_to_files(
            saved, scanning.scores(scores), output, features, labels, on_terminal()
        )
    print_notes(notes)
    write_text(
        f"{counted(n_rows, 'rows')} x {counted(n_labels, 'labels')}, {n_predicted} predicted"
    )
