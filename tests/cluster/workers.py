"""Two processes of Dask, and tasks that end their process."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from distributed.cfexecutor import ClientExecutor

from xmleval.cluster import counting as counting


@contextmanager
def two_workers(**options: Any) -> Iterator[Any]:
    """Yield a client of a cluster of two processes."""
    import distributed

    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
        **options,
    }
    with (
        mock.patch.dict(os.environ),  # Dask changes it for its processes, and does not restore it
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def wrap_tasks(
    monkeypatch: pytest.MonkeyPatch, wrapper: Callable[..., Any], *arguments: Any
) -> None:
    """Let workers count files by ``wrapper(*arguments, call, ...)`` in place of ``call(...)``."""
    submit = ClientExecutor.submit

    def submit_wrapped(self: Any, function: Any, *task: Any, **options: Any) -> Any:
        if task[2:3] == (counting.add_files,):
            return submit(self, wrapper, *arguments, function, *task, **options)
        return submit(self, function, *task, **options)

    monkeypatch.setattr(ClientExecutor, "submit", submit_wrapped)


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_half(file: Any, *_: Any) -> None:
    file.write(b"PK")
    file.flush()
    die()


def die_once(path: str, when: str, function: Any, *arguments: Any) -> Any:
    """End the process of the first task while it writes a part, or after it counted."""
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return function(*arguments)
    if when == "while writing":
        with mock.patch("xmleval.files.saved.write_archive", write_half):
            function(*arguments)
    else:
        function(*arguments)
    return die()
