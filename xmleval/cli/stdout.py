"""Text on stdout, and errors that name it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator


def write_stdout(text: str) -> None:
    """Write text to stdout."""
    if sys.stdout is None:  # closed by whoever started the process
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "stdout")
    with naming_stdout():
        sys.stdout.write(text)


@contextlib.contextmanager
def naming_stdout() -> Iterator[None]:
    """Raise write errors that name stdout, and send later output to the null device."""
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise type(error)(error.errno, error.strerror, "stdout") from None
