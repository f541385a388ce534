"""What a process for tasks does; it imports little, so that hardly anything fails before errors are sent."""

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

    is_first : whether this process tells for all that kernels are compiled
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    logging.getLogger("xmleval").addHandler(logging.NullHandler())  # and tells how it goes
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
        except ConnectionError:  # nobody reads it any more
            return


def _send(pipe: Connection, result: object, error: BaseException | None) -> None:
    """Send what a call returned or raised; of an error that cannot be sent, its text."""
    if error is not None:
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pipe.send((result, error))
    except (ConnectionError, MemoryError):
        raise
    except Exception as unsent:  # of any class: it cannot be pickled
        pipe.send((None, RuntimeError(f"{error or unsent!r}")))


def _end_with_parent() -> None:
    """End this process with the one that started it, whatever it does then."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
