"""Dask: evaluation of files, or of blocks of rows, by the workers of a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Unpack
from weakref import WeakSet

from xmleval.budget import MEMORY
from xmleval.cluster import evaluation
from xmleval.cluster.evaluation import Paths, Progress
from xmleval.cluster.job import THREADS
from xmleval.cluster.run import as_it_is
from xmleval.errors import InputError
from xmleval.evaluation.settings import Options
from xmleval.integrations.library import library
from xmleval.report.report import Report

distributed = library("distributed", "xmleval.dask", "dask")

SPAWNED = "distributed.nanny.pre-spawn-environ"
OWN_CLUSTER = {
    # Dask lets malloc give freed memory back at once; blocks of rows then take three times the processor time
    f"{SPAWNED}.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    f"{SPAWNED}.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    # what watches idle processes, many times a second, takes a tenth of a processor for two workers
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
LOST = "the scheduler has ended, or lost this run; with an exchange folder it can be resumed"
RETRIES = 2  # of a task that fails by no fault of its rows, such as that of a full disk


class DaskEngine:
    """Runs tasks on the workers of a client's cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._run = os.urandom(8).hex()  # or what a run that failed still holds would be taken for new
        self._made: WeakSet[Any] = WeakSet()
        self._given_up: set[str] = set()

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return a future."""
        name = key if "-" in key else f"{function.__name__}-{key}"  # by which Dask groups tasks
        own = f"xmleval-{name}-{self._run}"
        future = self.client.submit(_with_threads, function, *arguments, key=own, retries=RETRIES)
        self._made.add(future)
        return future

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the place and the result of each future that was not given up."""
        places = {future.key: place for place, future in enumerate(handles)}
        for future in distributed.as_completed(handles, loop=self.client.loop):
            if future.cancelled():
                if future.key in self._given_up:
                    continue
                raise ConnectionAbortedError(LOST)
            try:
                result = self.client.gather(future, direct=True)  # not by way of the scheduler
            except distributed.KilledWorker:
                told = "each worker that began a task died of it, perhaps for lack of memory"
                raise ChildProcessError(f"{told}; their logs tell more") from None
            except BaseException:
                lost = future.cancelled()  # while its result was on the way
                for one in [*self._made]:
                    one.release()
                if lost:
                    raise ConnectionAbortedError(LOST) from None
                raise
            yield places[future.key], result

    def cancel(self, handles: Sequence[Any]) -> None:
        """Give up futures."""
        self._given_up |= {future.key for future in handles}
        self.client.cancel(handles)


def _with_threads(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with the threads that its worker has for each task that runs there now."""
    state = distributed.get_worker().state
    THREADS.set(max(1, state.nthreads // max(1, state.executing_count)))
    return function(*arguments)


def evaluate(
    truth: Paths,
    scores: Paths | None = None,
    *,
    y_pred: Paths | None = None,
    candidates: Paths | None = None,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    row_groups: Any = None,
    client: Any = None,
    exchange: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
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
    sample_weight, clusters, row_groups : array of shape (m,), optional
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
    threads : int, optional
        Threads of each task. By default those of its worker, shared by the tasks that it runs at a time, of
        which there are as many as threads.
    progress : bool or callable, default False
        Whether to draw a bar on stderr; or what is called with the number of rows that are counted, and of
        all, whenever a task ends.
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
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from distributed import Client
    >>> from xmleval.dask import evaluate
    >>> Y = sp.csr_array(np.array([[1, 0, 1], [1, 0, 0]], np.float32))
    >>> sp.save_npz("Y_0.npz", Y[:1])  # a shard of rows
    >>> sp.save_npz("Y_1.npz", Y[1:])
    >>> np.save("m_indices.npy", np.array([[0, 2], [1, 0]]))  # the best first
    >>> with Client(n_workers=1, processes=False, dashboard_address=None) as client:
    ...     report = evaluate("Y_*.npz", "m_indices.npy", metrics="p@1", client=client)
    >>> report["p@1"]
    0.5
    """
    files = {"y_true": truth, "y_score": scores, "y_pred": y_pred, "candidates": candidates}
    vectors = {"sample_weight": sample_weight, "clusters": clusters, "row_groups": row_groups}
    job, tasks = evaluation.cut_files(
        files, vectors, metrics=metrics, n_labels=n_labels, memory=memory, threads=threads, **options
    )
    return evaluation.evaluate_files(DaskEngine(_known(client)), job, tasks, exchange, resume, progress)


def evaluate_blocks(
    blocks: Iterable[Any],
    *,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    client: Any = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
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
    client, memory, threads, progress, options
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
    >>> import numpy as np
    >>> from distributed import Client
    >>> from xmleval.dask import evaluate_blocks
    >>> def predict(seed):  # a model's scores, beside the truth
    ...     rng = np.random.default_rng(seed)
    ...     return (rng.random((50, 4)) < 0.5).astype(np.uint8), rng.random((50, 4))
    >>> with Client(n_workers=1, processes=False, dashboard_address=None) as client:
    ...     blocks = [client.submit(predict, seed) for seed in range(3)]
    ...     report = evaluate_blocks(blocks, metrics="p@1", n_labels=4, client=client)
    >>> report.n_rows
    150
    """
    engine = DaskEngine(_known(client))
    held = [_as_future(engine, one, f"block-{place}") for place, one in enumerate(blocks)]
    return evaluation.evaluate_blocks(engine, held, metrics, n_labels, options, memory, threads, progress)


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
        opened.enter_context(config.set(OWN_CLUSTER))
        where: Any = address
        if address is None:
            where = opened.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",  # any port that is free
                    silence_logs=logging.CRITICAL,  # what goes wrong is raised, or done again
                )
            )
        yield DaskEngine(opened.enter_context(distributed.Client(where, set_as_default=False)))
