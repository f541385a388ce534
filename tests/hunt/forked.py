"""Work in a forked process, which may hang or crash."""

import faulthandler
import json
import os
import select
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """The end of a process by a "hang" or a "crash", with the stacks of its threads."""

    how: str
    note: str


def forked(work: Callable[[], Iterator[Any]], patience: float) -> Iterator[Any]:
    """Yield the JSON values of a forked process; last an `Ended`, if it hangs or crashes.

    It hangs if a value takes longer than ``patience``, in seconds.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+") as errors, open(reading, "rb", buffering=0) as lines:
        child = os.fork()
        if not child:
            code = 1
            try:
                os.dup2(errors.fileno(), 2)
                faulthandler.enable(file=2)
                for value in work():
                    os.write(writing, (json.dumps(value) + "\n").encode())
                code = 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(code)
        os.close(writing)
        while is_ready := select.select([lines], [], [], patience)[0]:
            if not (line := lines.readline()):
                break
            yield json.loads(line)
        if not is_ready:
            os.kill(child, signal.SIGABRT)  # of which the stacks are written
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            errors.seek(0)
            yield Ended(
                "crash" if is_ready else "hang", f"exit code {code}; {errors.read()[-4000:]}"
            )
