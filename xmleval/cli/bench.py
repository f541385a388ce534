"""`xmleval bench`: throughput of an evaluation, beside what the memory of the machine can deliver."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.table import Table

from xmleval.cli.options import (
    COUNT,
    FILE,
    FORMAT,
    OUTPUT,
    RESOURCES,
    Opt,
    Parsed,
    Whole,
    command,
    format_option,
    named,
    read_names,
)
from xmleval.cli.output import check_outputs, show, write_result
from xmleval.evaluation.collect import collect
from xmleval.evaluation.counting import naming_files
from xmleval.evaluator import Evaluator
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.sets import set_rows
from xmleval.propensity import count_labels_of, inverse_propensity
from xmleval.records import Floats
from xmleval.threads import Pool

UNBOUNDED = 1 << 50  # files are read as few pieces as their formats allow
N_RELEVANT = 5
RUNS, BUDGET = (5, 25), 2.0  # fewest and most timed runs, and seconds that end them in between
READ_BYTES = 1 << 30, 1 << 28  # an array beyond caches; or a smaller one, which large caches may hold


class Kept:
    """Rows as they were read, for evaluating them again and again."""

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.pieces: list[tuple[Any, Any]] = []

    def update(self, y_true: Any, y_score: Any = None) -> None:
        """Keep some rows."""
        self.pieces.append((y_true, y_score))


class Timing(NamedTuple):
    """Seconds of every run, the first of all apart: it compiles, or loads what is compiled."""

    first: float
    seconds: list[float]
    n_rows: int
    threads: int


OPTIONS = {
    "metrics": Opt(
        "--metrics",
        Parsed(read_names),
        "Measures and groups, as for `xmleval evaluate`.",
        named("NAMES", multiple=True, default=["xmc"], show_default=True),
    ),
    "rows": Opt("--rows", COUNT, "Rows, without files; default 100000."),
    "labels": Opt("--labels", Whole(min=2 * N_RELEVANT), "Labels, without files; default 10000."),
    "k": Opt("--k", COUNT, "Scores a row, without files; default 5."),
    "input_format": FORMAT["input_format"],
    "threads": RESOURCES["threads"],
    "output_format": format_option(),
    "output": OUTPUT,
}
GENERATED = {"rows": 100_000, "labels": 10_000, "k": 5}


@command({"Options": OPTIONS})
@click.argument("truth", type=FILE, required=False)
@click.argument("scores", type=FILE, required=False)
def bench(truth: Path | None, scores: Path | None, **options: Any) -> None:
    """Measure how fast the predictions in SCORES are evaluated against TRUTH, once both are in memory.

    Without files, the data are generated: labels by a power law, five relevant ones a row. Input checks are
    part of the time, which is the median of several runs after a first one. Weights of propensity-scored
    measures come from TRUTH, and measures of sets take the best five labels: neither changes the speed.
    """  # fmt: skip
    context = click.get_current_context()
    if (truth is None) != (scores is None):
        raise click.UsageError("SCORES are missing", context)
    if truth is not None and any(options[name] is not None for name in GENERATED):
        raise click.UsageError("--rows, --labels and --k are for generated data", context)
    check_outputs([options["output"]], [truth, scores], (), options["input_format"])
    start, sizes = time.perf_counter(), {name: options[name] or most for name, most in GENERATED.items()}
    if truth is None or scores is None:
        if sizes["labels"] < sizes["k"] + N_RELEVANT:
            raise click.UsageError(f"--labels must exceed --k by {N_RELEVANT}", context)
        given, read = generate(*sizes.values()), None
    else:
        limits = {"memory": UNBOUNDED, "input_format": options["input_format"]}
        given = collect(truth, scores, lambda n, work: Kept(n), limits)[0]
        read = time.perf_counter() - start
    names = {"y_true": truth or "TRUTH", "y_score": scores or "SCORES", "threads": "--threads"}
    with naming_files(names):
        timing = run(given, options["metrics"], options["threads"])
    found = summary(given, timing, read) | {"metrics": options["metrics"]}
    if options["output_format"] == "json" or options["output"] is not None:
        write_result(json.dumps(found, indent=2), options["output"])
    else:
        _show(found)


def generate(n_rows: int, n_labels: int, k: int) -> Kept:
    """Draw top-k lists, and relevant labels that are rather among the first ones of a list.

    Slot i of a row draws from the labels that leave i when divided by the number of slots, so that no label
    is drawn twice; the slots behind the list hold labels that it misses.
    """
    rng = np.random.default_rng(0)
    slots = k + N_RELEVANT
    shares = np.array([len(range(i, n_labels, slots)) for i in range(slots)])
    drawn = ((shares + 1.0) ** rng.random((n_rows, slots))).astype(np.int32) - 1  # by a power law
    labels = rng.permuted(np.minimum(drawn, shares - 1) * slots + np.arange(slots), axis=1).astype(np.int32)
    listed = np.sort(rng.random((n_rows, k), np.float32), axis=1)[:, ::-1]
    edges = np.arange(N_RELEVANT + 1) * slots // N_RELEVANT
    places = edges[:-1] + (rng.random((n_rows, N_RELEVANT)) ** 3 * np.diff(edges)).astype(np.int64)
    relevant = np.sort(np.take_along_axis(labels, places, axis=1), axis=1)
    kept, rows = Kept(n_labels), np.arange(n_rows + 1)
    ones = np.ones(relevant.size, np.float32)
    kept.update(
        rows_by_id(rows * N_RELEVANT, relevant.ravel(), ones),
        rows_by_id(rows * k, labels[:, :k].ravel(), listed.ravel(), best_first=True),
    )
    return kept


def run(given: Kept, metrics: list[str], threads: int | None) -> Timing:
    """Evaluate the rows several times."""
    counts = np.zeros(given.n_labels, np.int64)
    n_rows = 0
    for y_true, _ in given.pieces:
        rows = set_rows("y_true", y_true, given.n_labels)
        count_labels_of(rows, counts)
        n_rows += rows.n_rows
    q = inverse_propensity(label_counts=counts, n_instances=n_rows, n_labels=given.n_labels)

    def once() -> int:
        evaluator = Evaluator(
            metrics,
            n_labels=given.n_labels,
            inverse_propensity=q,
            decision=f"top{N_RELEVANT}",
            threads=threads,
        )
        for y_true, y_score in given.pieces:
            evaluator.update(y_true, y_score)
        evaluator.compute()
        return evaluator.threads

    first = seconds_of(once)
    seconds: list[float] = []
    while len(seconds) < RUNS[0] or (sum(seconds) < BUDGET and len(seconds) < RUNS[1]):
        seconds.append(seconds_of(once))
    return Timing(first, seconds, n_rows, once())


def seconds_of(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def read_bandwidth(threads: int, n_bytes: int | None = None) -> float:
    """Return the bytes a second at which threads sum a large array, the best of several runs.

    What the memory delivers is its best: whatever else runs only ever takes from it.
    """
    n_bytes = n_bytes or array_bytes()
    parts: Sequence[Floats] = np.array_split(np.ones(n_bytes // 8), threads)
    with Pool(threads) as pool:
        seconds = [seconds_of(lambda: list(pool.map(np.sum, parts))) for _ in range(8)]
    return n_bytes / min(seconds)


def array_bytes() -> int:
    """Return the size of the array to read: the larger one where it is a small part of the free memory."""
    large, small = READ_BYTES
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return small
    return large if free >= 4 * large else small


def summary(given: Kept, timing: Timing, read_seconds: float | None) -> dict[str, Any]:
    """Return sizes, seconds and rates."""
    n_scores = sum(_n_scores(y_score) for _, y_score in given.pieces)
    n_bytes = sum(_n_bytes(part) for piece in given.pieces for part in piece)
    seconds = statistics.median(timing.seconds)
    n_read = array_bytes()
    bandwidth = read_bandwidth(timing.threads, n_read)
    return {
        "rows": timing.n_rows,
        "labels": given.n_labels,
        "scores": n_scores,
        "bytes": n_bytes,
        "threads": timing.threads,
        "runs": len(timing.seconds),
        "first_seconds": timing.first,
        "seconds": seconds,
        "read_files_seconds": read_seconds,
        "rows_per_second": timing.n_rows / seconds,
        "scores_per_second": n_scores / seconds,
        "gb_per_second": n_bytes / seconds / 1e9,
        "read_array_bytes": n_read,
        "read_bandwidth_gb_per_second": bandwidth / 1e9,
        "share_of_read_bandwidth": n_bytes / seconds / bandwidth,
    }


def _n_scores(y_score: Any) -> int:
    return int((y_score.labels if isinstance(y_score, Rows) else y_score).size)


def _n_bytes(part: Any) -> int:
    return int(part.n_bytes if isinstance(part, Rows) else part.nbytes)


def _show(found: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rows = {
        "seconds": f"{found['seconds']:.4g}",
        "first run, seconds": f"{found['first_seconds']:.4g}",
        "rows/s": f"{found['rows_per_second']:,.0f}",
        "scores/s": f"{found['scores_per_second']:,.0f}",
        "GB/s": f"{found['gb_per_second']:.3g}",
        "read bandwidth, GB/s": f"{found['read_bandwidth_gb_per_second']:.3g}",
        "share of it": f"{found['share_of_read_bandwidth']:.1%}",
    }
    if found["read_files_seconds"] is not None:
        rows["reading the files, seconds"] = f"{found['read_files_seconds']:.4g}"
    for name, value in rows.items():
        table.add_row(name, value)
    sizes = f"{found['rows']} rows x {found['labels']} labels, {found['scores']} scores"
    show(f"{sizes}, {found['bytes'] / 1e9:.3g} GB", table)
    show(f"{', '.join(found['metrics'])}; {found['threads']} threads, median of {found['runs']} runs")
