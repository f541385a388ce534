"""Evaluation of files, or of blocks of rows, by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

from xmleval.base.budget import MEMORY
from xmleval.base.errors import InputError
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.cluster import evaluation
from xmleval.cluster.dask import distributed, open_executor
from xmleval.cluster.evaluation import Paths
from xmleval.evaluation.request import SHARED_ARGUMENTS, Options, Progress
from xmleval.results.report import Report

if TYPE_CHECKING:
    from distributed import Client, Future


def evaluate(
    truth: Paths,
    scores: Paths | None = None,
    *,
    y_pred: Paths | None = None,
    candidates: Paths | None = None,
    client: Client | None = None,
    exchange: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | str = MEMORY,
    threads: int | None = None,
    **options: object,
) -> Report:
    """Compute measures of predictions in files that all workers see.

    The result is that of one machine, to the last bit.

    Files are cut into tasks of consecutive rows by their headers: an .npy file, or an .npz that is
    not compressed, anywhere; others are one task each at least.

    Parameters
    ----------
    truth : path, or list of paths
        Relevant labels, by number. A folder, or a pattern, stands for files that follow one
        another.
    scores, y_pred, candidates : path, or list of paths, optional
        Files of what `xmleval.evaluate` takes under these names.
    client : distributed.Client, optional
        By default the one that was made last.
    exchange : path, optional
        Folder that all workers see, or the address of one, ``"s3://bucket/run"``. The counts of
        each task are kept there until the run ends, so that a run that was killed can go on.
        Without it, they are sent.
    resume : bool, default False
        Whether to use what an earlier run has left in ``exchange``.
    memory : int or str, default "1GiB"
        Memory of each task.
    threads : int, optional
        Threads of each task, by default 1: a worker runs as many tasks at a time as it has threads.
    options
        ``metrics``, ``sample_weight``, ``progress`` and all other options of `xmleval.evaluate` for
        files. Rows and labels are those by number.

    Returns
    -------
    Report
        That of `xmleval.evaluate`.

    Raises
    ------
    ValueError
        If input is invalid: the error of the lowest such row; or if workers have other versions of
        what the values depend on.

    Examples
    --------
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
    refuse_unknown(options, keywords_of(evaluate), SHARED_ARGUMENTS)
    files = {"y_true": truth, "y_score": scores, "y_pred": y_pred, "candidates": candidates}
    options |= {"memory": memory, "threads": threads}
    with open_executor(_client_or_last(client)) as executor:
        return evaluation.evaluate_on(executor, files, exchange, resume, options)


def evaluate_blocks(
    blocks: Iterable[Any],
    *,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    client: Client | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
    **options: Unpack[Options],
) -> Report:
    """Compute measures of rows on the workers, without moving them.

    Parameters
    ----------
    blocks : iterable of Future, Delayed, tuple or dict
        Each is (y_true, y_score) of some rows, or a dict of arguments of `Evaluator.update`; rows
        are numbered in this order.
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
    refuse_unknown(options, keywords_of(evaluate_blocks), Options.__annotations__)
    client = _client_or_last(client)
    with open_executor(client) as executor:
        futures = [_as_future(client, block) for block in blocks]
        return evaluation.evaluate_blocks(
            executor, futures, metrics, n_labels, options, memory, threads, progress
        )


def _as_future(client: Client, block: object) -> Future:
    """Return a block as a future, which is computed or sent to a worker if it is not one."""
    if hasattr(block, "dask"):
        return client.compute(block)
    if isinstance(block, distributed.Future):
        return block
    (future,) = client.scatter([block])
    return future


def _client_or_last(client: Client | None) -> Client:
    """Return a client, by default the one that was made last."""
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        text = "no client is known; make one: client = distributed.Client(ADDRESS)"
        raise InputError("client", text) from None
