"""`xmleval evaluate`: measures of the predictions in a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from xmleval import api
from xmleval.cli.messages import naming_files, spell_options
from xmleval.cli.output import check_output, write_columns, write_result
from xmleval.conventions import PRESETS
from xmleval.evaluator import MEMORY
from xmleval.io import FORMATS, read_propensity, read_scores, read_truth
from xmleval.metrics import GROUPS
from xmleval.propensity import PUBLISHED, InversePropensity, inverse_propensity
from xmleval.report import Report
from xmleval.spec import DEFAULT_K

WRITERS: dict[str, Callable[[Report], str]] = {
    "table": lambda report: str(_in_options(report)),
    "json": Report.to_json,
    "csv": Report.to_csv,
    "markdown": Report.to_markdown,
    "latex": Report.to_latex,
}
FILE = click.Path(path_type=Path)
CONSTANTS = "; ".join(f"{name} {a:g}, {b:g}" for name, (a, b) in PUBLISHED.items())
EXCLUDE = (("train", "propensity"), ("pred", "decision"), ("propensity", "a"), ("propensity", "b"))


def split_names(context: click.Context, parameter: click.Parameter, text: str) -> list[str]:
    """Cut a list of names at its commas, those in parentheses aside."""
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]
    if not all(names):
        raise click.BadParameter(f"{text!r} has an empty name.", context, parameter)
    return names


def split_cutoffs(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    """Cut a list of cutoffs at its commas."""
    if not re.fullmatch(r"\s*0*[1-9]\d*\s*(,\s*0*[1-9]\d*\s*)*", text, re.ASCII):
        raise click.BadParameter(
            f"{text!r} is not a list of positive integers, as in 1,3,5.", context, parameter
        )
    return [int(k) for k in text.split(",")]


@click.command(short_help="Compute measures of predictions.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, required=False)
@click.option(
    "--metrics",
    callback=split_names,
    default="xmc",
    show_default=True,
    metavar="NAMES",
    help=f"Measures and groups ({', '.join(GROUPS)}, all), separated by commas; `xmleval metrics` explains.",
)
@click.option(
    "--k",
    "cutoffs",
    callback=split_cutoffs,
    default=",".join(map(str, DEFAULT_K)),
    show_default=True,
    metavar="LIST",
    help="Cutoffs of measures at k that are named without one.",
)
@click.option(
    "--train",
    type=FILE,
    metavar="Y_TRAIN",
    help="Training labels, to estimate propensities from. TRUTH is not used unless it is named here.",
)
@click.option(
    "--propensity",
    type=FILE,
    metavar="FILE",
    help="Inverse propensities: an .npy vector, or one number a line.",
)
@click.option("--a", "a", type=float, help=f"Constant A of the propensity model (A, B: {CONSTANTS}).")
@click.option("--b", "b", type=float, help="Constant B of the propensity model.")
@click.option(
    "--unlisted", metavar="SCORE", help="'below', or the score of labels without a stored one, such as 0.0."
)
@click.option(
    "--conventions", type=click.Choice(list(PRESETS)), help="Readings of the formulas where they differ."
)
@click.option("--pred", type=FILE, metavar="FILE", help="Predicted sets, for measures of sets.")
@click.option(
    "--decision", metavar="RULE", help="Or how scores become sets: top3, or threshold0.5 (strictly above)."
)
@click.option(
    "--input-format",
    type=click.Choice([known.name for known in FORMATS]),
    help="Format of input files whose names do not tell it. "
    + "; ".join(f"{known.name}: {known.title}, {known.files}" for known in FORMATS)
    + ".",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(WRITERS)),
    default="table",
    show_default=True,
    help="Form of the result.",
)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    help="File for the result, written whole or not at all; default stdout.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Also print the least and the largest value that any scores of unlisted labels could give.",
)
@click.option(
    "--per-label",
    type=FILE,
    metavar="FILE",
    help="CSV file for the results of every label, written whole or not at all.",
)
@click.option(
    "--memory",
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory for scores that are sorted over all rows, such as 512MB; more goes to temporary files.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), help="Most threads to use; no value depends on it."
)  # fmt: skip
def evaluate(
    truth: Path,
    scores: Path | None,
    metrics: list[str],
    cutoffs: list[int],
    train: Path | None,
    propensity: Path | None,
    a: float | None,
    b: float | None,
    unlisted: str | None,
    conventions: str | None,
    pred: Path | None,
    decision: str | None,
    input_format: str | None,
    output_format: str,
    output: Path | None,
    bounds: bool,
    per_label: Path | None,
    memory: str,
    threads: int | None,
) -> None:
    """Compute measures of the predictions in SCORES against the relevant labels in TRUTH.

    SCORES is a matrix of scores or a top-k list; without it, only measures of sets (--pred) or of TRUTH
    alone can be computed. Propensity-scored measures need --train or --propensity.
    """
    _refuse_together(train=train, propensity=propensity, a=a, b=b, pred=pred, decision=decision)
    if train is None and (a, b) != (None, None):
        raise click.UsageError("--a and --b need --train", click.get_current_context())
    for path in (output, per_label):
        check_output(path, (truth, scores, train, propensity, pred))
    y_true = _read(read_truth, truth, input_format)
    q: Any = None
    if train is not None:
        y_train = y_true if train == truth else _read(read_truth, train, input_format)
        q = _estimated(train, y_train, y_true, a, b)
        del y_train  # often larger than everything else
    elif propensity is not None:
        q = read_propensity(propensity)
    y_score = None if scores is None else _read(read_scores, scores, input_format)
    y_pred = None if pred is None else _read(read_truth, pred, input_format)
    files = {"y_true": truth, "y_score": scores, "y_pred": pred, "propensity": propensity}
    with naming_files(files):
        report = api.evaluate(
            y_true,
            y_score,
            y_pred=y_pred,
            metrics=metrics,
            k=cutoffs,
            propensity=q,
            decision=decision,
            conventions=conventions,
            unlisted=unlisted,
            bounds=bounds,
            keep_labels=per_label is not None,
            memory=memory,
            threads=threads,
        )
    if per_label is not None:
        write_columns({"label": np.arange(report.n_labels), **report.per_label()}, per_label)
    write_result(WRITERS[output_format](report), output)


def _refuse_together(**options: object) -> None:
    for one, other in EXCLUDE:
        if options[one] is not None and options[other] is not None:
            raise click.UsageError(f"--{one} and --{other} exclude each other", click.get_current_context())


def _estimated(train: Path, y_train: Any, y_true: Any, a: float | None, b: float | None) -> InversePropensity:
    """Estimate the inverse propensities of the truth's labels."""
    with naming_files({"y_train": train, "n_instances": train, "a": "--a", "b": "--b"}):
        return inverse_propensity(y_train, a, b, n_labels=y_true.shape[1])


def _read(reader: Callable[..., Any], path: Path, input_format: str | None) -> Any:
    """Read a file by its name, or by the given format where the name does not tell."""
    known = path.name.lower().endswith(tuple(end for form in FORMATS for end in form.extensions))
    try:
        return reader(path, format=None if known else input_format)
    except ValueError as error:
        raise ValueError(re.sub(r"format=$", "--input-format", str(error))) from None


def _in_options(report: Report) -> Report:
    """Say what is missing in options, as people at a terminal can give it."""
    return replace(report, left_out={name: spell_options(text) for name, text in report.left_out.items()})
