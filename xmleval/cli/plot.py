"""`xmleval plot`: a figure of the predictions in one or more files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from xmleval.cli.compare import CONFIDENCE, SHARED, options_of_evaluate
from xmleval.cli.evaluation import is_given
from xmleval.cli.figures import check_figure, write_figure
from xmleval.cli.help import Choice, Sectioned
from xmleval.cli.options import FILE
from xmleval.cli.report import figures_of
from xmleval.figures.kinds import KINDS
from xmleval.spec import expand_metrics

SECTIONS = {
    "Figure": "kind output confidence label_groups",
    **SHARED,
    "Resources": "memory threads help",
}
EXAMPLES = """Examples:

\b
  xmleval plot Y.npz bert.npz tree.npz \\
      --kind cutoffs --output cutoffs.pdf
"""


@click.command(
    cls=Sectioned,
    sections=SECTIONS,
    epilog=EXAMPLES,
    params=options_of_evaluate("confidence", "output_format", "output", also=["label_groups"]),
)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
@click.option(
    "--kind",
    type=Choice([*KINDS]),
    metavar="KIND",
    required=True,
    help="; ".join(f"{name}: {kind.shows}" for name, kind in KINDS.items()) + ".",
)
@click.option("--output", type=FILE, required=True, metavar="FILE", help="The figure, as .png, .svg or .pdf.")
@CONFIDENCE
def plot(truth: Path, scores: tuple[Path, ...], kind: str, output: Path, **options: Any) -> None:
    """Draw a figure of the predictions in one or more SCORES.

    Several SCORES are compared as by `xmleval compare`. Inputs are those of `xmleval evaluate`
    except --pred and --ranked.
    """
    check_figure(output)
    if kind == "ranks":
        options["metrics"] = ["p"]  # which alone it draws
    _, told = figures_of(truth, scores, options | {"output": output})
    shown = None
    if is_given("metrics") or kind == "ranks":
        expanded = {item: expand_metrics(item, options["k"]) for item in options["metrics"]}
        # measures of the truth alone are not compared
        shown = [n for n, own in expanded.items() if len(scores) == 1 or any(spec.needs for spec, _ in own)]
    write_figure(told.plot(kind, metrics=shown), output)
