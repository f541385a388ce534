"""`xmleval report`: a page with tables and figures of the predictions in one or more files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import click

from xmleval.api.compare import compare
from xmleval.api.evaluate import evaluate
from xmleval.api.figure_options import evaluate_for_figures
from xmleval.cli.files import FILE, MODEL_FILE, PAGE, NamedFile, Scanning
from xmleval.cli.messages import on_terminal, spell_options
from xmleval.cli.options import (
    COMPARED,
    COMPLETE_LISTS,
    CONFIDENCE,
    GROUPING,
    REQUIRED,
    Opt,
    command,
    training_file,
)
from xmleval.cli.output import describe_run, print_counts, write_text
from xmleval.cli.patterns import name_models
from xmleval.cli.saved_results import (
    is_saved,
    load_saved,
    refuse_evaluation_options,
    split_names,
)
from xmleval.evaluation.request import EvaluateOptions
from xmleval.metrics.measure import listed
from xmleval.results.comparison import Comparison
from xmleval.results.result import reword

OPTIONS = {
    "output": Opt(PAGE, None, "The page, such as report.html.", extra=REQUIRED),
    "title": Opt(str, "TEXT", "Title of the page."),
    "confidence": CONFIDENCE["confidence"],
    "clusters": CONFIDENCE["clusters"],
    **GROUPING,
    "complete_lists": COMPLETE_LISTS,
}
EXAMPLES = """\
xmleval report Y.npz bert.npz tree.npz \\
    --train Y_train.npz --output report.html
xmleval report day1.state day2.json \\
    --output report.html
"""


@command({"Page": OPTIONS} | COMPARED, compare, evaluate, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=MODEL_FILE, nargs=-1)
def report(
    truth: Path,
    scores: tuple[NamedFile, ...],
    output: Path,
    title: str | None,
    scanning: Scanning,
    complete_lists: bool,
    **options: Unpack[EvaluateOptions],
) -> None:
    """Write a page with the result in a sentence, tables and figures of one or more SCORES.

    In place of TRUTH and SCORES, files of saved results are shown side by side: JSON, or states of
    `xmleval evaluate` or `merge`, as far as they have what figures need. NAME=FILE names a model.

    The page is one HTML file that needs no network. Several SCORES are compared as by `xmleval
    compare`. Figures show measures against k, precision-recall and ROC curves, scores, calibration
    and, with --train, groups of labels by training frequency. Inputs are those of `xmleval
    evaluate` except --pred.
    """
    named = split_names(truth, scores)
    files = [*(file.path for file in named), training_file(options)]
    if is_saved(named[0].path, scores):
        refuse_evaluation_options({"output", "title", "metrics", "measures"})
        result = load_saved(named, [*map(str, listed(options["metrics"]) or ())] or None)
    else:
        result = evaluate_files_for_figures(truth, scores, scanning, complete_lists, options)
    write_text(result.to_html(title=title, about=describe_run(files)), output)


def evaluate_files_for_figures(
    truth: Path,
    scores: Sequence[NamedFile],
    scanning: Scanning,
    complete_lists: bool,
    options: EvaluateOptions,
) -> Comparison:
    """Evaluate and compare for figures; messages of the result name options."""
    models = name_models(truth, scores)
    options = {**options, "progress": on_terminal()}
    result = evaluate_for_figures(
        scanning.models(models), scanning.truth(truth), complete_lists=complete_lists, **options
    )
    print_counts(result)
    return reword(result, spell_options)
