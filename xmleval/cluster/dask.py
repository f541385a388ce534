"""The executor of a Dask cluster, with errors that explain what happened."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from typing import TYPE_CHECKING

from xmleval.base.errors import import_optional

if TYPE_CHECKING:
    from distributed import Client

distributed = import_optional("distributed", "xmleval.dask", "dask")

DIED = (
    "every worker that started a task died, perhaps for lack of memory; see the logs of the workers"
)
LOST = "the scheduler has ended or lost this run; with an exchange folder, the run can be resumed"
RETRIES = 2  # retries of a task that fails for other reasons than its rows, such as a full disk


@contextlib.contextmanager
def open_executor(client: Client) -> Iterator[Executor]:
    """Yield an executor of tasks on the workers of a client's cluster."""
    try:
        yield client.get_executor(pure=False, retries=RETRIES)
    except distributed.KilledWorker:
        raise ChildProcessError(DIED) from None
    except CancelledError:
        raise ConnectionAbortedError(LOST) from None


@contextlib.contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Yield an executor of tasks on the cluster of a scheduler."""
    with (
        distributed.Client(address, set_as_default=False) as client,
        open_executor(client) as executor,
    ):
        yield executor
