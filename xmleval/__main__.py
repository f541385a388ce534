"""The process of `xmleval` and `python -m xmleval`, with the settings of the whole process."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def main() -> int:
    """Run the command of the process's arguments, and return its exit code."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has SIGHUP ignored
            signal.signal(number, _stop)
    warnings.showwarning = _show
    # its threads are not used, and a process that cannot start them ends
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from xmleval.cli import main as run

        return run()
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        return 128 + signal.SIGINT


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """End as after an error, so that unfinished files, which have hidden names, are deleted."""
    raise SystemExit(128 + number)


def _show(message: Warning | str, *where: object, **options: object) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"xmleval: {message}\n")


if __name__ == "__main__":
    sys.exit(main())
