"""Dask: evaluation of files, or of blocks of rows, by the workers of a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack
from weakref import WeakSet

from xmleval.budget import MEMORY, memory_bytes
from xmleval.cluster.counting import count_block, size_of
from xmleval.cluster.cutting import cut
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import make_job
from xmleval.cluster.run import Leaf, as_it_is, leaves_of, run
from xmleval.engine.settings import Options
from xmleval.evaluator import Evaluator
from xmleval.files.remote import as_path
from xmleval.input.errors import InputError, positive_integer
from xmleval.input.shards import Input, find_inputs
from xmleval.integrations.library import library
from xmleval.report.report import Report

distributed = library("distributed", "xmleval.dask", "dask")

# Dask lets malloc give freed memory back at once; blocks of rows then take three times the processor time
SPAWNED = "distributed.nanny.pre-spawn-environ"
KEEPING_MEMORY = {
    f"{SPAWNED}.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    f"{SPAWNED}.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
RETRIES = 2  # of a task that fails by no fault of its rows, such as that of a full disk
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class DaskEngine:
    """Runs tasks on the workers of a client's cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._run = os.urandom(8).hex()  # or what a run that failed still holds would be taken for new
        self._made: WeakSet[Any] = WeakSet()

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return a future."""
        future = self.client.submit(function, *arguments, key=f"xmleval-{key}-{self._run}", retries=RETRIES)
        self._made.add(future)
        return future

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the place and the result of each future that was not given up."""
        places = {future.key: place for place, future in enumerate(handles)}
        for future in distributed.as_completed(handles, loop=self.client.loop):
            if future.cancelled():
                continue
            try:
                result = self.client.gather(future, direct=True)  # not by way of the scheduler
            except distributed.KilledWorker:
                told = "each worker that began a task died of it, perhaps for lack of memory"
                raise ChildProcessError(f"{told}; their logs tell more") from None
            except BaseException:
                for one in [*self._made]:
                    one.release()
                raise
            yield places[future.key], result

    def cancel(self, handles: Sequence[Any]) -> None:
        """Give up futures."""
        self.client.cancel(handles)


def evaluate(
    truth: Paths,
    scores: Paths | None = None,
    *,
    y_pred: Paths | None = None,
    candidates: Paths | None = None,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    row_groups: Any = None,
    client: Any = None,
    exchange: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | str = MEMORY,
    threads: int = 1,
    **options: Unpack[Options],
) -> Report:
    """Compute measures of predictions in files that all workers see, to the last bit as on one machine.

    Files are cut into tasks of consecutive rows by their headers: an .npy file, or an .npz that is not
    compressed, anywhere; others are one task each at least.

    Parameters
    ----------
    truth : path, or list of paths
        Relevant labels, by number. A folder, or a pattern, stands for files that follow one another.
    scores, y_pred, candidates : path, or list of paths, optional
        Files of what `xmleval.evaluate` takes under these names.
    metrics : str or iterable of str, optional
        See `xmleval.evaluate`.
    n_labels : int, optional
        Number of labels, by default that of the first file that tells it.
    sample_weight, groups, row_groups : array of shape (m,), optional
        See `xmleval.evaluate`.
    client : distributed.Client, optional
        By default the one that was made last.
    exchange : path, optional
        Folder that all workers see, or the address of one, ``"s3://bucket/run"``. The counts of each task are
        kept there until the run ends, so that a run that was killed can go on.
    resume : bool, default False
        Whether to use what an earlier run has left in ``exchange``.
    memory : int or str, default "1GiB"
        Memory of each task.
    threads : int, default 1
        Threads of each task; a worker runs as many tasks at a time as it has threads of its own.
    options
        ``inverse_propensity``, ``decision`` and all other options of `xmleval.Evaluator`.

    Returns
    -------
    Report
        That of `xmleval.evaluate`.

    Raises
    ------
    ValueError
        If input is invalid: the error of the lowest such row; or if workers have other versions of what the
        values depend on.

    Examples
    --------
    >>> from xmleval.dask import evaluate  # doctest: +SKIP
    >>> evaluate("Y/*.npz", "pred/part_*", metrics="p@5", client=client)  # doctest: +SKIP
    """
    given = {"y_true": truth, "y_score": scores, "y_pred": y_pred, "candidates": candidates}
    inputs = {name: find_inputs(name, _paths(value)) for name, value in given.items() if value is not None}
    evaluator = Evaluator(metrics, n_labels=n_labels or _width(inputs), **options)
    vectors = {"sample_weight": sample_weight, "groups": groups, "row_groups": row_groups}
    vectors = {name: values for name, values in vectors.items() if values is not None}
    job = make_job(evaluator, memory_bytes("memory", memory), positive_integer("threads", threads))
    leaves = leaves_of(cut(job, inputs, vectors))
    engine = DaskEngine(_known(client))
    if exchange is None:
        return run(engine, job, leaves).compute()
    held = Exchange.of(as_path(exchange), [leaf.key for leaf in leaves])
    with held.taken(resume):
        return run(engine, job, leaves, held).compute()


def _paths(value: Paths) -> list[Path]:
    return [as_path(value)] if isinstance(value, str | os.PathLike) else [as_path(one) for one in value]


def _width(inputs: dict[str, Input]) -> int:
    """Return the number of labels that a file tells."""
    for given in inputs.values():
        if (told := given.pieces().n_labels) is not None:
            return told
    raise InputError("n_labels", "no file tells the number of labels; give it")


def evaluate_blocks(
    blocks: Iterable[Any],
    *,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    client: Any = None,
    memory: int | str = MEMORY,
    threads: int = 1,
    **options: Unpack[Options],
) -> Report:
    """Compute measures of rows that workers hold, without moving them.

    Parameters
    ----------
    blocks : iterable of Future, Delayed, tuple or dict
        Each is (y_true, y_score) of some rows, or a dict of arguments of `Evaluator.update`; rows are
        numbered in this order.
    metrics : str or iterable of str, optional
        See `xmleval.evaluate`.
    n_labels : int, optional
        Number of labels, by default that of the columns of the first truth.
    client, memory, threads, options
        See `evaluate`.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If input is invalid: the error of the lowest such row, counted over all blocks.

    Examples
    --------
    >>> from xmleval.dask import evaluate_blocks  # doctest: +SKIP
    >>> futures = [client.submit(predict, shard) for shard in shards]  # doctest: +SKIP
    >>> evaluate_blocks(futures, metrics="p@5", n_labels=10**6)  # doctest: +SKIP
    """
    engine, token = DaskEngine(_known(client)), os.urandom(8).hex()
    held = [_as_future(engine, one, f"block-{token}-{place}") for place, one in enumerate(blocks)]
    if not held:
        raise InputError("blocks", "there are none")
    asked = [engine.submit(size_of, one, key=f"size-{token}-{place}") for place, one in enumerate(held)]
    sizes = [size for _, size in sorted(engine.completed(asked))]
    failed = next((size for size in sizes if isinstance(size, ValueError)), None)
    if failed is not None:
        raise failed
    evaluator = Evaluator(metrics, n_labels=n_labels or sizes[0][1] or None, **options)
    if not evaluator.n_labels:
        raise InputError("n_labels", "the first truth does not tell the number of labels; give it")
    leaves, first = [], 0
    for place, (one, (n_rows, _)) in enumerate(zip(held, sizes, strict=True)):
        leaves.append(Leaf(count_block, (first, one), f"{token}-{place}", n_rows))
        first += n_rows
    job = make_job(evaluator, memory_bytes("memory", memory), positive_integer("threads", threads))
    return run(engine, job, leaves).compute()


def _as_future(engine: DaskEngine, block: Any, key: str) -> Any:
    if hasattr(block, "dask"):
        return engine.client.compute(block)
    return block if isinstance(block, distributed.Future) else engine.submit(as_it_is, block, key=key)


def _known(client: Any) -> Any:
    """Return a client, the one that was made last by default."""
    try:
        return distributed.get_client() if client is None else client
    except ValueError:
        told = "there is none; make one: client = distributed.Client(ADDRESS)"
        raise InputError("client", told) from None


@contextlib.contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[DaskEngine]:
    """Yield an engine on a cluster at an address, or on new processes of this machine."""
    from dask import config

    with contextlib.ExitStack() as opened:
        opened.enter_context(config.set(KEEPING_MEMORY))
        where: Any = address
        if address is None:
            where = opened.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,  # what goes wrong is raised, or done again
                )
            )
        yield DaskEngine(opened.enter_context(distributed.Client(where, set_as_default=False)))
