"""Input files: regular files only, or remote ones, unchanged while they are read."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.files.ranges import RangeReader
from xmleval.files.remote import NO_RANGES, RemotePath

BUFFER_BYTES = 1 << 15
NO_SIZE = "its server does not tell its size; download it first"
TAGS = (
    "ETag", "etag", "Content-MD5", "Digest", "generation", "VersionId", "blob_id", "xet_hash",
    "Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created",
)  # fmt: skip  # what file systems of fsspec report that differs between versions of a file


class Version(NamedTuple):
    """Size of a file, and in words all that tells its versions apart."""

    size: int
    words: str


def version_of(path: Path) -> Version:
    """Return the version that is there now; refuse what is not a regular file, or not sent by ranges."""
    if not isinstance(path, RemotePath):
        return _version(os.stat(path), path)
    details = path.details()
    size = details["size"]
    if details["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if size is None or not details.get("partial", True):
        raise OSError(errno.ENOTSUP, NO_RANGES if size else NO_SIZE, str(path))
    return Version(size, ", ".join([f"{size} bytes", *(f"{t} {details[t]}" for t in TAGS if details.get(t))]))


def _version(status: os.stat_result, path: Path) -> Version:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    time = str(np.datetime64(status.st_mtime_ns, "ns")).replace("T", " ")
    return Version(status.st_size, f"{status.st_size} bytes of {time} UTC")


def stamp(path: Path) -> str:
    """Identify a version of a file by its path or address, and what tells versions apart."""
    return f"{path.resolve()} ({version_of(path).words})"


class InputFile:
    """A regular file that is not empty, or a remote one.

    It may be opened several times, for its header and for its rows. Its version when it was first opened must
    be that of each time it is opened, and closed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: Version | None = None
        self._fetched = True  # whether bytes of a remote file came since its version was compared

    @property
    def is_remote(self) -> bool:
        """Whether it is read by ranges, and cannot be mapped into memory."""
        return isinstance(self.path, RemotePath)

    @property
    def size(self) -> int:
        """Number of bytes, once it was opened."""
        assert self._version is not None
        return self._version.size

    @contextlib.contextmanager
    def open(self, in_order: bool = True, end: int | None = None) -> Iterator[io.BufferedReader[Any]]:
        """Open the file; refuse one that is not regular, is empty, or changes until it is closed.

        A remote one is read ahead if it is read in order, but not beyond ``end``.
        """
        raw: io.RawIOBase
        if self.is_remote:
            self._check(None)
            raw = RangeReader(self._fetch, self.size, in_order, end)
        else:
            version_of(self.path)  # opening alone can have effects on a device
            raw = io.FileIO(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))  # or a FIFO waits for a writer
        with io.BufferedReader(raw, BUFFER_BYTES) as file:
            self._check(raw)
            try:
                yield file
            except Exception:
                self._check(raw)  # a change may be what went wrong
                raise
            self._check(raw)

    def check(self) -> None:
        """Refuse a file that changed since it was opened first."""
        self._compare(version_of(self.path))

    def _fetch(self, start: int, stop: int) -> bytes:
        assert isinstance(self.path, RemotePath)
        self._fetched = True
        return self.path.fetch(self.size, start, stop)

    def _check(self, raw: io.RawIOBase | None) -> None:
        """Compare the version of the open file, or of the remote one that is there now, with the first."""
        if isinstance(raw, io.FileIO):
            version = _version(os.fstat(raw.fileno()), self.path)
        elif self._fetched:
            self._fetched, version = False, version_of(self.path)
        else:
            return
        self._compare(version)

    def _compare(self, version: Version) -> None:
        if not version.size:
            raise ValueError("the file is empty")
        self._version = first = self._version or version
        if version != first:
            raise OSError(f"changed while it was read, from {first.words} to {version.words}")


def digest(*paths: Path) -> str:
    """Return the SHA-256 of what files hold, one behind the other."""
    total = hashlib.sha256()
    for path in paths:
        with InputFile(path).open() as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()
