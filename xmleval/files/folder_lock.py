"""A lock on a folder, which one process has at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

LOCK = "checkpoint.lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder if there is none, keep others that lock it away, and remove it if it is empty at the end.

    The system gives the lock up when its process ends, however it ends; then its empty file is taken over.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file; expected a folder")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        if os.fstat(number).st_size:
            raise ValueError(f"{path}: not a lock of this version; expected a folder without it")
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            in_use = not os.path.samestat(os.fstat(number), os.stat(path))
        except (BlockingIOError, FileNotFoundError):  # of a process that ends at this moment
            in_use = True
        except OSError as error:
            in_use = False
            told = f"{folder}: cannot be locked ({error.strerror}); no other process may use it"
            warnings.warn(told, stacklevel=2)
        if in_use:
            raise ValueError(f"{folder}: in use by another process; expected another folder")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()
    finally:
        os.close(number)
