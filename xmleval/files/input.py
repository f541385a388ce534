"""Input files: regular files only, unchanged from their header to their end."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

BUFFER_BYTES = 1 << 15


class Version(NamedTuple):
    """Size of a file and time of its last modification, in nanoseconds."""

    size: int
    time: int

    @classmethod
    def of(cls, found: os.stat_result) -> Version:
        """Return the version that the system tells of."""
        return cls(found.st_size, found.st_mtime_ns)

    def __str__(self) -> str:
        """Return both in words."""
        seconds, nanoseconds = divmod(self.time, 10**9)
        day = datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
        return f"{self.size} bytes of {day}.{nanoseconds:09} UTC"


def stamp(path: Path) -> str:
    """Identify a version of a file by its path, size and modification time."""
    return f"{path.resolve()} ({Version.of(path.stat())})"


class InputFile:
    """A regular file that is not empty.

    It may be opened several times, for its header and for its rows. Its version when it was first opened must
    be found each time it is opened, after each read, and at the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: Version | None = None

    @property
    def size(self) -> int:
        """Number of bytes, once it was opened."""
        assert self._version is not None
        return self._version.size

    @contextlib.contextmanager
    def open(self) -> Iterator[io.BufferedReader[Any]]:
        """Open the file; refuse one that is not regular, is empty, or has changed since the first time."""
        _refuse_irregular(os.stat(self.path), self.path)  # opening alone can have effects on a device
        with io.BufferedReader(_Checked(self), BUFFER_BYTES) as file:
            self.check(file.fileno())
            yield file
            self.check(file.fileno())

    def check(self, handle: int) -> None:
        """Compare the version of an open descriptor with the first."""
        found = os.fstat(handle)
        version = Version.of(found)
        if self._version is None:
            _refuse_irregular(found, self.path)
            if not version.size:
                raise ValueError("the file is empty")
            self._version = version
        if version != self._version:
            raise OSError(f"changed while it was read, from {self._version} to {version}")


class _Checked(io.FileIO):
    """A descriptor of an input file; after each read, also a short one, the version is checked."""

    def __init__(self, of: InputFile) -> None:
        super().__init__(of.path, opener=_open_at_once)
        self._of = of

    def readinto(self, buffer: Any) -> int | None:
        n_read = super().readinto(buffer)
        self._of.check(self.fileno())
        return n_read


def _open_at_once(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)  # otherwise a FIFO waits for a writer


def _refuse_irregular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")
