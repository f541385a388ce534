"""Two processes of Dask, and tasks on them to which something happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from xmleval.cluster import counting
from xmleval.files.output import replacing
from xmleval.integrations.dask import DaskEngine


@contextmanager
def two_workers(**options: Any) -> Iterator[Any]:
    """Yield a client of a cluster of two processes."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", **options}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def wrap_tasks(monkeypatch: pytest.MonkeyPatch, wrapper: Callable[..., Any], *arguments: Any) -> None:
    """Let workers call ``wrapper(*arguments, count, ...)`` in place of ``count(...)``."""
    submit = DaskEngine.submit

    def submit_wrapped(self: Any, function: Any, *given: Any, key: str) -> Any:
        if function is counting.count:
            return submit(self, wrapper, *arguments, function, *given, key=key)
        return submit(self, function, *given, key=key)

    monkeypatch.setattr(DaskEngine, "submit", submit_wrapped)


def is_first(path: str) -> bool:
    """Whether no task asked for this file before; it tells later ones."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path: str, when: str, function: Any, *arguments: Any) -> Any:
    """End the process of the first task while it writes a part, or after it counted."""
    here: Any = counting
    save = here.save_state

    def half_written(where: Path, *contents: Any) -> None:
        if when == "while writing" and is_first(path):
            with replacing(where) as file:
                file.write(b"PK")
                file.flush()
                die()
        save(where, *contents)

    here.save_state = half_written
    try:
        result = function(*arguments)
    finally:
        here.save_state = save
    if when == "after" and is_first(path):
        die()
    return result
