"""`xmleval report`: a page with tables and figures of the predictions in one or more files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from xmleval.cli.changes import changes_of, label_names
from xmleval.cli.compare import CONFIDENCE, SHARED, options_of_evaluate, refuse_measures_of_truth
from xmleval.cli.evaluate import refuse_conflicts
from xmleval.cli.evaluation import LABEL_TABLES, Run, count, prepare
from xmleval.cli.figures import about, check_page
from xmleval.cli.forms import in_options, tell_counts
from xmleval.cli.help import Sectioned
from xmleval.cli.options import FILE
from xmleval.cli.output import write_result
from xmleval.cli.patterns import hinting, refuse_expanded
from xmleval.report.compared import Compared
from xmleval.report.comparison import Comparison
from xmleval.spec import Spec, expand_metrics

OPTIONS_OF_NEEDS = {
    "propensity": "inverse_propensity",
    "training": "train",
    "grades": "gains",
    "hierarchy": "hierarchy",
}
DEEPEST, POINTS = 10, 200  # cutoff up to which each k is drawn, besides those asked for; points of curves
SECTIONS = {
    "Page": "output title confidence label_groups",
    **SHARED,
    "Resources": "memory threads help",
}
EXAMPLES = """Examples:

\b
  xmleval report Y.npz bert.npz tree.npz \\
      --train Y_train.npz --output report.html
"""


@click.command(
    cls=Sectioned,
    sections=SECTIONS,
    epilog=EXAMPLES,
    params=options_of_evaluate("confidence", "output_format", "output", also=["label_groups"]),
)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
@click.option("--output", type=FILE, required=True, metavar="FILE", help="The page, such as report.html.")
@click.option("--title", metavar="TEXT", help="Title of the page.")
@CONFIDENCE
def report(truth: Path, scores: tuple[Path, ...], output: Path, title: str | None, **options: Any) -> None:
    """Write a page with the result in a sentence, tables and figures of one or more SCORES.

    The page is one HTML file that needs no network. Several SCORES are compared as by `xmleval compare`.
    Figures show measures against k, precision-recall and ROC curves, scores, calibration and, with --train,
    groups of labels by training frequency. Inputs are those of `xmleval evaluate` except --pred and --ranked.
    """
    check_page(output)
    run, told = figures_of(truth, scores, options | {"output": output})
    told.changes = changes_of(run, told, options["labels"])
    write_result(told.to_html(title, about=about(run.files)), output)


def figures_of(truth: Path, scores: Sequence[Path], options: dict[str, Any]) -> tuple[Run, Comparison]:
    """Evaluate and compare with all that figures show, and return what tells of it."""
    refuse_conflicts(options)
    given = [str(path) for path in (truth, *scores)]
    refuse_expanded(given)
    asked = [spec for spec, _ in expand_metrics(options["metrics"], options["k"])]
    if len(scores) > 1:
        refuse_measures_of_truth(asked)
    weighed = options["train"] is not None or options["inverse_propensity"] is not None
    missing = {need for need, name in OPTIONS_OF_NEEDS.items() if options.get(name) is None}
    missing -= {"propensity"} if weighed else set()
    at_k = {
        spec.name.rpartition("@")[0]: None
        for spec in asked
        if spec.k and spec.state not in LABEL_TABLES and not missing & {*spec.needs}
    }  # tables of every label at ten cutoffs would not fit
    against_k = [f"{name}@{k}" for name in at_k for k in range(1, DEEPEST + 1)]
    more: dict[str, Any] = {
        "metrics": [*options["metrics"], *against_k, "statistics"],
        "per_row": [spec.name for spec in asked] if len(scores) > 1 else False,
        "per_label": _shown_by_label(asked, weighed) if len(scores) > 1 else False,
        "curve_points": POINTS,
        "labels_shown": True,
    }
    if options.get("label_groups") is None and options["train"] is not None:
        more["label_groups"] = "deciles"
    with hinting(given):
        run = prepare(truth, scores, options | more)
        found = count(run)
    tell_counts(found)
    reports = {name: in_options(one) for name, one in zip(run.names, found, strict=True)}
    of_labels = label_names(run, options["labels"], reports)
    reports = {name: replace(one, label_names=of_labels) for name, one in reports.items()}
    names = [spec.name for spec in asked if all(spec.name in one for one in reports.values())]
    if len(reports) == 1:
        return run, Comparison(reports, only=names)
    return run, Compared({name: [one] for name, one in reports.items()}, only=names, within=False)


def _shown_by_label(asked: Sequence[Spec], weighed: bool) -> list[str]:
    """Return the measures that are shown by label: the first, and the first that averages over labels."""
    found = [spec.name for spec in asked if spec.by_label and (weighed or "propensity" not in spec.needs)]
    averages = [spec.name for spec in asked if spec.name in found and spec.average in ("macro", "weighted")]
    return [*found[:1], *averages[:1]]
