"""`xmleval evaluate`: measures of the predictions in a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from xmleval.budget import MEMORY
from xmleval.cli.details import refuse_no_rows, write_labels, write_rows
from xmleval.cli.evaluation import Run, count, prepare
from xmleval.cli.files import FORMAT_HELP
from xmleval.cli.forms import WRITERS, written
from xmleval.cli.help import Choice, Sectioned
from xmleval.cli.options import (
    COUNT,
    FILE,
    LABEL_NAMES,
    NUMBER,
    OUTPUT,
    PER_LABEL,
    PER_ROW,
    ConventionsText,
    Whole,
    field_options,
    file_option,
    format_option,
    split_names,
)
from xmleval.cli.output import write_result
from xmleval.cli.patterns import hinting, refuse_expanded
from xmleval.conventions import CHOICES, PRESETS
from xmleval.datasets import PUBLISHED
from xmleval.input.formats.registry import FORMATS
from xmleval.metrics import GROUPS
from xmleval.numerals import whole_number
from xmleval.report.report import Report
from xmleval.spec import DEFAULT_K, expand_metrics

MOST_CUTOFFS = 1000  # of one range
EXCLUDE = (
    ("workers", "scheduler"),
    ("train", "inverse_propensity"),
    ("pred", "decision"),
    ("inverse_propensity", "a"),
    ("inverse_propensity", "b"),
    ("inverse_propensity", "dataset"),
    ("dataset", "a"),
    ("dataset", "b"),
)


def split_cutoffs(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> list[int]:
    """Cut lists of cutoffs and of ranges of them at their commas."""
    cutoffs: dict[int, None] = {}
    for item in ",".join(texts).split(","):
        ends = [whole_number(end.strip(" ")) or 0 for end in item.split("-")]
        if not 1 <= ends[0] <= ends[-1] or len(ends) > 2:
            raise click.BadParameter(
                f"{','.join(texts)!r} is not a list of positive integers, as in 1,3,5 or 1-20.",
                context,
                parameter,
            )
        if ends[-1] - ends[0] >= MOST_CUTOFFS:
            raise click.BadParameter(f"{item!r} is more than {MOST_CUTOFFS} cutoffs.", context, parameter)
        cutoffs |= dict.fromkeys(range(ends[0], ends[-1] + 1))
    return list(cutoffs)


SECTIONS = {
    "Inputs": "train exclude exclude_from candidates labels input_format",
    "Measures": "metrics k gains unlisted link higher_is_better conventions bounds inverse_propensity"
    " dataset a b hierarchy",
    "Confidence": "confidence clusters first_row",
    "Groups": "label_groups row_groups",
    "Predictions to sets": "pred decision ranked",
    "Output": "output_format output per_label_file per_row_file state",
    "Resources": "memory threads workers scheduler checkpoint resume help",
}
EXAMPLES = """Examples:

\b
  xmleval evaluate Y.npz bert.npz \\
      --train Y_train.npz
  xmleval evaluate Y.npz bert.npz \\
      --metrics sets --decision top3
"""


@click.command(cls=Sectioned, sections=SECTIONS, epilog=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1)
@click.option(
    "--metrics",
    multiple=True,
    callback=split_names,
    default=["xmc"],
    show_default=True,
    metavar="NAMES",
    help=f"Measures and groups ({', '.join(GROUPS)}, all), separated by commas; `xmleval metrics` explains.",
)
@click.option(
    "--k",
    "k",
    multiple=True,
    callback=split_cutoffs,
    default=[",".join(map(str, DEFAULT_K))],
    show_default=True,
    metavar="LIST",
    help="Cutoffs of measures at k that are named without one, such as 1,3,5 or 1-20.",
)
@file_option(
    "--train",
    metavar="Y_TRAIN",
    help="Training labels, to estimate propensities from. TRUTH is not used unless it is named here.",
)
@file_option("--inverse-propensity", help="Inverse propensities: an .npy vector, or one number a line.")
@click.option(
    "--dataset",
    metavar="NAME",
    help="Take the published constants A and B of the propensity model for a data set: "
    f"{', '.join(one.dataset for one in PUBLISHED)}. The result names their source.",
)
@click.option("--a", "a", type=NUMBER, help="Constant A of the propensity model, else 0.55.")
@click.option("--b", "b", type=NUMBER, help="Constant B of the propensity model, else 1.5.")
@click.option(
    "--label-groups",
    metavar="GROUPS",
    help="Measures within groups of labels, too: deciles of the positives of --train, largest numbers of "
    "training rows (0,10,100: none, tail, torso, head), or a FILE with label and group on each line.",
)
@file_option(
    "--hierarchy",
    help="For h_precision, h_recall and h_f1: a child and its parent on each line, by number or name.",
)
@file_option(
    "--row-groups",
    help="Measures of groups of rows, too: the group of each row, one a line, or row and group.",
)
@file_option(
    "--clusters",
    help="With --confidence: which rows belong together, such as the sentences of a document; the cluster of "
    "each row, one a line, or row and cluster.",
)
@click.option(
    "--first-row",
    type=Whole(min=0),
    metavar="N",
    help="With --confidence and --save: number of the first row among those of all shards, to merge them.",
)
@click.option(
    "--unlisted", metavar="SCORE", help="'below', or the score of labels without a stored one, such as 0.0."
)
@click.option(
    "--gains",
    type=Choice(["linear", "exp"]),
    metavar="RULE",
    help="TRUTH has grades of relevance. Gain of a label in DCG and nDCG: its grade (linear, as trec_eval) "
    "or 2^grade - 1 (exp); other measures take labels with a positive grade as relevant.",
)
@click.option(
    "--link",
    type=Choice(CHOICES["link"]),
    help="For measures of calibration: sigmoid makes probabilities of logits.",
)
@click.option(
    "--lower-is-better", "higher_is_better", flag_value=False, default=True, help="Scores are distances."
)
@click.option(
    "--conventions",
    type=ConventionsText(list(PRESETS)),
    metavar="NAMES",
    help="What papers and libraries define differently, such as ties and 0/0: a preset "
    f"({', '.join(PRESETS)}), fields such as labels=present,empty=skip, or both, as in "
    "sklearn,labels=present; `xmleval metrics NAME` lists the fields of a measure and their values.",
)
@file_option("--pred", help="Predicted sets, for measures of sets.")
@click.option(
    "--decision",
    metavar="RULE",
    help="Or how scores become sets: top3, threshold0.5 (strictly above), or a file that "
    "`xmleval threshold fit` wrote.",
)
@click.option(
    "--input-format",
    type=Choice([known.name for known in FORMATS]),
    metavar="FORMAT",
    help=f"{FORMAT_HELP} "
    + "; ".join(f"{known.name}: {known.title}, {known.files}" for known in FORMATS)
    + ".",
)
@field_options()
@click.option(
    "--ranked",
    is_flag=True,
    help="Labels predicted in TRUTH's own file stand best first; without it, they are sets alone.",
)
@format_option(list(WRITERS))
@OUTPUT
@click.option(
    "--bounds",
    is_flag=True,
    help="Also print the least and the largest value that any scores of unlisted labels could give.",
)
@click.option(
    "--confidence",
    type=NUMBER,
    metavar="LEVEL",
    help="Also print confidence intervals, such as 0.95: what to expect of other rows of the same kind.",
)
@PER_LABEL
@PER_ROW
@click.option(
    "--memory",
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory, such as 512MB and at least 16MB, for rows that are read and for scores sorted over all "
    "rows; more of these goes to temporary files.",
)
@LABEL_NAMES
@file_option(
    "--exclude",
    help="Pairs of a row and a label, by number and one a line, that are taken out before evaluation.",
)
@click.option(
    "--exclude-from",
    type=click.Choice(["both", "predictions"]),
    default="both",
    show_default=True,
    help="Take pairs out of TRUTH and predictions, or of predictions alone, as NGAME and DEXML do.",
)
@file_option(
    "--candidates",
    help="Labels of each row within which alone SCORES are ranked: sets, or a list of predictions. A note "
    "tells what they allow.",
)
@file_option(
    "--checkpoint",
    metavar="DIR",
    help="Folder to keep the state in every so often; it is removed at the end. With --workers, it may be "
    "on object storage.",
)
@click.option("--workers", type=COUNT, help="Count in so many processes, through Dask.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Count on the Dask cluster of this scheduler, whose workers see the files and --checkpoint.",
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@file_option(
    "--save",
    "state",
    help="File for the state, for `xmleval merge`; of several SCORES, with {} for their names: s_{}.npz.",
)
@click.option(
    "--threads", type=COUNT, help="Most threads to use; no value depends on it."
)  # fmt: skip
def evaluate(truth: Path, scores: tuple[Path, ...], **options: Any) -> None:
    """Compute measures of the predictions in SCORES against the relevant labels in TRUTH.

    SCORES is a matrix of scores or a top-k list; without it, only measures of sets (--pred) or of TRUTH
    alone can be computed. Several are evaluated at once and printed side by side. A folder, or a pattern in
    quotes, stands for files that follow one another, part_2 before part_10. Files are read piece by piece.
    Propensity-scored measures need --train or --inverse-propensity.
    """
    refuse_conflicts(options)
    if options["ranked"] and (scores or options["pred"] is not None):
        said = "--ranked is for predictions in TRUTH's own file"
        raise click.UsageError(said, click.get_current_context())
    if options["resume"] and options["checkpoint"] is None:
        raise click.UsageError("--resume needs --checkpoint", click.get_current_context())
    names = [str(path) for path in (truth, *scores)]
    refuse_expanded(names)
    expand_metrics(options["metrics"], options["k"])  # a wrong name is told before any file is read
    with hinting(names):
        run, counted = prepared(truth, scores, options)
        if options["per_row_file"] is not None:
            refuse_no_rows(run.evaluators[0].asked)
        reports = dict(zip(run.names, counted(run), strict=True))
    if options["per_label_file"] is not None:
        of_all = run.rows.truth[1].label_names
        write_labels(reports, options["per_label_file"], [run.rows.label_names or of_all] * len(reports))
    if options["per_row_file"] is not None:
        write_rows(reports, options["per_row_file"], run.rows.row_names)
    for evaluator, path in zip(run.evaluators, run.states, strict=False):
        evaluator.save(path)
    write_result(written(reports, options["output_format"], options["output"]), options["output"])
    if run.checkpoint:
        run.checkpoint.remove()


def prepared(
    truth: Path, scores: tuple[Path, ...], options: dict[str, Any]
) -> tuple[Run, Callable[[Run], list[Report]]]:
    """Settle what is to be counted, and by what."""
    if options["workers"] is None and options["scheduler"] is None:
        return prepare(truth, scores, options), count
    from xmleval.cli.workers import count_on_workers

    alone = {"checkpoint": None, "resume": False, "threads": options["threads"] or 1}
    run = prepare(truth, scores, options | alone)
    return run, partial(count_on_workers, options=options)


def refuse_conflicts(options: dict[str, Any]) -> None:
    """Refuse options that exclude each other, and those that others are needed for; absent ones are None."""
    for pair in EXCLUDE:
        if all(options.get(name) is not None for name in pair):
            one, other = (f"--{name.replace('_', '-')}" for name in pair)
            raise click.UsageError(f"{one} and {other} exclude each other", click.get_current_context())
    if options["train"] is None and any(options[name] is not None for name in ("a", "b", "dataset")):
        raise click.UsageError("--a, --b and --dataset need --train", click.get_current_context())
    if options["exclude_from"] != "both" and options["exclude"] is None:
        raise click.UsageError("--exclude-from needs --exclude", click.get_current_context())
