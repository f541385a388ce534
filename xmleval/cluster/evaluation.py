"""Evaluate files, or blocks of rows in other processes, on any executor of `concurrent.futures`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xmleval.base.budget import memory_bytes
from xmleval.base.errors import InputError, positive_integer
from xmleval.cluster.counting import add_block, count_sizes
from xmleval.cluster.cutting import Task, cut
from xmleval.cluster.exchange import locked_for_run
from xmleval.cluster.job import Job, digest_of, make_job
from xmleval.cluster.run import Leaf, make_leaves, run
from xmleval.evaluation.evaluator import Evaluator, change_counts
from xmleval.evaluation.files import FileEvaluation, evaluate_files, reports_of
from xmleval.evaluation.matched_inputs import LOG
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.request import Options, Progress, request_of
from xmleval.files.remote import as_path
from xmleval.input.shards import OpenedFiles, find_inputs
from xmleval.results.report import Report

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def evaluate_on(
    executor: Executor,
    files: Mapping[str, Paths | None],
    exchange: str | os.PathLike[str] | None,
    resume: bool,
    options: Mapping[str, Any],
) -> Report:
    """Return the report of files, or lists of files, by argument; see `xmleval.dask.evaluate`."""
    inputs = dict[str, Any]()
    for name, value in files.items():
        if value is not None:
            paths = [value] if isinstance(value, str | os.PathLike) else value
            inputs[name] = find_inputs(name, paths)
    scores = dict[str, Any]()
    if "y_score" in inputs:
        scores["y_score"] = inputs.pop("y_score")
    request = request_of({**options, **inputs})
    running = request.running
    for name in ("checkpoint", "resume", "executor"):
        if getattr(running, name):
            raise InputError(
                "running", f"{name} is not for clusters; give exchange, the folder of the counts"
            )
    running = dataclasses.replace(
        running, checkpoint=exchange, resume=resume and exchange is not None
    )
    request = dataclasses.replace(request, running=running)
    count = partial(count_on, nullcontext(executor), False)
    reports = evaluate_files(request, scores, count)[1]
    (report,) = reports.values()
    return report


def count_on(
    connected: AbstractContextManager[Executor],
    is_local: bool,
    evaluation: FileEvaluation,
    shown: Progress,
) -> list[Report]:
    """Count all rows on an executor, and return a report for each evaluator.

    Evaluators with the counts replace those of the evaluation. Nothing is started before the inputs
    are cut. Processes of this machine always write states to files, also without a checkpoint.
    """
    request = evaluation.request
    rows = evaluation.rows
    files = evaluation.files_only("executor")
    running = request.running
    sources = dict[str, str]()
    if running.save is not None and rows.first_row is None:
        sources = evaluation.sources
    runs = list[tuple[Job, list[Leaf], Path | None]]()
    folder = None
    with ExitStack() as stack:
        if is_local and running.checkpoint is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="xmleval-")))
        for place, evaluator in enumerate(evaluation.evaluators):
            inputs = {
                argument: models[place % len(models)]
                for argument, models in files.items()
                if models
            }
            job = make_job(evaluator, evaluation.resources.memory, request.threads or 1)
            tasks = cut(
                job,
                inputs,
                rows.row_values,
                rows.pairs,
                rows.exclude_from,
                rows.marks,
                rows.graded,
                rows.first_row or 0,
            )
            if running.checkpoint is not None:
                name = evaluation.names[place]
                folder = _lock_checkpoint(stack, running.checkpoint, running.resume, tasks, name)
            runs.append((job, make_leaves(tasks), folder))
        executor = stack.enter_context(connected)
        for place, (job, leaves, parts) in enumerate(runs):
            with show_progress(rows.truth[1].n_rows, 0, shown) as show:
                evaluator = run(executor, job, leaves, parts, show)
            if sources:
                _set_spans(evaluator, files["y_true"][0], sources)
            evaluation.evaluators[place] = evaluator
        return reports_of(evaluation)


def _lock_checkpoint(
    stack: ExitStack,
    checkpoint: str | os.PathLike[str],
    resume: bool,
    tasks: Sequence[Task],
    name: str,
) -> Path:
    """Return the folder of a run, locked until the stack ends unless on object storage."""
    folder = as_path(checkpoint).absolute() / digest_of([task.key for task in tasks])
    n_parts = stack.enter_context(locked_for_run(folder, resume))
    if n_parts:
        LOG.info("%s: resumed with %s parts of %s", checkpoint, n_parts, name)
    return folder


def _set_spans(evaluator: Evaluator, truth: OpenedFiles, sources: Mapping[str, str]) -> None:
    """Record that rows are those of the files of the truth, as on one machine."""
    sizes = [(sources[str(shard.path)], pieces.n_rows or 0) for shard, pieces in truth.each]
    spans = {source: ((0, n_rows),) for source, n_rows in sizes if n_rows}
    change_counts(evaluator, partial(dataclasses.replace, spans=spans, place=sizes[-1]))


def evaluate_blocks(
    executor: Executor,
    blocks: Sequence[Any],
    metrics: str | Iterable[str] | None,
    n_labels: int | None,
    options: Options,
    memory: int | str,
    threads: int | None,
    shown: Progress,
) -> Report:
    """Return the report of blocks, in the form that the executor takes; see `xmleval.dask`."""
    if not blocks:
        raise InputError("blocks", "is empty; give one or more")
    threads = 1 if threads is None else positive_integer("threads", threads)
    futures = [executor.submit(count_sizes, block) for block in blocks]
    sizes = [future.result() for future in futures]
    _, n_columns = sizes[0]
    evaluator = Evaluator(metrics, n_labels=n_labels or n_columns or None, **options)
    if not evaluator.n_labels:
        raise InputError("n_labels", "not known from the first truth; give the number of labels")
    leaves = list[Leaf]()
    first = 0
    for place, (block, (n_rows, _)) in enumerate(zip(blocks, sizes, strict=True)):
        leaves.append(Leaf(add_block, (first, block), str(place), n_rows))
        first += n_rows
    job = make_job(evaluator, memory_bytes("memory", memory), threads)
    with show_progress(first, 0, shown) as show:
        return run(executor, job, leaves, show=show).compute()
