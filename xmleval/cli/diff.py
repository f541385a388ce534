"""`xmleval diff`: the rows and labels that changed most between two models."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from xmleval.cli.changes import lists_of, names_in_lists
from xmleval.cli.compare import options_of_evaluate
from xmleval.cli.evaluate import refuse_conflicts
from xmleval.cli.evaluation import count, prepare
from xmleval.cli.forms import written
from xmleval.cli.help import Sectioned
from xmleval.cli.options import COUNT, FILE, OUTPUT, format_option
from xmleval.cli.output import write_result
from xmleval.cli.patterns import hinting, refuse_expanded
from xmleval.report.changes import Diff, find_changes
from xmleval.report.report import Report
from xmleval.report.tables import short_names
from xmleval.spec import parse_spec

SECTIONS = {
    "Changes": "metric worst",
    "Inputs": "train exclude exclude_from candidates labels input_format true_field pred_field score_field"
    " id_field separator",
    "Measures": "gains unlisted link higher_is_better conventions decision inverse_propensity dataset a b"
    " hierarchy",
    "Output": "output_format output",
    "Resources": "memory threads help",
}
EXAMPLES = """Examples:

\b
  xmleval diff Y.npz old.npz new.npz \\
      --metric ndcg@5 --labels labels.txt
  xmleval diff Y.npz old.npz new.npz \\
      --metric f1.macro@5 --worst 5 --format csv
"""
LEFT_OUT = (
    "metrics", "k", "confidence", "clusters", "label_groups", "row_groups", "output_format",
    "output",
)  # fmt: skip


@click.command(cls=Sectioned, sections=SECTIONS, epilog=EXAMPLES, params=options_of_evaluate(*LEFT_OUT))
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=2)
@click.option("--metric", default="ndcg@5", show_default=True, metavar="NAME", help="The measure.")
@click.option(
    "--worst",
    type=COUNT,
    default=20,
    show_default=True,
    metavar="N",
    help="Largest number of rows, and of labels; of equal changes, losses come first.",
)
@format_option(["table", "json", "csv", "markdown"])
@OUTPUT
def diff(truth: Path, scores: tuple[Path, Path], metric: str, worst: int, **options: Any) -> None:
    """Show the rows, and the labels, that changed most from the first of SCORES to the second.

    Each row comes with its relevant labels and both lists. Labels change by the average over labels that
    --metric names, or by hits at its cutoff. Inputs are those of `xmleval evaluate` except --pred and
    --ranked; --labels names the columns, whatever their form.
    """
    refuse_conflicts(options)
    spec = parse_spec(metric)
    given = [str(path) for path in (truth, *scores)]
    refuse_expanded(given)
    more = {
        "metrics": [metric], "k": [1], "confidence": None, "per_row": True,
        "per_label": spec.by_label, "labels_shown": True,
    }  # fmt: skip
    with hinting(given):
        run = prepare(truth, scores, options | more)
        reports = dict(zip(run.names, count(run), strict=True))

    def together(found: dict[str, Report]) -> Diff:
        own = dict(zip(short_names([*found]), found.values(), strict=True))
        names = names_in_lists(run, options["labels"], own)
        return find_changes([spec], own, worst, partial(lists_of, run, own), run.rows.row_names, names)

    text = written(reports, options["output_format"], options["output"], together)
    write_result(text, options["output"])
