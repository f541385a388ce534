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
from xmleval.evaluation.inputs import LOG
from xmleval.evaluation.reading import Progress, progress
from xmleval.evaluation.settings import ARGUMENTS, Options, refuse_unknown
from xmleval.files.remote import as_path
from xmleval.input.shards import find_inputs
from xmleval.results.report import Report

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def evaluate_on(
    executor: Executor,
    files: Mapping[str, Paths | None],
    exchange: Any,
    resume: bool,
    options: Mapping[str, Any],
) -> Report:
    """Return the report of files, or lists of files, by argument; see `xmleval.dask.evaluate`."""
    refuse_unknown(options, {*ARGUMENTS} - {"workers", "scheduler", "checkpoint", "y_score"})
    arguments: Any = {**options, "checkpoint": exchange, "resume": resume and exchange is not None}
    for name, value in files.items():
        if value is not None:
            paths = [value] if isinstance(value, str | os.PathLike) else value
            arguments[name] = find_inputs(name, [*map(as_path, paths)])
    scores = {"y_score": arguments["y_score"]} if "y_score" in arguments else {}
    count_run = partial(count_on, nullcontext(executor), "evaluate")
    (report,) = evaluate_files(arguments, scores, count_run)[1].values()
    return report


def count_on(
    connected: AbstractContextManager[Executor],
    asking: str,
    opened: Run,
    shown: Progress,
) -> list[Report]:
    """Count all rows on an executor, and return a report for each evaluator; these take over the counts.

    Nothing is started before the inputs are cut; ``asking`` is the argument that asks for it: of ``workers``,
    processes of this machine, states are in files also where no checkpoint is kept.
    """
    arguments, rows = opened.arguments, opened.rows
    opened.refuse_values(asking)
    checkpoint, saved = arguments.get("checkpoint"), arguments.get("save") is not None
    sources = opened.sources if saved and rows.first_row is None else {}
    runs, folder = list[tuple[Job, list[Leaf], Path | None]](), None
    with ExitStack() as locks:
        if asking == "workers" and checkpoint is None:
            folder = Path(locks.enter_context(TemporaryDirectory(prefix="xmleval-")))
        for place, evaluator in enumerate(opened.evaluators):
            inputs = {argument: each[place % len(each)] for argument, each in opened.inputs.items() if each}
            job = make_job(evaluator, opened.resources.memory, arguments.get("threads") or 1)
            tasks = cut(job, inputs, rows.of_rows, rows.pairs, rows.exclude_from, rows.first_row or 0)
            if checkpoint is not None:
                folder = as_path(checkpoint).absolute() / digest_of([task.key for task in tasks])
                n_parts = locks.enter_context(locked_for_run(folder, arguments.get("resume", False)))
                if n_parts:
                    LOG.info("%s: resumed with %s parts of %s", checkpoint, n_parts, opened.names[place])
            runs.append((job, leaves_of(tasks), folder))
        executor = locks.enter_context(connected)
        for place, (job, leaves, parts) in enumerate(runs):
            with progress(rows.truth[1].n_rows, 0, shown) as show:
                whole = run(executor, job, leaves, parts, show)
            if sources:  # rows are those of the files of the truth, as on one machine
                truth = opened.inputs["y_true"][0]
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
    with progress(first, 0, shown) as show:
        return run(executor, job, leaves, show=show).compute()
