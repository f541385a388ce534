"""Two processes of Dask, and tasks on them to which something happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from xmleval.cluster import counting
from xmleval.cluster.job import Job
from xmleval.integrations.dask import DaskEngine


@contextmanager
def two_workers(**more: Any) -> Iterator[Any]:
    """Yield a client of a cluster of two processes."""
    import distributed

    kwargs = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", **more}
    with distributed.LocalCluster(processes=True, **kwargs) as cluster, distributed.Client(cluster) as client:
        yield client


def changed(monkeypatch: pytest.MonkeyPatch, wrapper: Callable[..., Any], *given: Any) -> None:
    """Let workers call ``wrapper(*given, count, ...)`` in place of ``count(...)``."""
    submit = DaskEngine.submit

    def other(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        if function is counting.count:
            return submit(self, wrapper, *given, function, *arguments, key=key)
        return submit(self, function, *arguments, key=key)

    monkeypatch.setattr(DaskEngine, "submit", other)


def first_time(path: str) -> bool:
    """Tell whether no task came here before; ``path`` is a file that tells the others."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def die() -> None:
    """End the process of a worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path: str, when: str, function: Any, job: Job, *arguments: Any) -> Any:
    """End the process of a worker the first time that a task comes here, before or after it is done."""
    result = function(job, *arguments) if when == "after" else None
    if first_time(path):
        die()
    return function(job, *arguments) if result is None else result
