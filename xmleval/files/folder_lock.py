"""A lock file that one process holds at a time, and that names it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import warnings
from pathlib import Path

MARK = "xmleval lock"
SIZE = 512  # bytes; a host name has 64 at most, and one short write is never half done


class Lock:
    """A lock file, made if it does not exist; the system gives it up when its process ends, however it ends.

    ``token`` is kept in the file, so that what a killed process left can be told by it. An empty file is
    taken over: it is that of a process that was killed before it wrote the mark.

    Raises
    ------
    ValueError
        If another process holds it, or the file is not a lock of this program.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            raise ValueError(f"{path}: not a lock of this program; expected a folder without it")
        self._number = _hold(path)
        try:
            held = _read(self._number, path)
            self.token = held.get("token") or os.urandom(8).hex()
            owner = {
                "format": MARK,
                "token": self.token,
                "process": os.getpid(),
                "host": os.uname().nodename,
            }
            os.pwrite(self._number, json.dumps(owner).ljust(SIZE).encode(), 0)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let another process hold the file."""
        os.close(self._number)

    def remove(self) -> None:
        """Delete the file while it is held, so that nobody holds a deleted one."""
        self.path.unlink(missing_ok=True)
        self.release()


def _hold(path: Path) -> int:
    """Open a lock file and lock it."""
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                owner = _read(number, path)
            finally:
                os.close(number)
            told = "process {process} on {host}".format(**owner) if owner else "another process"
            raise ValueError(f"{path.parent}: in use by {told}; expected another folder") from None
        except OSError as error:
            told = f"{path.parent}: cannot be locked ({error.strerror}); no other process may use it"
            warnings.warn(told, stacklevel=2)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(number), os.stat(path)):
                return number
        os.close(number)  # of a process that deleted it meanwhile


def _read(number: int, path: Path) -> dict[str, str]:
    """Return what a lock file tells; nothing if it is empty."""
    text = os.pread(number, SIZE + 1, 0)
    if not text:
        return {}
    try:
        held = json.loads(text)
        owner = {key: str(held[key]) for key in ("format", "token", "process", "host")}
    except (ValueError, LookupError, TypeError, RecursionError):
        owner = {"format": "", "token": ""}
    if owner["format"] != MARK or not re.fullmatch(r"[0-9a-f]{16}", owner["token"]):
        raise ValueError(f"{path}: not a lock of this program; expected a folder without it")
    return owner
