"""The loop of a worker process; few imports, so that little fails before errors can be sent."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import traceback
from multiprocessing.connection import Connection, wait

from xmleval.base.threads import start_thread


def serve(pipe: Connection, is_first: bool) -> None:
    """Make the calls that arrive, and send back results and errors, until the other end is closed.

    is_first : whether this process reports for all workers that kernels are compiled
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    logging.getLogger("xmleval").addHandler(logging.NullHandler())  # the parent reports
    if is_first:
        logging.getLogger("xmleval.kernels").addHandler(logging.StreamHandler())
    start_thread(_end_with_parent)  # without it, this process ends after its task
    while True:
        result: object = None
        error: BaseException | None = None
        try:
            function, arguments, named = pipe.recv()
            result = function(*arguments, **named)
        except EOFError:
            return
        except Exception as raised:
            error = raised
        try:
            _send(pipe, result, error)
        except ConnectionError:  # the parent has closed the pipe
            return


def _send(pipe: Connection, result: object, error: BaseException | None) -> None:
    """Send the result or the error of a call; if an error cannot be sent, its text."""
    if error is not None:
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pipe.send((result, error))
    except (ConnectionError, MemoryError):
        raise
    except Exception as unsent:  # of any class: it cannot be pickled
        pipe.send((None, RuntimeError(f"{error or unsent!r}")))


def _end_with_parent() -> None:
    """End this process at once when its parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
