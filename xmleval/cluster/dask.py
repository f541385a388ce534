"""Dask: tasks run by the workers of a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from xmleval.base.errors import import_optional
from xmleval.cluster.job import THREADS

distributed = import_optional("distributed", "xmleval.dask", "dask")

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
        self._futures: WeakSet[Any] = WeakSet()
        self._given_up: set[str] = set()

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return a future."""
        name = key if "-" in key else f"{function.__name__}-{key}"  # by which Dask groups tasks
        full_key = f"xmleval-{name}-{self._run}"
        future = self.client.submit(_with_threads, function, *arguments, key=full_key, retries=RETRIES)
        self._futures.add(future)
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
                text = "each worker that began a task died of it, perhaps for lack of memory"
                raise ChildProcessError(f"{text}; their logs tell more") from None
            except BaseException:
                lost = future.cancelled()  # while its result was on the way
                for submitted in [*self._futures]:
                    submitted.release()
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
