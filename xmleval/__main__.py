"""The process of `xmleval`, and of `python -m xmleval`: what holds for a whole process is set here."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def main() -> int:
    """Run the command that the process was started with, and return its exit code."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup lets one of them be ignored
            signal.signal(number, _stop)
    warnings.showwarning = _show
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # not used, and ends a process that cannot start them
    try:
        from xmleval.cli import main as run

        return run()
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        return 128 + signal.SIGINT


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """End as an error does, so that files which have a hidden name are deleted."""
    raise SystemExit(128 + number)


def _show(message: Warning | str, *where: object, **options: object) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"xmleval: {message}\n")


if __name__ == "__main__":
    sys.exit(main())
