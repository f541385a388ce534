"""`xmleval diff`: the rows and labels that changed most between two models."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from xmleval.api.diff import diff as diff_files
from xmleval.api.evaluate import evaluate
from xmleval.cli.files import FILE, NamedFile, Scanning
from xmleval.cli.messages import on_terminal
from xmleval.cli.options import (
    COMPARED,
    MODEL_MEASURES,
    OUTPUT,
    STYLE,
    Opt,
    command,
    format_option,
)
from xmleval.cli.output import write_result
from xmleval.cli.patterns import name_models
from xmleval.cli.types import COUNT
from xmleval.evaluation.request import EvaluateOptions
from xmleval.results.result import Result
from xmleval.show.tables import TableStyle

SECTIONS = {"Changes": {"metric": Opt(str, "NAME"), "worst": Opt(COUNT, "N")}} | COMPARED
SECTIONS |= {
    "Measures": {name: opt for name, opt in MODEL_MEASURES.items() if name not in ("metrics", "k")},
    "Output": {
        "output_format": format_option(["table", "json", "csv", "markdown"]),
        "output": OUTPUT,
        "percent": STYLE["percent"],
        "digits": STYLE["digits"],
    },
}
EXAMPLES = """\
xmleval diff Y.npz old.npz new.npz \\
    --metric ndcg@5 --labels labels.txt
xmleval diff Y.npz old.npz new.npz \\
    --metric f1.macro@5 --worst 5 --format csv
"""


@command(SECTIONS, diff_files, evaluate, Result.tables, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=2)
def diff(
    truth: Path,
    scores: tuple[Path, Path],
    output_format: str,
    output: Path | None,
    style: TableStyle,
    scanning: Scanning,
    metric: str,
    worst: int,
    **options: Unpack[EvaluateOptions],
) -> None:
    """Show the rows, and the labels, that changed most from the first of SCORES to the second.

    Each row comes with its relevant labels and both lists. Labels change by the average over labels
    that --metric names, or by hits at its cutoff. Inputs are those of `xmleval evaluate` except
    --pred; --labels names the columns, whatever their form.
    """
    name_models(truth, [NamedFile("", path) for path in scores])  # refuses likely mistakes
    options["progress"] = on_terminal()
    old, new = map(scanning.scores, scores)
    result = diff_files(scanning.truth(truth), old, new, metric=metric, worst=worst, **options)
    write_result(result, output_format, output, style)
