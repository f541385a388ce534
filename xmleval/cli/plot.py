"""`xmleval plot`: a figure of the predictions in one or more files."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from xmleval.api.compare import compare
from xmleval.api.evaluate import evaluate
from xmleval.cli.files import FIGURE, FILE, MODEL_FILE, NamedFile, Scanning
from xmleval.cli.options import (
    COMPARED,
    COMPLETE_LISTS,
    CONFIDENCE,
    GROUPING,
    REQUIRED,
    Opt,
    command,
)
from xmleval.cli.output import write_figure
from xmleval.cli.report import evaluate_files_for_figures
from xmleval.cli.saved_results import (
    is_saved,
    load_saved,
    refuse_evaluation_options,
    split_names,
)
from xmleval.cli.types import Choice
from xmleval.evaluation.request import EvaluateOptions
from xmleval.metrics.measure import listed
from xmleval.metrics.spec import expand_metrics
from xmleval.results.figures import KINDS

OPTIONS = {
    "kind": Opt(
        Choice([*KINDS]),
        "KIND",
        "; ".join(f"{name}: {kind.shows}" for name, kind in KINDS.items()) + ".",
        extra=REQUIRED,
    ),
    "output": Opt(FIGURE, None, "The figure, as .png, .svg or .pdf.", extra=REQUIRED),
    "confidence": CONFIDENCE["confidence"],
    "clusters": CONFIDENCE["clusters"],
    **GROUPING,
    "complete_lists": COMPLETE_LISTS,
}
EXAMPLES = """\
xmleval plot Y.npz bert.npz tree.npz \\
    --kind cutoffs --output cutoffs.pdf
xmleval plot results.json --kind values \\
    --output values.png
"""


@command({"Figure": OPTIONS} | COMPARED, compare, evaluate, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=MODEL_FILE, nargs=-1)
def plot(
    truth: Path,
    scores: tuple[NamedFile, ...],
    kind: str,
    output: Path,
    scanning: Scanning,
    complete_lists: bool,
    **options: Unpack[EvaluateOptions],
) -> None:
    """Draw a figure of the predictions in one or more SCORES.

    In place of TRUTH and SCORES, files of saved results are drawn: JSON, or states of `xmleval
    evaluate` or `merge`, if they contain what the figure needs. NAME=FILE names a model.

    Several SCORES are compared as by `xmleval compare`. Inputs are those of `xmleval evaluate`
    except --pred.
    """
    named = split_names(truth, scores)
    if is_saved(named[0].path, scores):
        refuse_evaluation_options({"output", "kind", "metrics", "measures"})
        saved = load_saved(named, [*map(str, listed(options["metrics"]) or ())] or None)
        write_figure(saved.plot(kind, metrics=[spec.name for spec in saved.specs]), output)
        return
    if kind == "ranks":
        options["metrics"] = ["p"]  # the figure draws no other measure
    names = [*dict.fromkeys(map(str, listed(options["metrics"]) or ()))]
    result = evaluate_files_for_figures(truth, scores, scanning, complete_lists, options)
    if len(scores) > 1:  # measures of the truth alone are not compared
        names = [name for name in names if _needs_scores(name, options)]
    write_figure(result.plot(kind, metrics=names or None), output)


def _needs_scores(name: str, options: EvaluateOptions) -> bool:
    """Whether any measure of a name needs more than the truth."""
    return any(spec.needs for spec, _ in expand_metrics(name, options["k"]))
