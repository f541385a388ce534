"""`xmleval evaluate`: measures of the predictions in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

import click

from xmleval.api.evaluate import evaluate as evaluate_files
from xmleval.base.errors import InputError
from xmleval.cli.files import FILE, MODEL_FILE, TABLE, NamedFile, Scanning
from xmleval.cli.messages import on_terminal
from xmleval.cli.options import EVALUATION, RESULT, RUNS, SAVE, Opt, command
from xmleval.cli.output import write_details, write_result
from xmleval.cli.patterns import name_models, note_other_shards
from xmleval.evaluation.checkpoint import kept_until_written
from xmleval.evaluation.request import EvaluateOptions, Running
from xmleval.metrics.measure import listed
from xmleval.metrics.spec import expand_metrics
from xmleval.results.comparison import Comparison
from xmleval.results.details import refuse_no_rows
from xmleval.results.result import Result
from xmleval.show.tables import TableStyle

EXAMPLES = """\
xmleval evaluate Y.npz bert.npz \\
    --train Y_train.npz
xmleval evaluate Y.npz bert.npz \\
    --metrics sets --decision top3
"""
RESULT_OPTIONS = {
    **RESULT,
    "per_label_file": Opt(
        TABLE,
        None,
        "File with a line per label, .csv or .jsonl: support, tp, fp, fn and averages over labels, "
        "worst first.",
        "--per-label",
    ),
    "per_row_file": Opt(
        TABLE,
        None,
        "File with a line per row, .csv or .jsonl: the measures of rows, worst first.",
        "--per-row",
    ),
}
SECTIONS = EVALUATION | {
    "Output": RESULT_OPTIONS | SAVE,
    "Resources": EVALUATION["Resources"] | RUNS,
}


@command(SECTIONS, evaluate_files, Running, Result.tables, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=MODEL_FILE, nargs=-1)
@kept_until_written()
def evaluate(
    truth: Path,
    scores: tuple[NamedFile, ...],
    output_format: str,
    output: Path | None,
    style: TableStyle,
    per_label_file: Path | None,
    per_row_file: Path | None,
    scanning: Scanning,
    **options: Unpack[EvaluateOptions],
) -> None:
    """Compute measures of the predictions in SCORES against the relevant labels in TRUTH.

    SCORES is a matrix of scores or a top-k list; without it, only measures of sets (--pred) or of
    TRUTH alone can be computed. Several are evaluated at once and printed side by side. A folder,
    or a pattern in quotes, stands for files that follow one another, part_2 before part_10. Files
    are read piece by piece. Propensity-scored measures need --train or --inverse-propensity.
    """
    if scanning.scores_label_field is not None and not scores and options["y_pred"] is None:
        raise InputError(
            "scores_label_field",
            "is for SCORES or --pred; give the file of TRUTH as SCORES, too, for its predictions",
        )
    models = name_models(truth, scores)
    # refuses wrong names before files are read
    requested = expand_metrics(listed(options["metrics"]), options["k"])
    if per_row_file is not None:
        refuse_no_rows([spec for spec, _ in requested])
    options |= {"per_label": per_label_file is not None, "per_row": per_row_file is not None}
    options["progress"] = on_terminal()
    result = evaluate_files(scanning.truth(truth), scanning.models(models) or None, **options)
    if isinstance(result, Comparison):
        reports = {**result.reports}
        for name, note in note_other_shards(truth, models).items():
            reports[name] = replace(reports[name], notes=[note, *reports[name].notes])
            result = Comparison(reports)
    else:
        name = next(iter(models), str(truth))
        reports = {name: result}
    write_details(reports, per_label_file, per_row_file)
    write_result(result, output_format, output, style)
