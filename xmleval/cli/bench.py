"""`xmleval bench`: throughput of an evaluation of arrays in memory."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any, TypeAlias

import click
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.api.evaluate import evaluate
from xmleval.base.budget import MEMORY, check_resources
from xmleval.base.errors import naming_files
from xmleval.base.work import WORK
from xmleval.cli.files import FILE, Scanning
from xmleval.cli.options import (
    FORMAT,
    LIST,
    MEASURES,
    OUTPUT,
    RESOURCES,
    Opt,
    command,
    format_option,
)
from xmleval.cli.output import show, write_text
from xmleval.cli.types import COUNT, Whole
from xmleval.demo import N_RELEVANT, make_lists
from xmleval.evaluation.request import EvaluateOptions
from xmleval.io import Lists, read_scores, read_truth
from xmleval.labels.propensity import inverse_propensity
from xmleval.results.report import Report

RUNS = (5, 25)  # fewest and most timed runs
BUDGET = 2.0  # seconds after which runs end, between the fewest and the most
SHOWN = ("seconds", "first_seconds", "rows_per_second", "scores_per_second", "gb_per_second")
Matrix: TypeAlias = "scipy.sparse.csr_array | NDArray[Any]"
GENERATED = {"rows": 100_000, "labels": 10_000, "k": 5}
OPTIONS = {
    "metrics": MEASURES["metrics"]._replace(
        extra={**LIST, "default": ["xmc"], "show_default": True}
    ),
    "rows": Opt(COUNT, "N", "Rows of generated data; default 100000."),
    "labels": Opt(Whole(min=2 * N_RELEVANT), "N", "Labels of generated data; default 10000."),
    "k": Opt(COUNT, "N", "Scores per row of generated data; default 5.", extra={"default": None}),
    "input_format": FORMAT["input_format"],
    "threads": RESOURCES["threads"],
    "output_format": format_option(),
    "output": OUTPUT,
}


@command({"Options": OPTIONS}, evaluate)
@click.argument("truth", type=FILE, required=False)
@click.argument("scores", type=FILE, required=False)
def bench(
    truth: Path | None,
    scores: Path | None,
    metrics: list[str],
    scanning: Scanning,
    threads: int | None,
    output_format: str,
    output: Path | None,
    **sizes: int | None,
) -> None:
    """Measure how fast the predictions in SCORES are evaluated against TRUTH, once both are in memory.

    Without files, the data are generated: labels by a power law, five relevant ones a row. Input
    checks are part of the time, which is the median of several runs after a first one. Propensities
    are estimated from TRUTH, and measures of sets take the best five labels.
    """  # noqa: E501
    if (truth is None) != (scores is None):
        raise click.UsageError("SCORES are missing")
    if truth is not None and any(sizes.values()):
        raise click.UsageError("--rows, --labels and --k are for generated data")
    n_rows, n_labels, k = (sizes[name] or default for name, default in GENERATED.items())
    if n_labels < k + N_RELEVANT:
        raise click.UsageError(f"--labels must exceed --k by {N_RELEVANT}")
    y_true: Matrix
    y_score: Matrix | Lists
    if truth is None or scores is None:
        y_true, y_score = make_lists(n_rows, n_labels, k)
    else:
        y_true = read_truth(scanning.truth(truth))
        y_score = read_scores(scanning.scores(scores))
    WORK.is_small = False  # as after many calls
    with naming_files({"y_true": truth, "y_score": scores, "y_train": truth}):
        seconds, report = time_evaluations(y_true, y_score, metrics, threads)
    n_threads = check_resources(MEMORY, threads).threads
    results = {
        "metrics": metrics,
        "threads": n_threads,
        **summarize(y_true, y_score, seconds, report),
    }
    if output_format == "json":
        write_text(json.dumps(results, indent=2), output)
        return
    size = f"{results['rows']} rows x {results['labels']} labels, {results['scores']} scores"
    lines = [
        f"{name.replace('_per_', '/').replace('_', ' ')}: {results[name]:,.4g}" for name in SHOWN
    ]
    settings = f"{', '.join(metrics)}; {n_threads} threads, median of {results['runs']} runs"
    show(f"{size}, {results['bytes'] / 1e9:.3g} GB", *lines, settings, path=output)


def time_evaluations(
    y_true: Matrix, y_score: Matrix | Lists, metrics: list[str], threads: int | None
) -> tuple[list[float], Report]:
    """Return the seconds of all runs, and the last report."""
    options: EvaluateOptions = {
        "metrics": metrics,
        "threads": threads,
        "decision": f"top{N_RELEVANT}",
        "inverse_propensity": inverse_propensity(y_true),
    }
    seconds = list[float]()
    fewest, most = RUNS
    # the first run is not part of the median
    while len(seconds) <= fewest or (sum(seconds) < BUDGET and len(seconds) < most):
        start = time.perf_counter()
        report = evaluate(y_true, y_score, **options)
        seconds.append(time.perf_counter() - start)
    return seconds, report


def summarize(
    y_true: Matrix, y_score: Matrix | Lists, seconds: list[float], report: Report
) -> dict[str, Any]:
    """Return sizes, seconds and rates."""
    inputs = [y_true]
    if isinstance(y_score, tuple):
        inputs.extend(y_score)
    else:
        inputs.append(y_score)
    n_bytes = sum(map(count_bytes, inputs))
    n_rows = report.n_rows
    n_scores = int(inputs[1].size)
    median = statistics.median(seconds[1:])
    return {
        "rows": n_rows,
        "labels": report.n_labels,
        "scores": n_scores,
        "bytes": n_bytes,
        "runs": len(seconds) - 1,
        "first_seconds": seconds[0],
        "seconds": median,
        "rows_per_second": n_rows / median,
        "scores_per_second": n_scores / median,
        "gb_per_second": n_bytes / median / 1e9,
    }


def count_bytes(matrix: Matrix | None) -> int:
    """Return the size of a matrix; 0 for the scores of a list without any."""
    if matrix is None:
        return 0
    if isinstance(matrix, np.ndarray):
        return matrix.nbytes
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    return sum(array.nbytes for array in arrays)
