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

BUFFER_BYTES, HELD_BYTES = 1 << 15, 10_240
OPENING = threading.RLock()  # a signal handler may come back to it
TAGS = (
    "ETag", "etag", "Content-MD5", "Digest", "generation", "VersionId", "blob_id", "xet_hash",
    "Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created",
)  # fmt: skip  # what file systems of fsspec report that differs between versions of a file


class Version(NamedTuple):
    """Size of a file, and in words all that tells its versions apart."""

    size: int
    words: str


def version_of(path: Path, number: int | None = None) -> Version:
    """Return the version that is there now; refuse what is no regular file, or is not sent by ranges."""
    if isinstance(path, RemotePath):
        details = path.details()
        size, is_folder, is_file = details["size"], details["type"] == "directory", True
        words = ", ".join([f"{size} bytes", *(f"{tag} {details[tag]}" for tag in TAGS if details.get(tag))])
        if not is_folder and (size is None or not details.get("partial", True)):
            raise OSError(errno.ENOTSUP, NO_RANGES, str(path))
    else:
        status = os.stat(path if number is None else number)
        size, is_folder, is_file = status.st_size, stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode)
        time = str(np.datetime64(status.st_mtime_ns, "ns")).replace("T", " ")
        words = f"{size} bytes of {time} UTC"
    if is_folder:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not is_file:
        raise ValueError("not a regular file")
    return Version(size, words)


def stamp(path: Path) -> str:
    """Identify a version of a file by its path or address, and what tells versions apart."""
    return f"{path.resolve()} ({version_of(path).words})"


class LocalFile(OpenFile):
    """A file of this machine by its number, which several readers share."""

    def __init__(self, number: int, size: int) -> None:
        super().__init__(size)
        self._number = number

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some of the next bytes."""
        n_bytes = os.preadv(self._number, [buffer], self._place)
        self._place += n_bytes
        return n_bytes


class InputFile:
    """One version of a regular file that is not empty, or of a remote one, which may be opened many times."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_remote = path, isinstance(path, RemotePath)
        self.size = 0  # of bytes, once it was opened
        self._version: Version | None = None
        self._content: bytes | None = None  # all of a small file, which is read once
        self._number, self._n_readers = -1, 0  # of a file of this machine that is open

    @contextlib.contextmanager
    def open(self, end: int | None = None) -> Iterator[Any]:
        """Open the file; a remote one is read ahead up to ``end``, 0 where it is read in any order."""
        if not self.is_remote or self._version is None:
            self.check()  # opening alone can have effects on a device
        if self._content is None and self.size <= HELD_BYTES and not self.is_remote:
            self._content = self.path.read_bytes()
            self.check()
        if self._content is not None:
            yield io.BytesIO(self._content)
            return
        number = None
        with OPENING:
            if not (self.is_remote or self._n_readers):
                self._number = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)  # or a FIFO waits for a writer
            self._n_readers += 1
        try:
            if isinstance(self.path, RemotePath):
                raw: OpenFile = RemoteFile(self.path.fetch, self.size, self.size if end is None else end)
            else:
                raw, number, end = LocalFile(self._number, self.size), self._number, None
            with io.BufferedReader(raw, 1 if end == 0 else BUFFER_BYTES) as file:  # each read is of one range
                yield file
            self.check(number)
        except Exception:
            self.check(number)  # a change may be what went wrong
            raise
        finally:
            with OPENING:
                self._n_readers -= 1
                if not (self.is_remote or self._n_readers):
                    os.close(self._number)

    def check(self, number: int | None = None) -> None:
        """Refuse a file that is empty, or changed since it was opened first."""
        version = version_of(self.path, number)
        if not version.size:
            raise ValueError("the file is empty")
        self._version = first = self._version or version
        self.size = first.size
        if version != first:
            raise OSError(f"changed while it was read, from {first.words} to {version.words}")


def digest(*paths: Path) -> str:
    """Return the SHA-256 of what files hold, one behind the other."""
    total = hashlib.sha256()
    for path in paths:
        with InputFile(path).open() as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()
