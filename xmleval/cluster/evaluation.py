"""Evaluate files, or blocks of rows that processes hold, on any engine: what its adapters share."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from xmleval.base.budget import MEMORY, memory_bytes
from xmleval.base.errors import InputError, positive_integer
from xmleval.cluster.counting import count_block, size_of
from xmleval.cluster.cutting import Task, cut
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import Job, make_job
from xmleval.cluster.run import Engine, Leaf, leaves_of, run
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.settings import Options
from xmleval.files.remote import as_path
from xmleval.input.shards import Input, find_inputs
from xmleval.metrics.spec import conventions_of
from xmleval.results.report import Report

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Progress = bool | Callable[[int, int], object]
BAR = 40  # characters


def cut_files(
    files: Mapping[str, Paths | None],
    vectors: Mapping[str, Any] | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    memory: int | str = MEMORY,
    threads: int | None = 1,
    **options: Unpack[Options],
) -> tuple[Job, list[Task]]:
    """Return what is counted, and the tasks of consecutive rows that files are cut into, by their headers.

    Parameters
    ----------
    files : dict of str to path, or list of paths
        Files by argument of `Evaluator.update`, ``y_true`` first.
    vectors : dict of str to array of shape (m,), optional
        Arguments that have a value for each row.
    metrics, n_labels, memory, threads, options
        See `xmleval.dask.evaluate`.
    """
    inputs = {name: find_inputs(name, _paths(value)) for name, value in files.items() if value is not None}
    graded = conventions_of(metrics, options).graded
    inputs["y_true"] = inputs["y_true"].with_grades(graded)
    of_rows = {name: values for name, values in (vectors or {}).items() if values is not None}
    job = _job(Evaluator(metrics, n_labels=n_labels or _width(inputs), **options), memory, threads)
    return job, cut(job, inputs, of_rows)


def evaluate_files(
    engine: Engine,
    job: Job,
    tasks: Sequence[Task],
    exchange: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = False,
) -> Report:
    """Return the report of tasks that an engine has counted; see `xmleval.dask.evaluate`."""
    leaves = leaves_of(tasks)
    with contextlib.ExitStack() as opened:
        show = opened.enter_context(_showing(progress, leaves))
        if exchange is None:
            return run(engine, job, leaves, show=show).compute()
        held = Exchange.of(as_path(exchange), [leaf.key for leaf in leaves])
        opened.enter_context(held.taken(resume))
        return run(engine, job, leaves, held, show).compute()


def evaluate_blocks(
    engine: Engine,
    blocks: Sequence[Any],
    metrics: str | Iterable[str] | None,
    n_labels: int | None,
    options: Options,
    memory: int | str,
    threads: int | None,
    progress: Progress,
) -> Report:
    """Return the report of blocks, given as handles; see `xmleval.dask.evaluate_blocks`."""
    if not blocks:
        raise InputError("blocks", "there are none")
    asked = [engine.submit(size_of, one, key=f"size-{place}") for place, one in enumerate(blocks)]
    sizes = [size for _, size in sorted(engine.completed(asked))]
    failed = next((size for size in sizes if isinstance(size, ValueError)), None)
    if failed is not None:
        raise failed
    evaluator = Evaluator(metrics, n_labels=n_labels or sizes[0][1] or None, **options)
    if not evaluator.n_labels:
        raise InputError("n_labels", "the first truth does not tell the number of labels; give it")
    leaves, first = [], 0
    for place, (one, (n_rows, _)) in enumerate(zip(blocks, sizes, strict=True)):
        leaves.append(Leaf(count_block, (first, one), f"count-{place}", n_rows))
        first += n_rows
    with _showing(progress, leaves) as show:
        return run(engine, _job(evaluator, memory, threads), leaves, show=show).compute()


def _job(evaluator: Evaluator, memory: int | str, threads: int | None) -> Job:
    own = None if threads is None else positive_integer("threads", threads)
    return make_job(evaluator, memory_bytes("memory", memory), own)


def _paths(value: Paths) -> list[Path]:
    return [as_path(value)] if isinstance(value, str | os.PathLike) else [as_path(one) for one in value]


def _width(inputs: dict[str, Input]) -> int:
    """Return the number of labels that a file tells."""
    for given in inputs.values():
        if (told := given.pieces().n_labels) is not None:
            return told
    raise InputError("n_labels", "no file tells the number of labels; give it")


@contextlib.contextmanager
def _showing(progress: Progress, leaves: Sequence[Leaf]) -> Iterator[Callable[[int], object]]:
    """Yield what is called with the number of rows that are counted."""
    n_rows, begun, file = sum(leaf.n_rows for leaf in leaves), time.monotonic(), sys.stderr

    def draw(done: int) -> None:
        share = done / n_rows if n_rows else 1.0
        seconds = time.monotonic() - begun
        file.write(f"\r[{'#' * int(BAR * share):<{BAR}}] | {share:.0%} of {n_rows:,} rows | {seconds:.1f} s")
        file.flush()

    if callable(progress):
        yield lambda done: progress(done, n_rows)
    elif not progress or file is None:
        yield lambda done: None
    else:
        draw(0)
        try:
            yield draw
        finally:
            file.write("\n")
