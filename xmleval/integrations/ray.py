"""Evaluation of files, or of blocks of rows, by the processes of a Ray cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar, Unpack

from xmleval.base.budget import MEMORY
from xmleval.base.errors import import_optional
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.cluster import evaluation
from xmleval.cluster.evaluation import Paths
from xmleval.evaluation.request import SHARED_ARGUMENTS, Options, Progress
from xmleval.results.report import Report

ray = import_optional("ray", "xmleval.ray", "ray")

T = TypeVar("T")
RETRIES = 2  # retries of a task that fails for other reasons than its rows, such as a full disk


class RayExecutor(Executor):
    """An executor on the cluster to which this process is connected."""

    def __init__(self, threads: int) -> None:
        options = {"num_cpus": threads, "max_retries": RETRIES, "retry_exceptions": [OSError]}
        self._call = ray.remote(**options)(_call)

    def submit(
        self, function: Callable[..., T], /, *arguments: object, **named: object
    ) -> Future[T]:
        """Return the future of a result; arguments may be references to objects."""
        reference = self._call.remote(function, *arguments, **named)
        future: Future[T] = reference.future()
        future.add_done_callback(lambda done: done.cancelled() and ray.cancel(reference))
        return future


def _call(function: Callable[..., T], *arguments: object, **named: object) -> T:
    return function(*arguments, **named)


@contextlib.contextmanager
def open_executor(threads: int) -> Iterator[RayExecutor]:
    """Yield an executor of tasks on the cluster; its errors explain what happened."""
    try:
        yield RayExecutor(threads)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        text = "every process that started a task died, perhaps for lack of memory"
        raise ChildProcessError(f"{text}; see the logs of Ray") from error


def evaluate(
    truth: Paths,
    scores: Paths | None = None,
    *,
    y_pred: Paths | None = None,
    candidates: Paths | None = None,
    exchange: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | str = MEMORY,
    threads: int = 1,
    **options: object,
) -> Report:
    """Compute measures of predictions in files that all nodes see.

    The result is that of one machine, to the last bit.

    Takes what `xmleval.dask.evaluate` takes, but a client: the cluster is that of `ray.init`. A
    task takes ``threads`` of the processors that Ray gives to tasks.

    Examples
    --------
    >>> import ray
    >>> import scipy.sparse as sp
    >>> from xmleval.ray import evaluate
    >>> sp.save_npz("Y.npz", sp.csr_array(np.array([[1, 0, 1], [1, 0, 0]], np.float32)))
    >>> np.save("m_indices.npy", np.array([[0, 2], [1, 0]]))  # the best first
    >>> with ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False):
    ...     report = evaluate("Y.npz", "m_indices.npy", metrics="p@1")
    >>> report["p@1"]
    0.5
    """
    refuse_unknown(options, keywords_of(evaluate), SHARED_ARGUMENTS)
    files = {"y_true": truth, "y_score": scores, "y_pred": y_pred, "candidates": candidates}
    options |= {"memory": memory, "threads": threads}
    with open_executor(threads) as executor:
        return evaluation.evaluate_on(executor, files, exchange, resume, options)


def evaluate_blocks(
    blocks: Iterable[Any],
    *,
    metrics: str | Iterable[str] | None = None,
    n_labels: int | None = None,
    memory: int | str = MEMORY,
    threads: int = 1,
    progress: Progress = False,
    **options: Unpack[Options],
) -> Report:
    """Compute measures of rows in Ray's object store, without moving them here.

    Takes what `xmleval.dask.evaluate_blocks` takes, with references to objects in place of futures.

    Examples
    --------
    >>> import ray
    >>> from xmleval.ray import evaluate_blocks
    >>> @ray.remote
    ... def predict(seed):  # a model's scores, beside the truth
    ...     rng = np.random.default_rng(seed)
    ...     return (rng.random((50, 4)) < 0.5).astype(np.uint8), rng.random((50, 4))
    >>> with ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False):
    ...     blocks = [predict.remote(seed) for seed in range(3)]
    ...     report = evaluate_blocks(blocks, metrics="p@1", n_labels=4)
    >>> report.n_rows
    150
    """
    refuse_unknown(options, keywords_of(evaluate_blocks), Options.__annotations__)
    objects = [block if isinstance(block, ray.ObjectRef) else ray.put(block) for block in blocks]
    with open_executor(threads) as executor:
        return evaluation.evaluate_blocks(
            executor, objects, metrics, n_labels, options, memory, threads, progress
        )
