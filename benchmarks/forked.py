"""Work in a forked process, which may hang or crash."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

WAITING = 5  # seconds of the clock for a second of processor time


class Ended(NamedTuple):
    """The end of a process by a "hang" or a "crash", with the innermost calls of its threads."""

    how: str
    note: str


def forked(work: Callable[[], Iterator[Any]], patience: float) -> Iterator[Any]:
    """Yield what a forked process yields, as JSON values; at the end how it ended, if it hangs or crashes.

    ``patience`` is the number of seconds of processor time that it may be silent, so that other load does not
    matter; waiting may take `WAITING` times as long.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if not child:
            os.close(reading)
            os.dup2(errors.fileno(), 2)
            _write(work(), writing)
        os.close(writing)
        how = "hang"
        for line in lines_of(reading, child, patience):
            if line is None:
                os.kill(child, signal.SIGUSR2)
                time.sleep(0.5)  # for the stacks
                os.kill(child, signal.SIGKILL)
                break
            yield line
        else:
            how = "crash"
        os.close(reading)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code or how == "hang":  # it may end by itself before it is killed
            errors.seek(0)
            yield Ended(how, f"exit code {code}; {last_words(errors.read())}")


def _write(lines: Iterator[Any], file: int) -> NoReturn:
    """Write lines as JSON, and exit."""
    code = 1
    try:
        faulthandler.enable()
        faulthandler.register(signal.SIGUSR2)  # not after some time: threads that run may crash the printing
        for line in lines:
            os.write(file, (json.dumps(line) + "\n").encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def lines_of(file: int, process: int, patience: float) -> Iterator[Any]:
    """Yield what a process writes, and None where it has been silent for too long."""
    text, since = b"", (time.monotonic(), processor_seconds(process))
    while True:
        if not select.select([file], [], [], min(1.0, patience / 4))[0]:
            waited, used = time.monotonic() - since[0], processor_seconds(process) - since[1]
            if used > patience or waited > WAITING * patience:
                yield None
                return
            continue
        read = os.read(file, 1 << 16)
        if not read:
            return
        since = time.monotonic(), processor_seconds(process)
        *whole, text = (text + read).split(b"\n")
        for line in whole:
            yield json.loads(line)


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken, its threads included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def last_words(errors: str) -> str:
    """Return where a process stood: the innermost calls of its threads, or the end of what it said."""
    lines = errors.splitlines()
    stacks = [i for i, line in enumerate(lines) if line.endswith("(most recent call first):")]
    if not stacks:
        return " ".join(lines[-4:])
    return " | ".join(" ".join(lines[i + 1 : i + 7]) for i in stacks)
