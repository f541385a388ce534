"""`xmleval report`: a page with tables and figures of the predictions in one or more files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from xmleval.api.compare import compare, evaluate_models
from xmleval.api.evaluate import evaluate
from xmleval.cli.files import FILE, PAGE
from xmleval.cli.messages import on_terminal
from xmleval.cli.options import COMPARED, CONFIDENCE, GROUPING, REQUIRED, Opt, command
from xmleval.cli.output import about, in_options, tell_counts, write_text
from xmleval.cli.patterns import models_of
from xmleval.evaluation.files import LABEL_TABLES
from xmleval.groups import DECILES
from xmleval.report.compared import Compared
from xmleval.report.comparison import Comparison
from xmleval.spec import Spec, expand_metrics

OPTIONS_OF_NEEDS = {
    "propensity": "inverse_propensity",
    "training": "y_train",
    "grades": "gains",
    "hierarchy": "hierarchy",
}
DEEPEST, POINTS = 10, 200  # cutoff up to which each k is drawn, besides those asked for; points of curves
OPTIONS = {
    "output": Opt(PAGE, None, "The page, such as report.html.", more=REQUIRED),
    "title": Opt(str, "TEXT", "Title of the page."),
    "confidence": CONFIDENCE["confidence"],
    "label_groups": GROUPING["label_groups"],
}
EXAMPLES = """Examples:

\b
  xmleval report Y.npz bert.npz tree.npz \\
      --train Y_train.npz --output report.html
"""


@command({"Page": OPTIONS} | COMPARED, compare, evaluate, epilog=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
def report(truth: Path, scores: tuple[Path, ...], output: Path, title: str | None, **options: Any) -> None:
    """Write a page with the result in a sentence, tables and figures of one or more SCORES.

    The page is one HTML file that needs no network. Several SCORES are compared as by `xmleval compare`.
    Figures show measures against k, precision-recall and ROC curves, scores, calibration and, with --train,
    groups of labels by training frequency. Inputs are those of `xmleval evaluate` except --pred and --ranked.
    """
    told = figures_of(truth, scores, options)
    read = [truth, *scores, options["y_train"]]
    write_text(told.to_html(title, about=about(read)), output)


def figures_of(truth: Path, scores: Sequence[Path], options: dict[str, Any]) -> Comparison:
    """Evaluate and compare with all that figures show."""
    models = models_of(truth, scores)
    asked = [spec for spec, _ in expand_metrics(options["metrics"], options["k"])]
    if several := len(models) > 1:
        refuse_measures_of_truth(asked)
    weighed = options["y_train"] is not None or options["inverse_propensity"] is not None
    missing = {need for need, name in OPTIONS_OF_NEEDS.items() if options[name] is None}
    missing -= {"propensity"} if weighed else set()
    at_k = {
        spec.name.rpartition("@")[0]: None
        for spec in asked
        if spec.k and spec.state not in LABEL_TABLES and not missing & {*spec.needs}
    }  # tables of every label at ten cutoffs would not fit
    against_k = [f"{name}@{k}" for name in at_k for k in range(1, DEEPEST + 1)]
    options |= {
        "metrics": [*(options["metrics"] or ["xmc"]), *against_k, "statistics"],
        "per_row": [spec.name for spec in asked] if several else False,
        "per_label": _shown_by_label(asked, weighed) if several else False,
        "curve_points": POINTS,
        "progress": on_terminal(),
    }
    if options["label_groups"] is None and options["y_train"] is not None:
        options["label_groups"] = DECILES
    found = evaluate_models([*models], models, truth, None, False, options)
    for (own,) in found.reports.values():
        tell_counts(own)
    reports = {name: in_options(own) for name, (own,) in found.reports.items()}
    names = [spec.name for spec in asked if all(spec.name in one for one in reports.values())]
    told = Comparison(reports, only=names)
    if several:
        told = Compared({name: [one] for name, one in reports.items()}, only=names, within=False)
    told.lists_of = found.lists_of
    return told


def refuse_measures_of_truth(specs: Sequence[Spec]) -> None:
    """Refuse measures none of which depends on the models that are compared."""
    if not any(spec.needs for spec in specs):
        raise ValueError(f"--metrics: none of {', '.join(map(str, specs))} depends on SCORES")


def _shown_by_label(asked: Sequence[Spec], weighed: bool) -> list[str]:
    """Return the measures that are shown by label: the first, and the first that averages over labels."""
    found = [spec.name for spec in asked if spec.by_label and (weighed or "propensity" not in spec.needs)]
    averages = [spec.name for spec in asked if spec.name in found and spec.average in ("macro", "weighted")]
    return [*found[:1], *averages[:1]]
