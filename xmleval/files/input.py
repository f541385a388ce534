"""Input files: regular files only, unchanged from their header to their end."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.files.ranges import RangeReader, RemoteVersion, Source, refuse_other
from xmleval.files.remote import RemotePath

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


def version_of(path: Path) -> Version | RemoteVersion:
    """Return the version that is there now."""
    return RemoteVersion.of(path) if isinstance(path, RemotePath) else Version.of(path.stat())


def stamp(path: Path) -> str:
    """Identify a version of a file by its path or address, and what tells versions apart."""
    return f"{path.resolve()} ({version_of(path)})"


class InputFile:
    """A regular file that is not empty, or a remote one.

    It may be opened several times, for its header and for its rows. Its version when it was first opened must
    be found each time it is opened, after each read, and at the end; that of a remote file at the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: Version | None = None
        self._source: Source | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it is read by ranges, and cannot be mapped into memory."""
        return isinstance(self.path, RemotePath)

    @property
    def size(self) -> int:
        """Number of bytes, once it was opened."""
        version = self._source.version if self._source else self._version
        assert version is not None
        return version.size

    @contextlib.contextmanager
    def open(self, in_order: bool = True) -> Iterator[io.BufferedReader[Any]]:
        """Open the file; refuse one that is not regular, is empty, or has changed since the first time.

        A remote one that is not read in order is not read ahead.
        """
        if isinstance(self.path, RemotePath):
            self._source = source = self._source or Source(self.path)
            if not source.version.size:
                raise ValueError("the file is empty")
            with io.BufferedReader(RangeReader(source, in_order), BUFFER_BYTES) as file:
                yield file
                source.check()
            return
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
        refuse_other(self._version, version)

    def has_ends(self, ends: list[int]) -> None:
        """Tell where those who read a remote file in order may stop, beside its own end."""
        if self._source is not None:
            known = {*self._source.ends, *ends}
            self._source.ends = sorted(end for end in known if 0 < end <= self.size)


def digest(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of what files hold, one behind the other."""
    found = hashlib.sha256()
    for path in paths:
        with InputFile(path).open() as file:
            while piece := file.read(BUFFER_BYTES):
                found.update(piece)
    return found.hexdigest()


class _Checked(io.FileIO):
    """A descriptor of an input file; after each read, also a short one, the version is checked."""

    def __init__(self, of: InputFile) -> None:
        super().__init__(os.open(of.path, os.O_RDONLY | os.O_NONBLOCK))  # otherwise a FIFO waits for a writer
        self._of = of

    def readinto(self, buffer: Any) -> int | None:
        n_read = super().readinto(buffer)
        self._of.check(self.fileno())
        return n_read


def _refuse_irregular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with InputFile(path).open() as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
