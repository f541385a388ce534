"""A lock among the processes of a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Wait until no other process of this user does the same; without a place for a lock, do not wait."""
    path = os.path.join(tempfile.gettempdir(), f"xmleval-{os.getuid()}-{what}.lock")
    with contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            opened.callback(os.close, number)
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
