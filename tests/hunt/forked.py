"""Work in a forked process, which may hang or crash."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

WAITING = 5  # seconds of the clock for a second of processor time


class Ended(NamedTuple):
    """The end of a process by a "hang" or a "crash", with the stacks of its threads."""

    how: str
    note: str


def forked(work: Callable[[], Iterator[Any]], patience: float) -> Iterator[Any]:
    """Yield what a forked process yields, as JSON values; at the end how it ended, if it hangs or crashes.

    ``patience`` is the number of seconds of processor time for each value, so that other load does not
    matter; waiting may take `WAITING` times as long.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+") as errors, open(reading, "rb", buffering=0) as lines:
        child = os.fork()
        if not child:
            os.dup2(errors.fileno(), 2)
            _write(work, writing, patience)
        os.close(writing)
        while is_ready := select.select([lines], [], [], WAITING * patience)[0]:
            if not (line := lines.readline()):
                break
            yield json.loads(line)
        if not is_ready:
            os.kill(child, signal.SIGXCPU)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            errors.seek(0)
            how = "hang" if code == -signal.SIGXCPU else "crash"
            yield Ended(how, f"exit code {code}; {errors.read()[-4000:]}")


def only(lines: Iterator[Any]) -> Any:
    """Return the only value of a process that must succeed."""
    (value,) = lines
    if isinstance(value, Ended):
        raise RuntimeError(value.note)
    return value


def _write(work: Callable[[], Iterator[Any]], file: int, patience: float) -> NoReturn:
    """Write values as lines of JSON, and exit."""
    code = 1
    try:
        faulthandler.enable(file=2)
        faulthandler.register(signal.SIGXCPU, file=2, chain=True)
        _limit_processor_time(patience)
        for value in work():
            os.write(file, (json.dumps(value) + "\n").encode())
            _limit_processor_time(patience)
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _limit_processor_time(seconds: float) -> None:
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))
