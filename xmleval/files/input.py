"""Input files: regular files only, or remote ones, unchanged while they are read."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xmleval.files.remote import NO_RANGES, OpenFile, RemoteFile, RemotePath

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 1 << 15
HELD_BYTES = 10_240
OPENING = threading.RLock()  # a signal handler may come back to it
# details of fsspec's file systems that differ between versions of a file
TAGS = (
    "ETag", "etag", "Content-MD5", "Digest", "generation", "VersionId", "blob_id", "xet_hash",
    "Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created",
)  # fmt: skip


class Version(NamedTuple):
    """Size of a file, and a text that differs between its versions."""

    size: int
    words: str


def version_of(path: Path, number: int | None = None) -> Version:
    """Return the present version of a file; refuse irregular files and those without ranges.

    ``number`` is that of an open local file.
    """
    if isinstance(path, RemotePath):
        return _remote_version(path)
    status = os.stat(path if number is None else number)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    time = str(np.datetime64(status.st_mtime_ns, "ns")).replace("T", " ")
    return Version(status.st_size, f"{status.st_size} bytes of {time} UTC")


def _remote_version(path: RemotePath) -> Version:
    details = path.details()
    size = details["size"]
    if details["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if size is None or not details.get("partial", True):
        raise OSError(errno.ENOTSUP, NO_RANGES, str(path))
    tags = [f"{tag} {details[tag]}" for tag in TAGS if details.get(tag)]
    return Version(size, ", ".join([f"{size} bytes", *tags]))


def stamp(path: Path) -> str:
    """Return the path or address of a file with its version."""
    return f"{path.resolve()} ({version_of(path).words})"


class LocalFile(OpenFile):
    """A local file by its number, which several readers share."""

    def __init__(self, number: int, size: int) -> None:
        super().__init__(size)
        self._number = number

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some of the next bytes."""
        n_bytes = os.preadv(self._number, [buffer], self._place)
        self._place += n_bytes
        return n_bytes


class InputFile:
    """One version of a regular or remote file, not empty, which may be opened many times."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_remote = isinstance(path, RemotePath)
        self.size = 0  # of bytes, once it was opened
        self._version: Version | None = None
        self._content: bytes | None = None  # all of a small file, which is read once
        self._number = -1  # of a local file that is open
        self._n_readers = 0

    @contextlib.contextmanager
    def open(self, end: int | None = None) -> Iterator[Any]:
        """Open the file; a remote one is read ahead up to ``end``, 0 for reads in any order."""
        if not self.is_remote or self._version is None:
            self.check()  # opening alone can have effects on a device
        if self._content is None and self.size <= HELD_BYTES and not self.is_remote:
            self._content = self.path.read_bytes()
            self.check()
        if self._content is not None:
            yield io.BytesIO(self._content)
            return
        number = None
        self._add_reader()
        try:
            if isinstance(self.path, RemotePath):
                read_end = self.size if end is None else end
                raw: OpenFile = RemoteFile(self.path.fetch, self.size, read_end)
            else:
                raw = LocalFile(self._number, self.size)
                number = self._number
                end = None
            # a buffer of 1 byte: each read fetches one range
            buffer_bytes = 1 if end == 0 else BUFFER_BYTES
            with io.BufferedReader(raw, buffer_bytes) as file:
                yield file
            self.check(number)
        except Exception:
            self.check(number)  # the file may have changed, which explains the error
            raise
        finally:
            self._remove_reader()

    def _add_reader(self) -> None:
        with OPENING:
            if not (self.is_remote or self._n_readers):
                # without blocking: a FIFO would wait for a writer
                self._number = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            self._n_readers += 1

    def _remove_reader(self) -> None:
        with OPENING:
            self._n_readers -= 1
            if not (self.is_remote or self._n_readers):
                os.close(self._number)

    def check(self, number: int | None = None) -> None:
        """Refuse a file that is empty, or that changed since it was first opened."""
        version = version_of(self.path, number)
        if not version.size:
            raise ValueError("the file is empty")
        self._version = first = self._version or version
        self.size = first.size
        if version != first:
            raise OSError(f"changed while it was read, from {first.words} to {version.words}")


def digest(*paths: Path) -> str:
    """Return the SHA-256 of the contents of files in order."""
    total = hashlib.sha256()
    for path in paths:
        with InputFile(path).open() as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()
