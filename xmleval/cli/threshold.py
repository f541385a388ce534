"""`xmleval threshold`: tune a decision rule on scores in a file, and apply it to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse

from xmleval.cli.inputs import find_input
from xmleval.cli.messages import naming_files
from xmleval.cli.output import check_output, write_binary, write_result
from xmleval.cli.running import open_rows, width_of
from xmleval.cli.stream import count_rows, counting_from, progress
from xmleval.coerce import memory_bytes
from xmleval.evaluator import MEMORY
from xmleval.io import FORMATS
from xmleval.io.rows import RowReader
from xmleval.thresholds import Rule
from xmleval.thresholds.fitting import FALLBACKS, Fitting
from xmleval.thresholds.rule import BY_CELLS, MEASURES

FILE = click.Path(path_type=Path)
INPUT_FORMAT = click.option(
    "--input-format",
    type=click.Choice([known.name for known in FORMATS]),
    help="Format of input files whose names do not tell it.",
)


@click.group(short_help="Tune a rule that turns scores into sets, or apply it.")
def threshold() -> None:
    """Tune a decision rule on one data set and apply it to others."""


@threshold.command(short_help="Tune a rule.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
@click.option("--measure", metavar="NAME", help=f"What to tune to: {', '.join(BY_CELLS)}.")
@click.option(
    "--rule",
    type=click.Choice(list(MEASURES)),
    default="constant",
    show_default=True,
    help="One threshold; one that predicts as many labels as are relevant; one for each label; the best r "
    "of every row; one for each row, linear in its best scores; the best k of every row.",
)
@click.option(
    "--k", "k", type=int, help="For top, how many labels; for row, how many scores it is linear in."
)
@click.option("--fbr", type=float, help="For label: labels whose best F1 is below it take the fallback.")
@click.option(
    "--fallback", type=click.Choice(FALLBACKS), help="Predict them never, or above their highest score."
)
@click.option("--unlisted", metavar="SCORE", help="'below', or the score of labels without a stored one.")
@INPUT_FORMAT
@click.option(
    "--output", type=FILE, metavar="RULE", required=True, help="File for the rule, an .npz archive."
)
def fit(truth: Path, scores: Path, output: Path, input_format: str | None, **options: Any) -> None:
    """Tune a rule on SCORES against the relevant labels in TRUTH.

    The value of every threshold that differs in effect is known exactly; the best is taken, the highest of
    equals. `xmleval evaluate --decision RULE` measures the sets that the rule makes of other scores.
    """
    check_output(output, (truth, scores))
    memory = memory_bytes("memory", MEMORY)
    with naming_files({name: f"--{name}" for name in options}):
        fitting = Fitting(**options)
    given = find_input(truth, "truth", input_format), [find_input(scores, "scores", input_format)]
    rows = open_rows(*given, None, {"labels": None, "train": None, "exclude": None})
    cells = fitting.cells(width_of(rows, memory))
    with progress(rows.truth[1].n_rows, 0) as show:
        count_rows([cells], rows, memory, 0, show)
    with naming_files({"y_score": scores}):
        rule = fitting.rule_of(cells)
    rule.save(output)
    write_result(str(rule), None)


@threshold.command(short_help="Apply a rule.")
@click.argument("scores", type=FILE)
@click.option(
    "--rule",
    "saved",
    type=FILE,
    metavar="RULE",
    required=True,
    help="File that `xmleval threshold fit` wrote.",
)
@INPUT_FORMAT
@click.option(
    "--output",
    type=FILE,
    metavar="SETS",
    required=True,
    help="File for the sets, a sparse 0/1 matrix (.npz).",
)
def apply(scores: Path, saved: Path, input_format: str | None, output: Path) -> None:
    """Write the sets that a rule makes of SCORES, as `xmleval evaluate --pred` reads them."""
    check_output(output, (scores, saved))
    rule = Rule.load(saved)
    given = find_input(scores, "scores", input_format)
    reader = RowReader(given.name, given.pieces(), memory_bytes("memory", MEMORY) // 8, rule.n_labels)
    found = [scipy.sparse.csr_array((0, rule.n_labels), dtype=np.bool_)]
    try:
        with progress(reader.n_rows, 0) as show:
            while n := reader.ready():
                with naming_files({"y_score": given.name, "features": saved}), counting_from(reader.n_taken):
                    found.append(rule.apply(reader.take(n)))
                show(reader.n_taken)
    finally:
        reader.close()
    sets = scipy.sparse.vstack(found, format="csr")
    write_binary(lambda file: scipy.sparse.save_npz(file, sets), output)
    write_result(f"{sets.shape[0]} rows x {sets.shape[1]} labels, {sets.nnz} predicted", None)
