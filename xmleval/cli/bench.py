"""`xmleval bench`: throughput of an evaluation of arrays in memory."""

from __future__ import annotations

import json
import statistics
import time
from itertools import chain
from pathlib import Path
from typing import Any

import click
import scipy.sparse
from numpy.typing import NDArray

from xmleval.api.evaluate import evaluate
from xmleval.base.budget import MEMORY, check_resources
from xmleval.base.errors import naming_files
from xmleval.base.work import WORK
from xmleval.cli.files import FILE, Scanning
from xmleval.cli.options import FORMAT, LIST, MEASURES, OUTPUT, RESOURCES, Opt, command, format_option
from xmleval.cli.output import show, write_text
from xmleval.cli.types import COUNT, Whole
from xmleval.demo import N_RELEVANT, make_lists
from xmleval.evaluation.request import EvaluateOptions
from xmleval.io import Lists, read_scores, read_truth
from xmleval.labels.propensity import inverse_propensity
from xmleval.results.report import Report

RUNS, BUDGET = (5, 25), 2.0  # fewest and most timed runs, and seconds that end them in between
SHOWN = ("seconds", "first_seconds", "rows_per_second", "scores_per_second", "gb_per_second")
GENERATED = {"rows": 100_000, "labels": 10_000, "k": 5}
OPTIONS = {
    "metrics": MEASURES["metrics"]._replace(extra=LIST | {"default": ["xmc"], "show_default": True}),
    "rows": Opt(COUNT, "N", "Rows, without files; default 100000."),
    "labels": Opt(Whole(min=2 * N_RELEVANT), "N", "Labels, without files; default 10000."),
    "k": Opt(COUNT, "N", "Scores a row, without files; default 5.", extra={"default": None}),
    "input_format": FORMAT["input_format"],
    "threads": RESOURCES["threads"],
    "output_format": format_option(),
    "output": OUTPUT,
}


@command({"Options": OPTIONS}, evaluate)
@click.argument("truth", type=FILE, required=False)
@click.argument("scores", type=FILE, required=False)
def bench(
    truth: Path | None, scores: Path | None, metrics: list[str], how: Scanning,
    threads: int | None, output_format: str, output: Path | None, **sizes: int | None,
) -> None:  # fmt: skip
    """Measure how fast the predictions in SCORES are evaluated against TRUTH, once both are in memory.

    Without files, the data are generated: labels by a power law, five relevant ones a row. Input checks are
    part of the time, which is the median of several runs after a first one. Propensities are estimated from
    TRUTH, and measures of sets take the best five labels.
    """
    if (truth is None) != (scores is None):
        raise click.UsageError("SCORES are missing")
    if truth is not None and any(sizes.values()):
        raise click.UsageError("--rows, --labels and --k are for generated data")
    n_rows, n_labels, k = (sizes[name] or default for name, default in GENERATED.items())
    if n_labels < k + N_RELEVANT:
        raise click.UsageError(f"--labels must exceed --k by {N_RELEVANT}")
    if truth is None or scores is None:
        y_true, y_score = make_lists(n_rows, n_labels, k)
    else:
        y_true = read_truth(how.truth(truth))
        y_score = read_scores(how.scores(scores))
    settings: EvaluateOptions = {"metrics": metrics, "threads": threads, "decision": f"top{N_RELEVANT}"}
    seconds = list[float]()
    WORK.is_small = False  # as after many calls
    with naming_files({"y_true": truth, "y_score": scores, "y_train": truth}):
        settings["inverse_propensity"] = inverse_propensity(y_true)
        while len(seconds) <= RUNS[0] or (sum(seconds) < BUDGET and len(seconds) < RUNS[1]):
            start = time.perf_counter()
            report = evaluate(y_true, y_score, **settings)
            seconds.append(time.perf_counter() - start)
    n_threads = check_resources(MEMORY, threads).threads
    results = {"metrics": metrics, "threads": n_threads, **summary(y_true, y_score, seconds, report)}
    if output_format == "json":
        write_text(json.dumps(results, indent=2), output)
        return
    size = f"{results['rows']} rows x {results['labels']} labels, {results['scores']} scores"
    lines = [f"{name.replace('_per_', '/').replace('_', ' ')}: {results[name]:,.4g}" for name in SHOWN]
    settings_text = f"{', '.join(metrics)}; {results['threads']} threads, median of {results['runs']} runs"
    show(f"{size}, {results['bytes'] / 1e9:.3g} GB", *lines, settings_text, path=output)


def summary(
    y_true: scipy.sparse.csr_array | NDArray[Any],
    y_score: scipy.sparse.csr_array | NDArray[Any] | Lists,
    seconds: list[float],
    report: Report,
) -> dict[str, Any]:
    """Return sizes, seconds and rates."""
    values = [y_true, *(y_score if isinstance(y_score, tuple) else [y_score])]
    parts = ([x.data, x.indices, x.indptr] if scipy.sparse.issparse(x) else [x] for x in values)
    n_bytes = sum(array.nbytes for array in chain(*parts) if array is not None)
    n_rows, n_scores, median = report.n_rows, int(values[1].size), statistics.median(seconds[1:])
    sizes = {"rows": n_rows, "labels": report.n_labels, "scores": n_scores, "bytes": n_bytes}
    rates = {"rows_per_second": n_rows / median, "scores_per_second": n_scores / median}
    times = {"runs": len(seconds) - 1, "first_seconds": seconds[0], "seconds": median}
    return sizes | times | rates | {"gb_per_second": n_bytes / median / 1e9}
