"""Evaluate files, or blocks of rows that processes hold, on any executor of `concurrent.futures`."""

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
from xmleval.cluster.counting import add_block, size_of
from xmleval.cluster.cutting import cut
from xmleval.cluster.exchange import locked_for_run
from xmleval.cluster.job import Job, digest_of, make_job
from xmleval.cluster.run import Leaf, leaves_of, run
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.files import Run, evaluate_files, reports_of
from xmleval.evaluation.matched_inputs import LOG
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.request import Options, Progress, request_of
from xmleval.files.remote import as_path
from xmleval.input.shards import find_inputs
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
    scores = {"y_score": inputs.pop("y_score")} if "y_score" in inputs else {}
    request = request_of({**options, **inputs})
    running = request.running
    for name in ("checkpoint", "resume", "executor"):
        if getattr(running, name):
            raise InputError("running", f"{name} is not for clusters, whose counts are kept in exchange")
    running = dataclasses.replace(running, checkpoint=exchange, resume=resume and exchange is not None)
    request = dataclasses.replace(request, running=running)
    (report,) = evaluate_files(request, scores, partial(count_on, nullcontext(executor), False))[1].values()
    return report


def count_on(
    connected: AbstractContextManager[Executor],
    is_local: bool,
    opened: Run,
    shown: Progress,
) -> list[Report]:
    """Count all rows on an executor, and return a report for each evaluator; these take over the counts.

    Nothing is started before the inputs are cut. Of processes of this machine, states are in files also
    where no checkpoint is kept.
    """
    request, rows = opened.request, opened.rows
    inputs_of = opened.files_only("executor")
    running, threads = request.running, request.threads or 1
    checkpoint, saved = running.checkpoint, running.save is not None
    sources = opened.sources if saved and rows.first_row is None else {}
    runs, folder = list[tuple[Job, list[Leaf], Path | None]](), None
    with ExitStack() as locks:
        if is_local and checkpoint is None:
            folder = Path(locks.enter_context(TemporaryDirectory(prefix="xmleval-")))
        for place, evaluator in enumerate(opened.evaluators):
            inputs = {argument: each[place % len(each)] for argument, each in inputs_of.items() if each}
            job = make_job(evaluator, opened.resources.memory, threads)
            tasks = cut(job, inputs, rows.of_rows, rows.pairs, rows.exclude_from, rows.first_row or 0)
            if checkpoint is not None:
                folder = as_path(checkpoint).absolute() / digest_of([task.key for task in tasks])
                n_parts = locks.enter_context(locked_for_run(folder, running.resume))
                if n_parts:
                    LOG.info("%s: resumed with %s parts of %s", checkpoint, n_parts, opened.names[place])
            runs.append((job, leaves_of(tasks), folder))
        executor = locks.enter_context(connected)
        for place, (job, leaves, parts) in enumerate(runs):
            with show_progress(rows.truth[1].n_rows, 0, shown) as show:
                whole = run(executor, job, leaves, parts, show)
            if sources:  # rows are those of the files of the truth, as on one machine
                truth = inputs_of["y_true"][0]
                sizes = [(sources[str(shard.path)], pieces.n_rows or 0) for shard, pieces in truth.each]
                spans = {source: ((0, n_rows),) for source, n_rows in sizes if n_rows}
                whole.change(partial(dataclasses.replace, spans=spans, place=sizes[-1]))
            opened.evaluators[place] = whole
        return reports_of(opened)


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
    """Return the report of blocks, given as what the executor takes for them; see `xmleval.dask`."""
    if not blocks:
        raise InputError("blocks", "there are none")
    threads = 1 if threads is None else positive_integer("threads", threads)
    futures = [executor.submit(size_of, block) for block in blocks]
    sizes = [future.result() for future in futures]
    evaluator = Evaluator(metrics, n_labels=n_labels or sizes[0][1] or None, **options)
    if not evaluator.n_labels:
        raise InputError("n_labels", "the first truth does not tell the number of labels; give it")
    leaves, first = list[Leaf](), 0
    for place, (block, (n_rows, _)) in enumerate(zip(blocks, sizes, strict=True)):
        leaves.append(Leaf(add_block, (first, block), str(place), n_rows))
        first += n_rows
    job = make_job(evaluator, memory_bytes("memory", memory), threads)
    with show_progress(first, 0, shown) as show:
        return run(executor, job, leaves, show=show).compute()
