"""`xmleval plot`: a figure of the predictions in one or more files."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from xmleval.api.compare import compare
from xmleval.api.evaluate import evaluate
from xmleval.cli.files import FIGURE, FILE, Scanning
from xmleval.cli.options import COMPARED, COMPLETE_LISTS, CONFIDENCE, GROUPING, REQUIRED, Opt, command
from xmleval.cli.output import write_figure
from xmleval.cli.report import figures_of
from xmleval.cli.types import Choice
from xmleval.evaluation.request import EvaluateOptions
from xmleval.metrics.spec import expand_metrics
from xmleval.results.figures import KINDS

OPTIONS = {
    "kind": Opt(
        Choice([*KINDS]), "KIND",
        "; ".join(f"{name}: {kind.shows}" for name, kind in KINDS.items()) + ".",
        extra=REQUIRED,
    ),
    "output": Opt(FIGURE, None, "The figure, as .png, .svg or .pdf.", extra=REQUIRED),
    "confidence": CONFIDENCE["confidence"],
    "label_groups": GROUPING["label_groups"],
    "complete_lists": COMPLETE_LISTS,
}  # fmt: skip
EXAMPLES = """\
xmleval plot Y.npz bert.npz tree.npz \\
    --kind cutoffs --output cutoffs.pdf
"""


@command({"Figure": OPTIONS} | COMPARED, compare, evaluate, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
def plot(
    truth: Path, scores: tuple[Path, ...], kind: str, output: Path, how: Scanning, complete_lists: bool,
    **options: Unpack[EvaluateOptions],
) -> None:  # fmt: skip
    """Draw a figure of the predictions in one or more SCORES.

    Several SCORES are compared as by `xmleval compare`. Inputs are those of `xmleval evaluate`
    except --pred.
    """
    asked = ["p"] if kind == "ranks" else options["metrics"]  # which alone it draws
    result = figures_of(truth, scores, how, complete_lists, options | {"metrics": asked})
    expanded = {item: expand_metrics(item, options["k"]) for item in asked or ()}
    single = len(scores) == 1  # of several, measures of the truth alone are not compared
    shown = [name for name, specs in expanded.items() if single or any(spec.needs for spec, _ in specs)]
    write_figure(result.plot(kind, metrics=shown or None), output)
